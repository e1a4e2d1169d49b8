"""Two-sample tests against stored summaries, and the correction for testing many columns."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Found", "holm", "level_test", "quantile_test", "share_test", "unseen_test"]

Floats = npt.NDArray[np.float64]

_LEAST_EXPECTED = 5.0  # rows of a level; rarer ones are counted together
_LEAST_SHARE = 1e-4  # in a population stability index, where a level is empty


class Found(NamedTuple):
    """Size of a difference, and the probability of one as large between similar tables."""

    size: float
    p_value: float


def quantile_test(grid: Floats, below: Floats, n: float, values: Floats) -> Found:
    """Kolmogorov–Smirnov test against stored quantiles.

    The largest gap is searched at the stored values only, where the training shares are exact.
    It is never larger than the gap over all values, so the p-value is never too small.

    Parameters
    ----------
    grid, below : ndarrays of shape (q,)
        Values, and the share of training cells at most as large.
    n : float
        Training cells.
    values : ndarray of shape (m,)
        New cells, without missing ones.

    Examples
    --------
    >>> grid = np.arange(1.0, 101.0)
    >>> quantile_test(grid, grid / 100, 100, grid + 30).size
    0.3
    """
    from scipy import stats

    if not len(values) or not n > 0:
        return Found(0.0, 1.0)
    share = np.searchsorted(np.sort(values), grid, side="right") / len(values)
    gap = float(np.abs(share - below).max())
    return Found(round(gap, 12), float(stats.kstwobign.sf(gap * math.sqrt(_both(n, len(values))))))


def _both(n: float, m: float) -> float:
    return n * m / (n + m)


def level_test(before: Floats, now: Floats) -> Found:
    """χ² test of frequencies of levels; the size is the population stability index.

    Levels of few rows are counted together, so that χ² holds.

    Parameters
    ----------
    before, now : ndarrays of shape (n_levels,)
        Rows of each level.

    Examples
    --------
    >>> level_test(np.array([50.0, 50.0]), np.array([50.0, 50.0]))
    Found(size=0.0, p_value=1.0)
    """
    from scipy import stats

    if not before.sum() > 0 or not now.sum() > 0:
        return Found(0.0, 1.0)
    a, b = before / before.sum(), now / now.sum()
    index = _stability(a, b)
    pooled = (before + now) / (before.sum() + now.sum())
    rare = pooled * min(before.sum(), now.sum()) < _LEAST_EXPECTED
    table = np.stack([_together(before, rare), _together(now, rare)])
    table = table[:, table.sum(0) > 0]
    if table.shape[1] < 2:
        return Found(index, 1.0)
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    chi2 = float(((table - expected) ** 2 / expected).sum())
    return Found(index, float(stats.chi2.sf(chi2, table.shape[1] - 1)))


def _stability(a: Floats, b: Floats) -> float:
    a, b = np.maximum(a, _LEAST_SHARE), np.maximum(b, _LEAST_SHARE)
    return float(((b - a) * np.log(b / a)).sum())


def _together(counts: Floats, rare: npt.NDArray[np.bool_]) -> Floats:
    return np.append(counts[~rare], counts[rare].sum())


def share_test(before: float, n: float, now: float, m: float) -> Found:
    """Test of two shares, exact; the size is their difference.

    Examples
    --------
    >>> share_test(0.0, 200, 0.5, 100).p_value < 1e-9, share_test(0.1, 200, 0.1, 100).p_value
    (True, 1.0)
    """
    from scipy import stats

    a, b = round(before * n), round(now * m)
    if a == b == 0 or (a >= round(n) and b >= round(m)):
        return Found(abs(now - before), 1.0)
    table = [[a, max(round(n) - a, 0)], [b, max(round(m) - b, 0)]]
    return Found(abs(now - before), float(stats.fisher_exact(table)[1]))


def unseen_test(counts: Floats, n_unseen: int, m: int) -> Found:
    """Whether more cells have unseen levels than the levels seen once suggest.

    The share of cells of new levels is about that of levels with a single row in training, as Good
    and Turing have it; the test is of these two shares. The size is the share of unseen cells.

    Examples
    --------
    >>> unseen_test(np.array([100.0, 100.0]), 20, 100).p_value < 1e-6
    True
    >>> unseen_test(np.ones(200), 90, 100).p_value > 0.5
    True
    """
    n = float(counts.sum())
    once = float(((counts > 0) & (counts < 1.5)).sum())
    if not n_unseen or not n > 0:
        return Found(0.0, 1.0)
    found = share_test(once / n, n, n_unseen / m, m)
    return Found(n_unseen / m, found.p_value if n_unseen / m > once / n else 1.0)


def holm(p_values: Floats) -> Floats:
    """p-values corrected for their number, by Holm's step-down rule.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.5]))
    array([0.03, 0.08, 0.5 ])
    """
    order = np.argsort(p_values, kind="stable")
    steps = (len(p_values) - np.arange(len(p_values))) * p_values[order]
    found = np.empty(len(p_values))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found
