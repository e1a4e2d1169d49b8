"""The networks that adacap ships, as plain layers of arrays.

The same layers run here in NumPy and become nodes in :mod:`adacap.export`. They are laid out as
:mod:`adacap.nn.backbones` lays them out, since tensors are named by position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap.lite.files import Json, refuse, require
from adacap.tables.columns import Floats

__all__ = [
    "SELU_ALPHA",
    "SELU_SCALE",
    "Activation",
    "Dense",
    "Gate",
    "Layer",
    "Norm",
    "Residual",
    "backbone",
    "forward",
    "linear",
    "sigmoid",
]

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

_BATCH_NORM_EPS = 1e-5
_BLOCK_DEPTH = 2
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@dataclass(frozen=True, eq=False)
class Dense:
    """``x @ weight + bias``."""

    weight: Floats  # (d_in, d_out)
    bias: Floats


@dataclass(frozen=True, eq=False)
class Norm:
    """``x * scale + shift``: batch normalisation as it is in prediction."""

    scale: Floats
    shift: Floats


@dataclass(frozen=True)
class Activation:
    """``relu`` or ``selu``."""

    name: str


@dataclass(frozen=True)
class Gate:
    """``a * sigmoid(b)`` of an input whose columns are ``[a | b]``."""


@dataclass(frozen=True, eq=False)
class Residual:
    """``activation(x + block(x))``."""

    block: tuple[Layer, ...]
    activation: str


Layer: TypeAlias = Dense | Norm | Activation | Gate | Residual


# ------------------------------------------------------------------------------ building


def backbone(spec: Json, arrays: Arrays) -> tuple[Layer, ...]:
    """Layers of a named backbone.

    Parameters
    ----------
    spec : dict
        Fields of :class:`adacap.estimators.backbone.BackboneSpec`.
    arrays : mapping of str to array
        Parameters and buffers of the backbone, named as in torch: ``"0.weight"``, ...
    """
    name, depth = spec["name"], spec["depth"]
    require(isinstance(depth, int) and 1 <= depth <= len(arrays), f"backbone.depth is {depth}.")
    place = _Place(arrays, has_dropout=bool(spec["dropout"]), has_norm=bool(spec["batch_norm"]))
    if name in ("mlp", "snn"):
        activation = Activation("relu" if name == "mlp" else "selu")
        return tuple(layer for _ in range(depth) for layer in place.dense(activation))
    if name == "glu":
        return tuple(layer for _ in range(depth) for layer in place.dense(Gate()))
    if name == "resblock":
        stem = place.dense(Activation("relu"))
        return (*stem, *(place.residual() for _ in range(depth)))
    refuse(f"backbone {name!r} is unknown.")


class _Place:
    """Walks along the positions at which torch's ``nn.Sequential`` holds the layers."""

    def __init__(
        self, arrays: Arrays, *, has_dropout: bool, has_norm: bool, prefix: str = ""
    ) -> None:
        self._arrays = arrays
        self._has_dropout, self._has_norm = has_dropout, has_norm
        self._prefix = prefix
        self._positions = count()

    def _next(self) -> str:
        return f"{self._prefix}{next(self._positions)}."

    def dense(
        self, activation: Activation | Gate | None, *, is_last: bool = False
    ) -> tuple[Layer, ...]:
        """Linear → batch-norm → activation → dropout, as far as there are such."""
        layers: list[Layer] = [linear(self._arrays, self._next())]
        if self._has_norm:
            layers.append(_norm(self._arrays, self._next()))
        self._next()  # the activation has no tensors, but a position
        if activation is not None:
            layers.append(activation)
        if self._has_dropout and not is_last:
            self._next()
        return tuple(layers)

    def residual(self) -> Residual:
        inside = _Place(
            self._arrays,
            has_dropout=self._has_dropout,
            has_norm=self._has_norm,
            prefix=f"{self._next()}block.",
        )
        before = [inside.dense(Activation("relu")) for _ in range(_BLOCK_DEPTH - 1)]
        last = inside.dense(None, is_last=True)
        return Residual(tuple(layer for layers in (*before, last) for layer in layers), "relu")


def linear(arrays: Arrays, prefix: str) -> Dense:
    """Linear layer from torch's ``weight`` (d_out, d_in) and ``bias``."""
    weight, bias = (_float64(arrays, prefix + name) for name in ("weight", "bias"))
    fits = weight.ndim == 2 and bias.shape == weight.shape[:1]
    require(fits, f"tensors {prefix}weight {weight.shape} and bias {bias.shape} do not fit.")
    return Dense(np.ascontiguousarray(weight.T), bias)


def _norm(arrays: Arrays, prefix: str) -> Norm:
    names = ("weight", "bias", "running_mean", "running_var")
    weight, bias, mean, variance = (_float64(arrays, prefix + name) for name in names)
    scale = weight / np.sqrt(variance + _BATCH_NORM_EPS)
    return Norm(scale, bias - mean * scale)


def _float64(arrays: Arrays, name: str) -> Floats:
    if name not in arrays:
        refuse(f"the file has no tensor {name}.")
    return arrays[name].astype(np.float64)


# ------------------------------------------------------------------------------- running


def forward(layers: tuple[Layer, ...], x: Floats) -> Floats:
    """Output of layers, one after another.

    Examples
    --------
    >>> forward((Dense(np.eye(2), np.array([0.0, -5.0])), Activation("relu")), np.ones((1, 2)))
    array([[1., 0.]])
    """
    for layer in layers:
        match layer:
            case Dense(weight, bias):
                x = x @ weight + bias
            case Norm(scale, shift):
                x = x * scale + shift
            case Activation(name):
                x = _ACTIVATIONS[name](x)
            case Gate():
                half = x.shape[1] // 2
                x = x[:, :half] * sigmoid(x[:, half:])
            case Residual(block, activation):
                x = _ACTIVATIONS[activation](x + forward(block, x))
    return x


def sigmoid(x: Floats) -> Floats:
    """``1 / (1 + exp(-x))`` without overflow.

    Examples
    --------
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def _relu(x: Floats) -> Floats:
    return np.maximum(x, 0.0)


def _selu(x: Floats) -> Floats:
    below = SELU_ALPHA * np.expm1(np.minimum(x, 0.0))
    return SELU_SCALE * np.where(x > 0, x, below)


_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {"relu": _relu, "selu": _selu}
