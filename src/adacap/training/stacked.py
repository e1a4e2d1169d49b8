"""Well-known layers applied to the stacked weights of K nets, without ``torch.func.vmap``.

``vmap`` can do any module, at the price of its bookkeeping in every step. Dense layers and
activations need none of it: a dense layer of K nets is one batched product, bias included, and an
activation does not care how many nets it acts on.
"""

from collections.abc import Callable, Collection, Mapping

import torch
from torch import Tensor, nn

from adacap.nn.backbones import Gate, Residual

__all__ = ["Stacked", "stacked"]

Stacked = Callable[[Mapping[str, Tensor], Tensor], Tensor]
"""From weights by name and inputs ``(K, b, d)`` to features ``(K, b, J)``."""

_ELEMENTWISE = {
    nn.Identity, nn.ReLU, nn.SELU, nn.GELU, nn.SiLU, nn.Tanh, nn.Mish, nn.Sigmoid, nn.LeakyReLU,
    nn.ELU, nn.Softplus, Gate,
}  # fmt: skip


def stacked(layer: nn.Module, names: Collection[str], prefix: str = "") -> Stacked | None:
    """What a layer does, as a function of stacked weights; None for a layer that is not known.

    Parameters
    ----------
    layer : nn.Module
    names : collection of str
        Weights that there are; a layer that shares those of another one has none of its own.
    prefix : str
        Of the names of its weights, such as ``"block.0."``.

    Returns
    -------
    callable or None
        Takes matrices as ``(K, d_in, d_out)``, transposed from what ``nn.Linear`` holds.

    Examples
    --------
    >>> run = stacked(nn.Linear(3, 2), {"weight", "bias"})
    >>> run({"weight": torch.ones(4, 3, 2), "bias": torch.ones(4, 2)}, torch.ones(4, 5, 3)).shape
    torch.Size([4, 5, 2])
    >>> stacked(nn.Bilinear(3, 3, 2), {"weight", "bias"}) is None
    True
    """
    if _has_hooks(layer):
        return None
    kind = type(layer)
    if kind in _ELEMENTWISE:
        return lambda weights, x: layer(x)
    if kind is nn.Linear:
        return _dense(f"{prefix}weight", f"{prefix}bias", names)
    if kind is Residual:
        block = stacked(layer.block, names, f"{prefix}block.")  # type: ignore[arg-type]
        tail = stacked(layer.tail, names, f"{prefix}tail.")  # type: ignore[arg-type]
        if block is None or tail is None:
            return None
        return lambda weights, x: tail(weights, x + block(weights, x))
    if kind.forward is nn.Sequential.forward:
        return _chain(
            [
                None if part is None else stacked(part, names, f"{prefix}{name}.")
                for name, part in layer._modules.items()  # a part may stand there twice
            ]
        )
    return None


def _dense(weight: str, bias: str, names: Collection[str]) -> Stacked | None:
    if weight not in names or bias not in names:
        return None
    return lambda weights, x: torch.baddbmm(weights[bias].unsqueeze(1), x, weights[weight])


def _chain(parts: list[Stacked | None]) -> Stacked | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def run(weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        for part in known:
            x = part(weights, x)
        return x

    return run


def _has_hooks(layer: nn.Module) -> bool:
    return bool(layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks)
