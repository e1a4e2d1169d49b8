"""Guess how a text table is written: encoding, separator, decimal sign, header, kind of target."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

from adacap.datasets.tasks import Kind

if TYPE_CHECKING:
    import pandas

__all__ = ["sniff_kind", "sniff_reader"]

_SAMPLE = 200  # lines looked at
_CANDIDATES = (",", ";", "\t", "|", "space")
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
_MAX_CLASSES = 12  # whole numbers of more distinct values than this are quantities


def sniff_reader(content: bytes) -> dict[str, Any]:
    r"""Encoding, separator, decimal and header of the text of a table.

    Examples
    --------
    >>> sniff_reader(b"size;price\n1,5;20\n2,5;30\n")
    {'encoding': 'utf-8', 'separator': ';', 'decimal': ',', 'header': True}
    """
    encoding = _encoding(content)
    lines = [line for line in content.decode(encoding).splitlines()[: _SAMPLE + 1] if line.strip()]
    separator = _separator(lines)
    rows = [_fields(line, separator) for line in lines]
    commas = separator != "," and any(
        _DECIMAL_COMMA.fullmatch(cell) for row in rows[1:] for cell in row
    )
    header = bool(rows) and not any(_NUMBER.fullmatch(cell) for cell in rows[0])
    return {
        "encoding": encoding,
        "separator": separator,
        "decimal": "," if commas else ".",
        "header": header,
    }


def sniff_kind(target: pandas.Series[Any]) -> Kind:
    """Kind of the task by its target: text and few whole numbers are classes.

    Two distinct values make a binary task; text, or 3 to 12 distinct whole numbers, a
    multiclass one; other numbers a regression.
    """
    distinct = target.nunique()
    if distinct == 2:
        return "binary"
    if target.dtype.kind not in "biuf":
        return "multiclass"
    whole = bool((target % 1 == 0).all())
    return "multiclass" if whole and distinct <= _MAX_CLASSES else "regression"


def _encoding(content: bytes) -> str:
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _separator(lines: list[str]) -> str:
    """Separator by which most lines have the same number of fields, more than one."""
    best, score = ",", 0.0
    for candidate in _CANDIDATES:
        counts = [len(_fields(line, candidate)) for line in lines]
        common = max(set(counts), key=counts.count, default=1)
        share = counts.count(common) / max(len(counts), 1)
        if common > 1 and share > score + 1e-9:
            best, score = candidate, share
    return best


def _fields(line: str, separator: str) -> list[str]:
    if separator == "space":
        return line.split()
    return next(csv.reader([line], delimiter=separator), [])
