"""The column to predict: its task, and why some columns cannot be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap.cli.common import UsageError
from adacap.files import FileError
from adacap.tables.columns import read_column
from adacap.tables.readings import find_reading
from adacap.tables.suspicions import is_numbering
from adacap.tables.targets import are_whole, holds_classes

__all__ = ["TASKS", "Target", "read_target"]

Task = Literal["regression", "classification"]
TASKS = ("auto", "regression", "classification")

_FEW_ROWS = 10  # below which ids are not reported
_ID_SHARE = 0.5  # of distinct texts, from which on they name rows, not classes


class Target(NamedTuple):
    """What to predict, on the rows where it is known.

    ``why`` says how the task was found; ``known`` are the rows that have a target.
    """

    names: list[str]
    task: Task
    y: npt.NDArray[Any]
    known: npt.NDArray[np.bool_]
    why: str
    notes: tuple[str, ...] = ()


def read_target(table: Any, names: Sequence[str], task: str = "auto") -> Target:
    """Target of a table, refused if it is constant, an id, or not of the task.

    Parameters
    ----------
    table : arrow table
    names : sequence of str
        Columns; several are for regression only.
    task : {"auto", "regression", "classification"}

    Raises
    ------
    FileError

    Examples
    --------
    >>> import pyarrow as pa
    >>> target = read_target(pa.table({"price": [1.5, 2.5, None, 4.0]}), ["price"])
    >>> target.task, target.y
    ('regression', array([1.5, 2.5, 4. ]))
    >>> read_target(pa.table({"price": [7, 7, 7]}), ["price"])
    Traceback (most recent call last):
    adacap.files.errors.FileError: The target 'price' is 7 in all 3 rows: there is nothing to learn.
    """
    read = [_as_numbers(table.column(name), name, task) for name in names]
    columns, notes = [column for column, _ in read], tuple(note for _, note in read if note)
    known = np.logical_and.reduce([~np.asarray(_missing(column)) for column in columns])
    if not known.any():
        raise FileError(f"The target {names[0]!r} is missing in all {len(known)} rows.")
    values = [_values(column, known, name) for column, name in zip(columns, names, strict=True)]
    for name, array in zip(names, values, strict=True):
        _refuse_constant(name, array)
    if len(names) > 1:
        return _several(list(names), values, known, task)._replace(notes=notes)
    found, why = _find_task(names[0], values[0], task)
    _refuse_id(names[0], values[0], found, is_said=task != "auto")
    return Target(list(names), found, _of_task(names[0], values[0], found), known, why, notes)


def _missing(column: Any) -> Any:
    import pyarrow.compute as compute

    return compute.is_null(column, nan_is_null=True).to_numpy()


def _as_numbers(column: Any, name: str, task: str) -> tuple[Any, str]:
    """Column as numbers where its text spells them, with remarks."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):
        return _without_infinity(column, name)
    if not pa.types.is_string(column.type) or task == "classification":
        return column, ""
    texts = read_column(np.array(column.to_pylist(), dtype=object), f"column {name!r}")
    reading = find_reading(texts)
    if reading is None or reading.sort != "number":
        return column, ""
    note = f"The target {name!r} is read as {reading}."
    if reading.n_bad:
        shown = ", ".join(map(repr, reading.bad))
        note += (
            f" {reading.n_bad} of {reading.n_cells} cells are not numbers, and their rows are left "
            f"out: {shown}."
        )
    if reading.remark:
        note += f" {reading.remark[0].upper()}{reading.remark[1:]}."
    return pa.chunked_array([reading.read(texts).values]), note


def _without_infinity(column: Any, name: str) -> tuple[Any, str]:
    """Infinite targets are left out like missing ones; their rows are named."""
    import pyarrow as pa

    values = np.array(column.to_numpy(), dtype=np.float64)
    rows = np.flatnonzero(np.isinf(values))
    if not len(rows):
        return column, ""
    values[rows] = np.nan
    shown = ", ".join(str(row + 1) for row in rows[:5]) + (", …" if len(rows) > 5 else "")
    note = (
        f"The target {name!r} is infinite in {len(rows)} of {len(values)} rows, which are left "
        f"out: row {shown}, counted from 1 below the names."
    )
    return pa.chunked_array([values]), note


