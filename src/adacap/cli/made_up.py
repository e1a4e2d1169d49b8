"""Synthetic rows that fit a model's columns, for checks without data."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["synthetic_rows"]

_N_ROWS = 256
_DAY = 86_400.0


def synthetic_rows(encoder: Any, n_rows: int = _N_ROWS, seed: int = 0) -> Any:
    """Arrow table of numbers, levels, dates, missing cells and levels never seen.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.

    Examples
    --------
    >>> from adacap.estimators import TableEncoder
    >>> from adacap.tables.table import read_table
    >>> encoder = TableEncoder().fit(read_table([[1.0, "a"], [2.0, "b"], [4.0, "a"]]))
    >>> synthetic_rows(encoder, 4).shape
    (4, 2)
    """
    rng = np.random.default_rng(seed)
    columns = [_cells(plan, encoder.policy, n_rows, rng) for plan in encoder.columns_]
    if encoder.names_ is None:
        rows = np.empty((n_rows, len(columns)), dtype=object)
        for j, cells in enumerate(columns):
            rows[:, j] = cells
        numeric = all(plan.kind in ("numeric", "boolean") for plan in encoder.columns_)
        return rows.astype(np.float64) if numeric else rows
    import pyarrow as pa

    arrays = [
        _array(cells, plan.kind, pa) for cells, plan in zip(columns, encoder.columns_, strict=True)
    ]
    return pa.table(dict(zip(encoder.names_, arrays, strict=True)))


def _array(cells: list[Any], kind: str, pa: Any) -> Any:
    if kind == "datetime":
        return pa.array(
            [None if cell is None else round(cell * 1e6) for cell in cells], pa.timestamp("us")
        )
    types = {"categorical": pa.string(), "boolean": pa.bool_(), "numeric": pa.float64()}
    if kind == "boolean":
        cells = [None if cell is None else bool(cell) for cell in cells]
    return pa.array(cells, types[kind])


def _cells(plan: Any, policy: str, n_rows: int, rng: np.random.Generator) -> list[Any]:
    """Cells of one column; dates in seconds."""
    levels = [level for part in plan.parts for level in getattr(part, "levels", ())]
    known = [level for level in levels if level is not None]
    if plan.kind == "categorical":
        choices: list[Any] = [*map(str, known[:1000]), "never seen before", None]
        return [choices[k] for k in rng.integers(len(choices), size=n_rows)]
    if plan.kind == "boolean":
        choices = [0.0, 1.0] if policy == "none" else [0.0, 1.0, None]
        return [choices[k] for k in rng.integers(len(choices), size=n_rows)]
    values = _numbers(plan, known, n_rows, rng)
    if plan.kind == "datetime":
        values = np.clip(values * _DAY, -2e9, 7e9)
    missing = rng.random(n_rows) < (0.0 if policy == "none" else 0.1)
    return [None if gone else float(v) for v, gone in zip(values, missing, strict=True)]


def _numbers(plan: Any, known: list[Any], n_rows: int, rng: np.random.Generator) -> Any:
    """Numbers about as far out as those of training, and some of the known ones."""
    center, scale = 0.0, 1.0
    for part in plan.parts:
        center = getattr(part, "center", getattr(part, "fill", center))
        scale = getattr(part, "scale", scale)
    values = center + 2.0 * scale * rng.standard_normal(n_rows)
    if known:
        pick = rng.random(n_rows) < 0.5
        values[pick] = rng.choice(np.array(known, dtype=np.float64), size=int(pick.sum()))
    return values
