"""From a fitted estimator to one ONNX file, and a check of the file against the estimator."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from adacap._version import __version__
from adacap.estimators._base import AdaCapBase
from adacap.estimators.bag import groups_of
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.files.atomic import check_writable, write_bytes
from adacap.modelfile.onnx.graph import Graph, need
from adacap.modelfile.onnx.inputs import (
    SAMPLES,
    Dtype,
    Input,
    check_dtype,
    check_estimator,
    inputs_of,
    onnx_inputs,
)
from adacap.modelfile.onnx.intervals import back, bounds, check_coverage, inverse
from adacap.modelfile.onnx.network import average, blend
from adacap.modelfile.onnx.preprocessing import encode
from adacap.tables.plan import ColumnPlan

__all__ = ["compare_onnx", "to_onnx"]


def to_onnx(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    dtype: Dtype = "float64",
    missing_text: str = "",
    coverage: float | Sequence[float] | None = None,
) -> None:
    """Write a fitted estimator as one ONNX graph: preprocessing, members, targets.

    The graph has one input of shape (n, 1) per column, named as the column (``x0``, ``x1``, ...
    where ``fit`` saw no names): numbers and booleans as floats, NaN where missing; dates as
    seconds since 1970-01-01 UTC; text as strings. Its outputs are ``prediction``, and for a
    classifier ``probabilities`` in the order of ``classes_``. With ``coverage`` a regressor has
    ``lower`` and ``upper`` besides.

    Parameters
    ----------
    estimator : AdaCapRegressor or AdaCapClassifier
        Fitted.
    path : str or path-like
    force : bool, default=False
        Whether to replace an existing file.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and come out. float32 keeps only seven digits of a number
        such as 20240131.
    missing_text : str, default=""
        The string that stands for a missing cell of text.
    coverage : float or sequence of float, optional
        Of the intervals that ``lower`` and ``upper`` bound, as ``predict_interval`` gives them:
        (n,) or (n, n_targets), with one more axis for several coverages. The graph compares each
        row with every error kept in the model, so that memory grows with both.

    Raises
    ------
    FileExistsError
        If there is a file at ``path`` and ``force`` is false.
    ImportError
        If the package onnx is not installed.
    ValueError
        If ``coverage`` is given and the model has no such intervals.
    AdaCapError
        If the backbone is the user's own and torch cannot trace it.

    Notes
    -----
    The graph does not check what it is given: where ``predict`` raises, for instance on an
    infinite number, its output is undefined.

    Examples
    --------
    >>> import tempfile
    >>> from adacap import AdaCapRegressor
    >>> from adacap.export import compare_onnx
    >>> X = [[1.0, "red"], [2.0, "blue"], [None, "red"], [4.0, "blue"]]
    >>> model = AdaCapRegressor(width=4, max_iter=2).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, f"{folder}/m.onnx")
    ...     difference = compare_onnx(model, f"{folder}/m.onnx", X)
    >>> difference < 1e-5
    True
    """
    model = check_estimator(estimator)
    check_dtype(dtype)
    need("onnx")
    check_writable(path, force)
    levels = None if coverage is None else check_coverage(model, coverage)
    proto = _build(model, dtype, missing_text, coverage, levels)
    write_bytes(path, proto.SerializeToString(deterministic=True), force=force)


def _build(
    model: AdaCapBase,
    dtype: str,
    missing_text: str,
    coverage: Any = None,
    levels: list[float] | None = None,
) -> Any:
    graph = Graph()
    inputs, x, shape = _features(graph, model, dtype, missing_text)
    if model.blend_:
        output = blend(graph, x, model.blend_, shape)
    else:
        output = graph.cast(average(graph, x, groups_of(model.members_), shape), "float64")
    codec = model.codec_
    if isinstance(codec, RegressionCodec):
        _regression(graph, output, codec, dtype)
        if levels is not None:
            found = [bounds(graph, x, model, shape, output, level) for level in levels]
            _intervals(graph, found, codec, dtype, is_many=np.ndim(coverage) > 0)
    else:
        _classification(graph, output, codec, dtype)
    metadata = {
        "estimator": type(model).__name__,
        "inputs": json.dumps([asdict(entry) for entry in inputs]),
        "missing_text": missing_text,
    }
    return graph.model(type(model).__name__, metadata, __version__)


def _features(
    graph: Graph, model: AdaCapBase, dtype: str, missing_text: str
) -> tuple[list[Input], str, tuple[int, ...]]:
    """Declare the inputs; the features that networks read, and the shape of one row of them."""
    if model.sample_shape_ is not None:  # images and the like, which preprocessing leaves alone
        entry = Input(SAMPLES, SAMPLES, "samples", "float32")
        graph.input(entry.name, entry.dtype, model.sample_shape_)
        return [entry], entry.name, model.sample_shape_
    columns = model.encoder_.columns_
    _refuse_marker(columns, missing_text)
    inputs = inputs_of(columns, dtype)
    for entry in inputs:
        graph.input(entry.name, entry.dtype, (1,))
    return (
        inputs,
        encode(graph, columns, inputs, model.encoder_.layout_, missing_text),
        (max(1, model.encoder_.n_features_out_),),
    )


def _refuse_marker(columns: Sequence[ColumnPlan], missing_text: str) -> None:
    """Refuse a mark of missing cells that is itself a level."""
    for plan in columns:
        for part in plan.parts:
            if missing_text in getattr(part, "levels", ()):
                raise ValueError(
                    f"missing_text={missing_text!r} is to mean a missing cell, but it is a value "
                    f"of column {plan.name!r}. Pass another text, such as "
                    "missing_text='<missing>'."
                )


def _regression(graph: Graph, output: str, codec: RegressionCodec, dtype: str) -> None:
    values = _decoded(graph, output, codec)
    graph.call("Cast", values, output="prediction", to=graph.element(dtype))
    graph.output("prediction", dtype, () if codec.is_1d else (codec.n_targets,))


def _decoded(graph: Graph, output: str, codec: RegressionCodec, transformed: Any = back) -> str:
    """Coded outputs in the user's units and shape."""
    scaled = graph.call("Mul", output, graph.constant(codec.scale))
    values = graph.call("Add", scaled, graph.constant(codec.mean))
    if codec.transforms:
        values = transformed(graph, values, codec.transforms)
    if codec.is_1d:
        values = graph.call("Squeeze", values, graph.constant([1], np.int64))
    return values


