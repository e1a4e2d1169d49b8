"""Names and types of a graph's inputs, and how to make them from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.tables.plan import Cells, ColumnPlan

__all__ = [
    "SAMPLES", "Dtype", "Input", "check_dtype", "check_estimator", "inputs_of", "onnx_inputs",
]  # fmt: skip

Dtype = Literal["float64", "float32"]

SAMPLES = "X"  # the one input of a model of images and the like
_RESERVED = ("prediction", "probabilities")  # names of outputs


@dataclass(frozen=True)
class Input:
    """One input of a graph: its name, the column it stands for, and the type of its cells."""

    name: str
    column: str
    kind: str
    dtype: str


def check_estimator(estimator: object) -> AdaCapBase:
    """Refuse anything but a fitted estimator."""
    if not isinstance(estimator, AdaCapBase):
        raise TypeError(
            "A fitted AdaCapRegressor or AdaCapClassifier is needed, got "
            f"{type(estimator).__name__}. A saved model is read by adacap.load(path)."
        )
    check_is_fitted(estimator)
    return estimator


def check_dtype(dtype: str) -> None:
    """Refuse anything but the two types of numbers."""
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}.")


def inputs_of(columns: Sequence[ColumnPlan], dtype: str) -> list[Input]:
    """One input per column, named as the column where that name is free.

    Dates are float64 in any case: float32 cannot distinguish two minutes of today.
    """
    names = [plan.name for plan in columns]
    inputs = []
    for j, (name, plan) in enumerate(zip(names, columns, strict=True)):
        types = {"categorical": "str", "datetime": "float64"}
        own = name if _is_usable(name) else _free_name(f"column_{j}", names)
        inputs.append(Input(own, name, plan.kind, types.get(plan.kind, dtype)))
    return inputs


def _is_usable(name: str) -> bool:
    return bool(name) and name not in _RESERVED and not name.startswith("adacap/")


def _free_name(name: str, taken: list[str]) -> str:
    return name if name not in taken else _free_name(f"{name}_", taken)


def onnx_inputs(
    estimator: Any, X: Any, *, dtype: Dtype = "float64", missing_text: str = ""
) -> dict[str, npt.NDArray[Any]]:
    """Inputs for the graph of an estimator from a table.

    For checks and for use from Python. Elsewhere the rules are: numbers and booleans as floats
    with NaN for missing, dates as seconds since 1970-01-01 UTC, text as strings, each input of
    shape (n, 1).

    Parameters
    ----------
    estimator : AdaCapRegressor or AdaCapClassifier
        The fitted estimator that was exported.
    X : array-like or frame of shape (n_samples, n_features)
    dtype, missing_text
        As given to :func:`to_onnx`.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = [[1.0, "red"], [2.0, "blue"], [None, "red"], [4.0, None]]
    >>> model = AdaCapRegressor(width=4, max_iter=2).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> onnx_inputs(model, X[2:])["x1"].tolist()
    [['red'], ['']]
    """
    model = check_estimator(estimator)
    check_dtype(dtype)
    if model.sample_shape_ is not None:
        return {SAMPLES: np.asarray(X).astype(np.float32).reshape(-1, *model.sample_shape_)}
    encoder = model.encoder_
    pairs = zip(inputs_of(encoder.columns_, dtype), encoder.cells(X), strict=True)
    return {entry.name: _feed(entry, cells, missing_text) for entry, cells in pairs}


def _feed(entry: Input, cells: Cells, missing_text: str) -> npt.NDArray[Any]:
    if entry.kind != "categorical":
        unit = 86_400.0 if entry.kind == "datetime" else 1.0
        return (cells.values * unit).astype(entry.dtype)[:, None]
    if cells.kind != "categorical":  # a column that fit dropped: nothing uses it
        return np.full((len(cells.values), 1), missing_text, dtype=object)
    levels = np.array([*cells.levels, missing_text], dtype=object)
    return np.asarray(levels[cells.codes])[:, None]
