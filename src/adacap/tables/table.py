"""Read the user's table, whatever its container, as typed columns.

A :class:`Table` holds one of four kinds of column and no reference to the library the
data came from. Numbers are kept in the dtype and the memory they arrived in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Array, Floats
from adacap.tables.columns import (
    Column,
    ColumnKind,
    as_array,
    infinity_error,
    narrowed,
    place_of,
    read_column,
    refuse_no_table,
    refuse_sparse,
)
from adacap.tables.containers import read_frame
from adacap.tables.readings import Reading, find_readings

__all__ = ["Table", "read_table", "read_texts", "row_chunks"]

_CHUNK = 16_384  # rows handled at once where temporaries should stay in cache
_NAN_BITS = np.array([np.nan]).view(np.uint64)[0]
_MIX_VALUE = np.uint64(0x9E3779B97F4A7C15)  # odd 64-bit constants with well spread bits
_MIX_ROW = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Immutable columns of one table, as made by :func:`read_table`.

    Examples
    --------
    >>> table = read_table([[1.5, "red"], [2.5, None]])
    >>> table
    Table(2 rows, 2 columns: 1 numeric, 1 categorical)
    >>> table.kind(1), table.column(1)
    ('categorical', array(['red', None], dtype=object))
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...] | None = None  # None when the input had no string names
    _block: Array | None = None
    readings: tuple[Reading | None, ...] | None = None  # once :func:`read_texts` has read text

    @property
    def matrix(self) -> Array | None:
        """The matrix that the table was read from, if it was one and holds numbers."""
        return None if self._block is None or self._block.dtype.kind == "b" else self._block

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def __repr__(self) -> str:
        kinds = [column.kind for column in self.columns]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"Table({self.n_rows} rows, {self.n_columns} columns: {counts})"

    def kind(self, j: int) -> ColumnKind:
        """Kind of column ``j``: numeric, boolean, categorical or datetime."""
        return self.columns[j].kind

    def place(self, j: int) -> str:
        """Column ``j`` as messages name it: ``column 'price'`` or ``column 3``."""
        return place_of(self.names, j)

    def column(self, j: int) -> Array:
        """Values of column ``j``; missing cells are NaN, or None in a categorical column.

        Numbers are floats, a read-only view where the input held floats; booleans 0.0 and 1.0;
        dates seconds since 1970-01-01 UTC; text is an object array of str.
        """
        column = self.columns[j]
        if column.kind == "categorical":
            return np.array([*column.levels, None], dtype=object)[column.values]
        is_float = column.values.dtype.kind == "f" and column.values.dtype.itemsize <= 8
        view = column.values.view() if is_float else column.values.astype(np.float64)
        view.flags.writeable = False
        return view

    def take(self, rows: Any) -> Table:
        """Table of the rows given as indices, boolean mask or slice."""
        if self._block is not None:
            return _from_block(self._block[rows])
        columns = tuple(column.take(rows) for column in self.columns)
        return Table(columns, self.names, readings=self.readings)

    def arrange(self, order: Sequence[int]) -> Table:
        """Table of the columns at these positions, in this order; -1 is one without values."""
        if list(order) == list(range(self.n_columns)):
            return self
        names = (
            None if self.names is None else tuple(self.names[j] if j >= 0 else "" for j in order)
        )
        nothing = Column("numeric", np.full(self.n_rows, np.nan)) if -1 in order else None
        columns = (nothing if nothing and j < 0 else self.columns[j] for j in order)
        return Table(tuple(columns), names)

    def read(self, readings: Sequence[Reading | None], is_new: bool = False) -> Table:
        """Table whose text is read as what it spells; warns of new rows where that fails."""
        if not any(readings):
            return self
        columns = tuple(
            reading.read(column, self.place(j) if is_new else "") if reading else column
            for j, (column, reading) in enumerate(zip(self.columns, readings, strict=True))
        )
        return Table(columns, self.names)

    def row_keys(self) -> npt.NDArray[np.uint64]:
        """64-bit hash of each row's content, the same in every process and on every platform.

        Equal rows have equal keys: -0.0 equals 0.0, all missing cells are equal, and a
        number has the same key in every dtype. Different rows may collide, if rarely;
        :meth:`rows_equal` decides.
        """
        keys = np.full(self.n_rows, len(self.columns), dtype=np.uint64)
        for rows in row_chunks(self.n_rows):
            for column, digest in zip(self.columns, self._digests, strict=True):
                _absorb(keys[rows], _cell_bits(column, rows, digest))
        return keys

    def contents(self, rows: Any) -> Floats:
        """Cells of some rows as numbers that say which are equal; missing ones are NaN.

        A level of text has a number that depends on nothing but the text. The array, a row for
        each column, is one's own.
        """
        if self.matrix is not None:
            cells: Floats = self.matrix[rows].T.astype(np.float64, order="C")
            return cells
        return np.stack([self._content(j, rows) for j in range(self.n_columns)])

    def _content(self, j: int, rows: Any) -> Array:
        column = self.columns[j]
        cells: Array = column.values[rows]
        if column.kind != "categorical":
            return cells.astype(np.float64)
        numbers: Floats = self._digests[j] / 2.0**64
        numbers[-1] = np.nan
        return numbers[cells]

    @cached_property
    def _digests(self) -> list[npt.NDArray[np.uint64]]:
        return [_level_digests(column.levels) for column in self.columns]

    def rows_equal(self, a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether row ``a[i]`` holds the same cells as row ``b[i]``, for each ``i``."""
        a, b = np.asarray(a), np.asarray(b)
        equal = np.ones(a.shape, dtype=np.bool_)
        for column in self.columns:
            left, right = column.values[a], column.values[b]
            same = left == right
            if left.dtype.kind == "f":
                same |= np.isnan(left) & np.isnan(right)
            equal &= same
        return equal


