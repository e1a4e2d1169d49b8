"""Read the user's table as typed columns, whatever its container, without importing one.

What a frame is, is asked of the object: pandas, polars and arrow answer alike. Which cell is
missing, text, number or date is decided as in :mod:`adacap.estimators.tables`.
"""

from __future__ import annotations

import datetime as dt
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Column", "Floats", "Kind", "Table", "read_table"]

Kind = Literal["numeric", "boolean", "categorical", "datetime"]
Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]

_MISSING_TYPES = {"NAType", "NaTType"}  # pandas.NA, pandas.NaT
_LEVEL_TYPES = ("category", "categorical", "enum", "dictionary")  # pandas, polars, polars, arrow
_NO_CODES = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers, seconds since 1970, or codes (-1 = missing) into text levels."""

    kind: Kind
    values: Array
    levels: tuple[str, ...] = ()

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Whether each cell is missing."""
        if self.kind == "categorical":
            return np.asarray(self.values < 0)
        return np.isnan(self.numbers())

    def numbers(self) -> Floats:
        """Cells as float64; text is missing, since only a column without any is read so."""
        if self.kind == "categorical":
            return np.full(len(self.values), np.nan)
        return np.array(self.values, dtype=np.float64)

    def text(self) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
        """Codes (-1 = missing) and distinct levels; 3 and 3.0 are the same level."""
        if self.kind == "categorical":
            return self.values, self.levels
        values = self.numbers()
        present = ~np.isnan(values)
        distinct, inverse = np.unique(values[present], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int32)
        codes[present] = inverse
        convert = bool if self.kind == "boolean" else float
        return codes, tuple(_text(convert(value)) for value in distinct)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one table, and their names if all are text."""

    columns: tuple[Column, ...]
    names: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values)

    def place(self, j: int) -> str:
        """Column ``j`` as messages speak of it: ``column 'price'`` or ``column 3``."""
        return _place(self.names, j)


def read_table(X: Any) -> Table:
    """Read a table of numbers, text, booleans and dates.

    Parameters
    ----------
    X : array, dataframe, mapping of columns or nested sequence
        Of shape (n_rows, n_columns).

    Returns
    -------
    Table

    Examples
    --------
    >>> table = read_table({"size": [3, 4], "colour": ["red", None]})
    >>> table.names, table.columns[1].kind
    (('size', 'colour'), 'categorical')
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"Sparse data was passed as {type(X).__name__}, but dense data is required. "
            "Use X.toarray() to convert it to a dense array."
        )
    if hasattr(X, "collect"):
        raise TypeError(f"A lazy {type(X).__name__} cannot be read. Call .collect() on it first.")
    named = _series(X)
    table = _read_array(X) if named is None else _read_series(*named)
    _refuse_infinity(table)
    return table


# ------------------------------------------------------------------------------- frames


def _series(X: Any) -> tuple[list[Any], list[Any]] | None:
    """Names and series of a frame, or None if X is no frame."""
    if isinstance(X, Mapping):
        return list(X), list(X.values())
    if hasattr(X, "column_names") and hasattr(X, "column"):  # arrow
        return _distinct(X.column_names), [X.column(j) for j in range(len(X.column_names))]
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = _distinct(X.columns)
        return names, [X[name] for name in names]
    return None


def _distinct(names: Any) -> list[Any]:
    found = list(names)
    twice = sorted({str(name) for name in found if found.count(name) > 1})
    if twice:
        raise ValueError(f"Column names must be unique, got twice: {twice}. Rename the columns.")
    return found


def _read_series(names: list[Any], series: list[Any]) -> Table:
    texts = _string_names(names)
    arrays = [_values(entry) for entry in series]
    for j, array in enumerate(arrays):
        if array.shape != arrays[0].shape or array.ndim != 1:
            place = _place(texts, j)
            raise ValueError(
                f"Each column must hold one value per row, but {place} has shape {array.shape} "
                f"and {_place(texts, 0)} has shape {arrays[0].shape}."
            )
    _refuse_empty((len(arrays[0]) if arrays else 0, len(arrays)))
    pairs = zip(arrays, series, strict=True)
    columns = (
        _read_column(array, _place(texts, j), _has_levels(entry))
        for j, (array, entry) in enumerate(pairs)
    )
    return Table(tuple(columns), texts)


def _has_levels(series: Any) -> bool:
    dtype = getattr(series, "dtype", getattr(series, "type", None))
    return str(dtype).lower().startswith(_LEVEL_TYPES)


def _values(series: Any) -> Array:
    if _has_levels(series) and hasattr(series, "to_pylist"):  # arrow does not decode levels itself
        return _objects(series.to_pylist())
    if hasattr(series, "to_numpy"):
        return np.asarray(series.to_numpy())
    array = np.asarray(series)
    if array.dtype.kind in "US" and isinstance(series, Sequence):
        return _objects(series)  # NumPy has spelled out the numbers: undo
    return array


def _objects(cells: Sequence[Any]) -> Array:
    array = np.empty(len(cells), dtype=object)
    array[:] = list(cells)
    return array


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


# ------------------------------------------------------------------------------- arrays


def _read_array(X: Any) -> Table:
    array = np.asarray(X)
    if isinstance(X, np.ma.MaskedArray):
        array = array.astype(object)
        array[np.ma.getmaskarray(X)] = None
    if array.dtype.kind in "US" and isinstance(X, list | tuple):
        array = np.asarray(X, dtype=object)
    _refuse_shape(array)
    return Table(tuple(_read_column(array[:, j], f"column {j}") for j in range(array.shape[1])))


def _read_column(values: Array, place: str, as_levels: bool = False) -> Column:
    match values.dtype.kind:
        case "c":
            raise _complex_error(place)
        case _ if as_levels:
            return _categorical(values.astype(object))
        case "f" | "i" | "u":
            return Column("numeric", values)
        case "b":
            return Column("boolean", values)
        case "M":
            return Column("datetime", _seconds(values - np.datetime64(0, "s")))
        case "m":
            return Column("numeric", _seconds(values))
        case _:
            return _read_objects(values.astype(object), place)


def _seconds(durations: Array) -> Array:
    return durations / np.timedelta64(1, "s")


def _read_objects(values: Array, place: str) -> Column:
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
        return Column(kind, _fill(values, float))
    if found.keys() == {"date"}:
        return Column("datetime", _fill(values, _timestamp))
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


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in _MISSING_TYPES or bool(value != value)


def _fill(values: Array, convert: Any) -> Floats:
    cells = (np.nan if _is_missing(value) else convert(value) for value in values)
    return np.fromiter(cells, dtype=np.float64, count=len(values))


def _timestamp(value: dt.date | np.datetime64) -> float:
    if isinstance(value, np.datetime64):
        return float(_seconds(np.asarray(value - np.datetime64(0, "s"))))
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()


def _categorical(values: Array) -> Column:
    order: dict[str, int] = {}
    codes = (-1 if _is_missing(v) else order.setdefault(_text(v), len(order)) for v in values)
    return Column("categorical", np.fromiter(codes, np.int32, len(values)), tuple(order))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


# ----------------------------------------------------------------------------- refusals


def _place(names: tuple[str, ...] | None, j: int) -> str:
    return f"column {j}" if names is None else f"column {names[j]!r}"


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
    for j, column in enumerate(table.columns):
        if column.values.dtype.kind == "f" and (count := int(np.isinf(column.values).sum())):
            raise ValueError(
                f"Input X contains infinity in {table.place(j)} ({count} of "
                f"{table.n_rows} values). Replace infinite values by finite ones or by NaN."
            )
