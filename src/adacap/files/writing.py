"""Write files whole or not at all, and tables in batches."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adacap.exceptions import refuse_existing
from adacap.files.errors import FileError, need, need_arrow
from adacap.files.formats import Format, output_format

__all__ = ["check_output", "drafted", "write_tables"]

_EXCEL_ROWS = 1_048_576


def check_output(path: str | os.PathLike[str], force: bool) -> Path:
    """Refuse an output that exists or has no folder, before work is done for nothing.

    Examples
    --------
    >>> check_output("nowhere/out.csv", force=False)
    Traceback (most recent call last):
    adacap.files.errors.FileError: There is no folder nowhere to write out.csv to.
    """
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder. Name a file.")
    refuse_existing(path, force)
    if not path.parent.is_dir():
        raise FileError(f"There is no folder {path.parent} to write {path.name} to.")
    return path


@contextmanager
def drafted(path: str | os.PathLike[str], force: bool) -> Iterator[Path]:
    """Name of a draft beside the target; it takes the target's place if all goes well.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "out.txt")
    >>> with drafted(target, force=False) as draft:
    ...     _ = draft.write_text("done")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('done', 1)
    """
    target = check_output(path, force).resolve()  # of a link, what it points to is replaced
    draft = target.with_name(f".{target.stem}.{secrets.token_hex(6)}{target.suffix}")
    try:
        yield draft
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        check_output(path, force)  # it may have appeared in the meantime
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def write_tables(path: str | os.PathLike[str], tables: Iterator[Any], force: bool = False) -> int:
    """Write arrow tables of equal columns one below the other, and count their rows.

    The format is that of the name: .csv, .tsv, .txt (also .gz), .parquet, .feather, .xlsx.

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
                writer = writer or _WRITERS[form.kind](draft, form, table.schema)
                writer.write(table)
                n_rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise FileError(f"There is nothing to write to {os.fspath(path)}.")
    return n_rows


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
    """One sheet; a cell of Excel holds no time zone and no number that is not finite."""

    def __init__(self, path: Path, form: Format, schema: Any) -> None:
        openpyxl = need("openpyxl", "Writing Excel files")
        self._path, self._n_rows = path, 1
        self._book = openpyxl.Workbook(write_only=True)
        self._sheet = self._book.create_sheet("predictions")
        self._sheet.append(list(schema.names))

    def write(self, table: Any) -> None:
        self._n_rows += table.num_rows
        if self._n_rows > _EXCEL_ROWS:
            raise FileError(f"A sheet of Excel holds {_EXCEL_ROWS:,} rows. Write .csv or .parquet.")
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            self._sheet.append([_excel_cell(cell) for cell in row])

    def close(self) -> None:
        self._book.save(self._path)


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
