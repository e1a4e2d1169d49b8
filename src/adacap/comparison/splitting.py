"""Rows to train on and rows to test on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap.estimators.dependence import Dependence, dependent_hold_out
from adacap.estimators.rows import hold_out

__all__ = ["split_dependent", "split_rows", "take_rows"]

Array: TypeAlias = npt.NDArray[Any]
Index: TypeAlias = npt.NDArray[np.intp]


def split_rows(y: Array, test_size: float, seed: int, *, by_class: bool) -> tuple[Index, Index]:
    """Rows to train on and rows to test on; a class that training has none of is not tested.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
    test_size : float
        Share of rows to test on.
    seed : int
    by_class : bool
        Each class gives its share.

    Examples
    --------
    >>> train, test = split_rows(np.arange(10.0), 0.2, seed=0, by_class=False)
    >>> len(train), len(test)
    (8, 2)
    """
    n_rows, rng = len(y), np.random.default_rng([seed, 1])
    if not by_class:
        return hold_out(n_rows, test_size, n_rows, None, rng)
    strata = np.unique(y, return_inverse=True)[1].astype(np.intp)
    train, test = hold_out(n_rows, test_size, n_rows, strata, rng)
    return train, test[np.isin(strata[test], strata[train])]


def split_dependent(
    dependence: Dependence,
    y: Array,
    test_size: float,
    seed: int,
    *,
    by_class: bool,
    turn: int = 0,
    n_turns: int = 1,
) -> tuple[Index, Index]:
    """The same for rows that are not independent: whole groups, or later rows, are tested.

    Each seed draws other groups. In time, the test part is a window of ``test_size`` of the
    rows and all earlier rows are trained on; the window moves from the middle of the table at the
    first turn to its end at the last. With both, those rows of the window are tested that belong
    to groups which are not trained on.

    Parameters
    ----------
    dependence : Dependence
    y, test_size, seed, by_class
        As of :func:`split_rows`.
    turn, n_turns : int
        Which of how many splits.

    Examples
    --------
    >>> rows = Dependence(time=np.arange(10))
    >>> y = np.zeros(10)
    >>> split_dependent(rows, y, 0.2, 0, by_class=False, turn=0, n_turns=2)
    (array([0, 1, 2, 3, 4, 5]), array([6, 7]))
    >>> split_dependent(rows, y, 0.2, 0, by_class=False, turn=1, n_turns=2)[1]
    array([8, 9])
    """
    strata = np.unique(y, return_inverse=True)[1].astype(np.intp) if by_class else None
    rows = np.arange(len(y))
    if dependence.time is not None:
        rows = _until(dependence.time, test_size, turn, n_turns)
        test_size = test_size * len(y) / len(rows)
    own = None if strata is None else strata[rows]
    rng = np.random.default_rng([seed, 1])
    part = dependence.take(rows)
    train, test = dependent_hold_out(part, test_size, len(y), own, rng)
    train, test = rows[train], rows[test]
    return train, test if strata is None else test[np.isin(strata[test], strata[train])]


def _until(time: Index, test_size: float, turn: int, n_turns: int) -> Index:
    """Rows up to the end of the test window of this turn."""
    first = min(1.0, max(0.5, 1 - test_size * n_turns) + test_size)
    share = 1.0 if n_turns == 1 else first + (1 - first) * turn / (n_turns - 1)
    last = np.sort(time)[max(1, round(share * len(time))) - 1]
    return np.flatnonzero(time <= last)


def take_rows(X: Any, rows: Index) -> Any:
    """Rows of an array, a list, or a frame of pandas, polars or arrow.

    Examples
    --------
    >>> take_rows([["a"], ["b"], ["c"]], np.array([2, 0]))
    [['c'], ['a']]
    """
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X.take(rows) if hasattr(X, "take") and not isinstance(X, np.ndarray) else X[rows]
