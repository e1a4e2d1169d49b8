"""Read the user's table, whatever its container, as typed columns.

A :class:`Table` holds one of four kinds of column and no reference to the library the
data came from. Numbers are kept in the dtype and the memory they arrived in.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt

__all__ = ["Kind", "Table", "is_missing", "read_table", "row_chunks"]

Kind = Literal["numeric", "boolean", "categorical", "datetime"]
Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int32]

_CHUNK = 16_384  # rows handled at once where temporaries should stay in cache
_MISSING_TYPES = {"NAType", "NaTType"}  # pandas.NA, pandas.NaT: recognised without pandas
_NAN_BITS = np.array([np.nan]).view(np.uint64)[0]
_MIX_VALUE = np.uint64(0x9E3779B97F4A7C15)  # odd 64-bit constants with well spread bits
_MIX_ROW = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, eq=False)
class _Column:
    """One column: numbers as given, seconds since epoch, or int32 codes (-1 = missing)."""

    kind: Kind
    values: Array
    levels: tuple[str, ...] = ()

    def take(self, rows: Any) -> _Column:
        return _Column(self.kind, self.values[rows], self.levels)


# ---------------------------------------------------------------------------- Table


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Immutable columns of one table, as made by :func:`read_table`.

    Attributes
    ----------
    names : tuple of str or None
        Column names; None when the input had no string names.

    Examples
    --------
    >>> table = read_table([[1.5, "red"], [2.5, None]])
    >>> table
    Table(2 rows, 2 columns: 1 numeric, 1 categorical)
    >>> table.kind(1), table.column(1)
    ('categorical', array(['red', None], dtype=object))
    """

    _columns: tuple[_Column, ...]
    names: tuple[str, ...] | None = None
    _block: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._columns[0].values)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def __repr__(self) -> str:
        kinds = [column.kind for column in self._columns]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"Table({self.n_rows} rows, {self.n_columns} columns: {counts})"

    def kind(self, j: int) -> Kind:
        """Kind of column ``j``: numeric, boolean, categorical or datetime."""
        return self._columns[j].kind

    def label(self, j: int) -> str:
        """Name of column ``j``, or ``"column j"`` when the table has no names."""
        return f"column {j}" if self.names is None else self.names[j]

    def place(self, j: int) -> str:
        """Column ``j`` as messages speak of it: ``column 'price'`` or ``column 3``."""
        return _place(self.names, j)

    def column(self, j: int) -> Array:
        """Values of column ``j``; missing cells are NaN, or None in a categorical column.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numeric: floats, a read-only view where the input already held floats.
            Boolean: 0.0 and 1.0. Datetime: seconds since 1970-01-01 UTC.
            Categorical: object array of str.
        """
        column = self._columns[j]
        if column.kind == "categorical":
            return np.array([*column.levels, None], dtype=object)[column.values]
        return _read_only(_as_float(column.values))

    def codes(self, j: int) -> tuple[Codes, tuple[str, ...]]:
        """Column ``j`` as text: codes (-1 = missing) into a tuple of distinct levels.

        Any kind can be asked for its text; whole numbers are written without a decimal
        point, so that 3 and 3.0 are the same level. Levels may be unused after ``take``.
        """
        column = self._columns[j]
        if column.kind == "categorical":
            return column.values, column.levels
        values = self.column(j)
        present = ~np.isnan(values)
        distinct, inverse = np.unique(values[present], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int32)
        codes[present] = inverse
        convert = bool if column.kind == "boolean" else float
        return codes, tuple(_text(convert(value)) for value in distinct)

    def take(self, rows: Any) -> Table:
        """Table of the rows given as indices, boolean mask or slice."""
        if self._block is not None:
            return _from_block(self._block[rows])
        return Table(tuple(column.take(rows) for column in self._columns), self.names)

    def select(self, names: Sequence[str]) -> Table:
        """Table of the columns of these names, in this order."""
        if self.names is None:
            raise ValueError("Columns cannot be selected by name: this table has no names.")
        position = {name: j for j, name in enumerate(self.names)}
        unknown = [name for name in names if name not in position]
        if unknown:
            raise ValueError(f"Unknown column names {unknown}. Known: {list(self.names)}.")
        return Table(tuple(self._columns[position[name]] for name in names), tuple(names))

    def row_keys(self) -> npt.NDArray[np.uint64]:
        """64-bit hash of each row's content, the same in every process and on every platform.

        Equal rows have equal keys: -0.0 equals 0.0, all missing cells are equal, and a
        number has the same key in every dtype. Different rows may collide, if rarely;
        :meth:`rows_equal` decides.

        Returns
        -------
        ndarray of uint64, shape (n_rows,)
        """
        keys = np.full(self.n_rows, len(self._columns), dtype=np.uint64)
        digests = [_level_digests(column.levels) for column in self._columns]
        for rows in row_chunks(self.n_rows):
            for column, digest in zip(self._columns, digests, strict=True):
                _absorb(keys[rows], _cell_bits(column, rows, digest))
        return keys

    def rows_equal(self, a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether row ``a[i]`` holds the same cells as row ``b[i]``, for each ``i``."""
        a, b = np.asarray(a), np.asarray(b)
        equal = np.ones(a.shape, dtype=np.bool_)
        for column in self._columns:
            left, right = column.values[a], column.values[b]
            same = left == right
            if left.dtype.kind == "f":
                same |= np.isnan(left) & np.isnan(right)
            equal &= same
        return equal


def _as_float(values: Array) -> Array:
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        return values
    return values.astype(np.float64)


def _read_only(values: Array) -> Array:
    view = values.view()
    view.flags.writeable = False
    return view


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
    column: _Column, rows: slice, digests: npt.NDArray[np.uint64]
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

    None, NaN, NA and NaT are missing cells. Text is categorical even where it spells a
    number; a column of Python or NumPy numbers is numeric whatever its container says.

    Parameters
    ----------
    X : array, dataframe or nested sequence of shape (n_rows, n_columns)
        NumPy array, any dataframe Narwhals reads eagerly (pandas, polars, pyarrow, ...),
        list of lists, or an object NumPy can convert. A Table is returned as it is.

    Returns
    -------
    Table
        Floating and integer data is referred to, not copied.

    Raises
    ------
    TypeError
        If X is sparse or lazy, or a cell is neither text, number, boolean, date nor missing.
    ValueError
        If X is not two-dimensional, is empty, or holds complex or infinite values.

    Examples
    --------
    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"size": [3, 4], "sold": [True, None]}))
    >>> table.names, table.kind(1)
    (('size', 'sold'), 'boolean')
    """
    if isinstance(X, Table):
        return X
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"Sparse data was passed as {type(X).__name__}, but dense data is required. "
            "Use X.toarray() to convert it to a dense array."
        )
    table = _read_frame(X) if nw.dependencies.is_into_dataframe(X) else _read_array(X)
    _refuse_infinity(table)
    return table


