"""Frames as named columns, without importing the library that a frame came from.

Pandas, polars, arrow and a mapping of columns are recognised by their attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adacap._typing import Array
from adacap.tables.columns import (
    Column,
    place_of,
    read_column,
    refuse_empty,
    string_names,
    unmasked,
)

__all__ = ["Frame", "read_frame"]

_LEVEL_TYPES = ("category", "categorical", "enum", "dictionary")  # pandas, polars, polars, arrow
_LAZY = ("collect", "compute", "execute")  # polars and Spark, dask, databases


class Frame(NamedTuple):
    """Columns of a frame, and their names if all are text."""

    columns: tuple[Column, ...]
    names: tuple[str, ...] | None


def read_frame(X: Any) -> Frame | None:
    """Columns of a frame or of a mapping; None if X is neither.

    Refuses a frame that is lazy or empty, names given twice, columns of different lengths, and
    cells that :func:`read_column` refuses.

    Examples
    --------
    >>> frame = read_frame({"size": [3, 4], "colour": ["red", None]})
    >>> frame.names, frame.columns[1].kind
    (('size', 'colour'), 'categorical')
    >>> read_frame([[1, 2], [3, 4]]) is None
    True
    """
    _refuse_lazy(X)
    series = _series(X)
    if series is None:
        return None
    labels, entries = series
    names = string_names(labels)
    arrays = [_read(entry, place_of(names, j)) for j, entry in enumerate(entries)]
    _check_lengths(arrays, names)
    columns = (
        read_column(array, place_of(names, j), _has_levels(entry))
        for j, (array, entry) in enumerate(zip(arrays, entries, strict=True))
    )
    return Frame(tuple(columns), names)


def _refuse_lazy(X: Any) -> None:
    """Refuse a frame that holds no data yet; columns may have the name of a method."""
    for verb in _LAZY:
        if hasattr(type(X), verb):
            kind = type(X).__name__
            raise TypeError(f"A lazy {kind} cannot be read. Call .{verb}() on it first.")


def _series(X: Any) -> tuple[list[Any], list[Any]] | None:
    """Names and series of a frame, or None if X is not a frame."""
    if hasattr(X, "to_native"):  # wrapped by Narwhals
        X = X.to_native()
    if isinstance(X, Mapping):
        return list(X), list(X.values())
    if hasattr(X, "column_names") and hasattr(X, "column"):  # arrow
        names = _distinct(X.column_names)
        return names, [X.column(j) for j in range(len(names))]
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = _distinct(X.columns)
        if hasattr(X, "iloc"):  # pandas: its quickest way to the columns
            return names, [column for _, column in X.items()]
        return names, [X[name] for name in names]
    return None


def _distinct(names: Iterable[Any]) -> list[Any]:
    found = list(names)
    if len(set(found)) < len(found):
        twice = sorted(str(name) for name, n in Counter(found).items() if n > 1)
        raise ValueError(f"Column names must be unique, got twice: {twice}. Rename the columns.")
    return found


def _check_lengths(arrays: Sequence[Array], names: tuple[str, ...] | None) -> None:
    for j, array in enumerate(arrays):
        if array.ndim != 1:
            raise ValueError(
                f"Each column must hold one value per row, but {place_of(names, j)} has shape "
                f"{array.shape}. Make each of its values a column of its own, or leave it out."
            )
        if array.shape != arrays[0].shape:
            raise ValueError(
                f"Each column must hold one value per row, but {place_of(names, j)} has shape "
                f"{array.shape} and {place_of(names, 0)} has shape {arrays[0].shape}."
            )
    refuse_empty((len(arrays[0]) if arrays else 0, len(arrays)))


# --------------------------------------------------------------------------- one column


def _dtype_of(series: Any) -> Any:
    return getattr(series, "dtype", getattr(series, "type", None))


def _has_levels(series: Any) -> bool:
    return str(_dtype_of(series)).lower().startswith(_LEVEL_TYPES)


def _read(series: Any, place: str) -> Array:
    """Values of a series as NumPy holds them; a type it does not know is refused by name."""
    try:
        return _values(series)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        kind = _dtype_of(series) or type(series).__name__
        why = "its cells are lists" if "inhomogeneous" in str(error) else str(error).rstrip(".")
        raise TypeError(
            f"Cannot read {place}, of type {kind}: {why}. Convert that column to text or numbers."
        ) from error


def _values(series: Any) -> Array:
    if isinstance(series, np.ma.MaskedArray):
        return unmasked(series)
    if _has_levels(series):
        if hasattr(series, "to_pylist"):  # arrow
            parts = [_levels(part) for part in getattr(series, "chunks", [series])]
            return np.concatenate(parts) if parts else np.empty(0, dtype=object)
        return _objects(series.to_list())
    array = _numpy(series, _dtype_of(series))
    if array.dtype.kind in "US" and isinstance(series, Sequence):
        return _objects(series)  # NumPy has spelled out the numbers: undo
    return array


def _levels(part: Any) -> Array:
    """Cells of a dictionary array of arrow's; each level is one object, however many rows have it.

    To NumPy, arrow turns its nulls into the last level.
    """
    levels = _objects([*part.dictionary.to_pylist(), None])
    codes: Array = part.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    cells: Array = levels[codes]
    return cells


def _numpy(series: Any, dtype: Any) -> Array:
    """Values of a series; where pandas would give objects, in a NumPy type."""
    is_zoned = getattr(dtype, "tz", None) is not None or ", tz=" in str(dtype)
    if is_zoned and hasattr(series, "dt"):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    if getattr(dtype, "numpy_dtype", None) is None or dtype.kind not in "iuf":
        return np.asarray(series)
    if not series.isna().any():  # numbers of pandas that may be missing
        return np.asarray(series.to_numpy(dtype=dtype.numpy_dtype))
    kind = dtype.numpy_dtype if dtype.kind == "f" else np.float64
    return np.asarray(series.to_numpy(dtype=kind, na_value=np.nan))


def _objects(cells: Sequence[Any]) -> Array:
    array = np.empty(len(cells), dtype=object)
    array[:] = list(cells)
    return array
