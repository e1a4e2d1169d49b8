"""True and permuted labels, for rows that may carry weights.

A weight of 2 is the row twice. So that this holds exactly although the labels are shuffled at
random, equal rows are merged and all rows are put in an order that depends on content alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from adacap._typing import Floats, Index

__all__ = ["DistinctRows", "LabelSets", "as_generator", "draw_orders", "make_sets", "merge"]


def as_generator(random_state: Any) -> np.random.Generator:
    """Generator from an int, None, a Generator or a RandomState; the global one is never used.

    Examples
    --------
    >>> as_generator(0).integers(10) == np.random.default_rng(0).integers(10)
    np.True_
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)


def draw_orders(n_rows: int, n_permutations: Any, rng: np.random.Generator) -> Index:
    """Random orders of the rows, of shape (n_permutations, n_rows).

    Examples
    --------
    >>> draw_orders(3, 2, np.random.default_rng(0)).shape
    (2, 3)
    """
    whole = isinstance(n_permutations, Integral) and not isinstance(n_permutations, bool)
    if not whole or n_permutations < 1:
        raise ValueError(
            f"n_permutations must be an integer of at least 1, got {n_permutations!r}."
        )
    if n_rows < 2:
        raise ValueError(
            f"Labels can be permuted among at least 2 different rows, got n_samples={n_rows}."
        )
    return np.stack([rng.permutation(n_rows) for _ in range(n_permutations)])


@dataclass(frozen=True)
class DistinctRows:
    """Different rows in canonical order; ``weight`` is None where all weigh 1."""

    X: Floats
    Y: Floats
    weight: Floats | None


def merge(X: Floats, Y: Floats, weight: Floats | None) -> DistinctRows:
    """Drop rows of weight 0, merge equal ones, order by target and then by features.

    Ordering by value keeps the order, and so the permuted labels of a seed, when the targets are
    shifted or scaled or the features are rotated.

    Examples
    --------
    >>> rows = merge(np.array([[1.0], [2.0], [1.0]]), np.array([[5.0], [4.0], [5.0]]), None)
    >>> rows.X.ravel().tolist(), rows.weight.tolist()
    ([2.0, 1.0], [1.0, 2.0])
    """
    w = np.ones(len(X)) if weight is None else weight
    present = np.flatnonzero(w)
    X, Y, w = X[present], Y[present], w[present]
    order = np.argsort(Y[:, 0], kind="stable")
    if (np.diff(Y[order, 0]) == 0).any():  # only ties need the other columns
        order = np.lexsort((*X.T[::-1], *Y.T[::-1]))
    X, Y, w = X[order], Y[order], w[order]
    new = (np.diff(Y, axis=0) != 0).any(1)
    tied = np.flatnonzero(~new)
    new[tied] = (X[tied] != X[tied + 1]).any(1)
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(X)), dtype=bool), new]))
    w = np.add.reduceat(w, first) if len(first) else w
    return DistinctRows(X[first], Y[first], None if (w == 1).all() else w)


@dataclass(frozen=True)
class LabelSets:
    """Label sets as ridge sees them: rows times √weight, centred where there is an intercept.

    ``values`` (n, 1 + T, k) holds the truth first. ``within`` (k,) is the part of the sum of
    squares that permuted labels have among the copies of one row, where no model can reach it.
    """

    values: Floats
    within: Floats


def make_sets(Y: Floats, permutations: Index, weight: Floats | None, centre: bool) -> LabelSets:
    """Put true and permuted labels side by side.

    Without weights the permuted sets are plain permutations. With weights, ``√w (y − ȳ)`` is
    permuted after a reflection that takes the direction √w to the constant one, and scaled, such
    that mean and covariance are those of permuting Σw single rows, s²(I − √w√wᵀ/Σw).

    From Y (n, k) and permutations (T, n). Weights are counts; if they sum to less than n they
    cannot be, and only their ratios matter. ``centre`` says whether the model has an intercept.

    Examples
    --------
    >>> y = np.array([[1.0], [2.0], [6.0]])
    >>> make_sets(y, np.array([[2, 0, 1]]), None, centre=True).values[..., 0]
    array([[-2.,  3.],
           [-1., -2.],
           [ 3., -1.]])
    """
    n = len(Y)
    w = np.ones(n) if weight is None else weight
    root, total = np.sqrt(w)[:, None], float(w.sum())
    mean = w @ Y / total
    E = root * (Y - mean)
    scale2 = (n - 1) / (max(total, n) - 1)
    shuffled = np.moveaxis(_reflect(E, root)[permutations], 0, 1)  # (n, T, k)
    permuted = np.sqrt(scale2) * _reflect(shuffled.reshape(n, -1), root).reshape(shuffled.shape)
    values = np.concatenate([E[:, None], permuted], axis=1)
    if not centre:
        values += (root * mean)[:, None]
    return LabelSets(values, (1 - scale2) * (E**2).sum(0))


def _reflect(V: Floats, root: Floats) -> Floats:
    """Reflection that swaps the directions √w and 1; nothing to do where they agree."""
    h = 1 / np.sqrt(len(root)) - root / np.sqrt((root**2).sum())
    square = (h**2).sum()
    if square < 1e-24:
        return V
    return np.asarray(V - (2 / square) * h * (h.T @ V))
