"""Means over experiments, and their errors: experiments belong to tasks, and may share rows.

The name of an experiment tells both: ``"paper-1, split 3"`` is a split of the task paper-1,
``"seed 3"`` a seed of the only task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean, stdev

from adacap_bench.split import TEST_RATIO

__all__ = ["SPLIT", "Error", "by_task", "mean_of", "spread_over_tasks", "within_tasks"]

SPLIT = "split"
"""Word of experiments that share rows: 80/20 splits of one table. Draws and seeds share none."""

Error = tuple[float, float]
"""Standard error of a mean, and its degrees of freedom."""


def by_task(values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Values by task and by the rest of the name.

    Examples
    --------
    >>> by_task({"a, split 0": 1.0, "a, split 1": 2.0, "b, split 0": 3.0})
    {'a': {'split 0': 1.0, 'split 1': 2.0}, 'b': {'split 0': 3.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        task, _, rest = name.rpartition(", ")
        found.setdefault(task, {})[rest] = value
    return found


def mean_of(values: Mapping[str, float]) -> float:
    """Mean over tasks of their means, so that a task with more experiments weighs no more.

    Examples
    --------
    >>> mean_of({"a, split 0": 1.0, "a, split 1": 2.0, "b, split 0": 3.0})
    2.25
    """
    return fmean(fmean(found.values()) for found in by_task(values).values())


def within_tasks(values: Mapping[str, float], *, shared_rows: bool) -> Error | None:
    """Error of the mean over these very tasks; None where a task has one experiment.

    What tasks differ by is no part of it. Degrees of freedom are those of Welch and Satterthwaite.
    With ``shared_rows`` it is corrected for the rows that splits of one table share, as Nadeau and
    Bengio do.

    Examples
    --------
    >>> values = {"a, seed 0": 1.0, "a, seed 1": 3.0, "b, seed 0": 11.0, "b, seed 1": 13.0}
    >>> within_tasks(values, shared_rows=True)  # 100 times as much between the tasks: the same
    (0.7071067811865476, 2.0)
    """
    squares, parts = [], []
    for found in by_task(values).values():
        n = len(found)
        if n < 2:
            return None
        ratio = TEST_RATIO if shared_rows and any(map(_is_split, found)) else 0.0
        squares.append(stdev(found.values()) ** 2 * (1 / n + ratio))
        parts.append(n - 1)
    total = sum(squares)
    below = sum(square**2 / df for square, df in zip(squares, parts, strict=True))
    return math.sqrt(total) / len(squares), total**2 / below if below else float(sum(parts))


def spread_over_tasks(values: Mapping[str, float]) -> Error | None:
    """Error by the spread of the tasks' means, as of tasks drawn at random; None for one task.

    Examples
    --------
    >>> spread_over_tasks({"a, split 0": 1.0, "b, split 0": 3.0})
    (1.0, 1.0)
    """
    means = [fmean(found.values()) for found in by_task(values).values()]
    return (stdev(means) / math.sqrt(len(means)), len(means) - 1.0) if len(means) > 1 else None


def _is_split(name: str) -> bool:
    return name.startswith(f"{SPLIT} ")
