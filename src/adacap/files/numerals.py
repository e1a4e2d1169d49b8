"""Columns of digits in text files that arrow alone would read otherwise than a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from adacap.files.errors import need_arrow

__all__ = ["has_codes", "is_code", "numbers_of_points", "ungrouped"]

_CODES = re.compile(r"""(?:^|[,;\t|"\s])(?:0\d+|\+\d{8,})(?:$|[,;\t|"\s])""", re.MULTILINE)
_GROUPED = r"^\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?\s*$"
_FEW = 0.01


def has_codes(sample: bytes, encoding: str) -> bool:
    r"""Whether some cell is a whole number with a leading zero, or like that of a telephone.

    Examples
    --------
    >>> has_codes(b"zip,x\n01234,5\n", "utf-8"), has_codes(b"x,y\n0,0.05\n", "utf-8")
    (True, False)
    """
    return _CODES.search(sample.decode(encoding, "replace")) is not None


def is_code(column: Any) -> bool:
    """Whether cells are digits alone, of which some begin with a zero, or most like telephones.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_code(pa.chunked_array([["01234", "99999"]])), is_code(pa.chunked_array([["1", "0"]]))
    (True, False)
    """
    compute = need_arrow().compute
    present = column.drop_null()
    if not len(present):
        return False
    digits = compute.all(compute.match_substring_regex(present, r"^\s*\+?\d+\s*$")).as_py()
    zeros, phones = (
        compute.sum(compute.match_substring_regex(present, pattern)).as_py()
        for pattern in (r"^\s*0\d+\s*$", r"^\s*\+\d{8,}\s*$")
    )
    return bool(digits and (zeros > _FEW * len(present) or phones > 0.5 * len(present)))


def ungrouped(table: Any) -> Any:
    """Columns of text such as ``1.234`` and ``12.345,5`` as numbers; points are of thousands.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ungrouped(pa.table({"a": ["1.234", "5"], "b": ["1.2", "x"]})).to_pydict()
    {'a': [1234.0, 5.0], 'b': ['1.2', 'x']}
    """
    compute, types = need_arrow().compute, need_arrow().types
    names = [
        field.name
        for field in table.schema
        if types.is_string(field.type)
        and table.column(field.name).null_count < table.num_rows
        and compute.all(compute.match_substring_regex(table.column(field.name), _GROUPED)).as_py()
    ]
    return numbers_of_points(table, names)


def numbers_of_points(table: Any, names: Sequence[str]) -> Any:
    """These columns as numbers; a cell that is none is refused by arrow."""
    pa = need_arrow()
    compute = pa.compute
    for name in names:
        column = compute.utf8_trim_whitespace(table.column(name))
        is_grouped = compute.match_substring_regex(column, _GROUPED)
        bare = compute.replace_substring(column, ".", "")
        column = compute.if_else(is_grouped, bare, column)
        column = compute.replace_substring(column, ",", ".").cast(pa.float64())
        table = table.set_column(table.column_names.index(name), name, column)
    return table
