"""Friedman ranks, the test on them, and the groups that Nemenyi's test cannot separate."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from adacap_bench.metrics.scores import FloatArray, ScoreTable

__all__ = [
    "CriticalDifference",
    "FriedmanTest",
    "critical_difference",
    "friedman_ranks",
    "friedman_test",
    "indistinct_groups",
    "nemenyi_quantile",
]


@dataclass(frozen=True)
class FriedmanTest:
    """Test of "all methods rank alike", with the correction for ties."""

    statistic: float
    p_value: float
    n_experiments: int
    n_methods: int


@dataclass(frozen=True)
class CriticalDifference:
    """Numbers of a critical-difference diagram.

    Attributes
    ----------
    methods : tuple of str
        By rank, the best first.
    ranks : tuple of float
        Mean rank of each.
    difference : float
        Two methods differ significantly where their ranks are at least that far apart.
    groups : tuple of (first, last)
        Positions in `methods`: largest runs within which no two methods differ.
    alpha : float
    test : FriedmanTest
    """

    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    difference: float
    groups: tuple[tuple[int, int], ...]
    alpha: float
    test: FriedmanTest


def _rank_matrix(table: ScoreTable) -> FloatArray:
    """Rank of every method in every experiment, 1 for the best, ties sharing their mean rank."""
    table.require_complete("A Friedman rank")
    return np.asarray(stats.rankdata(table.losses, axis=1), dtype=float)


def friedman_ranks(table: ScoreTable) -> dict[str, float]:
    """Mean rank of each method over the experiments, 1 being the best possible.

    Raises
    ------
    MissingCellsError
        If the table has gaps.
    """
    ranks = _rank_matrix(table).mean(axis=0)
    return dict(zip(table.methods, map(float, ranks), strict=True))


def friedman_test(table: ScoreTable) -> FriedmanTest:
    """Friedman's χ² test with ``k − 1`` degrees of freedom, corrected for ties.

    With mean ranks R over n experiments and t the sizes of the ties,
    ``χ² = [12 n/(k(k+1)) Σ (R − (k+1)/2)²] / [1 − Σ (t³ − t)/(n (k³ − k))]``.
    """
    ranks = _rank_matrix(table)
    n, k = ranks.shape
    if k < 2:
        raise ValueError(f"Friedman's test compares at least 2 methods, got {k}.")
    spread = 12 * n / (k * (k + 1)) * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    sizes = np.concatenate([np.unique(row, return_counts=True)[1] for row in ranks])
    correction = 1 - (sizes**3 - sizes).sum() / (n * (k**3 - k))
    # Nothing but ties: no evidence of any difference.
    statistic = float(spread / correction) if correction > 0 else 0.0
    return FriedmanTest(statistic, float(stats.chi2.sf(statistic, k - 1)), n, k)


def nemenyi_quantile(n_methods: int, alpha: float = 0.05) -> float:
    """Quantile q of Nemenyi's test: of the studentised range, divided by √2.

    Examples
    --------
    >>> round(nemenyi_quantile(10), 3)
    3.164
    """
    if n_methods < 2:
        raise ValueError(f"Nemenyi's test compares at least 2 methods, got {n_methods}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
    return float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2))


def critical_difference(table: ScoreTable, alpha: float = 0.05) -> CriticalDifference:
    """Nemenyi's critical difference ``q √(k(k+1)/(6n))`` and the groups it leaves undecided.

    The test takes experiments for independent, which splits of one task are not:
    pass ``table.by_task()`` for the cautious answer.
    """
    ranks = friedman_ranks(table)
    test = friedman_test(table)
    k, n = test.n_methods, test.n_experiments
    difference = nemenyi_quantile(k, alpha) * np.sqrt(k * (k + 1) / (6 * n))
    methods = sorted(ranks, key=lambda method: (ranks[method], method))
    ordered = tuple(ranks[method] for method in methods)
    groups = indistinct_groups(ordered, float(difference))
    return CriticalDifference(tuple(methods), ordered, float(difference), groups, alpha, test)


def indistinct_groups(ranks: tuple[float, ...], difference: float) -> tuple[tuple[int, int], ...]:
    """Largest runs of sorted ranks, of two or more, that span less than the difference.

    Examples
    --------
    >>> indistinct_groups((1.0, 1.8, 2.5, 4.0), 1.0)
    ((0, 1), (1, 2))
    """
    groups: list[tuple[int, int]] = []
    for first, start in enumerate(ranks):
        last = max(i for i, rank in enumerate(ranks) if rank - start < difference)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return tuple(groups)
