"""How a text table is written: encoding, separator, decimal sign, header, dates."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from adacap.datasets.sniff import sniff_reader

__all__ = ["MISSING", "SAMPLE_BYTES", "TextFormat", "TextOptions", "sniff_text", "unclear_dates"]

SAMPLE_BYTES = 256 * 1024
MISSING = (
    "", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None", "NaT",
    "?",
)  # fmt: skip
_DATE_FORMATS = ("%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M")
_UNCLEAR = re.compile(r"\s*\d{1,2}[/-]\d{1,2}[/-](\d{2}|\d{4})(\s.*)?")


@dataclass(frozen=True)
class TextOptions:
    """What the user says of a text file; None where it is to be found out."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    date_format: str | None = None


@dataclass(frozen=True)
class TextFormat:
    r"""How the text of a table is written.

    ``names`` are those of the columns, ``skip`` the lines before the first row, and ``dates`` the
    formats of dates beside ISO 8601.
    """

    encoding: str
    separator: str
    decimal: str
    header: bool
    names: tuple[str, ...]
    skip: int
    dates: tuple[str, ...] = _DATE_FORMATS


def sniff_text(
    sample: bytes,
    known: Collection[str] = (),
    options: TextOptions | None = None,
    separator: str | None = None,
) -> TextFormat:
    r"""Find out how a text table is written.

    Parameters
    ----------
    sample : bytes
        The beginning of the file, in whole lines.
    known : collection of str
        Names of columns that are asked for: a first line that holds one is a header, whatever it
        looks like.
    options : TextOptions, optional
        What is known already.
    separator : str, optional
        What the name of the file promises.

    Examples
    --------
    >>> found = sniff_text(b"size;price\n1,5;20\n2,5;30\n")
    >>> found.separator, found.decimal, found.names
    (';', ',', ('size', 'price'))
    >>> sniff_text(b"1;2\n3;4\n").names
    ('c0', 'c1')
    """
    options = options or TextOptions()
    encoding = options.encoding or _encoding(sample)
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    guess = sniff_reader(text.encode("utf-8"))
    separator = options.separator or separator or guess["separator"]
    if separator == "space":
        separator = ","
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    cells = next(csv.reader(lines[first : first + 1], delimiter=separator), [])
    cells = [cell.strip() for cell in cells]
    header = bool(guess["header"] or set(cells) & set(known))
    found = TextFormat(
        encoding=encoding,
        separator=separator,
        decimal=options.decimal or (guess["decimal"] if separator != "," else "."),
        header=header,
        names=_names(cells) if header else tuple(f"c{j}" for j in range(len(cells))),
        skip=first + 1 if header else first,
    )
    return replace(found, dates=(options.date_format,)) if options.date_format else found


def _encoding(sample: bytes) -> str:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _names(cells: list[str]) -> tuple[str, ...]:
    """Names of columns; one without a name gets its position."""
    return tuple(cell or f"unnamed_{j}" for j, cell in enumerate(cells))


def unclear_dates(cells: list[str | None]) -> bool:
    """Whether cells are dates of which one cannot tell the day from the month.

    Examples
    --------
    >>> unclear_dates(["03/04/2024", "05/06/2024"]), unclear_dates(["2024-03-04"])
    (True, False)
    """
    present = [cell for cell in cells if cell]
    return bool(present) and all(_UNCLEAR.fullmatch(cell) for cell in present)
