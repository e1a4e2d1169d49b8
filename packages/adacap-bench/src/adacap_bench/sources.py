"""Data that are made rather than read: each split by a function of its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adacap_bench.jobs import KINDS
from adacap_bench.split import Split

__all__ = ["MadeTask"]


@dataclass(frozen=True, eq=False)
class MadeTask:
    """A task without a table: simulated data, images, anything that gives arrays.

    Parameters
    ----------
    key, name : str
        As of a task of the catalogue.
    kind : {"regression", "binary", "multiclass"}
    make : callable
        From the number of a split to its :class:`~adacap_bench.split.Split`; called by the
        runner, not by workers.
    settings : mapping
        What the data depend on, as JSON-able data; it enters the settings hash.
    rows, columns : int, optional
        Size of a split's training part, to start the longest jobs first.
    unit : {"draw", "split"}, default="draw"
        What each number gives: data of their own, or a split of one table.

    Examples
    --------
    >>> import numpy as np
    >>> def make(index):
    ...     X = np.random.default_rng(index).normal(size=(20, 1)).astype(np.float32)
    ...     return Split(X[:10], X[10:], X[:10, 0], X[10:, 0], "regression", 0)
    >>> line = MadeTask("line", "A line", "regression", make, {"rows": 10})
    >>> line.make(0).X_train.shape
    (10, 1)
    """

    key: str
    name: str
    kind: str
    make: Callable[[int], Split]
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    columns: int | None = None
    unit: str = "draw"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {self.kind!r}.")
