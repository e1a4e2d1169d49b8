"""JSON: one object per line, or a list of objects."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adacap.files.errors import FileError, need_arrow, readable
from adacap.files.source import MemorySource

__all__ = ["cells_column", "open_json"]


def open_json(path: Path) -> MemorySource:
    """Table of a file of JSON; a key that an object does not have is a missing cell."""
    pa = need_arrow()
    with readable(path, "file of JSON"):
        rows = list(_rows(path))
        if not rows:
            raise FileError(f"{path} has no rows.")
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: cells_column([row.get(name) for row in rows], pa) for name in names}
        return MemorySource(path, pa.table(columns))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            yield from _listed(file.read(), path) if _is_list(path) else _lines(file, path)
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not written in UTF-8, as JSON is: {error}.") from error


def _is_list(path: Path) -> bool:
    with open(path, encoding="utf-8-sig") as file:
        return file.read(1000).lstrip().startswith("[")


def _lines(lines: Iterable[str], path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _object(line, path, f"line {number}")


def _object(text: str, path: Path, place: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileError(
            f"{path}, {place}: not JSON ({error.msg}): {text.strip()[:40]!r}."
        ) from error
    return _checked(row, path, place)


def _checked(row: Any, path: Path, place: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise FileError(
            f'{path}, {place}: each row must be an object such as {{"size": 5}}, got {row!r:.40}.'
        )
    return row


def _listed(text: str, path: Path) -> Iterator[dict[str, Any]]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileError(f"{path}, line {error.lineno}: not JSON ({error.msg}).") from error
    for k, row in enumerate(rows):
        yield _checked(row, path, f"row {k + 1}")


def cells_column(cells: list[Any], pa: Any) -> Any:
    """Cells of one column: all numbers, all dates, all booleans, or text."""
    types = {type(cell) for cell in cells if cell is not None}
    if types and types <= {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if types == {bool}:
        return pa.array(cells, pa.bool_())
    if types and types <= {dt.datetime, dt.date}:
        return pa.array(cells, pa.timestamp("us"))
    if types == {dt.time}:
        return pa.array(cells, pa.time64("us"))
    if types and types <= {list, dict}:
        return pa.array([None if cell is None else [str(cell)] for cell in cells])  # refused later
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
