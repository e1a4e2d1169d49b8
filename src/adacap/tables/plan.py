"""What can happen to a column, as plain data that prints and can be stored as JSON.

A part (:class:`Number`, :class:`OneHot`, ...) holds what was learnt about a column.
``outputs`` applies it to :class:`Cells`; ``suffixes`` ends the name of each output.
A :class:`ColumnPlan` is the parts of one column and the centre and scale of their outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.tables.columns import Codes, Column, ColumnKind
from adacap.tables.readings import Reading
from adacap.tables.words import Words

__all__ = [
    "NOISE", "PARTS", "PERIOD_DAYS", "Cells", "ColumnPart", "ColumnPlan", "Level", "Words",
    "soft_clip",
]  # fmt: skip

Level: TypeAlias = str | float | None  # None is the level of the missing cells

NOISE = 1e-7  # a level fitted on float32 data is still recognised in float64 data
PERIOD_DAYS = {"year": 365.2425, "week": 7.0, "day": 1.0}


# --------------------------------------------------------------------- cells of a column


@dataclass(frozen=True, eq=False)
class Cells:
    """One column ready for arithmetic: float64 values, or codes into text levels."""

    kind: ColumnKind
    values: Floats
    codes: Codes
    levels: tuple[str, ...] = ()

    @classmethod
    def read(cls, column: Column, kind: ColumnKind) -> Cells:
        """A column as this kind, dates in days."""
        if kind == "categorical":
            return cls(kind, np.empty(0), *column.text())
        values = column.numbers()
        if kind == "datetime":
            values /= 86_400.0  # days are easier to read in a plan
        return cls(kind, values, np.empty(0, dtype=np.int32))

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Whether each cell is missing."""
        return self.codes < 0 if self.kind == "categorical" else np.isnan(self.values)

    def match(self, levels: Sequence[Level]) -> npt.NDArray[np.intp]:
        """Index of each cell in ``levels``, -1 for any other value.

        Levels that are numbers are sorted; None is last.
        """
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


# --------------------------------------------------------------------------------- parts


@dataclass(frozen=True)
class Unchanged:
    """The number itself."""

    title: ClassVar[str] = "unchanged"

    def suffixes(self) -> list[str]:
        return [""]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        yield cells.values


@dataclass(frozen=True)
class Number:
    """``z = (x - center) / scale``, then ``z / sqrt(1 + (z / clip)²)``; missing x is ``fill``."""

    fill: float
    center: float = 0.0
    scale: float = 1.0
    clip: float | None = None

    title: ClassVar[str] = "number"

    def suffixes(self) -> list[str]:
        return [""]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        z = np.where(cells.missing, self.fill, cells.values)
        with np.errstate(over="ignore"):  # far outliers of a tiny scale: clipped below
            z -= self.center
            z /= self.scale
        if self.clip is not None:
            soft_clip(z, self.clip)
        yield z


def soft_clip(z: Floats, clip: float) -> None:
    """Soft-clip in place; allocating a temporary per column is expensive."""
    np.clip(z, -1e30, 1e30, out=z)  # so that the square stays finite
    root = z / clip
    root *= root
    root += 1.0
    z /= np.sqrt(root, out=root)


@dataclass(frozen=True)
class MissingFlag:
    """1 where the cell is missing."""

    title: ClassVar[str] = "missing flag"

    def suffixes(self) -> list[str]:
        return [_level_suffix(None)]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        yield cells.missing.astype(np.float64)


@dataclass(frozen=True)
class Binary:
    """0 for the first of two levels, 1 for the second, ``unseen`` for anything else."""

    levels: tuple[Level, ...]
    unseen: float = 0.0

    title: ClassVar[str] = "binary"

    def suffixes(self) -> list[str]:
        return [_level_suffix(self.levels[1])]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        yield np.array([0.0, 1.0, self.unseen])[cells.match(self.levels)]


@dataclass(frozen=True)
class OneHot:
    """One 0/1 column per level, all 0 for a level never seen."""

    levels: tuple[Level, ...]

    title: ClassVar[str] = "one-hot"

    def suffixes(self) -> list[str]:
        return [_level_suffix(level) for level in self.levels]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        codes = cells.match(self.levels)
        return ((codes == k).astype(np.float64) for k in range(len(self.levels)))


def _level_suffix(level: Level) -> str:
    if level is None:
        return "=<missing>"
    return f"={level}" if isinstance(level, str) else f"={level:.15g}"


@dataclass(frozen=True)
class Frequency:
    """``log(1 + rows of this level)``, 0 for a level never seen."""

    levels: tuple[Level, ...] = field(repr=False)
    counts: tuple[float, ...] = field(repr=False)

    title: ClassVar[str] = "log frequency"

    def suffixes(self) -> list[str]:
        return [":frequency"]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        yield np.log1p([*self.counts, 0.0])[cells.match(self.levels)]