def _read_frame(X: Any) -> Table:
    try:
        frame = nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Column names must be unique. {error}. Rename the columns.") from error
    _refuse_empty(frame.shape)
    names = _string_names(frame.columns)
    columns = []
    for j, series in enumerate(frame.iter_columns()):
        as_levels = isinstance(series.dtype, nw.Categorical | nw.Enum)
        # arrow turns the nulls of a dictionary column into its last level
        values = np.array(series.to_list(), dtype=object) if as_levels else series.to_numpy()
        columns.append(_read_column(values, _place(names, j), as_levels))
    return Table(tuple(columns), names)


def _read_array(X: Any) -> Table:
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError(f"A lazy {type(X).__name__} cannot be read. Call .collect() on it first.")
    array = np.asarray(X)
    if isinstance(X, np.ma.MaskedArray):
        array = array.astype(object)
        array[np.ma.getmaskarray(X)] = None
    if array.dtype.kind in "US" and isinstance(X, list | tuple):
        array = np.asarray(X, dtype=object)  # NumPy has spelled out the numbers: undo
    _refuse_shape(array)
    if array.dtype.kind in "fiub":
        return _from_block(array)
    columns = (_read_column(array[:, j], _place(None, j)) for j in range(array.shape[1]))
    return Table(tuple(columns))


def _from_block(block: Array) -> Table:
    kind: Kind = "boolean" if block.dtype.kind == "b" else "numeric"
    return Table(tuple(_Column(kind, values) for values in block.T), None, block)


def _place(names: tuple[str, ...] | None, j: int) -> str:
    return f"column {j}" if names is None else f"column {names[j]!r}"


def _string_names(names: Sequence[Any]) -> tuple[str, ...] | None:
    types = sorted({type(name).__qualname__ for name in names})
    if "str" not in types:
        return None
    if len(types) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as column name types. Convert them all to strings, for example "
            "with X.columns = X.columns.astype(str)."
        )
    return tuple(names)


