"""Read the user's table as typed columns, whatever its container, without importing one.

What a frame is, is asked of the object: pandas, polars and arrow answer alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adacap.tables.columns import (
    Array,
    Column,
    as_array,
    infinity_error,
    place_of,
    read_column,
    refuse_empty,
    refuse_sparse,
    string_names,
)

__all__ = ["Table", "read_table"]

_LEVEL_TYPES = ("category", "categorical", "enum", "dictionary")  # pandas, polars, polars, arrow


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
        return place_of(self.names, j)


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
    refuse_sparse(X)
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
    texts = string_names(names)
    arrays = [_values(entry) for entry in series]
    for j, array in enumerate(arrays):
        if array.shape != arrays[0].shape or array.ndim != 1:
            place = place_of(texts, j)
            raise ValueError(
                f"Each column must hold one value per row, but {place} has shape {array.shape} "
                f"and {place_of(texts, 0)} has shape {arrays[0].shape}."
            )
    refuse_empty((len(arrays[0]) if arrays else 0, len(arrays)))
    pairs = zip(arrays, series, strict=True)
    columns = (
        read_column(array, place_of(texts, j), _has_levels(entry))
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


def _read_array(X: Any) -> Table:
    array = as_array(X)
    return Table(tuple(read_column(array[:, j], f"column {j}") for j in range(array.shape[1])))


def _refuse_infinity(table: Table) -> None:
    for j, column in enumerate(table.columns):
        if column.values.dtype.kind == "f" and (count := int(np.isinf(column.values).sum())):
            raise infinity_error(table.place(j), count, table.n_rows)
