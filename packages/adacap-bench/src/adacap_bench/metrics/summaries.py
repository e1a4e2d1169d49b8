"""One number per method: means, P90, P95, PMA, runtime, and all of them side by side."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from adacap_bench.metrics.ranks import friedman_ranks
from adacap_bench.metrics.scores import FloatArray, ScoreTable

__all__ = [
    "MeanScore",
    "Runtime",
    "leaderboard",
    "mean_scores",
    "p_share",
    "pma",
    "runtime",
    "top1",
]


@dataclass(frozen=True)
class MeanScore:
    """Mean over the experiments a method has, with its standard error."""

    mean: float
    se: float
    n: int


@dataclass(frozen=True)
class Runtime:
    """Seconds of ``fit``: mean and longest, and the mean as a multiple of a reference's."""

    mean: float
    longest: float
    relative: float


def mean_scores(table: ScoreTable) -> dict[str, MeanScore]:
    """Mean score of each method and its standard error.

    The error is ``sd / √n`` with ``n - 1`` degrees of freedom over experiments, so it holds the
    differences between tasks too; compare two methods with
    :func:`~adacap_bench.metrics.paired_bootstrap` instead.
    """
    return {
        method: _mean_score(table.values[:, j][~np.isnan(table.values[:, j])])
        for j, method in enumerate(table.methods)
    }


def _mean_score(values: FloatArray) -> MeanScore:
    n = len(values)
    mean = float(values.mean()) if n else np.nan
    se = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return MeanScore(mean, se, n)


def _ratios(table: ScoreTable, what: str) -> FloatArray:
    """best/own for errors, own/best for scores: 1 for the best of an experiment, less below."""
    if np.nanmin(table.values, initial=0.0) < 0:
        raise ValueError(
            f"{what} compares ratios and needs scores that are not negative; {table.metric.label} "
            f"goes down to {np.nanmin(table.values):.4g} here. Use rmse, auc or accuracy."
        )
    own, best = table.values, table.best()[:, None]
    over, under = (own, best) if table.metric.greater_is_better else (best, own)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = over / under
    # 0/0: the method is as good as the best, both being perfect (or both useless).
    both_zero = (over == 0) & (under == 0)
    return np.where(both_zero, 1.0, ratios)


def p_share(table: ScoreTable, level: float = 0.9) -> dict[str, float]:
    """Share of experiments in which a method came close to the best one: P90 is level 0.9.

    For errors ``best ≥ level · own`` (the paper's definition), for scores, where more is better,
    ``own ≥ level · best``. A method's share is over the experiments it has.

    Parameters
    ----------
    table : ScoreTable
    level : float, default=0.9
        Between 0 and 1.

    Returns
    -------
    dict
        From method to a number between 0 and 1.
    """
    if not 0 < level <= 1:
        raise ValueError(f"level must be in (0, 1], got {level!r}.")
    ratios = _ratios(table, f"P{100 * level:g}")
    near = np.where(np.isnan(ratios), np.nan, ratios >= level * (1 - 1e-12))
    return _column_means(table, near)


def pma(table: ScoreTable) -> dict[str, float]:
    """Mean ratio to the best: ``best / own`` for errors, ``own / best`` for scores."""
    return _column_means(table, _ratios(table, "PMA"))


def top1(table: ScoreTable) -> dict[str, float]:
    """Share of experiments each method wins; methods that tie for the best divide the point."""
    points = first_places(table)
    played = ~np.isnan(table.best())
    n = int(played.sum())
    return {
        method: float(points[:, j].sum() / n) if n else np.nan
        for j, method in enumerate(table.methods)
    }


def first_places(table: ScoreTable) -> FloatArray:
    """Point of each experiment, divided among the methods that tie for the best."""
    winners = (table.values == table.best()[:, None]).astype(float)
    shares: FloatArray = winners / np.maximum(winners.sum(axis=1, keepdims=True), 1.0)
    return shares


