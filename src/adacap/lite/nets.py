"""Layers in NumPy: all nets of a group at once, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from adacap.architectures import restore
from adacap.layers import Layer, Residual, run, tensors
from adacap.lite.files import Tensors, require
from adacap.tables.columns import Floats

__all__ = ["NetGroup", "NumpyOperations", "sigmoid"]

Arrays: TypeAlias = Mapping[str, Floats]
Tree: TypeAlias = Mapping[str, Any]

_BATCH_NORM_EPS = 1e-5
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


class NumpyOperations:
    """The operations of a layer in NumPy, as they are in prediction."""

    def affine(self, x: Floats, weight: Floats, bias: Floats) -> Floats:
        """``x @ weight + bias``, net by net."""
        return np.asarray(x @ weight + bias[..., None, :])

    def batch_norm(self, x: Floats, tensors: Tree) -> Floats:
        """Scaled by the statistics of the layer."""
        scale = tensors["weight"] / np.sqrt(tensors["running_var"] + _BATCH_NORM_EPS)
        shift = tensors["bias"] - tensors["running_mean"] * scale
        return np.asarray(x * scale[..., None, :] + shift[..., None, :])

    def activation(self, name: str, x: Floats) -> Floats:
        """A function of single numbers."""
        return _ACTIVATIONS[name](x)

    def halves(self, x: Floats) -> tuple[Floats, Floats]:
        """First and second half of the columns."""
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]

    def glu(self, x: Floats) -> Floats:
        """First half times the sigmoid of the second."""
        a, b = self.halves(x)
        return np.asarray(a * sigmoid(b))

    def multiply(self, x: Floats, y: Floats) -> Floats:
        """Product, number by number."""
        return np.asarray(x * y)

    def add(self, x: Floats, y: Floats) -> Floats:
        """Sum, number by number."""
        return np.asarray(x + y)

    def dropout(self, x: Floats, rate: float) -> Floats:
        """Nothing: this is prediction."""
        return x


def sigmoid(x: Floats) -> Floats:
    """``1 / (1 + exp(-x))`` without overflow.

    Examples
    --------
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def _selu(x: Floats) -> Floats:
    below = _SELU_ALPHA * np.expm1(np.minimum(x, 0.0))
    return np.asarray(_SELU_SCALE * np.where(x > 0, x, below))


def _gelu(x: Floats) -> Floats:
    erf = np.array([math.erf(value) for value in (x / math.sqrt(2)).ravel()]).reshape(x.shape)
    return np.asarray(x * (1 + erf) / 2)


_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0.0),
    "selu": _selu,
    "gelu": _gelu,
    "silu": lambda x: np.asarray(x * sigmoid(x)),
    "tanh": np.tanh,
    "mish": lambda x: np.asarray(x * np.tanh(np.logaddexp(0.0, x))),
    "sigmoid": sigmoid,
}


@dataclass(frozen=True, eq=False)
class NetGroup:
    """Nets that share arrays: their layers, their tensors as a tree, their output layer."""

    layers: tuple[Layer, ...]
    tree: Tree
    weight: Floats  # (K, J, c)
    bias: Floats  # (K, c)

    @classmethod
    def read(cls, description: Any, stored: Tensors, *, d_in: int, n_out: int) -> NetGroup:
        """Nets from a description and tensors of a file, held against each other.

        Parameters
        ----------
        description : list
            What :func:`adacap.architectures.describe` made of the layers.
        stored : mapping of str to array
            Tensors of this group.
        d_in, n_out : int
            Columns that the nets read and give.
        """
        layers = restore(description)
        weight, bias = _float64(stored, "output.weight"), _float64(stored, "output.bias")
        require(weight.ndim == 3 and len(weight) > 0, f"output.weight is {weight.shape}.")
        k = len(weight)
        fits = weight.shape[2] == n_out and bias.shape == (k, n_out)
        require(fits, f"a network has {weight.shape[2]} outputs, not {n_out}.")
        found = {name: _float64(stored, f"backbone.{name}") for name in tensors(layers)}
        for name, shape in tensors(layers).items():
            expected = (k, *shape)
            fits = found[name].shape == expected
            require(fits, f"backbone.{name} is {found[name].shape}, not {expected}.")
        group = cls(layers, _nested(layers, found), weight, bias)
        hidden, probe = group.hidden(np.zeros((1, d_in)))[:, 0], _float64(stored, "probe")
        fits = hidden.shape == probe.shape == weight.shape[:2]
        close = fits and np.allclose(hidden, probe, 1e-3, 1e-3 * float(np.abs(probe).max()))
        require(close, "the network computes other features than the saved one did.")
        return group

    def hidden(self, x: Floats) -> Floats:
        """Features ``(K, n, J)`` of rows ``(n, d)``."""
        return run(self.layers, x, self.tree, NumpyOperations())

    def total(self, x: Floats) -> Floats:
        """Sum of the outputs of all nets, ``(n, c)``."""
        outputs = self.hidden(x) @ self.weight + self.bias[:, None, :]
        return np.asarray(outputs.sum(0))


def _float64(stored: Tensors, name: str) -> Floats:
    require(name in stored, f"the file has no tensor {name}.")
    is_finite = bool(np.isfinite(stored[name]).all())
    require(is_finite, f"tensor {name} holds NaN or infinite values.")
    return stored[name].astype(np.float64)


def _nested(layers: tuple[Layer, ...], arrays: Arrays, prefix: str = "") -> Tree:
    """Arrays by dotted names as a mapping for every layer, within mappings for those of blocks."""
    return {
        str(i): _nested(layer.block, arrays, f"{prefix}{i}.")
        if isinstance(layer, Residual)
        else {name: arrays[f"{prefix}{i}.{name}"] for name in layer.tensors}
        for i, layer in enumerate(layers)
    }
