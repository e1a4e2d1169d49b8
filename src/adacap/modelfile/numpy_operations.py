"""The operations of layers, encodings and predictors in NumPy, as they are in prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from adacap.predictors import LEAST_SHARE
from adacap.tables.columns import Floats

__all__ = ["NumpyOperations", "sigmoid"]

Tree: TypeAlias = Mapping[str, Any]

_BATCH_NORM_EPS = 1e-5
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


class NumpyOperations:
    """The operations in NumPy, in float64 where rows are."""

    def affine(self, x: Floats, weight: Floats, bias: Floats) -> Floats:
        """``x @ weight + bias``, net by net."""
        return np.asarray(x @ weight + bias[..., None, :])

    def scaled(self, x: Floats, scale: Floats) -> Floats:
        """Each column times its own number."""
        return np.asarray(x * scale[..., None, :])

    def batch_norm(self, x: Floats, tensors: Tree) -> Floats:
        """Scaled by the statistics of the layer."""
        scale = tensors["weight"] / np.sqrt(tensors["running_var"] + _BATCH_NORM_EPS)
        shift = tensors["bias"] - tensors["running_mean"] * scale
        return np.asarray(x * scale[..., None, :] + shift[..., None, :])

    def activation(self, name: str, x: Floats) -> Floats:
        """An elementwise function."""
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
        """Elementwise product."""
        return np.asarray(x * y)

    def add(self, x: Floats, y: Floats) -> Floats:
        """Elementwise sum."""
        return np.asarray(x + y)

    def dropout(self, x: Floats, rate: float) -> Floats:
        """The identity: this is prediction."""
        return x

    def repeated(self, x: Floats, k: int) -> Floats:
        """Rows for each of k folds."""
        return np.broadcast_to(x, (k, *x.shape))

    def beside(self, x: Floats, y: Floats) -> Floats:
        """Columns of both."""
        return np.concatenate([x, y], axis=-1)

    def ramps(self, x: Floats, tensors: Tree) -> Floats:
        """``clip((x[:, column] - start) * slope, 0, 1) + shift``."""
        risen = (x[:, tensors["column"]] - tensors["start"]) * tensors["slope"]
        return np.asarray(np.clip(risen, 0, 1) + tensors["shift"])

    def column_sums(self, ramps: Floats, tensors: Tree) -> Floats:
        """Sum of the ramps of each column, each times ``weight``, plus ``bias``."""
        n, d = len(ramps), len(tensors["bias"])
        place = d * np.arange(n)[:, None] + tensors["column"]
        sums = np.bincount(place.ravel(), (ramps * tensors["weight"]).ravel(), n * d)
        return np.asarray(sums.reshape(n, d) + tensors["bias"])

    def matern(self, x: Floats, rows: Floats, scale: Floats) -> Floats:
        """Matérn-5/2 kernel of rows with other rows."""
        a, b = x * scale[:, None], rows * scale[:, None]
        squares = (a**2).sum(2)[:, :, None] + (b**2).sum(2)[:, None]
        squares -= 2 * (a @ b.transpose(0, 2, 1))
        r = math.sqrt(5) * np.sqrt(np.maximum(squares, 0.0))
        return np.asarray((1 + r + r**2 / 3) * np.exp(-r))

    def symmetric_trees(self, x: Floats, tensors: Tree) -> Floats:
        """Sum of the leaves that the answers lead to."""
        column, leaf = tensors["column"], tensors["leaf"]
        k, n_trees, depth = column.shape
        place = np.zeros((len(x), k, n_trees), dtype=np.int64)
        for level in range(depth):
            place = 2 * place + (x[:, column[:, :, level]] > tensors["threshold"][:, :, level])
        place += np.arange(0, k * n_trees * 2**depth, 2**depth).reshape(k, n_trees)
        found = leaf.reshape(-1, leaf.shape[-1])[place].sum(2, dtype=np.float64)  # (n, k, c)
        return np.asarray(found.transpose(1, 0, 2) + tensors["bias"][:, None])

    def forest(self, x: Floats, tensors: Tree, depth: int) -> Floats:
        """Sum of the leaves that every tree leads to."""
        node = np.broadcast_to(tensors["root"], (len(x), *tensors["root"].shape))
        own = np.arange(len(x))[:, None, None]
        for _ in range(depth):
            goes_left = x[own, tensors["column"][node]] <= tensors["threshold"][node]
            node = np.where(goes_left, tensors["left"][node], tensors["right"][node])
        found = tensors["leaf"][node].sum(2, dtype=np.float64)
        return np.asarray(found.transpose(1, 0, 2) + tensors["bias"][:, None])

    def link(self, name: str, x: Floats) -> Floats:
        """Logit or logarithm of shares."""
        share = np.clip(x, LEAST_SHARE, 1 - LEAST_SHARE)
        return np.asarray(np.log(share / (1 - share)) if name == "logit" else np.log(share))


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
    "cos": np.cos,
}
