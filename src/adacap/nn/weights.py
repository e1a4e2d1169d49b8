"""The tensors of a backbone: where they are stored and how they are initialised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adacap.layers import Dense, Fourier, Layer, Residual

__all__ = [
    "Generators", "StartBound", "add_tensors", "draw_start", "fill", "holders", "share_tensors",
    "uniform",
]  # fmt: skip

Generators = Sequence[torch.Generator] | torch.Generator | None
StartBound = Callable[[int, int], float]  # from d_in and d_out to the bound of the weights


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

    The tensors of a layer are held by a submodule of type ``make``.
    """
    for i, layer in enumerate(layers):
        held = make()
        if isinstance(layer, Residual):
            add_tensors(held, layer.block, k, make)
        else:
            for name, shape in layer.tensors.items():
                if name.startswith("running_"):
                    held.register_buffer(name, torch.full(k + shape, float(name == "running_var")))
                else:  # scales start at 1
                    is_scale = len(shape) == 1 and name in ("weight", "scale")
                    full = torch.full(k + shape, float(is_scale))
                    held.register_parameter(name, nn.Parameter(full))
        module.add_module(str(i), held)


def holders(module: Any, layers: tuple[Layer, ...]) -> list[tuple[Layer, Any]]:
    """Layers that have tensors, in order, each with the module that holds them."""
    found: list[tuple[Layer, Any]] = []
    for i, layer in enumerate(layers):
        held = module[str(i)]
        found += holders(held, layer.block) if isinstance(layer, Residual) else [(layer, held)]
    return found


def uniform(bound: float) -> Any:
    """How to draw uniformly up to a bound."""
    return lambda tensor, generator: tensor.uniform_(-bound, bound, generator=generator)


def draw_start(
    module: Any, layers: tuple[Layer, ...], generators: Generators, start: StartBound
) -> None:
    """Draw weights uniformly up to ``start(d_in, d_out)``, biases up to d_in^-½; and waves."""
    for layer, held in holders(module, layers):
        if isinstance(layer, Fourier):
            _draw_waves(held, layer.d_in, generators)
        elif isinstance(layer, Dense):
            fill(held["weight"].data, generators, uniform(start(layer.d_in, layer.d_out)))
            fill(held["bias"].data, generators, uniform(layer.d_in**-0.5))


_DEGREES = 5  # of freedom: waves whose kernel is Matérn's of smoothness 5/2


def _draw_waves(held: Any, d_in: int, generators: Generators) -> None:
    """Frequencies by Student's t, about one wave over a cloud of ``d_in`` standard columns."""

    def draw(tensor: Tensor, generator: torch.Generator | None) -> None:
        tensor.normal_(generator=generator)
        again = torch.empty(_DEGREES, *tensor.shape[:-2], 1, tensor.shape[-1])
        chi = again.normal_(generator=generator).square().mean(0)
        tensor.div_((chi * d_in).sqrt().to(tensor))

    fill(held["weight"].data, generators, draw)
    fill(held["bias"].data, generators, uniform(math.pi))
    held["scale"].data.fill_(1.0)


def share_tensors(whole: nn.Module, part: nn.Module, i: int | None) -> None:
    """Put the tensors of net ``i`` of a module in the place of those of a single net."""
    for name, tensor in (*whole.named_parameters(), *whole.named_buffers()):
        place, _, last = name.rpartition(".")
        own = tensor.detach() if i is None else tensor.detach()[i]
        own = nn.Parameter(own) if isinstance(tensor, nn.Parameter) else own
        setattr(part.get_submodule(place), last, own)
