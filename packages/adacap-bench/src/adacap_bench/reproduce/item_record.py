"""The record of an item: one small JSON file with all that the ledger says of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from adacap.exceptions import AdaCapError
from adacap.files import write_text
from adacap_bench.reproduce.figure import FigureData
from adacap_bench.reproduce.item import Claim, Row, judged
from adacap_bench.reproduce.verdicts import ClaimEffect

__all__ = ["FORMAT", "ItemRecord", "ItemRecordError", "read_folder", "read_item_record"]

FORMAT = 4
# 2 had values of up to 200 experiments, each with its name; 3 called draws of made data splits, and
# the values of effects had no names.
_READ = (2, 3, FORMAT)
_DIGITS = 6  # significant ones
_MOST = 100_000  # numbers from here on are names, not places of a list
_ALWAYS = {"value", "error", "n", "trials"}  # of an effect; the rest where there is something


class ItemRecordError(AdaCapError, ValueError):
    """A file is not a record of a reproduction, or its version is unknown."""


@dataclass(frozen=True)
class ItemRecord:
    """What was run of an item, the results, and what they say about the paper.

    ``before`` is of the record of before the ledger had one rule for all items, if there was one:
    its ``verdict``, how many claims ``held``, and its ``runs``.
    """

    item: str
    title: str
    place: str
    measure: str
    scale: str  # its name, or "own" where options changed it
    extent: str  # the scale in words: how many runs of what
    command: str  # what makes this record
    created: str  # ISO 8601, UTC, of the newest run
    versions: Mapping[str, str]
    n_jobs: int
    n_failed: int
    core_seconds: float  # sum of the times of fit
    rows: Sequence[Row]
    claims: Sequence[Claim]
    figure: FigureData
    notes: Sequence[str]  # readings and remarks
    before: Mapping[str, Any] = field(default_factory=dict)
    n_left: int = 0  # jobs of the scale that were not run before a deadline

    def __post_init__(self) -> None:
        claims = judged(self.claims)
        if self.n_left:  # methods are compared where all are; which experiments that is may change
            claims = tuple(replace(claim, holds=None, waits=True) for claim in claims)
        object.__setattr__(self, "claims", claims)

    @property
    def verdict(self) -> str:
        """What the claims say together."""
        verdicts = {claim.verdict for claim in self.claims}
        if self.n_left:
            return "unfinished"
        if not verdicts:
            return "measured"
        if len(verdicts) == 1:
            return verdicts.pop()
        return f"partly {'' if 'reproduced' in verdicts else 'not '}reproduced"

    @property
    def progress(self) -> str:
        """How many of its runs are done, in words; empty where all are."""
        total = self.n_jobs + self.n_left
        return f"unfinished: {self.n_jobs} of {total} runs" if self.n_left else ""

    @property
    def held(self) -> str:
        """How many of its claims hold, in words."""
        return f"{sum(claim.holds is True for claim in self.claims)} of {len(self.claims)}"

    def to_json(self) -> str:
        """Text of the file; numbers to six digits."""
        data = _rounded({"format": FORMAT, **asdict(self)})
        for row in data["rows"]:
            row["values"] = packed(row["values"])
        for claim in data["claims"]:
            claim["effects"] = [
                {
                    name: packed(value) if name == "values" else value
                    for name, value in effect.items()
                    if value or name in _ALWAYS
                }
                for effect in claim["effects"]
            ]
        lines = (f'"{name}": {_laid_out(value)}' for name, value in data.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def write(self, path: Path) -> None:
        """Write the file, replacing one that is there."""
        write_text(path, self.to_json(), force=True)


def read_item_record(path: Path) -> ItemRecord:
    """Read the record of one item; a file that is something else is an ItemRecordError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = data.pop("format")
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ItemRecordError(f"{path} is not the record of a reproduction: {error}.") from error
    if version not in _READ:
        raise ItemRecordError(f"{path} has format {version}, but this adacap reads {FORMAT}.")
    try:
        rows = tuple(_row(row) for row in data.pop("rows"))
        claims = tuple(_claim(claim) for claim in data.pop("claims"))
        if version < FORMAT:
            rows = tuple(_with_draws(data["item"], row) for row in rows)
            if any(_NAMELESS in effect.values for claim in claims for effect in claim.effects):
                data["notes"] = (*data["notes"], _POOLED)
        figure = FigureData.from_dict(data.pop("figure"))
        return ItemRecord(rows=rows, claims=claims, figure=figure, **data)
    except (KeyError, TypeError) as error:
        raise ItemRecordError(f"{path} is not the record of a reproduction: {error}.") from error


def _row(data: dict[str, Any]) -> Row:
    return Row(**{**data, "values": unpacked(data["values"])})


def _claim(data: dict[str, Any]) -> Claim:
    effects = tuple(
        ClaimEffect(**{**effect, "values": _named(effect.get("values", {}))})
        for effect in data["effects"]
    )
    return Claim(data["text"], effects, data["evidence"])  # whether it holds follows from them


_NAMELESS = "0"
_POOLED = (
    "Effects were kept without the names of their experiments: those of several tasks are taken as "
    "of one, so that what the tasks differ by enters the error."
)
_MADE = {"c3", "c4", "c11"}  # items of data that are made
_IMAGES = "residual image net"  # rows of n4 that are


def _named(values: Any) -> dict[str, float]:
    """Values by experiment; before format 4 a list, whose places are the names."""
    return unpacked({"": values} if isinstance(values, list) else values)


def _with_draws(item: str, row: Row) -> Row:
    if item not in _MADE and not row.label.startswith(_IMAGES):
        return row
    values = {name.replace("split ", "draw "): value for name, value in row.values.items()}
    return replace(row, values=values)


def read_folder(folder: Path) -> dict[str, ItemRecord]:
    """Records of a folder by the key of their item."""
    found = (read_item_record(path) for path in sorted(folder.glob("*.json")))
    return {record.item: record for record in found}


def packed(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Values by experiment, those whose names differ by a number alone as one list.

    Examples
    --------
    >>> packed({"split 0": 0.5, "split 1": 0.25, "split 3": 1.0, "all": 0.75})
    {'split ': [0.5, 0.25, None, 1.0], 'all': 0.75}
    >>> unpacked(packed({"split 1": 0.25, "all": 0.75}))
    {'split 1': 0.25, 'all': 0.75}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        stem, number = _numbered(name)
        if number is None:
            found[name] = value
            continue
        place = found.setdefault(stem, [])
        place += [None] * (number + 1 - len(place))
        place[number] = value
    return found


def unpacked(values: Mapping[str, Any]) -> dict[str, float]:
    """Values by the name of their experiment; those that were not numbers are absent."""
    found: dict[str, float | None] = {}
    for name, value in values.items():
        if isinstance(value, list):
            found |= {f"{name}{number}": one for number, one in enumerate(value)}
        else:
            found[name] = value
    return {name: value for name, value in found.items() if value is not None}


def _numbered(name: str) -> tuple[str, int | None]:
    """A name without the number at its end, and that number."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    known = digits.isdecimal() and digits == str(int(digits)) and int(digits) < _MOST
    return (stem, int(digits)) if known else (name, None)


def _laid_out(value: Any) -> str:
    """JSON with one element of a list per line, so that a change shows as that line."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = ",\n ".join(json.dumps(item, ensure_ascii=False) for item in value)
    return f"[\n {inner}\n]"


def _rounded(value: Any) -> Any:
    """Floats to six significant digits, NaN and infinities as null, in any nesting."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
