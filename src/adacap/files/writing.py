"""Write tables in batches: at one go, or part by part so that an interrupted run can resume."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from adacap.exceptions import OutputError
from adacap.files.atomic import drafted, write_bytes
from adacap.files.errors import FileError, need, need_arrow, readable
from adacap.files.formats import Format, output_format

__all__ = [
    "Parts", "escaped", "fingerprint", "write_tables",
]  # fmt: skip

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
    """Cells as Python values; dates beyond year 9999, which Python cannot represent, as text."""
    try:
        return list(column.to_pylist())
    except OverflowError:
        return list(column.cast(need_arrow().string()).to_pylist())


def _excel_cell(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell.replace(tzinfo=None) if isinstance(cell, dt.datetime) else cell


_WRITERS: dict[str, Callable[[Path, Format, Any], Any]] = {
    "text": _TextWriter,
    "parquet": lambda path, form, schema: need(
        "pyarrow.parquet", "Writing Parquet files"
    ).ParquetWriter(path, schema),
    "arrow": lambda path, form, schema: need_arrow().ipc.new_file(str(path), schema),
    "excel": _ExcelWriter,
}


# ------------------------------------------------------------ an output written part by part


_STATE = "state.json"
_MOST_OF_NAME = 200  # bytes


def _folder_name(name: str) -> str:
    """Name of the folder of parts; a digest in place of a name too long to have more around it."""
    if len(os.fsencode(name)) > _MOST_OF_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return f".{name}.part"


def fingerprint(files: list[Path]) -> list[list[Any]]:
    """Name, size and modification time of files, to check that they are the same."""
    stats = [(file, file.stat()) for file in files]
    return [[str(file.resolve()), stat.st_size, stat.st_mtime_ns] for file, stat in stats]


class Parts:
    """Finished parts of an output, in a hidden folder beside it.

    Each part is a file of its own, which is there whole or not at all. ``finish`` puts them
    together and removes the folder. One run at a time may write to it, where the system has locks.

    Parameters
    ----------
    output : Path
    settings : mapping
        JSON-able; parts are only resumed if these are the same.

    Attributes
    ----------
    n_rows : int
        Rows of the parts that are there.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> output = Path(tempfile.mkdtemp(), "out.csv")
    >>> first = Parts(output, {"interval": 0.9})
    >>> first.start(resume=False)
    >>> first.add(pa.table({"prediction": [1.0, 2.0]}))
    >>> first.leave()
    >>> again = Parts(output, {"interval": 0.9})
    >>> again.start(resume=True)
    >>> again.n_rows
    2
    >>> again.add(pa.table({"prediction": [3.0]}))
    >>> again.finish(force=False)
    3
    >>> output.read_text().split()
    ['prediction', '1', '2', '3']
    """

    def __init__(self, output: Path, settings: Mapping[str, Any]) -> None:
        self.output = output
        self.folder = output.with_name(_folder_name(output.name))
        self._settings = json.loads(json.dumps(dict(settings)))
        self._rows: list[int] = []
        self._held: int | None = None  # a descriptor of the folder, which is locked

    @property
    def n_rows(self) -> int:
        """Rows of the parts that are there."""
        return sum(self._rows)

    def start(self, resume: bool) -> None:
        """Start over, or resume from the parts of an interrupted run.

        Raises
        ------
        FileError
            If there are parts of a run with other settings, or of one that is at work.
        """
        self._take()
        try:
            if resume and (self.folder / _STATE).is_file():
                self._resume()
            else:
                self._begin()
        except BaseException:
            self.leave()
            raise

    def _resume(self) -> None:
        with readable(self.folder / _STATE, "state of an interrupted run"):
            before = dict(json.loads((self.folder / _STATE).read_text("utf-8")))
        changed = [name for name in self._settings if before.get(name) != self._settings[name]]
        if changed:
            raise FileError(
                f"The interrupted run for {self.output} had another {' and '.join(changed)}, so it "
                "cannot resume. Start over: leave --resume out."
            )
        pa = need_arrow()
        for part in self._files():
            with readable(part, "part of an interrupted run"), pa.memory_map(str(part)) as file:
                reader = pa.ipc.open_file(file)
                rows = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
            self._rows.append(sum(rows))

    def _take(self) -> None:
        """Make the folder, and refuse one that another run is writing to."""
        if self.folder.is_symlink():
            raise FileError(f"{self.folder}, where parts are kept, is a link. Remove it.")
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self.output} cannot be written: no folder can be made beside it for its parts "
                f"({error.strerror}). Name another."
            ) from error
        with suppress(ImportError):  # Windows
            import fcntl

            self._held = os.open(self.folder, os.O_RDONLY)
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.leave()
                raise FileError(
                    f"Another run is writing {self.output}. Wait until it ends, or name another "
                    "file."
                ) from None
            except OSError:  # a file system without locks
                return

    def leave(self) -> None:
        """Let another run take the parts."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _begin(self) -> None:
        try:
            for old in self.folder.iterdir():
                old.unlink()
            self._write(_STATE, json.dumps(self._settings).encode())
        except BaseException:
            self.discard()
            raise

    def add(self, table: Any) -> None:
        """Keep one more part."""
        pa = need_arrow()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        self._write(f"{len(self._rows):08d}.arrow", sink.getvalue())
        self._rows.append(table.num_rows)

    def columns(self) -> list[str]:
        """Names of the columns of the parts that are there."""
        first = next(self._tables(), None)
        return [] if first is None else list(first.column_names)

    def finish(self, force: bool, *, escape_formulas: bool = False) -> int:
        """Write the output from all parts, remove them, and count the rows."""
        n_rows = write_tables(self.output, self._tables(), force, escape_formulas=escape_formulas)
        self.discard()
        return n_rows

    def discard(self) -> None:
        """Remove the parts."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._rows = []
        self.leave()

    def _files(self) -> Iterator[Path]:
        """Parts in their order, up to the first that is missing."""
        k = 0
        while (part := self.folder / f"{k:08d}.arrow").is_file():
            yield part
            k += 1

    def _tables(self) -> Iterator[Any]:
        pa = need_arrow()
        for part in self._files():
            with pa.memory_map(str(part)) as file:
                yield pa.ipc.open_file(file).read_all()

    def _write(self, name: str, content: Any) -> None:
        write_bytes(self.folder / name, content, force=True)
