"""Guess how a text table is written: encoding, separator, decimal sign, header, kind of target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from adacap.files.separators import SAMPLE_LINES, guess_separator, split_line
from adacap.tables.targets import holds_classes
from adacap_bench.datasets.tasks import Kind

if TYPE_CHECKING:
    import pandas

__all__ = ["sniff_kind", "sniff_reader"]

_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def sniff_reader(content: bytes) -> dict[str, Any]:
    r"""Encoding, separator, decimal and header of the text of a table.

    Examples
    --------
    >>> sniff_reader(b"size;price\n1,5;20\n2,5;30\n")
    {'encoding': 'utf-8', 'separator': ';', 'decimal': ',', 'header': True}
    """
    encoding = _encoding(content)
    lines = [
        line for line in content.decode(encoding).splitlines()[: SAMPLE_LINES + 1] if line.strip()
    ]
    separator = guess_separator(lines)
    rows = [split_line(line, separator) for line in lines]
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
    """Kind of the task by its target, under the rule of the command line.

    See :func:`adacap.tables.targets.holds_classes`; two classes make a binary task.
    """
    is_number = target.dtype.kind in "biuf"
    if not holds_classes(target.to_numpy() if is_number else target.to_numpy(str)):
        return "regression"
    return "binary" if target.nunique() == 2 else "multiclass"


def _encoding(content: bytes) -> str:
    if content.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"
