"""Guess how a text table is written: encoding, separator, decimal sign, header, kind of target."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any

from adacap.files.sniff import encoding_of, guess_text_separator, sniff_text
from adacap.tables.targets import holds_classes
from adacap_bench.datasets.tasks import Kind

if TYPE_CHECKING:
    import pandas

__all__ = ["sniff_kind", "sniff_reader"]


def sniff_reader(content: bytes) -> dict[str, Any]:
    r"""Encoding, separator, decimal and header of the text of a table.

    Examples
    --------
    >>> sniff_reader(b"size;price\n1,5;20\n2,5;30\n")
    {'encoding': 'utf-8', 'separator': ';', 'decimal': ',', 'header': True}
    """
    separator = guess_text_separator(content.decode(encoding_of(content), "replace"))
    found = sniff_text(_tabbed(content) if separator == "space" else content)
    return {
        "encoding": "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else found.encoding,
        "separator": separator,
        "decimal": found.decimal,
        "header": found.header,
    }


def _tabbed(content: bytes) -> bytes:
    """Text whose cells stand apart by blanks, with one tab between them."""
    return re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", content))


def sniff_kind(target: pandas.Series[Any]) -> Kind:
    """Kind of the task by its target, under the rule of the command line.

    See :func:`adacap.tables.targets.holds_classes`; two classes make a binary task.
    """
    is_number = target.dtype.kind in "biuf"
    if not holds_classes(target.to_numpy() if is_number else target.to_numpy(str)):
        return "regression"
    return "binary" if target.nunique() == 2 else "multiclass"
