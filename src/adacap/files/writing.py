"""Write tables in batches."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adacap.files.atomic import drafted
from adacap.files.errors import FileError, need, need_arrow
from adacap.files.formats import Format, output_format

__all__ = ["escaped", "write_tables"]

_EXCEL_ROWS = 1_048_576
_FORMULA = r"^([=+\-@\t\r\n|%])"  # what may begin one, and the blanks that programs pass over


def write_tables(
    path: str | os.PathLike[str],
    tables: Iterator[Any],
    force: bool = False,
    *,
    escape_formulas: bool = False,
) -> int:
    """Write arrow tables of equal columns one below the other, and count their rows.

    The format is that of the name: .csv, .tsv, .txt (also .gz), .parquet, .feather, .xlsx.

    Parameters
    ----------
    path : str or path-like
    tables : iterator of pyarrow.Table
    force : bool, default=False
        Replace a file that exists.
    escape_formulas : bool, default=False
        In text files put an apostrophe before text and names that a spreadsheet would take for a
        formula; see ``escaped``. A workbook never holds any: its text is marked as text.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> target = Path(tempfile.mkdtemp(), "out.csv")
    >>> write_tables(target, iter([pa.table({"a": [1, None]}), pa.table({"a": [3]})]))
    3
    >>> target.read_text().split()
    ['a', '1', '3']
    """
    form = output_format(path)
    n_rows = 0
    with drafted(path, force) as draft:
        writer: Any = None
        try:
            for table in tables:
                if escape_formulas and form.kind == "text":
                    table = escaped(table)
                writer = writer or _WRITERS[form.kind](draft, form, table.schema)
                writer.write(table)
                n_rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise FileError(f"There is nothing to write to {os.fspath(path)}.")
    return n_rows


def escaped(table: Any) -> Any:
    """Table whose text and names no spreadsheet takes for formulas: an apostrophe goes before them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> escaped(pa.table({"=a": ["=1+1", "-x", "b", None], "n": [-1, 2, 3, 4]})).to_pydict()
    {"'=a": ["'=1+1", "'-x", 'b', None], 'n': [-1, 2, 3, 4]}
    """
    pa = need_arrow()
    for j, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            text = pa.compute.replace_substring_regex(column, _FORMULA, r"'\1")
            table = table.set_column(j, table.column_names[j], text)
    return table.rename_columns([re.sub(_FORMULA, r"'\1", name) for name in table.column_names])


class _TextWriter:
    def __init__(self, path: Path, form: Format, schema: Any) -> None:
        pa = need_arrow()
        self._separator = form.separator or ","
        self._file = pa.OSFile(str(path), "wb")
        self._sink = self._file
        if form.packing is not None:
            self._sink = pa.CompressedOutputStream(self._file, form.packing)
        header = io.StringIO()
        csv.writer(header, delimiter=self._separator, lineterminator="\n").writerow(schema.names)
        self._sink.write(header.getvalue().encode())

    def write(self, table: Any) -> None:
        """Quote text only where a table needs it somewhere."""
        pa = need_arrow()
        try:
            self._sink.write(self._text(table, "none"))
        except pa.ArrowInvalid:
            self._sink.write(self._text(table, "needed"))

    def _text(self, table: Any, quoting: str) -> Any:
        arrow_csv = need("pyarrow.csv", "Writing text files")
        sink = need_arrow().BufferOutputStream()
        options = arrow_csv.WriteOptions(
            include_header=False, delimiter=self._separator, quoting_style=quoting
        )
        arrow_csv.write_csv(table, sink, options)
        return sink.getvalue()

    def close(self) -> None:
        self._sink.close()
        self._file.close()


def _parquet_writer(path: Path, form: Format, schema: Any) -> Any:
    return need("pyarrow.parquet", "Writing Parquet files").ParquetWriter(path, schema)


def _arrow_writer(path: Path, form: Format, schema: Any) -> Any:
    return need_arrow().ipc.new_file(str(path), schema)


class _ExcelWriter:
    """One sheet; a cell of Excel holds no time zone and no number that is not finite.

    Text is text, also where it begins as a formula does.
    """

    def __init__(self, path: Path, form: Format, schema: Any) -> None:
        openpyxl = need("openpyxl", "Writing Excel files")
        self._path, self._n_rows = path, 1
        self._book = openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet("predictions")
        self._sheet.append([self._cell(name) for name in schema.names])

    def write(self, table: Any) -> None:
        self._n_rows += table.num_rows
        if self._n_rows > _EXCEL_ROWS:
            raise FileError(f"A sheet of Excel holds {_EXCEL_ROWS:,} rows. Write .csv or .parquet.")
        for row in zip(*map(_cells, table.columns), strict=True):
            self._sheet.append([self._cell(cell) for cell in row])

    def _cell(self, cell: Any) -> Any:
        if not isinstance(cell, str):
            return _excel_cell(cell)
        openpyxl = need("openpyxl.cell", "Writing Excel files")
        text = openpyxl.cell.ILLEGAL_CHARACTERS_RE.sub("\ufffd", cell)
        if not text.startswith("="):
            return text
        found = openpyxl.WriteOnlyCell(self._sheet, text)
        found.data_type = "s"
        return found

    def close(self) -> None:
        self._book.save(self._path)


def _cells(column: Any) -> list[Any]:
    """Cells as Python has them; dates beyond the year 9999, which it has not, as text."""
    try:
        return list(column.to_pylist())
    except OverflowError:
        return list(column.cast(need_arrow().string()).to_pylist())


def _excel_cell(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell.replace(tzinfo=None) if isinstance(cell, dt.datetime) else cell


_WRITERS = {
    "text": _TextWriter,
    "parquet": _parquet_writer,
    "arrow": _arrow_writer,
    "excel": _ExcelWriter,
}
