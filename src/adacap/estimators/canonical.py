"""An order of rows and columns that depends on neither units nor positions.

Folds, minibatches and first weights are drawn by position. So rows and columns are ordered by
content: by statistics of cells on a common scale, which do not change when a numeric column becomes
``c·x + d`` with ``c > 0``, a target ``a·y + b``, or columns change places. Such changes leave
rounding errors. Rows are therefore sorted by a number and not by a hash: a little noise can only
swap rows that are as close as the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Index
from adacap.tables.columns import ROUNDING
from adacap.tables.table import Table

__all__ = ["Arrangement", "arrange"]


_KINDS = ("numeric", "boolean", "categorical", "datetime")
_MISSING = 2.0  # where present cells are between 0 and 1
_CELLS = 65_536  # at a time, so that they stay in cache
_DIGITS = 6  # of a statistic, beyond which two columns are alike


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Order of rows and columns, and the sign of each target."""

    rows: Index  # in an order unrelated to their values: a slice is a random sample
    columns: tuple[int, ...]
    sign: Floats  # 1, or -1 where the sign of the target is flipped


def arrange(
    table: Table, targets: Floats, rows: Index, keys: npt.NDArray[np.uint64] | None = None
) -> Arrangement:
    """Canonical places of different rows, as positions in ``rows``, which are ascending.

    ``keys`` are hashes of these rows, to order those whose cells are too close to distinguish.

    Examples
    --------
    >>> from adacap.tables.table import read_table
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> one, y = arrange(read_table(X), X[:, :1], np.arange(50)), X[:, :1]
    >>> other = arrange(read_table(32 * X[:, ::-1] - 5), 7 - 2 * y, np.arange(50))
    >>> one.columns, other.columns
    ((1, 0), (0, 1))
    >>> bool((one.rows == other.rows).all()), (one.sign * other.sign).tolist()
    (True, [-1.0])
    """
    y = _standardised(targets[rows].T)
    cells = _Cells.of(table, rows)
    columns, deviation = _column_order(cells, y)
    score = _row_scores(cells, columns, deviation)
    sign = np.array([_sign(one, score) for one in y])
    last = np.zeros(len(rows)) if keys is None else keys
    order = np.lexsort((last, *(sign * targets[rows]).T[::-1], score))
    shuffle = np.random.default_rng(0).permutation(len(rows))
    return Arrangement(order[shuffle], tuple(columns.tolist()), sign)


def _standardised(y: Floats) -> Floats:
    """Each row of a matrix scaled to mean 0 and deviation 1, a constant to 0."""
    exponent = np.frexp(np.abs(y).max(axis=1, keepdims=True))[1]
    z: Floats = np.ldexp(y, 1 - exponent)  # squares stay in range
    mean = z.mean(axis=1, keepdims=True)
    z -= mean
    deviation = np.sqrt(np.mean(z**2, axis=1, keepdims=True))
    z /= np.where(deviation > ROUNDING * np.abs(mean), deviation, np.inf)
    return z


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of some rows of a table, each column scaled to the range from 0 to 1."""

    table: Table
    rows: Index
    low: Floats  # (d,)
    span: Floats
    shrink: float  # before all else, so that no difference overflows

    @classmethod
    def of(cls, table: Table, rows: Index) -> _Cells:
        """Find the range of each column."""
        low, high = np.full((2, table.n_columns), np.nan)
        for _, cells in _contents(table, rows):
            low = np.fmin(low, np.fmin.reduce(cells, axis=1))
            high = np.fmax(high, np.fmax.reduce(cells, axis=1))
        with np.errstate(over="ignore"):
            shrink = 0.25 if np.isinf(high - low).any() else 1.0
        span = shrink * high - shrink * low
        return cls(table, rows, shrink * low, np.where(span > 0, span, 1.0), shrink)

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        """Some rows at a time, one column to a row of the matrix; missing cells are 2."""
        for part, cells in _contents(self.table, self.rows):
            if self.shrink != 1.0:
                cells *= self.shrink
            cells -= self.low[:, None]
            with np.errstate(over="ignore"):  # none does, but NumPy 1.26 warns of tiny divisors
                cells /= self.span[:, None]
            cells[np.isnan(cells)] = _MISSING
            yield part, cells


def _contents(table: Table, rows: Index) -> Iterator[tuple[slice, Floats]]:
    size = max(1, _CELLS // table.n_columns)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        yield part, table.contents(part if len(rows) == table.n_rows else rows[part])


def _column_order(cells: _Cells, y: Floats) -> tuple[Index, Floats]:
    """Columns by kind, tie to the targets, skewness and tails, and the deviation of each.

    Columns that agree in all of these keep their order.
    """
    n, columns = len(cells.rows), cells.table.columns
    powers, ties = np.zeros((4, len(columns))), np.zeros((len(columns), len(y)))
    for part, z in cells:
        squares = z * z
        powers[0] += z.sum(axis=1)
        powers[1] += np.einsum("ij,ij->i", z, z)
        powers[2] += np.einsum("ij,ij->i", squares, z)
        powers[3] += np.einsum("ij,ij->i", squares, squares)
        ties += z @ y[:, part].T
    m1, m2, m3, m4 = powers / n
    variance = np.maximum(m2 - m1**2, 0.0)
    variance[variance <= ROUNDING] = 1.0  # of a constant
    keys = (
        m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4,
        m3 - 3 * m1 * m2 + 2 * m1**3,
        ((ties / n) ** 2).sum(axis=1),
    )
    keys = tuple(key / variance**k for key, k in zip(keys, (2.0, 1.5, 1.0), strict=True))
    kinds = [_KINDS.index(column.kind) for column in columns]
    mantissa, exponent = np.frexp(np.sqrt(variance))
    deviation = np.ldexp(np.round(mantissa, 9), exponent)  # independent of the order of rows
    return np.lexsort((*np.round(keys, _DIGITS), kinds)), deviation


def _row_scores(cells: _Cells, columns: Index, deviation: Floats) -> Floats:
    """One number per row, the same for rows of equal cells and for no others."""
    factors = np.random.default_rng(1).normal(size=len(columns)) / deviation[columns]
    score = np.zeros(len(cells.rows))
    for part, z in cells:
        for j, factor in zip(columns, factors, strict=True):  # sums in a fixed order
            score[part] += factor * z[j]
    return score


def _sign(y: Floats, score: Floats) -> float:
    """The sign that makes the first nonzero odd statistic positive."""
    u = score - score.mean()
    u /= np.sqrt(np.mean(u**2)) or 1.0
    for weight in (y**2, u, u**2, u * y**2):
        found = float(np.mean(y * weight))
        if abs(found) > 10.0**-_DIGITS:
            return float(np.sign(found))
    return 1.0
