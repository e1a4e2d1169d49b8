"""Columns at risk: ids, constants, leaks of the target, many levels, mostly missing, far values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap.advice.readings import far_values
from adacap.advice.records import ColumnRisk
from adacap.tables.columns import Column
from adacap.tables.plan import ColumnPlan
from adacap.tables.suspicions import doubts_of_columns

__all__ = ["columns_at_risk"]

_MOSTLY = 0.5  # share of missing cells that makes a column mostly missing
_MANY_LEVELS = 0.2  # of the rows
_FEW_ROWS = 10


def columns_at_risk(
    columns: Sequence[Column], plans: Sequence[ColumnPlan], y: npt.NDArray[Any], is_class: bool
) -> tuple[ColumnRisk, ...]:
    """Columns to look at before training, each with what may go wrong.

    Parameters
    ----------
    columns : sequence of Column
        As they are read.
    plans : sequence of ColumnPlan
        What the encoder makes of each.
    y : ndarray of shape (n_rows,)
    is_class : bool
        Whether ``y`` holds labels.

    Examples
    --------
    >>> columns = [Column("numeric", np.arange(60.0)), Column("numeric", np.ones(60))]
    >>> plans = [ColumnPlan("id", "numeric"), ColumnPlan("c", "numeric", dropped="constant")]
    >>> y = np.random.default_rng(0).normal(size=60)
    >>> [(one.column, one.risk) for one in columns_at_risk(columns, plans, y, is_class=False)]
    [('id', 'id'), ('c', 'constant')]
    """
    names = [plan.name for plan in plans]
    leaks = doubts_of_columns(columns, names, y, is_class)
    found: list[ColumnRisk] = []
    for column, plan in zip(columns, plans, strict=True):
        told = [text for text in leaks if text.startswith(f"Column {plan.name!r} ")]
        found += _risks(column, plan, told)
    return tuple(found)


def _risks(column: Column, plan: ColumnPlan, told: Sequence[str]) -> Iterator[ColumnRisk]:
    n_rows, name = len(column.values), plan.name
    known = ~column.missing
    if plan.dropped == "constant":
        yield ColumnRisk(name, "constant", "one value in all rows: it is left out")
        return
    for text in told:
        yield ColumnRisk(name, "leak" if "alone predicts" in text else "id", text)
    if not told and _is_id(column, known):
        yield ColumnRisk(name, "id", "a different value in every row: new rows have others")
    elif plan.dropped:
        yield ColumnRisk(name, "dropped", plan.dropped)
    elif column.kind == "categorical" and plan.parts:
        n_levels = len(np.unique(column.values[known]))
        if n_rows >= _FEW_ROWS and n_levels > max(12, _MANY_LEVELS * n_rows):
            yield ColumnRisk(name, "many levels", f"{n_levels:,} levels in {n_rows:,} rows")
    if (share := 1 - known.mean()) > _MOSTLY:
        yield ColumnRisk(name, "mostly missing", f"{100 * share:.0f} % of the cells are missing")
    if column.kind == "numeric" and len(far := far_values(column.numbers())):
        extreme = column.numbers()[far]
        value = extreme[np.abs(extreme).argmax()]
        text = f"{len(far):,} value{'s' * (len(far) > 1)} far from the others, such as {value:.6g}"
        yield ColumnRisk(name, "outliers", text)


def _is_id(column: Column, known: npt.NDArray[np.bool_]) -> bool:
    """Whether every row has a distinct value: a text, or a whole number of a sequence."""
    n_known = int(known.sum())
    if n_known < _FEW_ROWS or n_known < 0.9 * len(known):
        return False
    values = column.values[known]
    if len(np.unique(values)) < n_known:
        return False
    if column.kind == "categorical":
        return True
    if column.kind != "numeric" or (np.asarray(values, dtype=np.float64) % 1).any():
        return False
    return bool(values.max() - values.min() < 2 * n_known)
