"""Prediction intervals and sets from errors on rows that a model has not seen; NumPy only.

With n errors of exchangeable rows, the next row's error is at most the ``⌈(n + 1)·coverage⌉``-th
smallest of them with probability ``coverage``, whatever the model and the distribution. Rows may
carry weights; ranks are then sums of weights.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["conformal_quantile", "conformal_set", "cv_plus", "cv_quantile", "least_rows"]

Floats = npt.NDArray[np.float64]

_SLACK = 1e-9  # (9 + 1)·0.9 is 9 and not a little more
_HALVINGS = 60  # of an interval as wide as the members differ: below the rounding of its ends


def least_rows(coverage: float) -> int:
    """Fewest rows for which an interval of this coverage is finite.

    Examples
    --------
    >>> least_rows(0.9), least_rows(0.95)
    (9, 19)
    """
    return math.ceil(coverage / (1 - coverage) - _SLACK)


def conformal_quantile(errors: Floats, coverage: float, weight: Floats | None = None) -> Floats:
    """The ``⌈(n + 1)·coverage⌉``-th smallest error of each column.

    Parameters
    ----------
    errors : ndarray of shape (n, c)
        Absolute errors on rows that the model has not seen.
    coverage : float
        Between 0 and 1.
    weight : ndarray of shape (n,), optional
        How often each row counts; the row to come counts once.

    Returns
    -------
    ndarray of shape (c,)
        Infinite where there are too few rows, see :func:`least_rows`.

    Examples
    --------
    >>> conformal_quantile(np.arange(1.0, 10.0)[:, None], 0.8)
    array([8.])
    >>> conformal_quantile(np.arange(1.0, 9.0)[:, None], 0.9)
    array([inf])
    """
    return np.array([_Sorted(column, weight).quantile(coverage) for column in errors.T])


def cv_plus(
    predictions: Floats,
    errors: Floats,
    fold: npt.NDArray[np.integer],
    coverage: float,
    weight: Floats | None = None,
    scale: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Interval of CV+ (Barber, Candès, Ramdas, Tibshirani 2021).

    From the ``⌊(n + 1)(1 − coverage)⌋``-th smallest of all ``μ₋ₖ(x) − s₋ₖ(x)·Rᵢ`` to the
    ``⌈(n + 1)·coverage⌉``-th smallest of all ``μ₋ₖ(x) + s₋ₖ(x)·Rᵢ``, where row i is in fold k.
    With one fold it is split conformal prediction.

    Parameters
    ----------
    predictions : ndarray of shape (m, K, c)
        ``μ₋ₖ(x)`` of the model trained without fold k.
    errors : ndarray of shape (n, c)
        ``Rᵢ``: absolute error of row i under the model trained without its fold, over the scale
        that this model gives the row.
    fold : ndarray of shape (n,)
        k of each row.
    coverage : float
    weight : ndarray of shape (n,), optional
        How often each row counts.
    scale : ndarray of shape (m, K, c), optional
        ``s₋ₖ(x)``; 1 by default.

    Returns
    -------
    lower, upper : ndarray of shape (m, c)

    Notes
    -----
    Instead of sorting n sums for each of m rows, the bound is found by bisection: counting how many
    sums lie below a value takes one search in the sorted errors of each fold. The cost is
    ``m·K·log n``.

    Examples
    --------
    >>> errors = np.array([[1.0], [3.0], [2.0], [4.0]])
    >>> lower, upper = cv_plus(np.array([[[0.0], [10.0]]]), errors, np.array([0, 0, 1, 1]), 0.8)
    >>> lower.round(6).tolist(), upper.round(6).tolist()  # of -3, -1, 6, 8 and of 1, 3, 12, 14
    ([[-3.0]], [[14.0]])
    """
    sums = _Sums(predictions, errors, fold, weight, scale)
    upper, lower = sums.quantile(coverage), -sums.turned(errors).quantile(coverage)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def cv_quantile(
    predictions: Floats,
    errors: Floats,
    fold: npt.NDArray[np.integer],
    level: float,
    weight: Floats | None = None,
    scale: Floats | None = None,
) -> Floats:
    """Value that a new row stays below with probability ``level``, from signed errors.

    For a level of one half or more, the ``⌈(n + 1)·level⌉``-th smallest of all
    ``μ₋ₖ(x) + s₋ₖ(x)·eᵢ``; below one half the ``⌊(n + 1)·level⌋``-th, so that a tail is never
    promised to be thinner than it is.

    Parameters
    ----------
    predictions, fold, weight, scale
        As in :func:`cv_plus`.
    errors : ndarray of shape (n, c)
        ``eᵢ``: target minus prediction, over the scale of the row.
    level : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (m, c)
        Infinite where there are too few rows.

    Examples
    --------
    >>> errors = np.array([-2.0, -1.0, 0.0, 1.0, 5.0])[:, None]
    >>> fold, x = np.zeros(5, dtype=int), np.array([[[10.0]]])
    >>> [float(cv_quantile(x, errors, fold, level)[0, 0]) for level in (0.2, 0.5, 0.8)]
    [8.0, 10.0, 15.0]
    """
    if level >= 0.5:
        return _Sums(predictions, errors, fold, weight, scale).quantile(level)
    return -_Sums(-predictions, -errors, fold, weight, scale).quantile(1 - level)


