"""What the text of a column spells: numbers, dates, or the categories it is.

A column is one of numbers or dates when at least 95 % of its present cells are; the rest becomes
missing, and is counted. The result is a :class:`Reading`, plain data stored with the plan of the
column, so that new rows are read by the same rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.tables.columns import Codes, Column, ColumnKind
from adacap.tables.dates import FoundDates, find_format, has_date_parts, read_dates
from adacap.tables.numerals import Convention, FoundNumbers, find_convention, is_word_for_missing

__all__ = ["MISSING", "Reading", "check_read_text", "find_reading", "find_readings"]

MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None", "NaT",
    "?",
)  # fmt: skip
_NO_CATEGORY = frozenset(MISSING)
_SHOWN = 3
_NEARLY = 0.5  # share of numeric cells worth a remark where it is too small
_KINDS: dict[str, ColumnKind] = {"number": "numeric", "date": "datetime", "category": "categorical"}


@dataclass(frozen=True)
class Reading:
    """How the text cells of a column are read.

    Examples
    --------
    >>> from adacap.tables.columns import read_column
    >>> column = read_column(np.array(["1,200", "900", "n/a"], dtype=object), "column 'price'")
    >>> Reading("number", thousands=",").read(column).values
    array([1200.,  900.,   nan])
    """

    sort: Literal["number", "date", "category"]  # a category is only tidied
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    format: str = ""  # of dates, as of ``strptime``
    n_cells: int = 0  # in ``fit``, not missing
    n_bad: int = 0  # those that could not be read
    bad: tuple[str, ...] = ()  # three of them
    remark: str = ""  # what else a reader of the results should know

    @property
    def kind(self) -> ColumnKind:
        """Kind of the resulting column."""
        return _KINDS[self.sort]

    @property
    def convention(self) -> Convention:
        """How numbers are written."""
        return Convention(self.decimal, self.thousands, self.unit)

    @property
    def is_consistent(self) -> bool:
        """Whether it can be followed."""
        if self.sort == "date":
            return has_date_parts(self.format)
        return self.decimal in (".", ",") and self.thousands in ("", ".", ",", " ", "'")

    def read(self, column: Column, place: str = "") -> Column:
        """Column of text as what it spells; any other column is returned as it is.

        With ``place``, warn when more cells than in ``fit`` cannot be read.
        """
        if column.kind != "categorical":
            return column
        if self.sort == "category":
            return _tidy(column)
        values = self._values(column.levels)
        if place:
            self._warn_of_bad(column, values, place)
        return Column(self.kind, np.append(values, np.nan)[column.values])

    def _values(self, levels: Sequence[str]) -> Floats:
        if self.sort == "date":
            return read_dates(levels, self.format)
        return self.convention.read(levels)

    def _warn_of_bad(self, column: Column, values: Floats, place: str) -> None:
        cells, counts, at = _present(column)
        bad = np.isnan(values[at])
        n_bad, n_cells = int(counts[bad].sum()), int(counts.sum())
        usual = max(0.05, self.n_bad / max(1, self.n_cells))
        if n_bad > usual * n_cells:
            shown = next(cell for cell, is_bad in zip(cells, bad.tolist(), strict=True) if is_bad)
            warnings.warn(
                f"{place[0].upper()}{place[1:]} holds text that is not a {self}, and is taken as "
                f"missing there: {shown!r}, for example.",
                stacklevel=2,
            )

    def __str__(self) -> str:
        if self.sort == "date":
            return f"date ({self.format})"
        if self.sort == "category":
            return "category"
        how = str(self.convention)
        return f"number ({how})" if how else "number"


# --------------------------------------------------------------------------------- finding


def find_readings(
    columns: Sequence[Column], read_text: bool | str, names: Sequence[str]
) -> list[Reading | None]:
    """How to read each column of a table; None where it stays as it is.

    ``read_text`` says whether to look at text at all; a text is the format of dates, which some
    column must follow.
    """
    check_read_text(read_text)
    if read_text is False:
        return [None] * len(columns)
    hint = read_text if isinstance(read_text, str) else None
    found = [find_reading(column, hint) for column in columns]
    if hint is not None and not any(reading and reading.format == hint for reading in found):
        raise _format_error(hint, columns, names)
    return found


def check_read_text(value: object) -> None:
    """Refuse a value that is neither a boolean nor a date format.

    Examples
    --------
    >>> check_read_text("day/month")
    Traceback (most recent call last):
    ValueError: read_text must be True, False or a date format with a year such as '%d/%m/%Y', ...
    """
    if isinstance(value, bool) or (isinstance(value, str) and has_date_parts(value)):
        return
    raise ValueError(
        "read_text must be True, False or a date format with a year such as '%d/%m/%Y', got "
        f"{value!r}."
    )


def find_reading(column: Column, date_format: str | None = None) -> Reading | None:
    """How to read one column; None where it stays as it is.

    A column that its container declares as categorical is left alone.

    Examples
    --------
    >>> from adacap.tables.columns import read_column
    >>> cells = np.array(["13/01/2021", "01/02/2021", "-"], dtype=object)
    >>> find_reading(read_column(cells, "column 'sold'"))
    Reading(sort='date', ..., format='%d/%m/%Y', n_cells=2, n_bad=0, bad=(), remark='')
    """
    if column.kind != "categorical" or column.is_declared:
        return None
    cells, counts, _ = _present(column)
    if not cells:
        return _category(column, "")
    if date_format is not None:
        dates = find_format(cells, counts, date_format)
        if dates is not None and dates.format == date_format:
            return _of_dates(dates, cells, counts)
    numbers = find_convention(cells, counts)
    if numbers is not None and numbers.is_number:
        return _of_numbers(numbers, cells, counts)
    dates = find_format(cells, counts)
    if dates is not None and dates.is_date:
        return _of_dates(dates, cells, counts)
    return _category(column, _remark(numbers, dates, cells, counts))


def _present(column: Column) -> tuple[list[str], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Distinct cells that say something, how often each occurs, and which levels they are."""
    counts = np.bincount(column.values + 1, minlength=len(column.levels) + 1)[1:]
    at = [
        k
        for k, (level, n) in enumerate(zip(column.levels, counts.tolist(), strict=True))
        if n and not is_word_for_missing(level)
    ]
    index = np.array(at, dtype=np.intp)
    return [column.levels[k] for k in at], counts[index], index


