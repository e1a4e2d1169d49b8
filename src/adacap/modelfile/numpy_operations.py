"""The operations of layers, encodings and predictors in NumPy, as they are in prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.predictors import LEAST_SHARE

__all__ = ["NumpyOperations", "sigmoid"]

ArrayTree: TypeAlias = Mapping[str, Any]

_BATCH_NORM_EPS = 1e-5
_FIRST_LEAVES = 5  # steps down a tree before which few rows arrive
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


class NumpyOperations:
    """The operations in NumPy, in float64 where rows are."""

    def affine(self, x: Floats, weight: Floats, bias: Floats) -> Floats:
        """``x @ weight + bias``, net by net."""
        return np.asarray(x @ weight + bias[..., None, :])

    def scaled(self, x: Floats, scale: Floats) -> Floats:
        """Each column times its own number."""
        return np.asarray(x * scale[..., None, :])

    def batch_norm(self, x: Floats, tensors: ArrayTree) -> Floats:
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

    def ramps(self, x: Floats, tensors: ArrayTree) -> Floats:
        """``clip((x[:, column] - start) * slope, 0, 1) + shift``."""
        risen = (x[:, tensors["column"]] - tensors["start"]) * tensors["slope"]
        return np.asarray(np.clip(risen, 0, 1) + tensors["shift"])

    def column_sums(self, ramps: Floats, tensors: ArrayTree) -> Floats:
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

    def symmetric_trees(self, x: Floats, tensors: ArrayTree) -> Floats:
        """Sum of the leaves that the answers lead to."""
        column, leaf = tensors["column"], tensors["leaf"]
        k, n_trees, depth = column.shape
        place = np.zeros((len(x), k, n_trees), dtype=np.int64)
        for level in range(depth):
            place = 2 * place + (x[:, column[:, :, level]] > tensors["threshold"][:, :, level])
        place += np.arange(0, k * n_trees * 2**depth, 2**depth).reshape(k, n_trees)
        found = leaf.reshape(-1, leaf.shape[-1])[place].sum(2, dtype=np.float64)  # (n, k, c)
        return np.asarray(found.transpose(1, 0, 2) + tensors["bias"][:, None])

    def forest(self, x: Floats, tensors: ArrayTree, depth: int) -> Floats:
        """Sum of the leaves that every tree leads to."""
        node = _arrived(x, tensors, depth).reshape(*tensors["root"].shape, len(x))
        found = tensors["leaf"][node.transpose(2, 0, 1)].sum(2, dtype=np.float64)  # (n, k, c)
        return np.asarray(found.transpose(1, 0, 2) + tensors["bias"][:, None])

    def link(self, name: str, x: Floats) -> Floats:
        """Logit or logarithm of shares."""
        share = np.clip(x, LEAST_SHARE, 1 - LEAST_SHARE)
        return np.asarray(np.log(share / (1 - share)) if name == "logit" else np.log(share))


def _arrived(x: Floats, tensors: ArrayTree, depth: int) -> npt.NDArray[np.int64]:
    """The leaf of every pair of tree and row, tree by tree; those that arrive are set aside."""
    column, threshold = tensors["column"].astype(np.int64) * len(x), tensors["threshold"]
    cells = x.T.ravel()  # column by column
    child = np.stack([tensors["right"], tensors["left"]]).astype(np.int64)
    is_leaf = (child == np.arange(len(column))).all(0)
    child = child.ravel()
    row = np.tile(np.arange(len(x)), tensors["root"].size)
    node = np.repeat(tensors["root"].ravel().astype(np.int64), len(x))
    place, arrived = np.arange(len(node)), np.empty_like(node)
    for step in range(1, depth + 1):
        goes_left = cells[column[node] + row] <= threshold[node]
        node = child[node + len(column) * goes_left]
        if step >= _FIRST_LEAVES and step % 2:
            arrived[place] = node
            on = np.flatnonzero(~is_leaf[node])
            node, row, place = node[on], row[on], place[on]
    arrived[place] = node
    return np.asarray(arrived)


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