def _read_column(values: Array, place: str, as_levels: bool = False) -> _Column:
    match values.dtype.kind:
        case "c":
            raise _complex_error(place)
        case _ if as_levels:
            return _categorical(values.astype(object))
        case "f" | "i" | "u":
            return _Column("numeric", values)
        case "b":
            return _Column("boolean", values)
        case "M":
            return _Column("datetime", _seconds(values - np.datetime64(0, "s")))
        case "m":
            return _Column("numeric", _seconds(values))
        case _:
            return _read_objects(values.astype(object), place)


def _seconds(durations: Array) -> Array:
    return durations / np.timedelta64(1, "s")


def _read_objects(values: Array, place: str) -> _Column:
    """Find the kind of a column of Python objects from the types it holds."""
    groups = {_group(cell_type): cell_type for cell_type in set(map(type, values))}
    found = {group: cell_type for group, cell_type in groups.items() if group is not None}
    if "complex" in found:
        raise _complex_error(place)
    if "other" in found:
        raise TypeError(
            "Each cell given as argument must be a string, a number, a boolean, a date or missing; "
            f"got {found['other'].__name__} in {place}. Convert that column to text or numbers."
        )
    if found.keys() <= {"number", "boolean"}:
        kind: Kind = "boolean" if found.keys() == {"boolean"} else "numeric"
        return _Column(kind, _fill(values, float))
    if found.keys() == {"date"}:
        return _Column("datetime", _fill(values, _timestamp))
    return _categorical(values)


def _group(cell_type: type) -> str | None:
    """Family of a cell's type; None for the types whose only value is a missing one."""
    if cell_type is NoneType or cell_type.__name__ in _MISSING_TYPES:
        return None
    if issubclass(cell_type, str | bytes):
        return "text"
    if issubclass(cell_type, bool | np.bool_):
        return "boolean"
    if issubclass(cell_type, complex | np.complexfloating):
        return "complex"
    if issubclass(cell_type, numbers.Number) and not issubclass(cell_type, np.timedelta64):
        return "number"
    return "date" if issubclass(cell_type, dt.date | np.datetime64) else "other"


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NA or NaT."""
    return value is None or type(value).__name__ in _MISSING_TYPES or bool(value != value)


def _fill(values: Array, convert: Any) -> npt.NDArray[np.float64]:
    cells = (np.nan if is_missing(value) else convert(value) for value in values)
    return np.fromiter(cells, dtype=np.float64, count=len(values))


def _timestamp(value: dt.date | np.datetime64) -> float:
    if isinstance(value, np.datetime64):
        return float(_seconds(np.asarray(value - np.datetime64(0, "s"))))
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()


def _categorical(values: Array) -> _Column:
    """Number the levels in order of appearance."""
    order: dict[str, int] = {}
    seen: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.int32)
    for i, value in enumerate(values):
        key = value if type(value) is str else (type(value), value)  # 1 and True are two keys
        code = seen.get(key)
        if code is None:
            code = -1 if is_missing(value) else order.setdefault(_text(value), len(order))
            if code >= 0:
                seen[key] = code
        codes[i] = code
    return _Column("categorical", codes, tuple(order))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


# -------------------------------------------------------------------------- refusals


def _complex_error(place: str) -> ValueError:
    return ValueError(f"Complex data not supported, got complex numbers in {place}.")


def _refuse_shape(array: Array) -> None:
    if array.ndim < 2:
        found = "1D array" if array.ndim else "scalar array"
        raise ValueError(
            f"Expected 2D array, got {found} instead:\narray={array}.\nReshape your data either "
            "using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Expected 2D array, got shape={array.shape}. Flatten each sample first.")
    _refuse_empty(array.shape)


def _refuse_empty(shape: tuple[int, ...]) -> None:
    for size, unit in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {unit} (shape={shape}) while a minimum of 1 is required."
            )


def _refuse_infinity(table: Table) -> None:
    blocks = [table._block] if table._block is not None else _float_columns(table)
    if not any(
        np.isinf(block[rows]).any() for block in blocks for rows in row_chunks(table.n_rows)
    ):
        return
    for j in range(table.n_columns):
        count = int(np.isinf(table.column(j)).sum()) if table.kind(j) != "categorical" else 0
        if count:
            raise ValueError(
                f"Input X contains infinity in {table.place(j)} ({count} of "
                f"{table.n_rows} values). Replace infinite values by finite ones or by NaN."
            )


def _float_columns(table: Table) -> list[Array]:
    return [column.values for column in table._columns if column.values.dtype.kind == "f"]