@dataclass(frozen=True)
class TargetMean:
    """Shrunk mean of each target column over the rows of a level; ``unseen`` elsewhere."""

    levels: tuple[Level, ...] = field(repr=False)
    means: tuple[tuple[float, ...], ...] = field(repr=False)  # one tuple per target column
    unseen: tuple[float, ...]

    title: ClassVar[str] = "target mean"

    def suffixes(self) -> list[str]:
        return [f":target{k}" for k in range(len(self.unseen))]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        codes = cells.match(self.levels)
        pairs = zip(self.means, self.unseen, strict=True)
        return (np.array([*means, unseen])[codes] for means, unseen in pairs)


@dataclass(frozen=True)
class Cycle:
    """Sine and cosine of the position within a year, week or day; missing dates are ``fill``."""

    period: str
    fill: float

    title: ClassVar[str] = "cycle"

    def suffixes(self) -> list[str]:
        return [f":{self.period}_sin", f":{self.period}_cos"]

    def outputs(self, cells: Cells) -> Iterator[Floats]:
        length = PERIOD_DAYS[self.period]
        days = np.where(cells.missing, self.fill, cells.values)
        phase = (2 * np.pi / length) * (days % length)
        return (wave(phase) for wave in (np.sin, np.cos))


ColumnPart: TypeAlias = (
    Unchanged | Number | MissingFlag | Binary | OneHot | Frequency | TargetMean | Cycle | Words
)
PARTS: dict[str, Callable[..., ColumnPart]] = {part.__name__: part for part in get_args(ColumnPart)}


# ------------------------------------------------------------------------------ the plan


@dataclass(frozen=True)
class ColumnPlan:
    """What happens to one input column.

    Text is read first, by ``reading`` if there is one. At the end, output ``k`` of the parts
    becomes ``(output - center[k]) / scale[k]``.

    Examples
    --------
    >>> plan = ColumnPlan("rooms", "numeric", (Number(fill=3.0), OneHot((2.0, 3.0, 4.0))))
    >>> plan.treatment
    'number + one-hot'
    >>> plan.outputs
    ['rooms', 'rooms=2', 'rooms=3', 'rooms=4']
    """

    name: str  # or ``x<position>``
    kind: ColumnKind  # in ``fit``
    parts: tuple[ColumnPart, ...] = ()  # each is applied to the cells and gives one or more outputs
    dropped: str = ""  # why there are no parts
    center: tuple[float, ...] = field(default=(), repr=False)
    scale: tuple[float, ...] = field(default=(), repr=False)
    reading: Reading | None = field(default=None, repr=False)

    @property
    def treatment(self) -> str:
        """The plan in words, such as ``"number + one-hot"`` or ``"dropped: constant"``."""
        if self.dropped:
            return f"dropped: {self.dropped}"
        return " + ".join(dict.fromkeys(part.title for part in self.parts))

    @property
    def outputs(self) -> list[str]:
        """Names of the output columns."""
        return [self.name + suffix for part in self.parts for suffix in part.suffixes()]

    def encoded(self, cells: Cells) -> Iterator[Floats]:
        """Outputs for these cells, centred and scaled."""
        outputs = (x for part in self.parts for x in part.outputs(cells))
        for x, center, scale in zip(outputs, self.center, self.scale, strict=True):
            yield (x - center) / scale

    @property
    def is_consistent(self) -> bool:
        """Whether its lists match each other and its parts the kind of the column."""
        is_text = self.kind == "categorical"
        if self.reading and (self.reading.kind != self.kind or not self.reading.is_consistent):
            return False
        fits = all(_fits(part, is_text) for part in self.parts)
        return fits and len(self.center) == len(self.scale) == len(self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data; :meth:`from_dict` makes an equal plan of it."""
        return _plain_fields(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ColumnPlan:
        """Plan from the output of :meth:`to_dict`."""
        reading = data.get("reading")
        plain = {name: _from_plain(value) for name, value in data.items() if name != "reading"}
        if reading is not None:
            reading = Reading(**{**reading, "bad": tuple(reading["bad"])})
        return cls(**plain, reading=reading)


def _fits(part: ColumnPart, is_text: bool) -> bool:
    """Whether the lists of a part match and its levels are of the kind of the column."""
    levels = getattr(part, "levels", ())
    if any(level is not None and isinstance(level, str) != is_text for level in levels):
        return False
    match part:
        case Unchanged() | Number():
            return not is_text
        case Cycle():
            return not is_text and part.period in PERIOD_DAYS
        case Words():
            return is_text and part.is_consistent
        case Binary():
            return len(levels) == 2
        case Frequency():
            return len(part.counts) == len(levels)
        case TargetMean():
            same = all(len(means) == len(levels) for means in part.means)
            return same and len(part.means) == len(part.unseen)
    return True


def _plain_fields(item: ColumnPlan | ColumnPart | Reading) -> dict[str, Any]:
    return {entry.name: _to_plain(getattr(item, entry.name)) for entry in fields(item)}


def _to_plain(value: Any) -> Any:
    """Parts as dicts, tuples as lists, everything else as it is."""
    if isinstance(value, tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, Reading):
        return _plain_fields(value)
    if isinstance(value, ColumnPart):
        return {"part": type(value).__name__, **_plain_fields(value)}
    return value


def _from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_plain(item) for item in value)
    if isinstance(value, dict):
        arguments = {name: _from_plain(item) for name, item in value.items() if name != "part"}
        return PARTS[value["part"]](**arguments)
    return value
