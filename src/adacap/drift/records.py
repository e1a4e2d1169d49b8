"""What a check of new rows finds: frozen records that print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap.text import number, table_lines

__all__ = ["ColumnDrift", "Drift"]

_MOST_SHOWN = 20


class ColumnDrift(NamedTuple):
    """One test of one column.

    ``test`` is "distribution", "levels", "missing" or "never seen"; ``size`` the largest gap
    between distributions, the population stability index, the change of the share of missing
    cells, or the share of cells of new levels. ``p_value`` is corrected for all tests of the check.
    """

    column: str
    test: str
    size: float
    p_value: float
    moved: bool
    note: str


@dataclass(frozen=True, eq=False)
class Drift:
    """How new rows differ from those of training.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        Every test, those that moved first.
    moved : tuple of str
        Columns that moved.
    never_seen : dict of str to tuple of str
        Levels unknown to training, by column; at most five each.
    leverage : ndarray of shape (n_rows,) or None
        Of each row over that which 99 % of the training rows stay below; None where the model
        cannot say.
    untrusted : ndarray of bool of shape (n_rows,)
        Rows whose intervals should not be trusted: beyond reach, or of a level never seen in a
        column where that is news.
    n_rows : int
    n_train : float
        Training rows that the summaries are based on.
    alpha : float
        Chance of any false alarm.
    """

    columns: tuple[ColumnDrift, ...]
    moved: tuple[str, ...]
    never_seen: Mapping[str, tuple[str, ...]]
    leverage: npt.NDArray[np.float64] | None
    untrusted: npt.NDArray[np.bool_]
    n_rows: int
    n_train: float
    alpha: float

    @property
    def is_drifted(self) -> bool:
        """Whether any column moved."""
        return bool(self.moved)

    @property
    def share_beyond(self) -> float:
        """Share of rows of more leverage than 99 % of the training rows; NaN if not known."""
        return float("nan") if self.leverage is None else float((self.leverage > 1).mean())

    @property
    def share_untrusted(self) -> float:
        """Share of rows whose intervals should not be trusted."""
        return float(self.untrusted.mean())

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data; rows are counted from 0."""
        return {
            "drifted": self.is_drifted,
            "moved": list(self.moved),
            "columns": [one._asdict() for one in self.columns],
            "never_seen": {name: list(levels) for name, levels in self.never_seen.items()},
            "share_beyond_reach": self.share_beyond,
            "share_untrusted": self.share_untrusted,
            "untrusted_rows": np.flatnonzero(self.untrusted).tolist(),
            "rows": self.n_rows,
            "training_rows": self.n_train,
            "alpha": self.alpha,
        }

    @property
    def headline(self) -> str:
        """The finding in one or two sentences."""
        n = len(self.moved)
        columns = "1 column has" if n == 1 else f"{n} columns have"
        told = f"{columns} moved: {', '.join(self.moved)}." if n else "No column has moved."
        if self.leverage is None:
            return f"{told} This model cannot detect rows beyond its reach."
        return (
            f"{told} Intervals of {100 * self.share_untrusted:.1f} % of the rows should not be "
            f"trusted; {100 * self.share_beyond:.1f} % are beyond the reach of training, where "
            "about 1 % would be by chance."
        )

    titles = ("column", "test", "size", "p-value", "what changed")

    def rows(self) -> list[list[str]]:
        """Cells of the table of columns that moved."""
        moved = [one for one in self.columns if one.moved]
        return [
            [one.column, one.test, number(one.size, 2), f"{one.p_value:.2g}", one.note]
            for one in moved[:_MOST_SHOWN]
        ]

    def __str__(self) -> str:
        lines = [self.headline]
        if rows := self.rows():
            lines += ["", *table_lines(self.titles, rows, n_text=2)]
        return "\n".join(lines)
