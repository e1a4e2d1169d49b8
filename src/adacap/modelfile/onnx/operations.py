"""The operations of layers, encodings and predictors as nodes of an ONNX graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from adacap.modelfile.onnx.graph import Graph
from adacap.predictors import LEAST_SHARE

__all__ = ["MemberOnnxOperations", "OnnxOperations"]

_BATCH_NORM_EPS = 1e-5


class OnnxOperations:
    """The operations of a layer as nodes; a tensor is its name."""

    def __init__(self, graph: Graph, dtype: Any = np.float32) -> None:
        self.graph, self.dtype = graph, dtype
        self.call, self.halves = graph.call, graph.halves

    def _constant(self, values: Any) -> str:
        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
        return self.graph.constant(array, self.dtype)

    def affine(self, x: str, weight: Tensor, bias: Tensor) -> str:
        """``x @ weight + bias``, net by net."""
        product = self.call("MatMul", x, self._constant(weight))
        return self.call("Add", product, self._constant(bias.unsqueeze(-2)))

    def scaled(self, x: str, scale: Tensor) -> str:
        """Each column times its own number."""
        return self.call("Mul", x, self._constant(scale.unsqueeze(-2)))

    def batch_norm(self, x: str, tensors: Any) -> str:
        """Scaled by the statistics of the layer."""
        scale = tensors["weight"] / (tensors["running_var"] + _BATCH_NORM_EPS).sqrt()
        shift = tensors["bias"] - tensors["running_mean"] * scale
        scaled = self.call("Mul", x, self._constant(scale.unsqueeze(-2)))
        return self.call("Add", scaled, self._constant(shift.unsqueeze(-2)))

    def activation(self, name: str, x: str) -> str:
        """An elementwise function."""
        if name in _OPERATORS:
            return self.call(_OPERATORS[name], x)
        if name == "silu":
            return self.call("Mul", x, self.call("Sigmoid", x))
        if name == "mish":
            return self.call("Mul", x, self.call("Tanh", self.call("Softplus", x)))
        erf = self.call("Erf", self.call("Div", x, self._constant(math.sqrt(2))))
        half = self.call("Mul", x, self._constant(0.5))  # gelu
        return self.call("Mul", half, self.call("Add", erf, self._constant(1.0)))

    def glu(self, x: str) -> str:
        """First half times the sigmoid of the second."""
        a, b = self.halves(x)
        return self.call("Mul", a, self.call("Sigmoid", b))

    def multiply(self, x: str, y: str) -> str:
        """Elementwise product."""
        return self.call("Mul", x, y)

    def add(self, x: str, y: str) -> str:
        """Elementwise sum."""
        return self.call("Add", x, y)

    def dropout(self, x: str, rate: float) -> str:
        """The identity: this is prediction."""
        return x


_OPERATORS = {
    "identity": "Identity", "relu": "Relu", "selu": "Selu", "tanh": "Tanh", "sigmoid": "Sigmoid",
    "cos": "Cos",
}  # fmt: skip


class MemberOnnxOperations(OnnxOperations):
    """The operations of encodings and predictors as nodes."""

    def repeated(self, x: str, k: int) -> str:
        """Rows for each of k folds."""
        shape = self.call("Concat", _whole(self.graph, [k]), self.call("Shape", x), axis=0)
        return self.call("Expand", x, shape)

    def beside(self, x: str, y: str) -> str:
        """Columns of both."""
        return self.call("Concat", x, y, axis=-1)

    def ramps(self, x: str, tensors: Any) -> str:
        """``clip((x[:, column] - start) * slope, 0, 1) + shift``."""
        own = self.call("Gather", x, _whole(self.graph, tensors["column"]), axis=1)
        above = self.call("Sub", own, self._constant(tensors["start"]))
        risen = self.call("Mul", above, self._constant(tensors["slope"]))
        clipped = self._clip(risen, 0.0, 1.0)
        return self.call("Add", clipped, self._constant(tensors["shift"]))

    def column_sums(self, ramps: str, tensors: Any) -> str:
        """Sum of the ramps of each column, each times ``weight``, plus ``bias``."""
        column, d = _array(tensors["column"]), len(tensors["bias"])
        order, count = np.argsort(column, kind="stable"), np.bincount(column, minlength=d)
        first = np.cumsum(count) - count
        own = np.full((d, max(1, count.max())), len(column))  # the ramp of zeros behind the others
        own[column[order], np.arange(len(column)) - first[column[order]]] = order
        heights = self.call("Mul", ramps, self._constant(tensors["weight"]))
        padded = self.call("Pad", heights, _whole(self.graph, [0, 0, 0, 1]))
        each = self.call("Gather", padded, _whole(self.graph, own), axis=1)
        sums = self.call("ReduceSum", each, _whole(self.graph, [2]), keepdims=0)
        return self.call("Add", sums, self._constant(tensors["bias"]))

    def matern(self, x: str, rows: Tensor, scale: Tensor) -> str:
        """Matérn-5/2 kernel of rows with other rows."""
        factor = self._constant(scale[:, None])
        a, b = self.call("Mul", x, factor), self.call("Mul", self._constant(rows), factor)
        b = self.call("Transpose", b, perm=[0, 2, 1])
        squares = self.call("Add", self._squares(a, 2), self._squares(b, 1))
        twice = self.call("Mul", self.call("MatMul", a, b), self._constant(2.0))
        apart = self.call("Max", self.call("Sub", squares, twice), self._constant(0.0))
        r = self.call("Mul", self.call("Sqrt", apart), self._constant(math.sqrt(5)))
        bent = self.call("Div", self.call("Mul", r, r), self._constant(3.0))
        rest = self.call("Sum", self._constant(1.0), r, bent)
        return self.call("Mul", rest, self.call("Exp", self.call("Neg", r)))

    def symmetric_trees(self, x: str, tensors: Any) -> str:
        """Sum of the leaves that the answers lead to."""
        k, n_trees, depth = tensors["column"].shape
        c, graph = tensors["leaf"].shape[-1], self.graph
        value = self.call("Gather", x, _whole(graph, tensors["column"].flatten()), axis=1)
        is_above = self.call("Greater", value, self._constant(tensors["threshold"].flatten()))
        answers = self.call("Reshape", graph.cast(is_above, "int64"), _whole(graph, [0, -1, depth]))
        powers = self.call("Mul", answers, _whole(graph, 2 ** np.arange(depth)[::-1]))
        place = self.call("ReduceSum", powers, _whole(graph, [2]), keepdims=0)
        starts = np.arange(0, k * n_trees * 2**depth, 2**depth)
        place = self.call("Add", place, _whole(graph, starts))
        leaves = graph.constant(_array(tensors["leaf"]).reshape(-1, c), np.float32)
        found = graph.cast(self.call("Gather", leaves, place, axis=0), "float64")
        each = self.call("Reshape", found, _whole(graph, [0, k, n_trees, c]))
        return self._by_fold(self.call("ReduceSum", each, _whole(graph, [2]), keepdims=0), tensors)

    def forest(self, x: str, tensors: Any, depth: int) -> str:
        """Sum of the leaves that every tree leads to, by the standard operator for trees."""
        (k, _), c = tensors["root"].shape, tensors["leaf"].shape[1]
        attributes = _tree_attributes({name: _array(t) for name, t in tensors.named_buffers()})
        total = self.graph.trees(self.graph.cast(x, "float32"), k * c, attributes)
        each = self.call(
            "Reshape", self.graph.cast(total, "float64"), _whole(self.graph, [0, k, c])
        )
        return self._by_fold(each, tensors)

    def link(self, name: str, x: str) -> str:
        """Logit or logarithm of shares."""
        share = self._clip(x, LEAST_SHARE, 1 - LEAST_SHARE)
        if name == "log":
            return self.call("Log", share)
        rest = self.call("Sub", self._constant(1.0), share)
        return self.call("Log", self.call("Div", share, rest))

    def _by_fold(self, each: str, tensors: Any) -> str:
        """Sums ``(n, k, c)`` of trees as outputs ``(k, n, c)``, with what is added to them."""
        found = self.call("Transpose", each, perm=[1, 0, 2])
        return self.call("Add", found, self._constant(tensors["bias"][:, None]))

    def _squares(self, x: str, axis: int) -> str:
        return self.call("ReduceSum", self.call("Mul", x, x), _whole(self.graph, [axis]))

    def _clip(self, x: str, low: float, high: float) -> str:
        return self.call("Clip", x, self._constant(low), self._constant(high))


def _whole(graph: Graph, values: Any) -> str:
    return graph.constant(_array(values), np.int64)


def _array(values: Any) -> npt.NDArray[Any]:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def _tree_attributes(own: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Attributes of the operator: nodes by tree and number in it, leaves by fold and output."""
    root, left, leaf = own["root"].ravel(), own["left"], own["leaf"]
    place, c = np.arange(len(left)), leaf.shape[1]
    tree = np.searchsorted(root, place, side="right") - 1
    number, is_leaf = place - root[tree], left == place
    at, output = np.nonzero(is_leaf[:, None] & ((leaf != 0) | (np.arange(c) == 0)))
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_featureids": own["column"].tolist(),
        "nodes_values": own["threshold"].tolist(),
        "nodes_modes": np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(is_leaf, 0, left - root[tree]).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, own["right"] - root[tree]).tolist(),
        "target_treeids": tree[at].tolist(),
        "target_nodeids": number[at].tolist(),
        "target_ids": (tree[at] // own["root"].shape[1] * c + output).tolist(),
        "target_weights": leaf[at, output].tolist(),
    }
