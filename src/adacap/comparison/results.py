"""Scores of methods over splits: means, differences, and errors that account for shared rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from adacap._typing import Array
from adacap.text import plus_minus, table_lines

__all__ = ["Comparison", "ComparisonInterrupted", "Difference", "Estimate", "corrected_error"]


LABELS = {"rmse": "RMSE", "r2": "R²", "accuracy": "accuracy", "auc": "AUC"}


class Estimate(NamedTuple):
    """Mean of a score over splits, and its corrected standard error."""

    mean: float
    standard_error: float


class Difference(NamedTuple):
    """One method minus another, over the splits that both have.

    ``better_in`` of ``n_splits`` splits the first one is better.
    """

    method: str
    metric: str
    difference: float
    standard_error: float
    better_in: int
    n_splits: int
    p_value: float


@dataclass
class Comparison:
    """Scores of every method on every split.

    Attributes
    ----------
    metrics : tuple of str
        The first one is the metric by which methods are compared.
    scores : dict
        ``scores[method][metric]`` has one value per split, NaN where the method failed.
    seconds : dict
        Of each method, to fit and predict, per split.
    failures : dict
        Why a method does not have all scores.
    test_ratio : float
        Test rows per training row.
    n_splits : int
        That were finished.

    Examples
    --------
    >>> found = Comparison(("rmse",), test_ratio=0.25)
    >>> for own, ridge in [(1.0, 2.0), (1.2, 2.1), (0.9, 2.2)]:
    ...     found.add("adacap", {"rmse": own}, 0.1)
    ...     found.add("ridge", {"rmse": ridge}, 0.1)
    >>> print(found)
    method            RMSE   seconds
    adacap   1.033 ± 0.117      0.10
    ridge    2.100 ± 0.076      0.10
    >>> gap = found.difference("adacap", "ridge")
    >>> round(gap.difference, 3), gap.better_in, gap.p_value < 0.05
    (-1.067, 3, True)
    """

    metrics: tuple[str, ...]
    scores: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    test_ratio: float = 0.25
    n_splits: int = 0

    @property
    def main(self) -> str:
        """The metric by which methods are compared."""
        return self.metrics[0]

    @property
    def ranking(self) -> list[str]:
        """Methods by the mean of the main metric, the best first; those without scores last."""
        sign = 1 if self.main == "rmse" else -1
        means = {name: self.estimate(name).mean for name in self.scores}
        return sorted(means, key=lambda name: (math.isnan(means[name]), sign * means[name]))

    def estimate(self, method: str, metric: str | None = None) -> Estimate:
        """Mean and corrected standard error of a metric, over the splits that have a score."""
        values = np.array(self.scores[method][metric or self.main])
        values = values[~np.isnan(values)]
        if not len(values):
            return Estimate(math.nan, math.nan)
        return Estimate(float(values.mean()), corrected_error(values, self.test_ratio))

    def difference(self, method: str, other: str) -> Difference:
        """One method minus another by the corrected resampled t-test."""
        metric = self.main
        pairs = np.array([self.scores[name][metric] for name in (method, other)])
        pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
        gaps, k = pairs[0] - pairs[1], pairs.shape[1]
        wins = gaps < 0 if metric == "rmse" else gaps > 0
        return Difference(
            other,
            metric,
            float(gaps.mean()) if k else math.nan,
            corrected_error(gaps, self.test_ratio),
            int(wins.sum()),
            k,
            _p_value(gaps, self.test_ratio),
        )

    def mean_seconds(self, method: str) -> float:
        """Seconds that a method takes on one split."""
        return sum(self.seconds[method]) / len(self.seconds[method])

    def rows(self) -> Iterator[list[str]]:
        """Cells of the table that is printed, the best method first."""
        for name in self.ranking:
            scores = [plus_minus(*self.estimate(name, metric)) for metric in self.metrics]
            yield [name, *scores, f"{self.mean_seconds(name):.2f}"]

    @property
    def titles(self) -> list[str]:
        """Titles of the columns of ``rows``."""
        return ["method", *(LABELS[metric] for metric in self.metrics), "seconds"]

    def __str__(self) -> str:
        return "\n".join(table_lines(self.titles, self.rows(), n_text=1))

    def add(self, method: str, scores: Mapping[str, float], seconds: float) -> None:
        """Add the scores of a method on one more split."""
        own = self.scores.setdefault(method, {name: [] for name in self.metrics})
        for name in self.metrics:
            own[name].append(scores.get(name, math.nan))
        self.seconds.setdefault(method, []).append(seconds)

    def forget_after(self, n_splits: int) -> None:
        """Drop the scores of a split that was not finished."""
        for method in list(self.scores):
            for values in (*self.scores[method].values(), self.seconds[method]):
                del values[n_splits:]
            if not self.seconds[method]:
                del self.scores[method], self.seconds[method]


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; ``finished`` holds the splits that were finished."""

    def __init__(self, finished: Comparison) -> None:
        super().__init__(f"{finished.n_splits} splits were finished")
        self.finished = finished


def corrected_error(values: Array, test_ratio: float) -> float:
    """Standard error of a mean over splits that share rows; NaN for a single split.

    Parameters
    ----------
    values : ndarray of shape (n_splits,)
    test_ratio : float
        Test rows per training row.

    Examples
    --------
    >>> round(corrected_error(np.array([1.0, 2.0, 3.0]), 0.25), 3)
    0.764
    """
    k = len(values)
    return float(values.std(ddof=1)) * math.sqrt(1 / k + test_ratio) if k > 1 else math.nan


def _p_value(gaps: Array, test_ratio: float) -> float:
    from scipy import stats

    error = corrected_error(gaps, test_ratio)
    if not error > 0:
        return math.nan
    return float(2 * stats.t.sf(abs(float(gaps.mean()) / error), len(gaps) - 1))
