"""An order of rows and columns that neither units nor positions decide.

Folds, minibatches and first weights are drawn by position. So rows and columns take the positions
that their content gives them: by statistics of standardised cells, which stay as they are when a
numeric column becomes ``c·x + d`` with ``c > 0``, a target ``a·y + b``, or columns change places.
Such changes leave rounding behind. Rows are therefore sorted by a number rather than by a hash:
a little noise can move no row but past a neighbour that is as near as the noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adacap.estimators.tables import Table
from adacap.tables.columns import ROUNDING, Floats

__all__ = ["Arrangement", "arrange"]

Index = npt.NDArray[np.intp]

_KINDS = ("numeric", "boolean", "categorical", "datetime")
_MISSING = 4.0  # deviations from the mean: where no present cell is likely to be
_CELLS = 32_768  # at a time, so that they stay in cache
_DIGITS = 6  # of a statistic, beyond which two columns are alike


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Places of rows and columns, and which way round each target is.

    Attributes
    ----------
    rows : ndarray of int, shape (n_rows,)
        Rows in canonical order, which is no order of values: a slice of it is a random sample.
    columns : tuple of int
        Columns in canonical order.
    sign : ndarray of shape (n_targets,)
        1, or -1 where the target is to be turned round.
    """

    rows: Index
    columns: tuple[int, ...]
    sign: Floats


def arrange(table: Table, targets: Floats, rows: Index) -> Arrangement:
    """Canonical places of different rows.

    Parameters
    ----------
    table : Table
    targets : ndarray of shape (n, c)
        As numbers.
    rows : ndarray of int, shape (m,)
        Rows of the table and of the targets to look at.

    Returns
    -------
    Arrangement
        Of these rows, as positions in ``rows``.

    Examples
    --------
    >>> from adacap.estimators.tables import read_table
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> one, y = arrange(read_table(X), X[:, :1], np.arange(50)), X[:, :1]
    >>> other = arrange(read_table(32 * X[:, ::-1] - 5), 7 - 2 * y, np.arange(50))
    >>> one.columns, other.columns
    ((1, 0), (0, 1))
    >>> bool((one.rows == other.rows).all()), (one.sign * other.sign).tolist()
    (True, [-1.0])
    """
    y = standardised(targets[rows].T)
    columns = _column_order(table, y, rows)
    score = _row_scores(table, columns, rows)
    sign = np.array([_sign(one, score) for one in y])
    order = np.lexsort((*(sign[:, None] * y)[::-1], score))
    shuffle = np.random.default_rng(0).permutation(len(rows))
    return Arrangement(order[shuffle], tuple(columns.tolist()), sign)


def standardised(x: Floats) -> Floats:
    """Each row of a matrix brought to mean 0 and deviation 1, a constant to 0; missing cells are 4.

    Parameters
    ----------
    x : ndarray of shape (d, n)
        Overwritten if it is a float64 matrix in C order.
    """
    z = np.ascontiguousarray(x, dtype=np.float64)
    missing = np.isnan(z)
    some = bool(missing.any())
    if some:
        z[missing] = 0.0
    z /= np.exp2(np.frexp(np.abs(z).max(axis=1, keepdims=True))[1] - 1.0)  # squares stay in range
    count = np.maximum(z.shape[1] - missing.sum(axis=1, keepdims=True), 1) if some else z.shape[1]
    mean = z.sum(axis=1, keepdims=True) / count
    z -= mean
    if some:
        z[missing] = 0.0
    sd = np.sqrt(np.einsum("ij,ij->i", z, z)[:, None] / count)
    z /= np.where(sd > ROUNDING * np.abs(mean), sd, np.inf)
    if some:
        z[missing] = _MISSING
    return z


def _cells(table: Table, columns: Index, rows: Index) -> Iterator[tuple[slice, Floats]]:
    """Standardised cells of some columns at a time, one column to a row."""
    several = max(1, _CELLS // len(rows))
    for start in range(0, len(columns), several):
        part = slice(start, start + several)
        yield part, standardised(np.stack([table.content(j, rows) for j in columns[part]]))


def _column_order(table: Table, y: Floats, rows: Index) -> Index:
    """Columns by kind, tie to the targets, skewness and tails; alike ones as they stand."""
    n_columns = table.n_columns
    keys = np.empty((4, n_columns))
    keys[0] = [_KINDS.index(column.kind) for column in table.columns]
    for part, z in _cells(table, np.arange(n_columns), rows):
        squares = z * z
        keys[1, part] = ((z @ y.T / len(rows)) ** 2).sum(axis=1)
        keys[2, part] = np.einsum("ij,ij->i", squares, z) / len(rows)
        keys[3, part] = np.einsum("ij,ij->i", squares, squares) / len(rows)
    return np.lexsort(np.round(keys, _DIGITS)[::-1])


def _row_scores(table: Table, columns: Index, rows: Index) -> Floats:
    """One number per row, the same for rows of equal cells and for no others."""
    factors = np.random.default_rng(1).normal(size=len(columns))
    score = np.zeros(len(rows))
    for part, z in _cells(table, columns, rows):
        for factor, cells in zip(factors[part], z, strict=True):
            score += factor * cells
    return score


def _sign(y: Floats, score: Floats) -> float:
    """The way round in which the first odd statistic that is not 0 is positive."""
    u = score / (np.sqrt(np.mean(score**2)) or 1.0)
    for weight in (y**2, u, u**2, u * y**2):
        found = float(np.mean(y * weight))
        if abs(found) > 10.0**-_DIGITS:
            return float(np.sign(found))
    return 1.0
