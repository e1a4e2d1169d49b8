"""A table on disk: read in batches of rows, or sampled in one pass, at constant memory."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap.exceptions import suggest
from adacap.files.errors import FileError, in_memory, need_arrow

__all__ = [
    "BATCH_BYTES", "BATCH_ROWS", "MOST_BYTES", "MemorySource", "Sample", "Source", "draw_rows",
    "plain_columns", "sample_table",
]  # fmt: skip

BATCH_ROWS = 32_768
BATCH_BYTES = 64 << 20  # that a batch may take before it ends with fewer rows


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

    @property
    def text_size(self) -> float:
        """Bytes of text, about; infinite where a table is not text."""
        return math.inf

    def position(self) -> float:
        """Share of the file that a running :meth:`batches` has read, where rows are not known."""
        return 0.0

    def check(self, names: Sequence[str], what: str = "column") -> None:
        """Refuse a name that is not a column, with the nearest one."""
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

        Where so many rows take more than 64 MB, tables of fewer.

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
        with in_memory(self.shown):
            for table in _even(pieces, rows):
                yield plain_columns(table, self.shown)

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """The whole table, each column in the type that fits all of its cells."""
        pa = need_arrow()
        tables = list(self.batches(columns))
        if not tables:
            raise FileError(f"{self.shown} has no rows.")
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
    """The same rows in tables of ``rows`` rows, of fewer where these take too much memory."""
    pa = need_arrow()
    waiting: list[Any] = []
    n_waiting = n_bytes = 0
    for piece in pieces:
        waiting.append(piece)
        n_waiting += piece.num_rows
        n_bytes += piece.nbytes
        is_full = n_bytes > BATCH_BYTES
        if n_waiting < rows and not is_full:
            continue
        table = pa.concat_tables(waiting, promote_options="permissive")
        while table.num_rows >= rows:
            yield table.slice(0, rows)
            table = table.slice(rows)
        if is_full and table.num_rows:
            yield table
            table = table.slice(table.num_rows)
        waiting, n_waiting, n_bytes = [table], table.num_rows, table.nbytes
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


# ---------------------------------------------------------------------- a sample of its rows


MOST_BYTES = 256 << 20  # of a sample in memory; training takes a few times as much
_WHOLE_TEXT = 128 << 20  # bytes of a text file that is read at once

RowProgress = Callable[[int, float], None]


class Sample(NamedTuple):
    """Rows in memory, how many the file has, whether they were drawn, and their numbers from 1."""

    table: Any
    n_rows: int
    drawn: bool
    numbers: npt.NDArray[np.int64]


def sample_table(
    source: Source,
    columns: Sequence[str],
    most: int,
    seed: int = 0,
    *,
    most_bytes: int = MOST_BYTES,
    progress: RowProgress | None = None,
) -> Sample:
    """All rows of a table, or where they are too many a uniform sample of them.

    Parameters
    ----------
    source : Source
    columns : sequence of str
    most : int
        Rows to return at most.
    seed : int
    most_bytes : int
        Memory of the sample, about.
    progress : callable, optional
        Called with the number of rows read and the share of the file.

    Returns
    -------
    Sample
        Rows in the order of the file; the same for the same seed.
    """

    def report(n_read: int, share: float) -> None:
        if progress is not None:
            known = n_read / source.n_rows if source.n_rows else source.position()
            progress(n_read, known)

    draw = partial(draw_rows, most=most, seed=seed, most_bytes=most_bytes)
    with in_memory(source.shown):
        if source.text_size <= min(_WHOLE_TEXT, most_bytes):
            table = source.read(columns)
            starts = range(0, table.num_rows, BATCH_ROWS)
            return draw((table.slice(i, BATCH_ROWS) for i in starts), progress=progress)
        found = draw(source.batches(columns), progress=report)
        if not found.n_rows:
            raise FileError(f"{source.shown} has no rows.")
        return found._replace(table=source.typed(found.table))


def draw_rows(
    batches: Iterable[Any],
    most: int,
    seed: int,
    *,
    most_bytes: int = MOST_BYTES,
    progress: RowProgress | None = None,
) -> Sample:
    """Uniform sample without replacement of rows that come in batches of unknown number.

    Each row gets a random key, and the rows of the ``most`` smallest keys stay. Memory holds one
    and a half samples and one batch at most.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batches = (pa.table({"x": [k, k + 0.5]}) for k in range(1000))
    >>> found = draw_rows(batches, 3, seed=0)
    >>> found.n_rows, found.table.num_rows, len(found.numbers)
    (2000, 3, 3)
    """
    rng = np.random.default_rng(seed)
    kept = _Kept(most)
    n_rows = 0
    for batch in batches:
        n_rows += batch.num_rows
        kept.add(batch, rng.random(batch.num_rows), n_rows - batch.num_rows + 1)
        kept.limit_bytes(most_bytes)
        if progress is not None:
            progress(n_rows, 0.0)
    table, numbers = kept.table()
    return Sample(table, n_rows, table.num_rows < n_rows, numbers)


class _Kept:
    """The rows of the smallest keys so far."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._tables: list[Any] = []
        self._keys: list[npt.NDArray[np.float64]] = []
        self._numbers: list[npt.NDArray[np.int64]] = []
        self._n_rows = self._n_bytes = 0  # of the tables: to add them up again takes long
        self._bound = np.inf  # no row of a larger key can stay

    def add(self, batch: Any, keys: npt.NDArray[np.float64], first: int) -> None:
        use = keys < self._bound
        if not use.any():
            return
        table = batch if use.all() else batch.filter(need_arrow().array(use))
        self._numbers.append(first + np.flatnonzero(use).astype(np.int64))
        self._tables.append(table)
        self._keys.append(keys[use])
        self._n_rows += table.num_rows
        self._n_bytes += table.nbytes
        if self._n_rows > 1.5 * self.most + 1:
            self._shrink()

    def limit_bytes(self, most_bytes: int) -> None:
        """Keep fewer rows from now on if these take too much memory."""
        if self._n_bytes > 1.5 * most_bytes:
            self.most = max(1, min(self.most, int(self._n_rows * most_bytes / self._n_bytes)))
            self._shrink()

    def _shrink(self) -> None:
        keys = np.concatenate(self._keys) if self._keys else np.empty(0)
        if len(keys) <= self.most:
            return
        self._bound = float(np.partition(keys, self.most - 1)[self.most - 1])
        use = keys <= self._bound
        pa = need_arrow()
        table = pa.concat_tables(self._tables, promote_options="permissive")
        self._tables, self._keys = [table.filter(pa.array(use))], [keys[use]]
        self._numbers = [np.concatenate(self._numbers)[use]]
        self._n_rows, self._n_bytes = self._tables[0].num_rows, self._tables[0].nbytes

    def table(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """The rows and their numbers."""
        self._shrink()
        if not self._tables:
            return need_arrow().table({}), np.empty(0, dtype=np.int64)
        table = need_arrow().concat_tables(self._tables, promote_options="permissive")
        return table, np.concatenate(self._numbers)