def _of_numbers(found: FoundNumbers, cells: list[str], counts: npt.NDArray[np.intp]) -> Reading:
    n_bad, bad = _bad(found.values, cells, counts)
    how = found.convention
    return Reading(
        "number", how.decimal, how.thousands, how.unit, "", int(counts.sum()), n_bad, bad,
        found.doubt,
    )  # fmt: skip


def _of_dates(found: FoundDates, cells: list[str], counts: npt.NDArray[np.intp]) -> Reading:
    n_bad, bad = _bad(found.values, cells, counts)
    return Reading("date", format=found.format, n_cells=int(counts.sum()), n_bad=n_bad, bad=bad)


def _bad(
    values: Floats, cells: list[str], counts: npt.NDArray[np.intp]
) -> tuple[int, tuple[str, ...]]:
    bad = np.isnan(values)
    shown = sorted(cell for cell, is_bad in zip(cells, bad.tolist(), strict=True) if is_bad)
    return int(counts[bad].sum()), tuple(cell[:40] for cell in shown[:_SHOWN])


def _remark(
    numbers: FoundNumbers | None,
    dates: FoundDates | None,
    cells: list[str],
    counts: npt.NDArray[np.intp],
) -> str:
    """Why a column that looks like numbers or dates is neither."""
    if dates is not None and dates.twin:
        return (
            f"looks like dates, but day and month cannot be told apart: say {dates.format!r} or "
            f"{dates.twin!r} (read_text of TableEncoder, --date-format)"
        )
    if numbers is None or numbers.share < _NEARLY:
        return ""
    if numbers.why_not:
        return numbers.why_not
    shown = ", ".join(map(repr, _bad(numbers.values, cells, counts)[1]))
    return f"{100 * numbers.share:.0f} % of the cells are numbers, below 95 %; others are {shown}"


def _category(column: Column, remark: str) -> Reading | None:
    """Reading of categories, where there is anything to remove or to report."""
    untidy = any(level != level.strip() or level in _NO_CATEGORY for level in column.levels)
    return Reading("category", remark=remark) if untidy or remark else None


def _tidy(column: Column) -> Column:
    """Categories without blanks around them; words for missing become missing."""
    order: dict[str, int] = {}
    places = []
    for level in column.levels:
        name = level.strip()
        places.append(-1 if name in _NO_CATEGORY else order.setdefault(name, len(order)))
    codes: Codes = np.array([*places, -1], dtype=np.int32)[column.values]
    return Column("categorical", codes, tuple(order))


def _format_error(hint: str, columns: Sequence[Column], names: Sequence[str]) -> ValueError:
    text = f"The date format {hint!r} fits no column of the table"
    shown = next(_texts(columns, names), None)
    if shown is None:
        return ValueError(f"{text}, which has no text. Leave the format out.")
    return ValueError(
        f"{text}: column {shown[0]!r} holds {shown[1]!r}, for example. Write the format as "
        "strptime does, such as '%d/%m/%Y' for 31/12/2024, or leave it out."
    )


def _texts(columns: Sequence[Column], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A cell of each column of text, those of dates and digits first."""
    found = []
    for name, column in zip(names, columns, strict=True):
        if column.kind == "categorical" and (cells := _present(column)[0]):
            digits = sum(map(str.isdigit, cells[0])) / len(cells[0])
            found.append((-digits, name, cells[0]))
    return ((name, cell) for _, name, cell in sorted(found))
