"""A table on disk that is read in batches of rows, at constant memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adacap.exceptions import suggest
from adacap.files.errors import FileError, need_arrow

__all__ = ["BATCH_ROWS", "MemorySource", "Source", "plain_columns"]

BATCH_ROWS = 32_768


class Source(ABC):
    """A table on disk.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Columns.
    n_rows : int or None
        Rows, where the file says so without being read.
    notes : list of str
        What a reader of the results should know.
    made_from : Path or None
        What the user named, where ``path`` was made from it: a zip, ``-`` for standard input.
    """

    made_from: Path | None = None

    def __init__(self, path: Path, names: Sequence[str], n_rows: int | None = None) -> None:
        self.path = path
        self.names = tuple(names)
        self.n_rows = n_rows
        self.notes: list[str] = []
        self._kept: list[object] = []
        if twice := sorted(name for name, n in Counter(self.names).items() if n > 1):
            raise FileError(f"{path} has several columns of the name {twice[0]!r}. Rename them.")
        if not self.names:
            raise FileError(f"{path} has no columns.")

    @property
    def files(self) -> list[Path]:
        """The files it is made of, as the user knows them."""
        has_file = self.made_from is not None and self.made_from.exists()
        return [self.made_from if has_file and self.made_from else self.path]

    def keep(self, thing: object) -> None:
        """Keep something alive as long as this table, such as its folder."""
        self._kept.append(thing)

    @property
    def shown(self) -> str:
        """What messages call it."""
        if self.made_from is None:
            return str(self.path)
        return "Standard input" if str(self.made_from) == "-" else str(self.made_from)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        files = self.files if self.made_from is None else [self.path]
        return sum(file.stat().st_size for file in files)

    def position(self) -> float:
        """Share of the file that a running :meth:`batches` has read, where rows are not known."""
        return 0.0

    def check(self, names: Sequence[str], what: str = "column") -> None:
        """Refuse a name that is not a column, with the nearest one.

        Raises
        ------
        LookupError
        """
        for name in names:
            if name not in self.names:
                notes = "".join(f" {note}" for note in self.notes)
                raise LookupError(f"{suggest(name, self.names, what)} File: {self.shown}.{notes}")

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        kinds: Mapping[str, str] | None = None,
        rows: int = BATCH_ROWS,
        start: int = 0,
    ) -> Iterator[Any]:
        """Arrow tables of ``rows`` rows each, the last one shorter, in the order of the file.

        Parameters
        ----------
        columns : sequence of str, optional
            All by default.
        kinds : mapping of str to str, optional
            Kind of each column ("numeric", "boolean", "categorical", "datetime") where the file
            holds nothing but text; text where it is not said.
        rows : int
        start : int
            Rows to leave out at the beginning.
        """
        names = list(self.names if columns is None else columns)
        pieces = self._pieces(names, dict(kinds or {}), rows, start)
        for table in _even(pieces, rows):
            yield plain_columns(table, self.path)

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """The whole table, each column in the type that fits all of its cells."""
        pa = need_arrow()
        tables = list(self.batches(columns))
        if not tables:
            raise FileError(f"{self.path} has no rows.")
        return pa.concat_tables(tables, promote_options="permissive")

    def typed(self, table: Any) -> Any:
        """Rows that came from :meth:`batches` without kinds, in the types that fit their cells."""
        return table

    @abstractmethod
    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        """Tables of these columns, of any number of rows."""


def _even(pieces: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in tables of ``rows`` rows."""
    pa = need_arrow()
    waiting: list[Any] = []
    n_waiting = 0
    for piece in pieces:
        waiting.append(piece)
        n_waiting += piece.num_rows
        if n_waiting < rows:
            continue
        table = pa.concat_tables(waiting, promote_options="permissive")
        while table.num_rows >= rows:
            yield table.slice(0, rows)
            table = table.slice(rows)
        waiting, n_waiting = [table], table.num_rows
    if n_waiting:
        yield pa.concat_tables(waiting, promote_options="permissive")


class MemorySource(Source):
    """A table that had to be read as a whole, such as a sheet of a workbook."""

    def __init__(self, path: Path, table: Any) -> None:
        super().__init__(path, table.column_names, table.num_rows)
        self._table = table

    def _pieces(
        self, names: list[str], kinds: Mapping[str, str], rows: int, start: int
    ) -> Iterator[Any]:
        table = self._table.select(names).slice(start)
        if table.num_rows:
            yield table


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
    held = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_time(kind):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        whole = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        return pa.compute.divide(whole.cast(pa.float64()), unit)
    if types.is_decimal(kind):
        return column.cast(pa.float64())
    if types.is_large_string(kind) or str(kind) == "string_view":
        return column.cast(pa.string())
    if types.is_nested(held) or types.is_binary(held) or types.is_large_binary(held):
        what = f"{str(held).partition('<')[0]} values"
        raise FileError(
            f"Column {name!r} of {path} holds {what}, which are neither numbers, text nor dates. "
            f"Leave it out: --drop {name}."
        )
    return None
