"""One column of a table: which kind of cells it holds, and the cells themselves.

None, NaN, NA and NaT are missing cells. Text is categorical here even where it spells a number:
:mod:`adacap.tables.readings` finds out what it spells. A column of Python or NumPy numbers is
numeric whatever its container says.
"""

from __future__ import annotations

import datetime as dt
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap._typing import Array, Floats

__all__ = [
    "ROUNDING", "Codes", "Column", "ColumnKind", "as_array", "infinity_error", "is_missing",
    "narrowed", "place_of", "read_column", "refuse_empty", "refuse_no_table", "refuse_sparse",
    "string_names", "unmasked", "values_by_row",
]  # fmt: skip

ColumnKind = Literal["numeric", "boolean", "categorical", "datetime"]
Codes: TypeAlias = npt.NDArray[np.int32]

ROUNDING = 8 * float(np.finfo(np.float64).eps)  # deviation over mean that counts as no deviation
_MISSING_TYPES = {"NAType", "NaTType"}  # pandas.NA, pandas.NaT: recognised without pandas


@dataclass(frozen=True, eq=False)
class Column:
    """Numbers as given, seconds since 1970-01-01 UTC, or codes (-1 = missing) into text levels.

    Examples
    --------
    >>> column = read_column(np.array(["red", None, "red"], dtype=object), "column 0")
    >>> column.kind, column.levels, column.values.tolist()
    ('categorical', ('red',), [0, -1, 0])
    """

    kind: ColumnKind
    values: Array
    levels: tuple[str, ...] = ()
    is_declared: bool = False  # declared as categories by the container, whatever they spell

    def take(self, rows: Any) -> Column:
        """Column of the rows given as indices, boolean mask or slice."""
        return Column(self.kind, self.values[rows], self.levels, self.is_declared)

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Whether each cell is missing."""
        missing: npt.NDArray[np.bool_] = (
            self.values < 0 if self.kind == "categorical" else np.isnan(self.numbers())
        )
        return missing

    def numbers(self) -> Floats:
        """Cells as a new float64 array; text is missing."""
        if self.kind == "categorical":
            return np.full(len(self.values), np.nan)
        return np.array(self.values, dtype=np.float64)

    def text(self) -> tuple[Codes, tuple[str, ...]]:
        """Codes (-1 = missing) into a tuple of distinct levels, for any kind.

        Whole numbers are written without a decimal point, so that 3 and 3.0 are the same level.
        Levels may be unused after :meth:`take`.
        """
        if self.kind == "categorical":
            return self.values, self.levels
        values = self.numbers()
        present = ~np.isnan(values)
        distinct, inverse = np.unique(values[present], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int32)
        codes[present] = inverse
        convert = bool if self.kind == "boolean" else float
        return codes, tuple(_text(convert(value)) for value in distinct)


# --------------------------------------------------------------------------- reading


def read_column(values: Array, place: str, as_levels: bool = False) -> Column:
    """Column from the values of one dtype that NumPy gives.

    Floats, integers and booleans are not copied. ``place`` is what messages call the column, see
    :func:`place_of`; with ``as_levels`` its container declares it as categorical. Refuses complex
    numbers, and a cell that is neither text, number, boolean, date nor missing.

    Examples
    --------
    >>> read_column(np.array([True, False]), "column 0").kind
    'boolean'
    """
    match values.dtype.kind:
        case "c":
            raise _complex_error(place)
        case _ if as_levels:
            return replace(_categorical(values.astype(object)), is_declared=True)
        case "f" | "i" | "u":
            return Column("numeric", narrowed(values))
        case "b":
            return Column("boolean", values)
        case "M":
            return Column("datetime", _seconds(values - np.datetime64(0, "s")))
        case "m":
            return Column("numeric", _seconds(values))
        case _:
            return _read_objects(values.astype(object), place)


def narrowed(values: Array) -> Array:
    """The same numbers; those wider than float64 in float64, infinite where they are too large."""
    if values.dtype.kind != "f" or values.dtype.itemsize <= 8:
        return values
    with np.errstate(all="ignore"):
        return values.astype(np.float64)


def as_array(X: Any) -> Array:
    """Two-dimensional array of anything that NumPy converts; masked cells become None.

    Examples
    --------
    >>> as_array([[1, "a"], [2.5, "b"]]).tolist()  # numbers stay numbers
    [[1, 'a'], [2.5, 'b']]
    """
    X = _plain(X) if hasattr(X, "detach") else X
    try:
        array = np.asarray(X)
    except UnicodeDecodeError:  # text beside bytes that are not ASCII
        array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise _ragged_error(X, error) from error
    if isinstance(X, np.ma.MaskedArray):
        array = unmasked(X)
    if array.dtype.kind in "US" and isinstance(X, list | tuple):
        array = np.asarray(X, dtype=object)  # NumPy has spelled out the numbers: undo
    _refuse_shape(array)
    return array


def unmasked(values: np.ma.MaskedArray[Any, Any]) -> Array:
    """A masked array as objects, with None where it is masked."""
    array = np.asarray(values).astype(object)
    array[np.ma.getmaskarray(values)] = None
    return array


def _plain(tensor: Any) -> Any:
    """A torch tensor for NumPy: without gradient, in a dtype that NumPy has."""
    if str(tensor.layout) != "torch.strided":
        raise TypeError(
            f"Sparse data was passed as a tensor of layout {tensor.layout}, but dense data is "
            "required. Use X.to_dense()."
        )
    plain = tensor.detach().cpu()
    return plain.double() if plain.is_floating_point() and plain.itemsize <= 2 else plain


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NA or NaT."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    try:
        return bool(value != value)
    except ArithmeticError:  # a signalling NaN of decimal
        return True


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
        kind: ColumnKind = "boolean" if found.keys() == {"boolean"} else "numeric"
        return Column(kind, _fill(values, _number))
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


def _fill(values: Array, convert: Any) -> Floats:
    cells = (np.nan if is_missing(value) else convert(value) for value in values)
    return np.fromiter(cells, dtype=np.float64, count=len(values))


def _number(value: Any) -> float:
    """The number in float64: infinity where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _timestamp(value: dt.date | np.datetime64) -> float:
    if isinstance(value, np.datetime64):
        return float(_seconds(np.asarray(value - np.datetime64(0, "s"))))
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    try:
        return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()
    except ValueError:  # a date of pandas outside Python's years 1 to 9999
        if not hasattr(value, "asm8"):
            raise
        return _timestamp(value.asm8)