# --------------------------------------------------------------------------- hashing


def row_chunks(n_rows: int) -> Iterator[slice]:
    """Slices of rows whose temporaries stay in cache."""
    return (slice(start, start + _CHUNK) for start in range(0, n_rows, _CHUNK))


def _level_digests(levels: Iterable[str]) -> npt.NDArray[np.uint64]:
    texts = (level.encode("utf-8", "surrogatepass") for level in levels)
    digests = [hashlib.blake2b(text, digest_size=8).digest() for text in texts]
    hashes = [int.from_bytes(digest, "big") for digest in digests]
    return np.array([*hashes, _NAN_BITS], dtype=np.uint64)  # code -1 finds the missing one


def _cell_bits(
    column: Column, rows: slice, digests: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    if column.kind == "categorical":
        return digests[column.values[rows]]
    values = column.values[rows].astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    bits = values.view(np.uint64)
    bits[np.isnan(values)] = _NAN_BITS
    return bits


def _absorb(keys: npt.NDArray[np.uint64], bits: npt.NDArray[np.uint64]) -> None:
    """Fold one column into the keys, in place; invertible in either argument."""
    bits *= _MIX_VALUE
    bits ^= bits >> np.uint64(32)
    keys ^= bits
    keys *= _MIX_ROW
    keys ^= keys >> np.uint64(29)


# --------------------------------------------------------------------------- reading


def read_table(X: Any) -> Table:
    """Read a two-dimensional table of numbers, text, booleans and dates.

    None, NaN, NA and NaT are missing cells. Text is categorical even where it spells a number; a
    column of Python or NumPy numbers is numeric whatever its container says. X is a NumPy array, a
    dataframe (pandas, polars, arrow or one like them), a mapping of columns, a list of lists, or
    what NumPy can convert; a Table is returned as it is. Floating and integer data is not copied.
    Refused are X that is sparse, lazy, empty or not two-dimensional, complex and infinite values,
    and cells that :func:`~adacap.tables.columns.read_column` refuses.

    Examples
    --------
    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"size": [3, 4], "sold": [True, None]}))
    >>> table.names, table.kind(1)
    (('size', 'sold'), 'boolean')
    """
    if isinstance(X, Table):
        return X
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub" and X.size:
        table = _from_block(X)  # fast path for single rows
        _refuse_infinity(table)
        return table
    refuse_sparse(X)
    refuse_no_table(X)
    frame = read_frame(X)
    table = _read_array(X) if frame is None else Table(*frame)
    _refuse_infinity(table)
    return table


def read_texts(table: Table, read_text: bool | str) -> Table:
    """Table whose text is read as what it spells, with the rules that were used.

    A table whose text has been read is returned as it is; ``read_text`` is that of
    :class:`TableEncoder`.

    Examples
    --------
    >>> read_texts(read_table([["1,200"], ["900"]]), True).column(0)
    array([1200.,  900.])
    """
    if table.readings is not None:
        return table
    names = table.names or [f"x{j}" for j in range(table.n_columns)]
    readings = find_readings(table.columns, read_text, names)
    return replace(table.read(readings), readings=tuple(readings))


def _read_array(X: Any) -> Table:
    array = as_array(X)
    if array.dtype.kind in "fiub":
        return _from_block(array)
    columns = (read_column(array[:, j], place_of(None, j)) for j in range(array.shape[1]))
    return Table(tuple(columns))


def _from_block(block: Array) -> Table:
    block = narrowed(block)
    kind: ColumnKind = "boolean" if block.dtype.kind == "b" else "numeric"
    return Table(tuple(Column(kind, values) for values in block.T), None, block)


def _refuse_infinity(table: Table) -> None:
    floats = (column.values for column in table.columns if column.values.dtype.kind == "f")
    blocks = floats if table._block is None else [table._block]
    if not any(
        np.isinf(block[rows]).any() for block in blocks for rows in row_chunks(table.n_rows)
    ):
        return
    for j in range(table.n_columns):
        count = int(np.isinf(table.column(j)).sum()) if table.kind(j) != "categorical" else 0
        if count:
            raise infinity_error(table.place(j), count, table.n_rows)
