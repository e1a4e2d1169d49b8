"""What happened at each step, a plain list of records, and what came out of all steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from torch import Tensor

from adacap.nn.modules import Nets

__all__ = ["History", "IterationRecord", "Trained"]

IterationRecord = dict[str, float]


class History(Sequence[IterationRecord]):
    """Records of one net, one per step; record everything, interpret later.

    Examples
    --------
    >>> history = History([{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5, "lr": 0.1}])
    >>> history["loss"]
    [1.0, 0.5]
    >>> history.columns()["lr"]
    [nan, 0.1]
    """

    def __init__(self, records: Sequence[IterationRecord] = ()) -> None:
        self._records = [dict(record) for record in records]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[IterationRecord]:
        return iter(self._records)

    @overload
    def __getitem__(self, key: str) -> list[float]: ...
    @overload
    def __getitem__(self, key: int) -> IterationRecord: ...
    @overload
    def __getitem__(self, key: slice) -> "History": ...
    def __getitem__(self, key: str | int | slice) -> "list[float] | IterationRecord | History":
        if isinstance(key, str):
            return [record.get(key, float("nan")) for record in self._records]
        if isinstance(key, slice):
            return History(self._records[key])
        return self._records[key]

    def __add__(self, other: "History") -> "History":
        return History([*self._records, *other._records])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._records == other._records

    def __repr__(self) -> str:
        return f"History({len(self)} steps)"

    def columns(self) -> dict[str, list[float]]:
        """All records as columns, ``nan`` where a record has no value; feeds any frame library."""
        names = dict.fromkeys(name for record in self._records for name in record)
        return {name: self[name] for name in names}


@dataclass(frozen=True)
class Trained:
    """K nets, each at its best iteration, their output layers and what happened."""

    nets: Nets
    coef: Tensor  # (K, J, c)
    intercept: Tensor  # (K, c)
    best_step: list[int]
    best_score: list[float]
    histories: list[History]
    trace: Tensor | None = None  # (K, S, m, c): predictions of some validation rows along the way
