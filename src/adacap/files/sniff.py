"""How a text table is written: encoding, separator, decimal sign, header, dates, and damage."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from adacap.files.errors import FileError
from adacap.tables.readings import MISSING

__all__ = [
    "DATE_FORMATS", "MISSING", "SAMPLE_BYTES", "SPACES", "TextFormat",
    "TextOptions", "column_names", "encoding_of", "guess_text_separator",
    "line_of_cell", "line_of_other_width", "refuse_binary", "sniff_text", "split_line",
    "title_lines",
]  # fmt: skip

SAMPLE_BYTES = 256 * 1024
SPACES = r"\s+"  # separator of cells that stand apart by any number of blanks
DATE_FORMATS = ("%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M")
_GROUPED = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*")  # 1,234: thousands, or a decimal comma
_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_LOOK = 200  # rows


@dataclass(frozen=True)
class TextOptions:
    """The user's options for a text file; None where it is to be detected."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    date_format: str | None = None


@dataclass(frozen=True)
class TextFormat:
    r"""How the text of a table is written.

    ``names`` are those of the columns, ``skip`` the lines before the first row, ``titles`` the rows
    above the names, and ``dates`` the formats of dates beside ISO 8601.
    """

    encoding: str
    separator: str
    decimal: str
    header: bool
    names: tuple[str, ...]
    skip: int
    titles: int = 0
    dates: tuple[str, ...] = DATE_FORMATS


def sniff_text(
    sample: bytes,
    known: Collection[str] = (),
    options: TextOptions | None = None,
    separator: str | None = None,
) -> TextFormat:
    r"""Detect how a text table is written.

    ``sample`` is the beginning of the file, in whole lines. A first line that holds a name of
    ``known``, columns that are asked for, is a header, whatever it looks like. ``separator`` is
    what the name of the file promises.

    Examples
    --------
    >>> found = sniff_text(b"size;price\n1,5;20\n2,5;30\n")
    >>> found.separator, found.decimal, found.names
    (';', ',', ('size', 'price'))
    >>> sniff_text(b"1;2\n3;4\n").names
    ('c0', 'c1')
    """
    options = options or TextOptions()
    encoding = options.encoding or encoding_of(sample)
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    separator = options.separator or separator or guess_text_separator(text)
    if separator == "space":
        separator = ","
    rows, ends = _records(text, separator)
    first = title_lines(rows)
    cells = rows[first] if rows else []
    is_named = bool(set(map(_name, cells)) & set(known))
    header = is_named or (_is_header(cells) and not _recurs(cells, rows[first + 1 :]))
    found = TextFormat(
        encoding=encoding,
        separator=separator,
        decimal=options.decimal or _decimal(rows[first + 1 :], separator),
        header=header,
        names=column_names(cells) if header else tuple(f"c{j}" for j in range(len(cells))),
        skip=ends[first] if header else ends[first - 1] if first else _blank_lines(text),
        titles=first,
    )
    return replace(found, dates=(options.date_format,)) if options.date_format else found


def _records(text: str, separator: str) -> tuple[list[list[str]], list[int]]:
    """Cells of the first rows that hold any, and the line on which each ends."""
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=separator)
    rows, ends = [], []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append(cells)
                ends.append(reader.line_num)
            if len(rows) > _LOOK:
                break
    except csv.Error:  # an extremely long cell: a quote that never closes, or not a text file
        pass
    return rows, ends


def _blank_lines(text: str) -> int:
    return next((i for i, line in enumerate(text.splitlines()) if line.strip()), 0)


def title_lines(rows: list[list[str]]) -> int:
    """Rows above the names of columns: comments, and titles of a single cell.

    Examples
    --------
    >>> title_lines(
    ...     [["Sales 2024"], ["size", "rooms", "price"], ["5", "2", "20"], ["6", "2", "24"]]
    ... )
    1
    """
    counts = [len(cells) for cells in rows]
    common = max(set(counts), key=counts.count, default=1)
    for k, cells in enumerate(rows[:-1]):
        is_comment = cells[0].lstrip().startswith("#") and len(cells) < common
        is_title = common > 2 and sum(bool(cell.strip()) for cell in cells) == 1
        is_pair = common == 2 and len(cells) == 1
        if not (is_comment or is_title or is_pair):
            return k
    return 0


def _is_header(cells: list[str]) -> bool:
    return bool(cells) and not any(_NUMBER.fullmatch(cell) for cell in cells)


def _recurs(cells: list[str], rows: list[list[str]]) -> bool:
    """Whether duplicates in the first row recur below: then it is a row, not names."""
    counts = Counter(cells)
    twice = [j for j, cell in enumerate(cells) if cell.strip() and counts[cell] > 1]
    return bool(twice) and all(
        any(j < len(row) and row[j] == cells[j] for row in rows) for j in twice
    )


def _decimal(rows: list[list[str]], separator: str) -> str:
    """Decimal sign of a table: a comma if a cell uses it so, other than as in ``1,234``."""
    if separator == ",":
        return "."
    commas = [cell for row in rows for cell in row if _COMMA.fullmatch(cell)]
    return "," if any(not _GROUPED.fullmatch(cell) for cell in commas) else "."


