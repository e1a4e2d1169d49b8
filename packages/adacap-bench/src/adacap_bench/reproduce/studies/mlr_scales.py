"""How much of the supplement's studies is run: splits by data set, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adacap_bench.reproduce.item import Scale
from adacap_bench.reproduce.studies.mlr_numbers import BEIJING, BIKE, NAMES

__all__ = ["extent", "scale", "splits_of"]

MOST = {BIKE: 5, BEIJING: 1}
"""Splits of the large sets, where one fit takes minutes; the small ones have those of the scale."""


def scale(splits: int, tasks: Sequence[str], seeds: int = 1, **options: Any) -> Scale:
    """Scale of some data sets, whose number of splits is that of the small ones."""
    return Scale(splits, seeds, {"tasks": tuple(tasks), **options})


def splits_of(scale: Scale, task: str) -> range:
    """Splits of a data set at a scale.

    Examples
    --------
    >>> splits_of(scale(20, [BIKE]), BIKE)
    range(0, 5)
    """
    return range(min(scale.splits, MOST.get(task, scale.splits)))


def extent(scale: Scale) -> str:
    """Splits and seeds in words, data sets with as many splits together.

    Examples
    --------
    >>> from adacap_bench.reproduce.studies.mlr_numbers import QSAR, SLUMP
    >>> extent(Scale(20, 1, {"tasks": (SLUMP, QSAR, BIKE)}))
    'Concrete Slump −3, QSAR aquatic toxicity: 20 splits, Seoul Bike: 5 splits; 1 seed'
    """
    groups: dict[int, list[str]] = {}
    for task in scale["tasks"]:
        groups.setdefault(len(splits_of(scale, task)), []).append(NAMES[task])
    told = ", ".join(f"{', '.join(names)}: {_count(n, 'split')}" for n, names in groups.items())
    return f"{told}; {_count(scale.seeds, 'seed')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
