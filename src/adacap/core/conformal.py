"""Prediction intervals from errors on rows that a model has not seen; NumPy only.

With n errors of exchangeable rows, the next row's error is at most the ``⌈(n + 1)·coverage⌉``-th
smallest of them with probability ``coverage``, whatever the model and the distribution. A row may
count several times, or for a part: then ranks are sums of weights.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["conformal_quantile", "cv_plus", "least_rows"]

Floats = npt.NDArray[np.float64]

_SLACK = 1e-9  # (9 + 1)·0.9 is 9 and not a little more
_HALVINGS = 60  # of an interval as wide as the members differ: below the rounding of its ends


def least_rows(coverage: float) -> int:
    """Fewest rows that can promise a coverage by a finite interval.

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
) -> tuple[Floats, Floats]:
    """Interval of CV+ (Barber, Candès, Ramdas, Tibshirani 2021).

    From the ``⌊(n + 1)(1 − coverage)⌋``-th smallest of all ``μ₋ₖ(x) − Rᵢ`` to the
    ``⌈(n + 1)·coverage⌉``-th smallest of all ``μ₋ₖ(x) + Rᵢ``, where row i is in fold k.

    Parameters
    ----------
    predictions : ndarray of shape (m, K, c)
        ``μ₋ₖ(x)`` of the model trained without fold k.
    errors : ndarray of shape (n, c)
        ``Rᵢ``: absolute error of row i under the model trained without its fold.
    fold : ndarray of shape (n,)
        k of each row.
    coverage : float
    weight : ndarray of shape (n,), optional
        How often each row counts.

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
    n_folds = predictions.shape[1]
    upper = np.empty((len(predictions), errors.shape[1]))
    lower = np.empty_like(upper)
    for j, column in enumerate(errors.T):
        pooled = _Sorted(column, weight)
        parts = [
            _Sorted(column[fold == k], None if weight is None else weight[fold == k])
            for k in range(n_folds)
        ]
        centres = predictions[:, :, j]
        upper[:, j] = _quantile_of_sums(centres, parts, pooled, coverage)
        lower[:, j] = -_quantile_of_sums(-centres, parts, pooled, coverage)
    return np.minimum(lower, upper), np.maximum(lower, upper)


class _Sorted:
    """Errors in order, and the weight of those up to each."""

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


def _quantile_of_sums(
    centres: Floats, parts: list[_Sorted], pooled: _Sorted, coverage: float
) -> Floats:
    """For each row of ``centres`` (m, K), the quantile of ``centre of k + errors of part k``."""
    middle, rank = pooled.quantile(coverage), pooled.rank(coverage)
    if math.isinf(middle):
        return np.full(len(centres), math.inf)
    low: Floats = centres.min(1) + middle
    high: Floats = centres.max(1) + middle  # it lies in between
    for _ in range(_HALVINGS):
        value = (low + high) / 2
        below = sum(part.weight_up_to(value - centres[:, k]) for k, part in enumerate(parts))
        enough = below >= rank
        high, low = np.where(enough, value, high), np.where(enough, low, value)
    return high
