"""The end of a graph of regression: prediction intervals, and the way back from transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adacap.conformal import conformal_quantile, least_rows
from adacap.estimators._base import AdaCapBase
from adacap.estimators.bounds import check_shares
from adacap.estimators.intervals import FoldErrors, IntervalData
from adacap.estimators.transforms import TargetTransform
from adacap.modelfile.onnx.graph import Graph
from adacap.modelfile.onnx.network import each_of, fold_outputs
from adacap.widths import FARTHEST, MOST_EXPONENT, Widths

__all__ = ["back", "bounds", "check_coverage", "inverse"]


def check_coverage(model: AdaCapBase, coverage: Any) -> list[float]:
    """Coverages that a graph can have bounds for.

    Refuses a classifier, a model without intervals, and one of too few rows.
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

    ``x`` are encoded rows of this shape, ``output`` the outputs ``(n, c)`` of the model, and
    ``level`` is the coverage.
    """
    data: IntervalData = model.intervals_
    method = data.resolve("auto")
    errors = data.errors(method)
    values = np.abs(errors.over_scale(is_adaptive=True))
    quantile = conformal_quantile(values, level, errors.weight)
    is_adaptive = errors.scale is not None
    if data.inflation is not None and method == "loo":
        quantile = quantile * data.inflation
    half = graph.constant(quantile)
    if method == "cv+":
        assert isinstance(errors, FoldErrors)
        n_folds, centre = int(errors.fold.max()) + 1, fold_outputs(graph, x, model, shape)
        if is_adaptive:
            half = graph.call("Mul", _scale(graph, x, model, shape), half)
        ends = [graph.call(sign, centre, half) for sign in ("Sub", "Add")]
        return graph.median(ends[0], n_folds), graph.median(ends[1], n_folds)
    if is_adaptive:
        logs = graph.call("Log", _scale(graph, x, model, shape))
        mean = graph.call("ReduceMean", logs, axes=[0], keepdims=0)
        half = graph.call("Mul", graph.call("Exp", mean), half)
    return graph.call("Sub", output, half), graph.call("Add", output, half)


def _scale(graph: Graph, x: str, model: Any, shape: Sequence[int]) -> str:
    """Scale ``(K, n, c)`` of rows under each fold."""
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
    u = call("Sum", by_trees, first, second, constant(-formula.shift))
    stretch = [u, constant(formula.stretch[0])]
    for low, high, steep in zip(*formula.pieces, strict=True):
        along = call("Min", call("Max", u, constant(low)), constant(high))
        stretch.append(call("Mul", call("Sub", along, constant(low)), constant(steep)))
    most = constant(MOST_EXPONENT)
    return call("Exp", call("Clip", call("Sum", *stretch), constant(-MOST_EXPONENT), most))


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
    """Inverse of Yeo-Johnson: the part for values above 0 minus that below; one of them is 0."""
    p, q = power, 2 - power
    zero, one = graph.constant([0.0]), graph.constant([1.0])
    up = graph.call("Mul", graph.call("Max", z, zero), graph.constant([p]))
    up = graph.call("Pow", graph.call("Add", up, one), graph.constant([1 / p]))
    down = graph.call("Mul", graph.call("Min", z, zero), graph.constant([-q]))
    down = graph.call("Pow", graph.call("Add", down, one), graph.constant([1 / q]))
    return graph.call("Sub", up, down)
