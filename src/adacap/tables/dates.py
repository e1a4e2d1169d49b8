"""Dates as people write them, read by one format that all cells of a column decide together.

A format is one of ``strptime``. A clock time after the date may be left out, and seconds, their
fraction and a zone after it; without a zone a time is UTC.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats

__all__ = ["FoundDates", "find_format", "has_date_parts", "read_dates"]

_ENOUGH = 0.95  # of the cells that are not missing
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = ("january", "february", "march", "april", "june", "july", "august", "september", "october",
         "november", "december")  # fmt: skip
_NAME = f"(?:{'|'.join((*_LONG, 'sept', *_MONTHS))})"
_FIELDS = {
    "%Y": r"(?P<Y>\d{4})", "%y": r"(?P<y>\d{2})", "%m": r"(?P<m>0?[1-9]|1[0-2])",
    "%d": r"(?P<d>0?[1-9]|[12]\d|3[01])", "%b": rf"(?P<b>{_NAME})\.?", "%B": rf"(?P<b>{_NAME})\.?",
    "%H": r"(?P<H>[01]?\d|2[0-4])", "%I": r"(?P<I>0?[1-9]|1[0-2])", "%M": r"(?P<M>[0-5]\d)",
    "%S": r"(?P<S>[0-5]\d|60)", "%f": r"(?P<f>\d{1,9})", "%p": r"(?P<p>[ap])\.?m\.?",
    "%z": r"(?P<z>z|[+-]\d\d:?\d\d)", "%a": r"[a-z]{3}\.?", "%A": r"[a-z]{6,9}",
    "%j": r"(?P<j>\d{3})", "%%": "%",
}  # fmt: skip
_CLOCK = (
    r"(?:(?:[T ]|,\s)\s*(?P<H>[01]?\d|2[0-4]):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d|60)"
    r"(?:[.,](?P<f>\d{1,9}))?)?\s*(?:(?P<p>[ap])\.?m\.?)?\s*(?P<z>z|utc|gmt|[+-]\d\d(?::?\d\d)?)?)?"
)
# Unambiguous formats first; then those in which day and month look the same.
_CLEAR = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %y", "%b %d, %Y",
    "%b %d %Y", "%d. %b %Y", "%d/%b/%Y", "%a, %d %b %Y", "%a %d %b %Y", "%Y-%m", "%b %Y", "%m/%Y",
    "%b-%y",
)  # fmt: skip
_TWINS = tuple(
    (f"%d{sign}%m{sign}{year}", f"%m{sign}%d{sign}{year}")
    for sign in ("/", "-", ".", " ")
    for year in ("%Y", "%y")
)
_NUMERIC = re.compile(r"\s*\d{1,2}([/. -])\d{1,2}\1(\d{2}|\d{4})(?!\d).*")
_SOME_DIGIT = re.compile(r"\d")


class FoundDates(NamedTuple):
    """The format of a column, the share of its present cells that follow it, and a second one.

    ``twin`` is the other format that reads as many cells, when day and month cannot be
    distinguished.
    """

    format: str
    values: Floats
    share: float
    twin: str

    @property
    def is_date(self) -> bool:
        """Whether the column is one of dates whose day and month are clear."""
        return self.share >= _ENOUGH and not self.twin


def has_date_parts(form: str) -> bool:
    """Whether a format names at least a year.

    Examples
    --------
    >>> has_date_parts("%d/%m/%Y"), has_date_parts("day/month")
    (True, False)
    """
    return "%Y" in form or "%y" in form


def find_format(
    cells: Sequence[str], counts: npt.NDArray[np.intp], hint: str | None = None
) -> FoundDates | None:
    """The format that most cells follow; None if they do not look like dates.

    The cells are distinct and present, and each occurs ``counts`` times. A format that the user
    gives as ``hint`` is tried first.

    Examples
    --------
    >>> found = find_format(["01/02/2021", "13/01/2021"], np.array([1, 1]))
    >>> found.format, found.values[1] == 1610496000  # 2021-01-13
    ('%d/%m/%Y', np.True_)
    >>> found = find_format(["01/02/2021"], np.array([1]))
    >>> found.format, found.twin
    ('%d/%m/%Y', '%m/%d/%Y')
    """
    total = int(counts.sum())
    if not total:
        return None
    if hint is not None and (found := _try(hint, cells, counts, total)).share >= _ENOUGH:
        return found
    with_digits = sum(
        n for cell, n in zip(cells, counts.tolist(), strict=True) if _SOME_DIGIT.search(cell)
    )
    if with_digits < _ENOUGH * total:
        return None
    for form in _CLEAR:
        if _may_follow(form, cells) and (found := _try(form, cells, counts, total)).is_date:
            return found
    return _find_twins(cells, counts, total)


def _may_follow(form: str, cells: Sequence[str], most: int = 50) -> bool:
    """Whether any of the first cells follows a format: a quick look before the long one."""
    pattern = _pattern(form)
    return any(pattern.fullmatch(cell.strip()) for cell in cells[:most])


def _find_twins(
    cells: Sequence[str], counts: npt.NDArray[np.intp], total: int
) -> FoundDates | None:
    match = next((found for cell in cells if (found := _NUMERIC.fullmatch(cell))), None)
    if match is None:
        return None
    for day_first, month_first in _TWINS:
        if match.group(1) != day_first[2]:
            continue
        first = _try(day_first, cells, counts, total)
        second = _try(month_first, cells, counts, total)
        best = second if second.share > first.share else first
        if best.share < _ENOUGH:
            continue
        if first.share == second.share and day_first[2] != ".":  # dots: the day is always first
            return best._replace(twin=month_first)
        return best
    return None


def _try(form: str, cells: Sequence[str], counts: npt.NDArray[np.intp], total: int) -> FoundDates:
    values = read_dates(cells, form)
    share = float(counts[~np.isnan(values)].sum()) / total
    return FoundDates(form, values, share, "")


# -------------------------------------------------------------------------------- reading


@functools.lru_cache(maxsize=64)
def _pattern(form: str) -> re.Pattern[str]:
    """What cells of a format look like; a format without a clock allows for one at the end."""
    pieces = re.split(r"(%.)", form)
    text = "".join(_FIELDS.get(piece, re.escape(piece)) for piece in pieces)
    if "%H" not in form and "%I" not in form:
        text += _CLOCK
    return re.compile(text, re.IGNORECASE)


def read_dates(cells: Sequence[str], form: str) -> Floats:
    """Seconds since 1970-01-01 UTC of cells that follow a format, NaN for the others.

    Examples
    --------
    >>> read_dates(["02.01.1970", "02.01.1970 06:00", "31.02.1970", "soon"], "%d.%m.%Y")
    array([ 86400., 108000.,     nan,     nan])
    """
    pattern = _pattern(form)
    seconds = (_seconds(pattern.fullmatch(cell.strip())) for cell in cells)
    return np.fromiter(seconds, dtype=np.float64, count=len(cells))


def _seconds(match: re.Match[str] | None) -> float:
    if match is None:
        return np.nan
    found = match.groupdict()
    days = _days(found)
    if days is None:
        return np.nan
    clock = 3600 * _hour(found) + 60 * int(found.get("M") or 0) + int(found.get("S") or 0)
    fraction = float(f"0.{found['f']}") if found.get("f") else 0.0
    return 86_400.0 * days + clock + fraction - _zone(found.get("z"))


def _days(found: dict[str, str | None]) -> int | None:
    """Days since 1970-01-01, or None where the calendar has no such day."""
    year = int(found.get("Y") or 0)
    if short := found.get("y"):
        year = int(short) + (1900 if int(short) >= 69 else 2000)
    if name := found.get("b"):
        month = _MONTHS.index(name[:3].lower()) + 1
    else:
        month = int(found.get("m") or 1)
    day = int(found.get("d") or 1)
    days = _days_of(year, month)
    if days is None or days + day - 1 >= (_days_of(year + month // 12, month % 12 + 1) or 1 << 60):
        return None
    return days + day - 1 + (int(found["j"] or 1) - 1 if found.get("j") else 0)


@functools.lru_cache(maxsize=4096)
def _days_of(year: int, month: int) -> int | None:
    """Day on which a month begins."""
    if not 1 <= year <= 9999:
        return None
    return int(np.datetime64(f"{year:04d}-{month:02d}", "D").astype(np.int64))


def _hour(found: dict[str, str | None]) -> int:
    hour = int(found.get("H") or found.get("I") or 0)
    if half := found.get("p"):
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return hour


def _zone(text: str | None) -> int:
    """Seconds by which a zone is ahead of UTC."""
    if text is None or text.lower() in ("z", "utc", "gmt"):
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    ahead = 3600 * int(digits[:2]) + 60 * int(digits[2:])
    return -ahead if text[0] == "-" else ahead
