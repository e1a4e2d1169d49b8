"""What the columns of a training table were like: a few numbers each, to compare new rows with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.tables.plan import Cells, ColumnPlan, Level

__all__ = ["N_QUANTILES", "TableSummary", "levels_of", "summarise"]

N_QUANTILES = 33


@dataclass(frozen=True, eq=False)
class TableSummary:
    """Quantiles, frequencies of levels and missing cells, column by column."""

    n_rows: float  # that it was made of; fewer where weights are unequal
    grid: Floats  # (n_columns, 33), quantiles of the known cells, in days for dates; else NaN
    below: Floats  # (n_columns, 33), share of the known cells that are at most as large
    missing: Floats  # (n_columns,), share of missing cells; NaN for columns not used
    counts: Floats  # (n_levels,), rows of each level of each column of text, one after another

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All as arrays; :meth:`from_arrays` is the inverse."""
        own = {name: getattr(self, name) for name in ("grid", "below", "missing", "counts")}
        return {"n_rows": np.array([self.n_rows]), **own}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> TableSummary:
        """Summary from the output of :meth:`to_arrays`."""
        names = ("grid", "below", "missing", "counts")
        return cls(float(arrays["n_rows"][0]), *(np.array(arrays[name]) for name in names))


def levels_of(plan: ColumnPlan) -> tuple[Level, ...]:
    """Levels of text seen in training, without that of missing cells; none for free text.

    Examples
    --------
    >>> from adacap.tables.plan import OneHot
    >>> levels_of(ColumnPlan("city", "categorical", (OneHot(("Lyon", "Nice", None)),)))
    ('Lyon', 'Nice')
    """
    if plan.kind != "categorical":
        return ()
    found: Sequence[Level] = next((p.levels for p in plan.parts if hasattr(p, "levels")), ())
    return tuple(level for level in found if level is not None)


def summarise(
    cells: Sequence[Cells], plans: Sequence[ColumnPlan], weight: Floats | None = None
) -> TableSummary:
    """Summary of columns as an encoder reads them.

    Examples
    --------
    >>> cells = Cells("numeric", np.array([1.0, 2.0, np.nan, 4.0]), np.empty(0, dtype=np.int32))
    >>> from adacap.tables.plan import Number
    >>> found = summarise([cells], [ColumnPlan("size", "numeric", (Number(2.0),))])
    >>> found.missing, found.grid[0, [0, -1]], found.below[0, [0, -1]]
    (array([0.25]), array([1., 4.]), array([0.333..., 1. ]))
    """
    n_rows = len(cells[0].missing) if cells else 0
    w = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    w = w / w.sum()
    grid = np.full((len(plans), N_QUANTILES), np.nan)
    below, missing = grid.copy(), np.full(len(plans), np.nan)
    counts: list[Floats] = []
    for j, (column, plan) in enumerate(zip(cells, plans, strict=True)):
        if not plan.parts:
            counts.append(np.zeros(len(levels_of(plan))))
            continue
        missing[j] = float(w[column.missing].sum())
        if plan.kind == "categorical":
            codes = column.match(levels_of(plan))
            known = codes >= 0
            share = np.bincount(codes[known], w[known], minlength=len(levels_of(plan)))
            counts.append(n_rows * share.astype(np.float64))
        elif not column.missing.all():
            grid[j], below[j] = _quantiles(column.values, w)
    return TableSummary(
        float(1 / (w @ w)), grid, below, missing, np.concatenate([np.zeros(0), *counts])
    )


def _quantiles(values: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Values at even steps of the distribution, and the share of cells up to each."""
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    x, share = values[known][order], np.cumsum(w[known][order])
    share /= share[-1]
    places = np.searchsorted(share, np.linspace(0, 1, N_QUANTILES) - 1e-12).clip(0, len(x) - 1)
    grid = x[places]
    return grid, share[np.searchsorted(x, grid, side="right") - 1]