def _values(column: Any, known: npt.NDArray[np.bool_], name: str) -> npt.NDArray[Any]:
    """Cells that are there: numbers, booleans, or an array of text."""
    import pyarrow as pa

    column = column.filter(pa.array(known))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_temporal(kind):
        raise FileError(
            f"The target {name!r} holds dates. Turn it into numbers, such as days since a date."
        )
    if pa.types.is_string(kind):
        return np.array(column.to_pylist(), dtype=str)
    return np.asarray(column.to_numpy())


def _refuse_constant(name: str, values: npt.NDArray[Any]) -> None:
    if len(distinct := np.unique(values)) == 1:
        raise FileError(
            f"The target {name!r} is {distinct[0]} in all {len(values)} rows: there is nothing to "
            "learn."
        )


def _find_task(name: str, values: npt.NDArray[Any], task: str) -> tuple[Task, str]:
    """Task from what the target holds: text, two values or few whole numbers are classes."""
    if task != "auto":
        return ("regression" if task == "regression" else "classification"), "set by --task"
    n_distinct = len(np.unique(values))
    if not holds_classes(values):
        return "regression", f"numbers, {n_distinct} distinct"
    if values.dtype.kind in "US":
        return "classification", f"{n_distinct} texts"
    what = "values" if n_distinct == 2 or values.dtype.kind == "b" else "whole numbers"
    return "classification", f"{n_distinct} {what}; --task regression if they are quantities"


def _refuse_id(name: str, values: npt.NDArray[Any], task: Task, is_said: bool) -> None:
    n_rows, distinct = len(values), np.unique(values)
    if n_rows < _FEW_ROWS:
        return
    if task == "classification":
        if values.dtype.kind in "US" and len(distinct) > _ID_SHARE * n_rows:
            raise FileError(
                f"The target {name!r} looks like an id or free text: {len(distinct)} different "
                f"texts in {n_rows} rows, such as {str(values[0])!r}.{_why_no_numbers(values)}"
                " If these are numbers, correct how they are written; else name another column."
            )
        return
    if values.dtype.kind not in "US" and not is_said and is_numbering(values, n_rows):
        raise FileError(
            f"The target {name!r} looks like an id: it counts the rows, {distinct[0]:.0f} to "
            f"{distinct[-1]:.0f}. If it is the target, use --task regression."
        )


def _why_no_numbers(values: npt.NDArray[Any]) -> str:
    """Why texts are not read as numbers, where some look like numbers."""
    reading = find_reading(read_column(values.astype(object), "the target"))
    return "" if reading is None or not reading.remark else f" As numbers: {reading.remark}."


def _of_task(name: str, values: npt.NDArray[Any], task: Task) -> npt.NDArray[Any]:
    if task == "classification":
        is_float = values.dtype.kind == "f"
        return values.astype(np.int64) if is_float and are_whole(values) else values
    if values.dtype.kind in "US":
        raise FileError(
            f"The target {name!r} holds text such as {str(values[0])!r}, but a regression needs "
            "numbers. See --decimal, or use --task classification."
        )
    return values.astype(np.float64)


def _several(
    names: list[str], values: list[npt.NDArray[Any]], known: npt.NDArray[np.bool_], task: str
) -> Target:
    if task == "classification":
        raise UsageError(f"Several targets ({', '.join(names)}) are for regression only.")
    for name, array in zip(names, values, strict=True):
        _refuse_id(name, array, "regression", is_said=task != "auto")
    columns = [_of_task(name, a, "regression") for name, a in zip(names, values, strict=True)]
    return Target(names, "regression", np.column_stack(columns), known, f"{len(names)} targets")
