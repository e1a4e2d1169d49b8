"""The end of a graph of regression: prediction intervals, and the way back from transforms.

CV+ bounds are the largest sums of fold outputs and errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap.conformal import conformal_quantile, least_rows
from adacap.estimators._base import AdaCapBase
from adacap.estimators.bounds import check_shares
from adacap.estimators.intervals import Errors, FoldErrors, IntervalData
from adacap.estimators.transforms import TargetTransform
from adacap.modelfile.onnx.graph import Graph
from adacap.modelfile.onnx.network import each_of, fold_outputs
from adacap.widths import FARTHEST, Widths

__all__ = ["back", "bounds", "check_coverage", "inverse"]

Floats = npt.NDArray[np.float64]
_SLACK = 1e-9  # as in adacap.conformal


def check_coverage(model: AdaCapBase, coverage: Any) -> list[float]:
    """Coverages that a graph can have bounds for.

    Raises
    ------
    ValueError
        For a classifier, a model without intervals, or too few rows.
    """
    data = getattr(model, "intervals_", None)
    if data is None:
        raise ValueError("coverage is for regression: a classifier has no intervals. Leave it out.")
    levels = check_shares(coverage, "coverage", "0.9")
    errors = data.errors("auto")
    for level in levels:
        if errors.n_rows < least_rows(level) * (1 - 1e-6):
            raise ValueError(
                f"coverage={level:g} needs at least {least_rows(level)} rows to take errors from, "
                f"got {errors.n_rows:g}: the bounds would be infinite."
            )
    return levels


def bounds(
    graph: Graph, x: str, model: Any, shape: Sequence[int], output: str, level: float
) -> tuple[str, str]:
    """Bounds ``(n, c)`` in coded units, float64.

    Parameters
    ----------
    graph : Graph
    x : str
        Encoded rows.
    model : AdaCapRegressor
    shape : sequence of int
        Of a row.
    output : str
        Outputs ``(n, c)`` of the model, float64.
    level : float
        Coverage.
    """
    data: IntervalData = model.intervals_
    method = data.resolve("auto")
    errors = data.errors(method)
    values = np.abs(errors.over_scale(is_adaptive=True))
    if method == "cv+":
        assert isinstance(errors, FoldErrors)
        folds = fold_outputs(graph, x, model, shape)
        return _of_folds(graph, folds, _scale(graph, x, model, shape), errors, values, level)
    half = graph.constant(conformal_quantile(values, level, errors.weight) * _factor(data, method))
    if errors.scale is not None:
        logs = graph.call("Log", _scale(graph, x, model, shape))
        mean = graph.call("ReduceMean", logs, axes=[0], keepdims=0)
        half = graph.call("Mul", graph.call("Exp", mean), half)
    return graph.call("Sub", output, half), graph.call("Add", output, half)


def _factor(data: IntervalData, method: str) -> Any:
    return data.inflation if method == "loo" else 1.0


def _scale(graph: Graph, x: str, model: Any, shape: Sequence[int]) -> str:
    """Scale ``(K, n, c)`` of rows under each fold; 1 where all have the same width."""
    widths = model.intervals_.widths
    if widths is None:
        return graph.constant(np.ones((int(model.intervals_.folds.fold.max()) + 1, 1, 1)))
    return graph.once(("scale",), lambda: _make_scale(graph, x, model, shape))


def _make_scale(graph: Graph, x: str, model: Any, shape: Sequence[int]) -> str:
    call, constant = graph.call, graph.constant
    own = model.intervals_.widths
    formula: Widths = own.formula
    z = call("Clip", fold_outputs(graph, x, model, shape), constant(-FARTHEST), constant(FARTHEST))
    sizes = call("Log", call("Max", each_of(graph, x, own.trees), constant(formula.floor)))
    by_trees = call("Mul", sizes, constant(formula.power[0]))
    slope = formula.slope * formula.power[1]
    first = call("Mul", z, constant(slope[:, :1]))
    second = call("Mul", call("Abs", z), constant(slope[:, 1:]))
    return call("Exp", call("Sum", by_trees, first, second, constant(-formula.shift)))


def _of_folds(
    graph: Graph, folds: str, scale: str, errors: FoldErrors, values: Floats, level: float
) -> tuple[str, str]:
    lower, upper = [], []
    for j, column in enumerate(values.T):
        centre = graph.call("Gather", folds, graph.constant(j, np.int64), axis=2)
        own = j if errors.scale is not None else 0
        width = graph.call("Gather", scale, graph.constant(own, np.int64), axis=2)
        chosen = _Largest(column, errors, level)
        upper.append(chosen.sum(graph, centre, width))
        turned = graph.call("Neg", centre)
        lower.append(graph.call("Neg", chosen.sum(graph, turned, width)))
    ends = [graph.call("Concat", *part, axis=1) for part in (lower, upper)]
    return graph.call("Min", *ends), graph.call("Max", *ends)


class _Largest:
    """Errors of one target that the bound of a level can rest on, and how many lie beyond it."""

    def __init__(self, column: Floats, errors: Errors, level: float) -> None:
        assert isinstance(errors, FoldErrors)
        weight = np.ones(len(column)) if errors.weight is None else errors.weight
        total = float(weight.sum())
        rank = (total + 1) * level * (1 - _SLACK)
        self.beyond, self.is_even = total - rank, errors.weight is None
        most = len(column) - math.ceil(rank) + 1 if self.is_even else len(column)
        order = np.argsort(-column, kind="stable")
        kept = [order[errors.fold[order] == k][:most] for k in np.unique(errors.fold)]
        index = np.concatenate(kept)
        self.values, self.fold, self.weight = column[index], errors.fold[index], weight[index]
        self.n_beyond = min(most, len(index))

    def sum(self, graph: Graph, centre: str, width: str) -> str:
        """``(n, 1)``: the sum of output and error that the right share of errors lies beyond."""
        call, constant = graph.call, graph.constant
        fold = constant(self.fold, np.int64)
        scaled = call("Mul", call("Gather", width, fold, axis=0), constant(self.values[:, None]))
        sums = call("Add", call("Gather", centre, fold, axis=0), scaled)
        largest, place = graph.largest(sums, self.n_beyond)
        if self.is_even:
            row = call("Gather", largest, constant([self.n_beyond - 1], np.int64), axis=0)
        else:
            weight = call("Gather", constant(self.weight), place, axis=0)
            before = call("CumSum", weight, constant(0, np.int64), exclusive=1)
            inside = call("LessOrEqual", before, constant(self.beyond))
            count = call("ReduceSum", graph.cast(inside, "int64"), constant([0], np.int64))
            at = call("Sub", count, constant(1, np.int64))
            row = call("GatherElements", largest, at, axis=0)
        return call("Transpose", row, perm=[1, 0])


# --------------------------------------------------------- back from transformed targets

_MOST_EXPONENT, _FAR = 600.0, 1e300  # as where the model is; beyond which nothing is cut


def back(graph: Graph, values: str, transforms: Sequence[TargetTransform]) -> str:
    """Means of the targets (n, c) where models say ``values`` (n, c) of their transforms."""
    columns = []
    for j, transform in enumerate(transforms):
        place = graph.constant([j], np.int64)
        column = graph.call("Gather", values, place, axis=1)
        columns.append(column if transform.kind == "none" else _mean(graph, column, transform))
    return columns[0] if len(columns) == 1 else graph.call("Concat", *columns, axis=1)


def inverse(graph: Graph, values: str, transforms: Sequence[TargetTransform]) -> str:
    """Targets (n, c) whose transforms are ``values`` (n, c)."""
    far = {"log": _MOST_EXPONENT}
    plain = [
        replace(t, errors=(0.0,), low=-far.get(t.kind, _FAR), high=far.get(t.kind, _FAR))
        for t in transforms
    ]
    return back(graph, values, plain)


def _mean(graph: Graph, z: str, transform: TargetTransform) -> str:
    low, high = (graph.constant([edge]) for edge in (transform.low, transform.high))
    z = graph.call("Min", graph.call("Max", z, low), high)
    z = graph.call("Add", z, graph.constant([list(transform.errors)]))  # (n, errors)
    found = graph.call("Exp", z) if transform.kind == "log" else _powers(graph, z, transform.power)
    axis = graph.constant([1], np.int64)
    share = graph.constant([1.0 / len(transform.errors)])
    mean = graph.call("Mul", graph.call("ReduceSum", found, axis, keepdims=1), share)
    scaled = graph.call("Mul", mean, graph.constant([transform.unit]))
    return graph.call("Sub", scaled, graph.constant([transform.shift]))


def _powers(graph: Graph, z: str, power: float) -> str:
    """Inverse of Yeo-Johnson: above 0 and below it, of which one is 0."""
    p, q = power, 2 - power
    zero, one = graph.constant([0.0]), graph.constant([1.0])
    up = graph.call("Mul", graph.call("Max", z, zero), graph.constant([p]))
    up = graph.call("Pow", graph.call("Add", up, one), graph.constant([1 / p]))
    down = graph.call("Mul", graph.call("Min", z, zero), graph.constant([-q]))
    down = graph.call("Pow", graph.call("Add", down, one), graph.constant([1 / q]))
    return graph.call("Sub", up, down)
