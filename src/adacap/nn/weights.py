"""The tensors of a backbone: where they are held, and the numbers they start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adacap.layers import Layer, Residual

__all__ = [
    "Generators", "Start", "add_tensors", "fill", "holders", "share_tensors", "uniform",
]  # fmt: skip

Generators = Sequence[torch.Generator] | torch.Generator | None
Start = Callable[[int, int], float]  # from d_in and d_out to the bound of the weights


def fill(tensor: Tensor, generators: Generators, draw: Any) -> None:
    """Draw numbers in place; those of each net from its own generator, if there are several."""
    if isinstance(generators, Sequence):
        for part, generator in zip(tensor, generators, strict=True):
            draw(part, generator)
    else:
        draw(tensor, generators)


def add_tensors(
    module: nn.Module, layers: tuple[Layer, ...], k: tuple[int, ...], make: type[nn.Module]
) -> None:
    """Give a module the tensors of its layers, with the leading dimension ``k``.

    Those of a layer are held by a module of their own, of the type ``make``.
    """
    for i, layer in enumerate(layers):
        held = make()
        if isinstance(layer, Residual):
            add_tensors(held, layer.block, k, make)
        else:
            for name, shape in layer.tensors.items():
                if name.startswith("running_"):
                    held.register_buffer(name, torch.full(k + shape, float(name == "running_var")))
                else:  # the scale of a batch norm starts at 1
                    full = torch.full(k + shape, float(len(shape) == 1 and name == "weight"))
                    held.register_parameter(name, nn.Parameter(full))
        module.add_module(str(i), held)


def holders(module: Any, layers: tuple[Layer, ...]) -> list[tuple[Layer, Any]]:
    """Layers that hold tensors, in order, with what holds them."""
    found: list[tuple[Layer, Any]] = []
    for i, layer in enumerate(layers):
        held = module[str(i)]
        found += holders(held, layer.block) if isinstance(layer, Residual) else [(layer, held)]
    return found


def uniform(bound: float) -> Any:
    """How to draw uniformly up to a bound."""
    return lambda tensor, generator: tensor.uniform_(-bound, bound, generator=generator)


def share_tensors(whole: nn.Module, part: nn.Module, i: int | None) -> None:
    """Put the tensors of net ``i`` of a module in the place of those of a single net."""
    for name, tensor in (*whole.named_parameters(), *whole.named_buffers()):
        place, _, last = name.rpartition(".")
        own = tensor.detach() if i is None else tensor.detach()[i]
        own = nn.Parameter(own) if isinstance(tensor, nn.Parameter) else own
        setattr(part.get_submodule(place), last, own)