def _column_means(table: ScoreTable, values: FloatArray) -> dict[str, float]:
    counts = (~np.isnan(values)).sum(axis=0)
    sums = np.nansum(values, axis=0)
    return {
        method: float(sums[j] / counts[j]) if counts[j] else np.nan
        for j, method in enumerate(table.methods)
    }


def runtime(table: ScoreTable, reference: str | None = None) -> dict[str, Runtime]:
    """Seconds each method needs to fit.

    Parameters
    ----------
    table : ScoreTable
    reference : str, optional
        Method whose mean time counts as 1; the fastest of those with the fewest unknown times by
        default. Only experiments for which both times are known are compared.
    """
    reference = reference or _fastest(table)
    base = table.seconds[:, table.column(reference)] if reference else np.array([])
    return {method: _runtime(table.seconds[:, j], base) for j, method in enumerate(table.methods)}


def _runtime(own: FloatArray, base: FloatArray) -> Runtime:
    known = own[~np.isnan(own)]
    if not len(known):
        return Runtime(np.nan, np.nan, np.nan)
    both = ~np.isnan(own) & ~np.isnan(base)
    total = float(base[both].sum())
    relative = float(own[both].sum()) / total if total > 0 else np.nan
    return Runtime(float(known.mean()), float(known.max()), relative)


def _fastest(table: ScoreTable) -> str | None:
    known = (~np.isnan(table.seconds)).sum(axis=0)
    if not known.size or known.max() == 0:
        return None
    candidates = [j for j in range(len(table.methods)) if known[j] == known.max()]
    return table.methods[min(candidates, key=lambda j: float(np.nanmean(table.seconds[:, j])))]


def leaderboard(table: ScoreTable, *, reference: str | None = None) -> pd.DataFrame:
    """All summaries side by side, the best mean first, methods with gaps last.

    Columns: method, category, n, missing, mean, se, p90, p95, pma, rank, top1, fit_seconds,
    longest_fit, relative_time. The rank is the Friedman rank among the methods without gaps, over
    all experiments; ``nan`` for the others. P90, P95 and PMA are ``nan`` if a score is below 0.

    Examples
    --------
    >>> from adacap_bench.metrics import from_frame
    >>> rows = [("a", "ols", 0.5), ("a", "rf", 0.4), ("b", "ols", 0.2), ("b", "rf", 0.25)]
    >>> frame = pd.DataFrame(rows, columns=["task", "method", "test_rmse"])
    >>> frame = frame.assign(kind="regression", split=0, seed=0, status="ok")
    >>> leaderboard(from_frame(frame))[["method", "mean", "p90", "pma", "rank", "top1"]]
      method   mean  p90  pma  rank  top1
    0     rf  0.325  0.5  0.9   1.5   0.5
    1    ols  0.350  0.5  0.9   1.5   0.5
    """
    table.require_rows()
    means, times, wins = mean_scores(table), runtime(table, reference), top1(table)
    whole = table.complete_methods()
    ranks = friedman_ranks(whole) if whole.methods else {}
    ratios = bool(np.nanmin(table.values, initial=0.0) >= 0)
    shares = [p_share(table, 0.9), p_share(table, 0.95), pma(table)] if ratios else [{}, {}, {}]
    rows: list[dict[str, Any]] = [
        {
            "method": method,
            "category": table.categories[method],
            "n": means[method].n,
            "missing": len(table.experiments) - means[method].n,
            "mean": means[method].mean,
            "se": means[method].se,
            "p90": shares[0].get(method, np.nan),
            "p95": shares[1].get(method, np.nan),
            "pma": shares[2].get(method, np.nan),
            "rank": ranks.get(method, np.nan),
            "top1": wins[method],
            "fit_seconds": times[method].mean,
            "longest_fit": times[method].longest,
            "relative_time": times[method].relative,
        }
        for method in table.methods
    ]
    sign = -1 if table.metric.greater_is_better else 1
    rows.sort(key=lambda row: (row["missing"] > 0, np.isnan(row["mean"]), sign * row["mean"]))
    return pd.DataFrame(rows)