def encoding_of(sample: bytes) -> str:
    """Encoding of the beginning of a text file.

    Examples
    --------
    >>> encoding_of("5 €".encode("cp1252")), encoding_of("Köln".encode("latin-1"))
    ('cp1252', 'latin-1')
    """
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # a last sign may be cut
        return "utf-8"
    except UnicodeDecodeError:
        return "cp1252" if re.search(rb"[\x80-\x9f]", sample) and _is_cp1252(sample) else "latin-1"


def _is_cp1252(sample: bytes) -> bool:
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return True


def column_names(cells: list[str]) -> tuple[str, ...]:
    r"""Names of columns, on one line each; one without a name gets its position.

    Examples
    --------
    >>> column_names(["size\n(m²)", " price ", ""])
    ('size (m²)', 'price', 'unnamed_2')
    """
    return tuple(_name(cell) or f"unnamed_{j}" for j, cell in enumerate(cells))


def _name(cell: str) -> str:
    return re.sub(r"\s*[\r\n]+\s*", " ", cell).strip()


# --------------------------------------------------------------- where a file is damaged

_OPEN: dict[str | None, Any] = {None: open, "gzip": gzip.open, "bz2": bz2.open}
_VALUE = re.compile(r"column #(\d+).*invalid value '(.*)'", re.DOTALL)


def refuse_binary(sample: bytes, encoding: str, shown: str) -> None:
    r"""Refuse what holds zero bytes, which no text does.

    Examples
    --------
    >>> refuse_binary(b"a,b\n1,2\n3\x00,4\n", "utf-8", "t.csv")
    Traceback (most recent call last):
    adacap.files.errors.FileError: t.csv is not text, or is damaged: line 3 holds a zero byte. ...
    """
    if encoding.startswith(("utf-16", "utf-32")) or b"\0" not in sample:
        return
    line = sample[: sample.index(b"\0")].count(b"\n") + 1
    raise FileError(
        f"{shown} is not text, or is damaged: line {line} holds a zero byte. If it is UTF-16, say "
        "--encoding utf-16."
    )


def line_of_other_width(path: Path, packing: str | None, form: TextFormat) -> str:
    """Sentence about the first line with another number of cells than names; empty if unknown."""
    for number, cells in _numbered_cells(path, packing, form):
        if cells and len(cells) != len(form.names):
            text = form.separator.join(cells)
            return (
                f"line {number} has {len(cells)} cells, but the first has {len(form.names)}: "
                f"{text[:60]!r}. Correct that line."
            )
    return ""


def line_of_cell(path: Path, packing: str | None, form: TextFormat, message: str) -> str:
    """The line of the cell that arrow could not read, in brackets; empty if unknown."""
    found = _VALUE.search(message)
    if found is None:
        return ""
    column, value = int(found.group(1)), found.group(2)
    for number, cells in _numbered_cells(path, packing, form):
        if column < len(cells) and cells[column].strip() == value.strip():
            return f" (line {number})"
    return ""


def _numbered_cells(
    path: Path, packing: str | None, form: TextFormat
) -> Iterator[tuple[int, list[str]]]:
    """Rows below the names, with the line on which each begins."""
    if packing not in _OPEN:
        return
    file: IO[str]
    try:
        with _OPEN[packing](path, "rt", encoding=form.encoding, newline="") as file:
            for _ in range(form.skip):
                file.readline()
            reader = csv.reader(file, delimiter=form.separator)
            before = 0
            for cells in reader:
                yield form.skip + before + 1, cells
                before = reader.line_num
    except (OSError, EOFError, UnicodeError, csv.Error):
        return


# ----------------------------------------------------------------- what stands between cells

_SAMPLE_LINES = 200  # to look at
_CANDIDATES = (",", ";", "\t", "|", "space")


def guess_text_separator(text: str) -> str:
    r"""Separator by which most of the first lines have the same number of cells, more than one.

    It is ``"space"`` for any run of blanks, and a comma if none separates.

    Examples
    --------
    >>> guess_text_separator("size;price\n1,5;20\n2,5;30\n")
    ';'
    """
    lines = [line for line in text.splitlines()[: _SAMPLE_LINES + 1] if line.strip()]
    best, score = ",", 0.0
    for candidate in _CANDIDATES:
        counts = [len(split_line(line, candidate)) for line in lines]
        common = max(set(counts), key=counts.count, default=1)
        share = counts.count(common) / max(len(counts), 1)
        if common > 1 and share > score + 1e-9:
            best, score = candidate, share
    return best


def split_line(line: str, separator: str) -> list[str]:
    """Cells of one line.

    Examples
    --------
    >>> split_line("1  2", "space"), split_line('"a;b";2', ";")
    (['1', '2'], ['a;b', '2'])
    """
    if separator == "space":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell longer than Python's reader takes; Arrow's takes it
        return line.split(separator)
