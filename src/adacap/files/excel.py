"""The first sheet of an Excel workbook."""

from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any

from adacap.files.errors import FileError, need, need_arrow
from adacap.files.source import MemorySource

__all__ = ["open_workbook"]


def open_workbook(path: Path) -> MemorySource:
    """Read the first sheet; its first row holds the names of the columns."""
    openpyxl = need("openpyxl", "Reading Excel files")
    pa = need_arrow()
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (openpyxl.utils.exceptions.InvalidFileException, zipfile.BadZipFile, KeyError) as error:
        raise FileError(f"{path} is not a readable Excel workbook: {error}") from error
    try:
        sheet = book.worksheets[0]
        rows = [row for row in sheet.iter_rows(values_only=True) if any(c is not None for c in row)]
        n_sheets, title = len(book.worksheets), sheet.title
    finally:
        book.close()
    if len(rows) < 2:
        raise FileError(f"The first sheet of {path} has no rows below its line of names.")
    names = [str(cell) if cell is not None else f"unnamed_{j}" for j, cell in enumerate(rows[0])]
    columns = [_column([row[j] if j < len(row) else None for row in rows[1:]], pa)
               for j in range(len(names))]  # fmt: skip
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileError(f"{path} has several columns of the name {twice!r}. Rename them.")
    source = MemorySource(path, pa.table(dict(zip(names, columns, strict=True))))
    if n_sheets > 1:
        source.notes.append(f"{path.name} has {n_sheets} sheets: the first one is read, {title!r}.")
    return source


def _column(cells: list[Any], pa: Any) -> Any:
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
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
