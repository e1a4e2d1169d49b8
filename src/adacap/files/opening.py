"""Open any table that can be read; here also the formats that are not text."""

from __future__ import annotations

import datetime as dt
import json
import os
import warnings
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from adacap.files.errors import FileError, MissingFileError, need, need_arrow, readable
from adacap.files.formats import find_format
from adacap.files.sniff import TextOptions, column_names, title_lines
from adacap.files.source import MemorySource, Source
from adacap.files.text import TextSource
from adacap.files.unpacking import (
    Unpacked,
    from_stdin,
    refuse_bomb,
    spaced_encoding,
    unspaced,
    unzipped,
)

__all__ = ["open_table"]


# ----------------------------------------------------------------------- Parquet and Feather


_FEATHER = "Feather file of version 2"


class ParquetSource(Source):
    """One Parquet file, or a folder of them read in the order of their names.

    Folders named ``key=value`` inside give a column each.
    """

    def __init__(self, path: Path) -> None:
        need_arrow()
        self._parts = _parts(path)
        names, self._rows_of = None, []
        for file, keys in self._parts:
            with readable(file, "Parquet file"), _open(file) as opened:
                found = [*opened.schema_arrow.names, *keys]
                self._rows_of.append(opened.metadata.num_rows)
            names = names or found
            if missing := [name for name in names if name not in found]:
                first = self._parts[0][0].name
                raise FileError(f"{file} has no column {missing[0]!r}, but {first} has.")
        super().__init__(path, names or [], sum(self._rows_of))

    @property
    def files(self) -> list[Path]:
        """The files it is made of."""
        return [file for file, _ in self._parts]

    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        for (file, keys), n_rows in zip(self._parts, self._rows_of, strict=True):
            if start < n_rows:
                with readable(file, "Parquet file"):
                    yield from _file_pieces(file, keys, names, rows, start)
            start = max(0, start - n_rows)


def _parts(path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Files of a folder with what the names of their folders say; or the one file."""
    if not path.is_dir():
        return [(path, {})]
    datasets = need("pyarrow.dataset", "Reading a folder of Parquet files")
    files = [str(file) for file in sorted(path.rglob("*.parquet")) if _is_visible(file, path)]
    if not files:
        raise MissingFileError(f"The folder {path} holds no file that ends in .parquet.")
    with readable(path, "folder of Parquet files"):
        found = datasets.dataset(
            files, format="parquet", partitioning="hive", partition_base_dir=str(path)
        )
        parts = [
            (Path(fragment.path), datasets.get_partition_keys(fragment.partition_expression))
            for fragment in found.get_fragments()
        ]
    return sorted(parts, key=lambda part: part[0])


def _is_visible(file: Path, folder: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _open(file: Path) -> Any:
    return need("pyarrow.parquet", "Reading Parquet files").ParquetFile(file, memory_map=True)


def _file_pieces(
    file: Path, keys: dict[str, Any], names: list[str], rows: int, start: int
) -> Iterator[Any]:
    pa = need_arrow()
    own = [name for name in names if name not in keys]
    with _open(file) as opened:
        groups = list(range(opened.num_row_groups))
        while groups and start >= (size := opened.metadata.row_group(groups[0]).num_rows):
            start -= size
            groups.pop(0)
        for batch in opened.iter_batches(rows, row_groups=groups, columns=own, use_threads=False):
            table = pa.Table.from_batches([batch]).slice(start)
            start = max(0, start - batch.num_rows)
            for name in names:
                if name in keys:
                    column = pa.repeat(pa.scalar(keys[name]), table.num_rows)
                    table = table.append_column(name, column)
            if table.num_rows:
                yield table.select(names)


class ArrowSource(Source):
    """A Feather (version 2) or Arrow file."""

    def __init__(self, path: Path) -> None:
        pa = need_arrow()
        datasets = need("pyarrow.dataset", "Reading Feather files")
        with readable(path, _FEATHER):
            with pa.memory_map(str(path)) as file:
                names = pa.ipc.open_file(file).schema.names
            n_rows = datasets.dataset(str(path), format="feather").count_rows()
        super().__init__(path, names, n_rows)

    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        pa = need_arrow()
        with readable(self.path, _FEATHER), pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                batch.validate(full=True)  # lengths and offsets that a damaged file may lie about
                table = pa.Table.from_batches([batch]).select(names).slice(start)
                start = max(0, start - batch.num_rows)
                if table.num_rows:
                    yield table


# ------------------------------------------------------------------------------------- Excel


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


# -------------------------------------------------------------------------------------- JSON


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


# ------------------------------------------------------------------------------- any of them


def open_table(
    path: str | os.PathLike[str],
    known: Collection[str] = (),
    options: TextOptions | None = None,
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
    if str(path) == "-":
        return _open_unpacked(from_stdin(), known, options)
    form = find_format(path)
    if form.kind == "zip":
        return _open_unpacked(unzipped(path), known, options)
    if form.kind == "parquet":
        return ParquetSource(path)
    if form.kind == "arrow":
        return ArrowSource(path)
    if form.kind == "excel":
        return open_workbook(path)
    if form.kind == "json":
        return open_json(path)
    if encoding := spaced_encoding(path, form, options):
        return _open_unpacked(unspaced(path, encoding, path), known, _tabbed(options))
    return TextSource(path, form, known, options)


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


def _tabbed(options: TextOptions | None) -> TextOptions:
    return replace(options or TextOptions(), separator="\t", encoding="utf-8")
