"""Open any table that can be read; here also workbooks and JSON."""

from __future__ import annotations

import datetime as dt
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from adacap.files.columnar import ArrowSource, ParquetSource
from adacap.files.errors import FileError, in_memory, need, need_arrow, readable
from adacap.files.formats import find_format
from adacap.files.sniff import TextOptions, column_names, title_lines
from adacap.files.source import MemorySource, Source
from adacap.files.text import TextSource
from adacap.files.unpacking import (
    Unpacked,
    from_stdin,
    most_unpacked,
    refuse_bomb,
    spaced_encoding,
    unspaced,
    unzipped,
)

__all__ = ["open_table"]


# ------------------------------------------------------------------------------------- Excel

_EXCEL_ROWS = 1_048_576
_MOST_CELLS, _SPARSE = 20_000_000, 10  # cells of a table of which less than a tenth hold anything


def open_workbook(path: Path) -> MemorySource:
    """Read the first sheet; its first row holds the names of the columns."""
    openpyxl = need("openpyxl", "Reading Excel files")
    pa = need_arrow()
    with readable(path, "Excel workbook"):
        rows, n_sheets, title = _first_sheet(path, openpyxl)
    if len(rows) < 2:
        raise FileError(f"The first sheet of {path} has no rows below its line of names.")
    width = max(map(len, rows))
    texts = [
        ["" if cell is None else str(cell) for cell in row] + [""] * (width - len(row))
        for row in rows[:20]
    ]
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
    with open(path, "rb") as file, warnings.catch_warnings():  # openpyxl 3.1.0 may leave it open
        warnings.simplefilter("ignore")  # of styles and the like, which are not read
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what the file says of its size is not believed
            cells = sheet.iter_rows(values_only=True)
            return list(_filled(cells, path)), len(book.worksheets), str(sheet.title)
        finally:
            book.close()


def _filled(rows: Iterable[tuple[Any, ...]], path: Path) -> Iterator[tuple[Any, ...]]:
    """The rows that hold anything."""
    size = _Size(path, "Delete the cells that stand far from the others, or save it as .csv.")
    for number, row in enumerate(rows, start=1):
        if number > _EXCEL_ROWS:
            raise FileError(f"The first sheet of {path} has rows beyond the {_EXCEL_ROWS:,}th.")
        if n_filled := sum(cell is not None for cell in row):
            size.add(len(row), n_filled, sum(len(cell) for cell in row if type(cell) is str))
            yield row


class _Size:
    """Size of a table that is mostly empty cells, or one text again and again, refused in time.

    Such a file is small and its table is not: 25 kB of a workbook may have 16,384 columns.
    """

    def __init__(self, path: Path, way_out: str) -> None:
        self._path, self._way_out = path, way_out
        self._n_rows = self._n_columns = self._n_filled = self._n_text = 0
        self._most_text = most_unpacked(path)

    def add(self, n_columns: int, n_filled: int, n_text: int = 0) -> None:
        """One more row: its width, its cells that hold anything, their text."""
        self._n_rows += 1
        self._n_columns = max(self._n_columns, n_columns)
        self._n_filled += n_filled
        self._n_text += n_text
        n_cells = self._n_rows * self._n_columns
        if n_cells > max(_MOST_CELLS, _SPARSE * self._n_filled):
            raise FileError(
                f"{self._path} would be a table of {self._n_rows:,} rows or more and "
                f"{self._n_columns:,} columns, of whose {n_cells:,} cells only {self._n_filled:,} "
                f"hold anything. {self._way_out}"
            )
        if self._n_text > self._most_text:
            raise FileError(
                f"{self._path} would be a table of {self._n_text / 1e9:.1f} GB of text or more, "
                f"far beyond its size. {self._way_out}"
            )


# -------------------------------------------------------------------------------------- JSON


def open_json(path: Path) -> MemorySource:
    """Table of a file of JSON; a key that an object does not have is a missing cell."""
    pa = need_arrow()
    with readable(path, "file of JSON"):
        size = _Size(path, "Give its rows the same names, or leave rare names out.")
        rows: list[dict[str, Any]] = []
        names: dict[str, None] = {}
        for row in _rows(path):
            names |= dict.fromkeys(row)
            size.add(len(names), len(row))
            rows.append(row)
        if not rows:
            raise FileError(f"{path} has no rows.")
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


class _TwiceError(ValueError):
    """An object gives a name twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"an object gives the name {twice[:40]!r} twice. Rename one.")
    return found


def _object(text: str, path: Path, place: str) -> dict[str, Any]:
    try:
        row = json.loads(text, object_pairs_hook=_unique)
    except _TwiceError as error:
        raise FileError(f"{path}, {place}: {error}") from error
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
        rows = json.loads(text, object_pairs_hook=_unique)
    except _TwiceError as error:
        raise FileError(f"{path}: {error}") from error
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


# ------------------------------------------------------------------------------- any of them


def open_table(
    path: str | os.PathLike[str], known: Collection[str] = (), options: TextOptions | None = None
) -> Source:
    r"""Table of a file or folder, by its format; no row is read yet, except of a workbook.

    Parameters
    ----------
    path : str or path-like
        CSV and its relatives (also .gz), white space between columns, Parquet, a folder of Parquet
        files, Feather, Excel, JSON (one object per line, or a list), a zip of one of them, or
        ``"-"`` for standard input.
    known : collection of str
        Names of columns that will be asked for; helps to recognise a line of names.
    options : TextOptions, optional
        For text files: what is known of how they are written.

    Raises
    ------
    MissingFileError
    FileError

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "flats.csv")
    >>> _ = path.write_text("size;price\n1,5;20\n2,5;30\n")
    >>> source = open_table(path)
    >>> source.names
    ('size', 'price')
    >>> source.read().to_pydict()
    {'size': [1.5, 2.5], 'price': [20, 30]}
    """
    path = Path(path)
    with in_memory("standard input" if str(path) == "-" else path):
        if str(path) == "-":
            return _open_unpacked(from_stdin(), known, options)
        form = find_format(path)
        if form.kind == "zip":
            return _open_unpacked(unzipped(path), known, options)
        if form.kind in _OPENERS:
            return _OPENERS[form.kind](path)
        if encoding := spaced_encoding(path, form, options):
            options = replace(options or TextOptions(), separator="\t", encoding="utf-8")
            return _open_unpacked(unspaced(path, encoding, path), known, options)
        return TextSource(path, form, known, options)


_OPENERS: dict[str, Callable[[Path], Source]] = {
    "parquet": ParquetSource, "arrow": ArrowSource, "excel": open_workbook, "json": open_json,
}  # fmt: skip


def _open_unpacked(found: Unpacked, known: Collection[str], options: TextOptions | None) -> Source:
    """Table of a temporary file; messages name what the user named."""
    try:
        source = open_table(found.path, known, options)
    except FileError as error:
        shown = "Standard input" if str(found.made_from) == "-" else str(found.made_from)
        raise FileError(str(error).replace(str(found.path), shown)) from error
    source.made_from = found.made_from
    name = "Standard input" if str(found.made_from) == "-" else found.made_from.name
    source.notes = [note.replace(found.path.name, name) for note in source.notes]
    source.keep(found)
    return source
