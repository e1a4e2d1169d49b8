"""The column to predict: its task, and why some columns cannot be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap.cli.common import UsageError
from adacap.exceptions import suggest
from adacap.files import FileError
from adacap.files.errors import need_arrow
from adacap.tables.columns import read_column
from adacap.tables.readings import find_reading
from adacap.tables.suspicions import is_numbering
from adacap.tables.targets import are_whole, id_or_free_text, what_is_held

__all__ = ["TASKS", "Target", "read_class_weight", "read_target"]

TaskName = Literal["regression", "classification"]
TASKS = ("auto", "regression", "classification")

pa = need_arrow()
_FEW_ROWS = 10  # below which ids are not reported


class Target(NamedTuple):
    """What to predict, on the rows where it is known.

    ``why`` says how the task was found; ``known`` are the rows that have a target.
    """

    names: list[str]
    task: TaskName
    y: npt.NDArray[Any]
    known: npt.NDArray[np.bool_]
    why: str
    notes: tuple[str, ...] = ()


def read_target(table: Any, names: Sequence[str], task: str = "auto") -> Target:
    """Target of a table, refused if it is constant, an id, or not of the task.

    Several columns are for regression only.

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
    if not names:
        raise UsageError("--target names no column. Name the one to predict.")
    read = [_as_numbers(table.column(name), name, task) for name in names]
    columns, notes = [column for column, _ in read], tuple(note for _, note in read if note)
    missing = [pa.compute.is_null(column, nan_is_null=True).to_numpy() for column in columns]
    known = ~np.logical_or.reduce(missing)
    if not known.any():
        raise FileError(f"The target {names[0]!r} is missing in all {len(known)} rows.")
    values = [_values(column, known, name) for column, name in zip(columns, names, strict=True)]
    for name, array in zip(names, values, strict=True):
        _refuse_constant(name, array)
    if len(names) > 1:
        return _several(list(names), values, known, task)._replace(notes=notes)
    found, why = _find_task(values[0], task)
    _refuse_id(names[0], values[0], found, is_said=task != "auto")
    return Target(list(names), found, _of_task(names[0], values[0], found), known, why, notes)


def read_class_weight(text: str | None, target: Target) -> str | dict[Any, float] | None:
    """Weights of classes from ``balanced`` or ``label=weight,label=weight``.

    Examples
    --------
    >>> y = np.array(["a", "b", "b"])
    >>> target = Target(["y"], "classification", y, np.ones(3, bool), "")
    >>> read_class_weight("a=2", target), read_class_weight("balanced", target)
    ({'a': 2.0}, 'balanced')
    >>> read_class_weight("c=2", target)
    Traceback (most recent call last):
    adacap.exceptions.UsageError: --class-weight: Unknown class 'c'. Known: a, b.
    """
    if text is None:
        return None
    if target.task != "classification":
        raise UsageError(
            "--class-weight is for classes, but the task is regression. Leave it out, or use "
            "--weight for a column of row weights."
        )
    if text == "balanced":
        return text
    labels = {str(label): label for label in np.unique(target.y).tolist()}
    found = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if not name or not 0 <= weight < np.inf:
            raise UsageError(
                f"--class-weight takes balanced, or weights such as rare=5,common=1, got {part!r}."
            )
        if name.strip() not in labels:
            raise UsageError(f"--class-weight: {suggest(name.strip(), labels, 'class')}")
        found[labels[name.strip()]] = weight
    return found


def _as_numbers(column: Any, name: str, task: str) -> tuple[Any, str]:
    """Column as numbers where its text spells them, with remarks."""
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


def _find_task(values: npt.NDArray[Any], task: str) -> tuple[TaskName, str]:
    """Task from what the target holds: text, two values or few whole numbers are classes."""
    if task != "auto":
        return ("regression" if task == "regression" else "classification"), "set by --task"
    held = what_is_held(values)
    return held.task, held.why("--task {task}", is_always=False)


def _refuse_id(name: str, values: npt.NDArray[Any], task: TaskName, is_said: bool) -> None:
    n_rows, distinct = len(values), np.unique(values)
    if n_rows < _FEW_ROWS:
        return
    if task == "classification":
        if told := id_or_free_text(values, f"The target {name!r}"):
            raise FileError(
                f"{told} If these are numbers, correct how they are written; else name another "
                "column."
            )
        return
    if values.dtype.kind not in "US" and not is_said and is_numbering(values, n_rows):
        raise FileError(
            f"The target {name!r} looks like an id: it counts the rows, {distinct[0]:.0f} to "
            f"{distinct[-1]:.0f}. If it is the target, use --task regression."
        )


def _of_task(name: str, values: npt.NDArray[Any], task: TaskName) -> npt.NDArray[Any]:
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
