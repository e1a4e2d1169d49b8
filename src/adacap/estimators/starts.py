"""Initialisations of nets, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import torch

from adacap.layers import Dense
from adacap.nn.backbones import glorot_uniform, he_uniform
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Backbone, Nets

__all__ = ["Initialise", "start_named"]

Initialise: TypeAlias = Callable[[Nets, list[torch.Generator]], None]


def start_named(name: str | None) -> Initialise | None:
    """Initialisation by name; None and ``"kaiming"`` leave torch's own.

    Examples
    --------
    >>> start_named("kaiming") is None, callable(start_named("he"))
    (True, True)
    """
    return None if name is None else _STARTS[name]


def _start(draw: Callable[..., None], nets: Nets, generators: list[torch.Generator]) -> None:
    """Initialise all layers; also the output layer of the plain scheme."""
    if not isinstance(nets.backbone, Backbone):
        raise ValueError("initialization is for named architectures. Initialise your net in it.")
    draw(nets.backbone, generators)
    if isinstance(nets.head, LinearHead):
        head = Backbone((Dense(*nets.head.weight.shape[1:]),), k=nets.k, generators=generators)
        draw(head, generators)
        nets.head = LinearHead.of(head["0"]["weight"], head["0"]["bias"])


_STARTS: dict[str, Initialise | None] = {
    "glorot": partial(_start, glorot_uniform),
    "glorot-relu": partial(_start, partial(glorot_uniform, gain=2**0.5)),
    "he": partial(_start, he_uniform),
    "kaiming": None,
}
