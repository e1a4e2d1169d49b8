"""What can happen to a column, by the name under which a model file keeps it.

Each function takes the part as plain data and the cells of a column, and gives its outputs. They
do what the classes of the same names in :mod:`adacap.estimators.columns` do, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adacap.lite.files import Json
from adacap.lite.tables import Column, Floats, Kind

__all__ = ["NOISE", "PARTS", "PERIOD_DAYS", "Cells", "Level"]

Level = str | float | None  # None is the level of the missing cells

NOISE = 1e-7  # a level fitted on float32 data is still recognised in float64 data
PERIOD_DAYS = {"year": 365.2425, "week": 7.0, "day": 1.0}


@dataclass(frozen=True, eq=False)
class Cells:
    """One column ready for arithmetic: float64 values, or codes into text levels."""

    kind: Kind
    values: Floats
    codes: npt.NDArray[np.int32]
    levels: tuple[str, ...] = ()

    @classmethod
    def read(cls, column: Column, kind: Kind) -> Cells:
        """A column as this kind, dates in days."""
        if kind == "categorical":
            return cls(kind, np.empty(0), *column.text())
        values = column.numbers()
        if kind == "datetime":
            values /= 86_400.0
        return cls(kind, values, np.empty(0, dtype=np.int32))

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Whether each cell is missing."""
        return self.codes < 0 if self.kind == "categorical" else np.isnan(self.values)

    def match(self, levels: Sequence[Level]) -> npt.NDArray[np.intp]:
        """Index of each cell in ``levels``, -1 where it is none of them."""
        index = {level: k for k, level in enumerate(levels)}
        if self.kind == "categorical":
            found = [index.get(level, -1) for level in (*self.levels, None)]
            return np.array(found, dtype=np.intp)[self.codes]
        known = np.array([level for level in levels if level is not None], dtype=np.float64)
        codes = _nearest(known, self.values)
        codes[self.missing] = index.get(None, -1)
        return codes


def _nearest(known: Floats, values: Floats) -> npt.NDArray[np.intp]:
    """Index of the sorted ``known`` value that each value equals up to float32 rounding."""
    if not known.size:
        return np.full(len(values), -1, dtype=np.intp)
    index = np.searchsorted(known[:-1] / 2 + known[1:] / 2, values)
    close = np.abs(values - known[index]) <= NOISE * np.abs(known[index])
    return np.where(close, index, -1)


def _unchanged(part: Json, cells: Cells) -> Iterator[Floats]:
    yield cells.values


def _number(part: Json, cells: Cells) -> Iterator[Floats]:
    with np.errstate(over="ignore"):  # far outliers of a tiny scale: clipped below
        z = (np.where(cells.missing, part["fill"], cells.values) - part["center"]) / part["scale"]
    if part["clip"] is not None:
        z = np.clip(z, -1e30, 1e30)  # so that the square stays finite
        z = z / np.sqrt(1.0 + (z / part["clip"]) ** 2)
    yield z


def _missing_flag(part: Json, cells: Cells) -> Iterator[Floats]:
    yield cells.missing.astype(np.float64)


def _binary(part: Json, cells: Cells) -> Iterator[Floats]:
    yield np.array([0.0, 1.0, part["unseen"]])[cells.match(part["levels"])]


def _one_hot(part: Json, cells: Cells) -> Iterator[Floats]:
    codes = cells.match(part["levels"])
    return ((codes == k).astype(np.float64) for k in range(len(part["levels"])))


def _frequency(part: Json, cells: Cells) -> Iterator[Floats]:
    yield np.log1p([*part["counts"], 0.0])[cells.match(part["levels"])]


def _target_mean(part: Json, cells: Cells) -> Iterator[Floats]:
    codes = cells.match(part["levels"])
    pairs = zip(part["means"], part["unseen"], strict=True)
    return (np.array([*means, unseen])[codes] for means, unseen in pairs)


def _cycle(part: Json, cells: Cells) -> Iterator[Floats]:
    length = PERIOD_DAYS[part["period"]]
    days = np.where(cells.missing, part["fill"], cells.values)
    phase = (2 * np.pi / length) * (days % length)
    return (wave(phase) for wave in (np.sin, np.cos))


PARTS: dict[str, Callable[[Json, Cells], Iterator[Floats]]] = {
    "Unchanged": _unchanged,
    "Number": _number,
    "MissingFlag": _missing_flag,
    "Binary": _binary,
    "OneHot": _one_hot,
    "Frequency": _frequency,
    "TargetMean": _target_mean,
    "Cycle": _cycle,
}
