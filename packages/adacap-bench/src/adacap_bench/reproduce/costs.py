"""What an item costs, roughly, so that a run with a limit begins with the cheapest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from adacap_bench.plan import expanded
from adacap_bench.reproduce.item import Item

__all__ = ["cheapest_first", "core_seconds", "n_jobs"]

_SECONDS: dict[str, float] = {
    "c1": 40, "c2": 8, "c3": 12, "c4": 0.03, "c5": 15, "c6": 15, "c7": 22, "c8": 1.6, "c9": 6,
    "c10": 0.9, "c11": 0.1, "c12": 15, "d6-ablation": 17, "d6-depth": 11, "n1": 5, "n2": 3, "n3": 2,
}  # fmt: skip
_AT_PAPER = {"n1": 22.0}  # where the scale paper has larger nets
"""Core seconds of one job, from the records; methods not listed here take about ten."""
_OTHERS = 10.0


def core_seconds(item: Item, scale: str, folder: Path | None = None) -> float:
    """Core seconds of all jobs of an item, to the order of magnitude.

    Examples
    --------
    >>> from adacap_bench.reproduce import items
    >>> known = items()
    >>> core_seconds(known["c4"], "quick") < core_seconds(known["d6-width"], "ledger")
    True
    """
    known = _SECONDS | (_AT_PAPER if scale == "paper" else {})
    return known.get(item.key, _OTHERS) * n_jobs(item, scale, folder)


def n_jobs(item: Item, scale: str, folder: Path | None = None) -> int:
    """Jobs of an item, including those that will turn out to be impossible here.

    Examples
    --------
    >>> from adacap_bench.reproduce import items
    >>> n_jobs(items()["c4"], "ledger")
    6000
    """
    return sum(
        len(grid.tasks) * len(expanded(grid.methods)) * len(grid.splits) * len(grid.seeds)
        for grid in item.grids(replace(item.scales[scale], folder=folder))
    )


def cheapest_first(items: Iterable[Item], scale: str, folder: Path | None = None) -> list[Item]:
    """Items in the order of their cost."""
    return sorted(items, key=lambda item: core_seconds(item, scale, folder))
