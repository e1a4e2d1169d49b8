"""Columns of an arrow table as types that estimators read."""

from __future__ import annotations

from typing import Any

from adacap.files.errors import FileError, need_arrow

__all__ = ["plain_columns"]


def plain_columns(table: Any, path: Any = "the table") -> Any:
    """Arrow table with times of day in seconds, decimals as floats and one type of text.

    Examples
    --------
    >>> import datetime as dt
    >>> import pyarrow as pa
    >>> plain_columns(pa.table({"at": [dt.time(1, 0, 30)]})).to_pydict()
    {'at': [3630.0]}
    >>> plain_columns(pa.table({"tags": [["a", "b"]]}), "shop.parquet")
    Traceback (most recent call last):
    adacap.files.errors.FileError: Column 'tags' of shop.parquet holds list... --drop tags.
    """
    for j, field in enumerate(table.schema):
        column = _plain(table.column(j), field.name, path)
        if column is not None:
            table = table.set_column(j, field.name, column)
    return table


def _plain(column: Any, name: str, path: Any) -> Any:
    """Column in another type, or None if it can stay."""
    pa = need_arrow()
    types, kind = pa.types, column.type
    if types.is_time(kind):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        return pa.compute.divide(whole.cast(pa.float64()), unit)
    if types.is_decimal(kind):
        return column.cast(pa.float64())
    if types.is_large_string(kind) or str(kind) == "string_view":
        return column.cast(pa.string())
    if types.is_nested(kind) or (types.is_binary(kind) or types.is_large_binary(kind)):
        what = f"{str(kind).partition('<')[0]} values"
        raise FileError(
            f"Column {name!r} of {path} holds {what}, which are neither numbers, text nor dates. "
            f"Leave it out: --drop {name}."
        )
    return None