def _categorical(values: Array) -> Column:
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
    return Column("categorical", codes, tuple(order))


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return f"{value:#x}"


# ------------------------------------------------------------------ names and refusals


def place_of(names: Sequence[str] | None, j: int) -> str:
    """Column ``j`` as messages name it: ``column 'price'``, or ``column 3`` without names."""
    return f"column {j}" if names is None else f"column {names[j]!r}"


def string_names(names: Sequence[Any]) -> tuple[str, ...] | None:
    """Names that are all text; None if none is, refused if some are."""
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


def refuse_sparse(X: Any) -> None:
    """Refuse SciPy's sparse matrices, recognised by their attributes."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"Sparse data was passed as {type(X).__name__}, but dense data is required. "
            "Use X.toarray() to convert it to a dense array."
        )


def refuse_no_table(X: Any) -> None:
    """Refuse the name of a file and a single column, and say what to pass instead."""
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X must be a table, got the text {str(X)!r}. If that is a file, read it first: "
            f"adacap.files.open_table({str(X)!r}).read()"
        )
    if hasattr(X, "to_frame") and getattr(X, "ndim", 1) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead: a {type(X).__name__} of {len(X)} values. "
            "Reshape your data: X.to_frame() is a table of one column, table[i:i+1] one of the "
            "row i."
        )


def _refuse_shape(array: Array) -> None:
    """Refuse an array that is not two-dimensional, or is empty."""
    if array.ndim < 2:
        found = "1D array" if array.ndim else "scalar array"
        raise ValueError(
            f"Expected 2D array, got {found} instead:\narray={array}.\nReshape your data either "
            "using array.reshape(-1, 1) if your data has a single feature or "
            "array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Expected 2D array, got shape={array.shape}. Flatten each sample first.")
    refuse_empty(array.shape)


def refuse_empty(shape: tuple[int, ...]) -> None:
    """Refuse a table without rows or columns."""
    for size, unit in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {unit} (shape={shape}) while a minimum of 1 is required."
            )


def infinity_error(place: str, count: int, n_rows: int) -> ValueError:
    """Error message about infinite values."""
    return ValueError(
        f"Input X contains infinity in {place} ({count} of {n_rows} values). Replace infinite "
        "values by finite ones or by NaN; numbers beyond 1.8e308 count as infinite."
    )


def values_by_row(values: Any, name: str) -> Array:
    """Array of what holds the same number of values in each row, such as y, weights or groups.

    Examples
    --------
    >>> values_by_row([1.0, [2.0, 3.0]], "y")
    Traceback (most recent call last):
    ValueError: Each row of y must have the same number of values, but row 0 has a single value and
    row 1 has 2.
    """
    try:
        return np.asarray(values)
    except ValueError as error:
        raise _ragged_error(values, error, name) from error


def _ragged_error(rows: Any, error: ValueError, name: str = "X") -> ValueError:
    """Error about rows of different lengths, or cells that hold several values; or NumPy's own."""
    if "inhomogeneous" not in str(error):
        return error
    what, way_out = (
        ("cells", " Fill in None where a cell is missing.") if name == "X" else ("values", "")
    )
    shapes = [np.shape(row) if hasattr(row, "dtype") else _length(row) for row in rows]
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is None:
        return ValueError(
            f"Each cell of {name} must be one value, but some are lists. Make each of their values "
            "a column of its own, or leave that column out."
        )
    return ValueError(
        f"Each row of {name} must have the same number of {what}, but row 0 has "
        f"{_spelled(shapes[0])} and row {odd} has {_spelled(shapes[odd])}.{way_out}"
    )


def _length(row: Any) -> tuple[int, ...]:
    is_row = hasattr(row, "__len__") and not isinstance(row, str | bytes)
    return (len(row),) if is_row else ()


def _spelled(shape: tuple[int, ...]) -> str:
    return str(shape[0]) if len(shape) == 1 else f"shape {shape}" if shape else "a single value"


def _complex_error(place: str) -> ValueError:
    return ValueError(f"Complex data not supported, got complex numbers in {place}.")
