"""Numbers, sizes and tables as text for people."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["counted", "number", "plus_minus", "size_of", "table_lines", "visible"]

_NUMBER = re.compile(r"\s*([−+-]?[\d.,]|–$)")  # how a cell of a column of numbers begins


def number(value: float | None, digits: int = 4) -> str:
    """A number with this many significant digits, without exponent in the usual range.

    Below 0.1 it may be one digit less, so that shares and R² keep their decimals.

    Examples
    --------
    >>> number(18.284), number(123456.7), number(-0.5), number(1.5e-7), number(None)
    ('18.28', '123,457', '−0.5000', '1.500e−07', '–')
    >>> number(0.00123456), number(23_456_789.0)
    ('0.00123', '23,456,789')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        whole = len(str(int(abs(value))))
        decimals = max(0, digits - whole) if abs(value) >= 1 else digits
        if 0 < abs(value) < 0.01:
            decimals = max(decimals, digits - 2 - math.floor(math.log10(abs(value))))
        return f"{value:,.{decimals}f}".replace("-", "−")
    return f"{value:.{digits - 1}e}".replace("-", "−")


def counted(n: int, what: str) -> str:
    """A number of things, one of them in the singular.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def plus_minus(mean: float, error: float) -> str:
    """A mean and its standard error, to the same decimal.

    Examples
    --------
    >>> plus_minus(18.284, 5.019), plus_minus(0.9, float("nan"))
    ('18.28 ± 5.02', '0.9000 ± –')
    """
    shown = number(mean)
    decimals = len(shown.partition(".")[2])
    if not math.isfinite(error) or "e" in shown:
        return f"{shown} ± {number(error, 2)}"
    return f"{shown} ± {error:,.{decimals}f}"


def size_of(n_bytes: int) -> str:
    """Size of a file.

    Examples
    --------
    >>> size_of(1_250_000), size_of(800)
    ('1.2 MB', '0.8 kB')
    """
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"


def visible(text: str, kept: str = "") -> str:
    r"""Text with control and invisible characters spelt out.

    Column names and labels come from files that others wrote: they must not move the cursor, turn
    the direction of a line or look like another name.

    Characters of ``kept`` stay as they are, such as line breaks.

    Examples
    --------
    >>> print(visible("price\u202e\x1b[31m\nλ"))
    price\u202e\x1b[31m\nλ
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def table_lines(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    n_text: int | None = None,
    gap: int = 3,
) -> list[str]:
    """Aligned columns, one line per row, the titles first; nothing is cut, so it can be searched.

    ``n_text`` columns are aligned left, the others right; by default columns of numbers are aligned
    right. Between columns there are ``gap`` spaces.

    Examples
    --------
    >>> for line in table_lines(["method", "RMSE"], [["ridge", "1.25"], ["forest", "10.5"]]):
    ...     print(line)
    method   RMSE
    ridge    1.25
    forest   10.5
    """
    cells = [list(columns), *([" ".join(cell.splitlines()) for cell in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if n_text is None:
        right = [_are_numbers(column[1:]) for column in zip(*cells, strict=True)]
    else:
        right = [j >= n_text for j in range(len(columns))]
    blank = " " * gap
    return [
        blank.join(_padded(*cell) for cell in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    ]


def _are_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and all(_NUMBER.match(cell) for cell in filled)


def _padded(cell: str, width: int, to_the_right: bool) -> str:
    room = " " * (width - _width(cell))
    return room + cell if to_the_right else cell + room


def _width(text: str) -> int:
    """Width of a text on a terminal: wide characters take two cells, accents none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)