def _intervals(
    graph: Graph, found: list[tuple[str, str]], codec: RegressionCodec, dtype: str, *, is_many: bool
) -> None:
    """Outputs ``lower`` and ``upper``; swapped for a target whose sign was flipped."""
    ends = [[_decoded(graph, bound, codec, inverse) for bound in pair] for pair in found]
    shape = () if codec.is_1d else (codec.n_targets,)
    for name, choose in (("lower", "Min"), ("upper", "Max")):
        values = [graph.call(choose, *pair) for pair in ends]
        if is_many:
            last = graph.constant([-1], np.int64)
            values = [graph.call("Unsqueeze", value, last) for value in values]
            values = [graph.call("Concat", *values, axis=-1)]
        graph.call("Cast", values[0], output=name, to=graph.element(dtype))
        graph.output(name, dtype, (*shape, len(found)) if is_many else shape)


def _classification(graph: Graph, output: str, codec: ClassCodec, dtype: str) -> None:
    output = graph.call("Div", output, graph.constant([codec.temperature]))
    if len(codec.classes) == 2:
        positive = graph.call("Sigmoid", output)
        negative = graph.call("Sub", graph.constant([1.0]), positive)
        shares = graph.call("Concat", negative, positive, axis=1)
    else:
        shares = graph.call("Softmax", output, axis=1)
    best = graph.call("ArgMax", shares, axis=1, keepdims=0)
    labels, kind = _labels(codec)
    graph.call("Gather", graph.constant(labels, labels.dtype), best, output="prediction")
    graph.call("Cast", shares, output="probabilities", to=graph.element(dtype))
    graph.output("prediction", kind, ())
    graph.output("probabilities", dtype, (len(codec.classes),))


def _labels(codec: ClassCodec) -> tuple[Any, str]:
    """Labels in one of the few types that every runtime can gather."""
    classes = codec.classes
    if classes.dtype.kind in "iu":
        if int(classes.max()) > np.iinfo(np.int64).max:
            return classes.astype(str).astype(object), "str"
        return classes.astype(np.int64), "int64"
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), "float64"
    if classes.dtype.kind == "b":
        return classes, "bool"
    return np.array([str(label) for label in classes], dtype=object), "str"


# ------------------------------------------------------------- checked against the model


def compare_onnx(
    estimator: Any,
    path: str | os.PathLike[str],
    X: Any,
    *,
    dtype: Dtype = "float64",
    missing_text: str = "",
    coverage: float | Sequence[float] | None = None,
) -> float:
    """Largest difference between an exported graph, run by onnxruntime, and the estimator.

    Parameters
    ----------
    estimator : AdaCapRegressor or AdaCapClassifier
        Fitted.
    path : str or path-like
        What :func:`to_onnx` wrote.
    X : array-like or frame of shape (n_samples, n_features)
        Rows to compare on.
    dtype, missing_text, coverage
        As given to :func:`to_onnx`.

    Returns
    -------
    float
        Regression: of predictions, and of bounds where there is a coverage, in units of the larger
        of their size and the standard deviation of the target in training. Classification: of
        probabilities.

    Examples
    --------
    See :func:`to_onnx`.
    """
    model = check_estimator(estimator)
    runtime = need("onnxruntime", "Comparing with an ONNX file")
    session = runtime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    feed = onnx_inputs(model, X, dtype=dtype, missing_text=missing_text)
    codec = model.codec_
    if not isinstance(codec, RegressionCodec):
        (found,) = session.run(["probabilities"], feed)
        return float(np.abs(found - model.predict_proba(X)).max())
    (found,) = session.run(["prediction"], feed)
    worst = _difference(found, model.predict(X), codec)
    if coverage is not None:
        bounds = model.predict_interval(X, coverage)
        ends = session.run(["lower", "upper"], feed)
        worst = max(worst, *(_difference(ends[i], bounds[..., i], codec) for i in (0, 1)))
    return worst


def _difference(found: Any, expected: Any, codec: RegressionCodec) -> float:
    """Largest difference, in units of the larger of a number and its target's deviation."""
    scale = np.abs(codec.scale[0] if codec.is_1d else codec.scale)
    if not codec.is_1d and expected.ndim == 3:  # several coverages
        scale = scale[:, None]
    unit = np.maximum(np.abs(expected), scale)
    return float((np.abs(found - expected) / np.where(unit == 0, 1.0, unit)).max())