def conformal_set(
    scores: Floats,
    errors: Floats,
    fold: npt.NDArray[np.integer],
    coverage: float,
    weight: Floats | None = None,
) -> npt.NDArray[np.bool_]:
    """Classes that a new row may have, by CV+ for classes (Romano, Sesia, Candès 2020).

    A class is in the set where the rows that fit their own class better than x fits this one, each
    under the models that never saw it, count less than ``coverage·(n + 1)``. With one fold it is
    split conformal prediction.

    Parameters
    ----------
    scores : ndarray of shape (m, K, n_classes)
        How badly each class fits x under the model trained without fold k.
    errors : ndarray of shape (n,)
        How badly its own class fits row i, under the model trained without its fold.
    fold : ndarray of shape (n,)
    coverage : float
    weight : ndarray of shape (n,), optional

    Returns
    -------
    ndarray of bool of shape (m, n_classes)

    Examples
    --------
    >>> errors, fold = np.arange(1, 10) / 10, np.zeros(9, dtype=int)
    >>> conformal_set(np.array([[[0.2, 0.8, 0.95]]]), errors, fold, 0.8)
    array([[ True,  True, False]])
    """
    below = np.zeros((len(scores), scores.shape[2]))
    for k, part in enumerate(_parts(errors, fold, weight, scores.shape[1])):
        below += part.weight_below(scores[:, k])
    total = float(len(errors) if weight is None else weight.sum())
    found: npt.NDArray[np.bool_] = below < coverage * (total + 1) * (1 - _SLACK)
    return found


class _Sorted:
    """Sorted errors, and their cumulative weights."""

    def __init__(self, errors: Floats, weight: Floats | None) -> None:
        order = np.argsort(errors, kind="stable")
        self.errors = errors[order]
        ones = np.ones(len(errors)) if weight is None else weight[order]
        self.below = np.concatenate([[0.0], np.cumsum(ones)])

    @property
    def total(self) -> float:
        return float(self.below[-1])

    def rank(self, coverage: float) -> float:
        """Weight that the errors up to the quantile must have."""
        return (self.total + 1) * coverage - _SLACK * (self.total + 1)

    def quantile(self, coverage: float) -> float:
        place = int(np.searchsorted(self.below[1:], self.rank(coverage)))
        return float(self.errors[place]) if place < len(self.errors) else math.inf

    def weight_up_to(self, values: Floats) -> Floats:
        found: Floats = self.below[np.searchsorted(self.errors, values, side="right")]
        return found

    def weight_below(self, values: Floats) -> Floats:
        found: Floats = self.below[np.searchsorted(self.errors, values, side="left")]
        return found


def _parts(
    errors: Floats, fold: npt.NDArray[np.integer], weight: Floats | None, n_folds: int
) -> list[_Sorted]:
    """Sorted errors of each fold."""
    own = [fold == k for k in range(n_folds)]
    return [_Sorted(errors[at], None if weight is None else weight[at]) for at in own]


class _Sums:
    """All sums of a prediction of fold k and an error of fold k, for each row and target."""

    def __init__(
        self,
        predictions: Floats,
        errors: Floats,
        fold: npt.NDArray[np.integer],
        weight: Floats | None,
        scale: Floats | None,
    ) -> None:
        self.predictions, self.errors, self.fold = predictions, errors, fold
        self.weight, self.scale = weight, scale

    def turned(self, errors: Floats) -> _Sums:
        """The sums with predictions of the other sign, and these errors."""
        return _Sums(-self.predictions, errors, self.fold, self.weight, self.scale)

    def quantile(self, level: float) -> Floats:
        """``(m, c)``: the sum of rank ``⌈(n + 1)·level⌉``."""
        m, n_folds, _ = self.predictions.shape
        found = np.empty((m, self.errors.shape[1]))
        for j, column in enumerate(self.errors.T):
            scale = None if self.scale is None else self.scale[:, :, j]
            parts = _parts(column, self.fold, self.weight, n_folds)
            pooled = _Sorted(column, self.weight)
            found[:, j] = _quantile_of_sums(self.predictions[:, :, j], scale, parts, pooled, level)
        return found


def _quantile_of_sums(
    centres: Floats, scale: Floats | None, parts: list[_Sorted], pooled: _Sorted, level: float
) -> Floats:
    """For each row of ``centres`` (m, K), the quantile of ``centre of k + scale · errors of k``."""
    middle, rank = pooled.quantile(level), pooled.rank(level)
    if math.isinf(middle):
        return np.full(len(centres), math.inf)
    widths: Floats = np.ones_like(centres) if scale is None else scale
    at_middle: Floats = centres + widths * middle
    low: Floats = at_middle.min(1)
    high: Floats = at_middle.max(1)  # it lies in between
    for _ in range(_HALVINGS if centres.shape[1] > 1 else 0):
        value = (low + high) / 2
        below: Floats = np.zeros(len(value))
        for k, part in enumerate(parts):
            below += part.weight_up_to((value - centres[:, k]) / widths[:, k])
        enough = below >= rank
        high, low = np.where(enough, value, high), np.where(enough, low, value)
    return high
