"""The first sheet of an Excel workbook."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

from adacap.files.errors import FileError, need, need_arrow, readable
from adacap.files.jsons import cells_column
from adacap.files.sniff import column_names, title_lines
from adacap.files.source import MemorySource
from adacap.files.unpacking import refuse_bomb

__all__ = ["open_workbook"]


def open_workbook(path: Path) -> MemorySource:
    """Read the first sheet; its first row holds the names of the columns."""
    openpyxl = need("openpyxl", "Reading Excel files")
    pa = need_arrow()
    with readable(path, "Excel workbook"):
        rows, n_sheets, title = _first_sheet(path, openpyxl)
    if len(rows) < 2:
        raise FileError(f"The first sheet of {path} has no rows below its line of names.")
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows[:20]]
    first = title_lines(texts)
    names = column_names(texts[first])
    with readable(path, "Excel workbook"):
        columns = [
            cells_column([row[j] if j < len(row) else None for row in rows[first + 1 :]], pa)
            for j in range(len(names))
        ]
    source = MemorySource(path, pa.Table.from_arrays(columns, list(names)))
    if first:
        source.notes.append(f"{path.name}: {first} row(s) above the names are left out.")
    if n_sheets > 1:
        source.notes.append(f"{path.name} has {n_sheets} sheets: the first one is read, {title!r}.")
    return source


def _first_sheet(path: Path, openpyxl: Any) -> tuple[list[tuple[Any, ...]], int, str]:
    """Rows that hold anything, the number of sheets, and the title of the first."""
    with zipfile.ZipFile(path) as archive:
        refuse_bomb(archive, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and the like, which are not read
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            cells = sheet.iter_rows(values_only=True)
            rows = [row for row in cells if any(cell is not None for cell in row)]
            return rows, len(book.worksheets), str(sheet.title)
        finally:
            book.close()
