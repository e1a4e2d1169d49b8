"""Two methods against each other: paired bootstrap and win rates."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from adacap_bench.metrics.scores import FloatArray, ScoreTable

__all__ = ["PairedBootstrap", "paired_bootstrap", "win_rate_matrix"]


@dataclass(frozen=True)
class PairedBootstrap:
    """Mean of first minus second over the experiments both have.

    `low` and `high` bound it; `first_better` is the share of resamples in which the first method
    came out strictly better.
    """

    first: str
    second: str
    mean: float
    low: float
    high: float
    first_better: float
    n_experiments: int
    n_units: int


def paired_bootstrap(
    table: ScoreTable,
    first: str,
    second: str,
    *,
    n_resamples: int = 10_000,
    level: float = 0.95,
    unit: Literal["task", "experiment"] = "task",
    seed: int = 0,
) -> PairedBootstrap:
    """Percentile bootstrap of the mean difference between two methods.

    Parameters
    ----------
    table : ScoreTable
    first, second : str
        Names of methods. The difference is first − second, in the units of the metric.
    n_resamples : int, default=10000
    level : float, default=0.95
        Of the interval.
    unit : {"task", "experiment"}, default="task"
        What is drawn with replacement. Splits of a task share its rows, so whole tasks are drawn;
        drawing single experiments gives intervals that are too short, but works for one task.
    seed : int, default=0
        The same seed gives the same interval.
    """
    _check_bootstrap(n_resamples, level, unit)
    differences = table.values[:, table.column(first)] - table.values[:, table.column(second)]
    known = ~np.isnan(differences)
    names = [task if unit == "task" else f"{task}\0{split}" for task, split in table.experiments]
    units = np.unique(np.array(names, dtype=object)[known], return_inverse=True)[1]
    n_units = int(units.max()) + 1 if units.size else 0
    if n_units < 2:
        raise ValueError(
            f"A bootstrap over {unit}s needs at least 2 of them in which both {first!r} and "
            f"{second!r} have a result, got {n_units}."
            + (" Use unit='experiment'." if unit == "task" and known.sum() > 1 else "")
        )
    means = _resampled_means(differences[known], units, n_units, n_resamples, seed)
    tail = (1 - level) / 2
    sign = 1 if table.metric.greater_is_better else -1
    return PairedBootstrap(
        first=first,
        second=second,
        mean=float(differences[known].mean()),
        low=float(np.quantile(means, tail)),
        high=float(np.quantile(means, 1 - tail)),
        first_better=float((sign * means > 0).mean()),
        n_experiments=int(known.sum()),
        n_units=n_units,
    )


def _check_bootstrap(n_resamples: int, level: float, unit: str) -> None:
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples!r}.")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level!r}.")
    if unit not in ("task", "experiment"):
        raise ValueError(f"unit must be 'task' or 'experiment', got {unit!r}.")


def _resampled_means(
    differences: FloatArray, units: NDArray[np.int64], n_units: int, n_resamples: int, seed: int
) -> FloatArray:
    """Means over resampled units; a unit drawn twice counts twice with all its experiments."""
    sums = np.bincount(units, weights=differences, minlength=n_units)
    sizes = np.bincount(units, minlength=n_units)
    draws = np.random.default_rng(seed).integers(n_units, size=(n_resamples, n_units))
    means: FloatArray = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    return means


def win_rate_matrix(table: ScoreTable) -> FloatArray:
    """How often the method of the row beats that of the column.

    Over the experiments both have; a tie is half a win, so that the entries of a pair sum to 1.
    The diagonal, and pairs that never met, are ``nan``.

    Returns
    -------
    array of shape (n_methods, n_methods)
    """
    losses = table.losses
    k = len(table.methods)
    rates = np.full((k, k), np.nan)
    for i in range(k):
        own, other = losses[:, [i]], losses
        met = ~np.isnan(own) & ~np.isnan(other)
        wins = ((own < other) & met).sum(axis=0) + 0.5 * ((own == other) & met).sum(axis=0)
        n = met.sum(axis=0)
        rates[i] = np.where(n > 0, wins / np.maximum(n, 1), np.nan)
    np.fill_diagonal(rates, np.nan)
    return rates
