"""Where a text file is damaged: the line, as an editor counts it."""

from __future__ import annotations

import bz2
import csv
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from adacap.files.errors import FileError
from adacap.files.sniff import TextFormat

__all__ = ["line_of_cell", "line_of_other_width", "refuse_binary"]

_OPEN: dict[str | None, Any] = {None: open, "gzip": gzip.open, "bz2": bz2.open}
_VALUE = re.compile(r"column #(\d+).*invalid value '(.*)'", re.DOTALL)


def refuse_binary(sample: bytes, encoding: str, shown: str) -> None:
    r"""Refuse what holds zero bytes, which no text does.

    Examples
    --------
    >>> refuse_binary(b"a,b\n1,2\n3\x00,4\n", "utf-8", "t.csv")
    Traceback (most recent call last):
    adacap.files.errors.FileError: t.csv is no text, or damaged: line 3 holds a zero byte. ...
    """
    if encoding.startswith(("utf-16", "utf-32")) or b"\0" not in sample:
        return
    line = sample[: sample.index(b"\0")].count(b"\n") + 1
    raise FileError(
        f"{shown} is no text, or damaged: line {line} holds a zero byte. If it is UTF-16, say "
        "--encoding utf-16."
    )


def line_of_other_width(path: Path, packing: str | None, form: TextFormat) -> str:
    """Sentence about the first line that has not as many cells as the names; empty if unknown."""
    for number, cells in _records(path, packing, form):
        if cells and len(cells) != len(form.names):
            text = form.separator.join(cells)
            return (
                f"line {number} has {len(cells)} cells, but the first has {len(form.names)}: "
                f"{text[:60]!r}. Mend that line."
            )
    return ""


def line_of_cell(path: Path, packing: str | None, form: TextFormat, message: str) -> str:
    """The line of the cell that arrow could not read, in brackets; empty if unknown."""
    found = _VALUE.search(message)
    if found is None:
        return ""
    column, value = int(found.group(1)), found.group(2)
    for number, cells in _records(path, packing, form):
        if column < len(cells) and cells[column].strip() == value.strip():
            return f" (line {number})"
    return ""


def _records(path: Path, packing: str | None, form: TextFormat) -> Iterator[tuple[int, list[str]]]:
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
