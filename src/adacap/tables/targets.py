"""What a column to predict holds: classes or quantities."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from adacap.tables.columns import read_column
from adacap.tables.readings import find_reading

__all__ = [
    "MOST_CLASSES", "Held", "are_whole", "holds_classes", "id_or_free_text", "what_is_held",
    "what_y_holds",
]  # fmt: skip

MOST_CLASSES = 12  # whole numbers of more distinct values are quantities
_FEW_ROWS = 10  # below which texts that name rows are not reported
_ID_SHARE = 0.5  # of distinct texts, from which on they name rows, not classes


class Held(NamedTuple):
    """What a target holds, and the task that it makes.

    ``what`` names the values; ``other`` says what they would be for the other task, and is empty
    where there is none.
    """

    task: Literal["regression", "classification"]
    what: str
    other: str

    def why(self, option: str, is_always: bool = True) -> str:
        """The values, and the option that chooses the other task.

        ``option`` is such as ``"--task {task}"``. Numbers taken for quantities get it too with
        ``is_always``, else only those taken for classes.
        """
        if not self.other or not (is_always or self.task == "classification"):
            return self.what
        others = {"regression": "classification", "classification": "regression"}
        return f"{self.what}; {option.format(task=others[self.task])} if they are {self.other}"


def what_is_held(values: npt.NDArray[Any]) -> Held:
    """What a target without missing values holds, text that spells numbers having been read.

    Examples
    --------
    >>> what_is_held(np.array([0, 1, 1, 0])).why("--task {task}")
    '2 values; --task regression if they are quantities'
    >>> what_is_held(np.array(["red", "blue"]))
    Held(task='classification', what='2 texts', other='')
    """
    n_distinct = len(np.unique(values))
    if not holds_classes(values):
        return Held("regression", f"numbers, {n_distinct} distinct", "labels")
    if values.dtype.kind in "USO":
        return Held("classification", f"{n_distinct} texts", "")
    is_binary = n_distinct == 2 or values.dtype.kind == "b"
    what = "values" if is_binary else "whole numbers"
    return Held("classification", f"{n_distinct} {what}", "quantities")


def what_y_holds(y: Any) -> Held:
    """The same of any column in Python: text is read, as that of a file is; gaps are left out.

    What a container declares as categories are classes, whatever they spell.

    Examples
    --------
    >>> what_y_holds(["12.34 €", "8.00 €", "9.50 €"]).task, what_y_holds(["a", "b", None]).task
    ('regression', 'classification')
    """
    cells = np.asarray(getattr(y, "to_numpy", lambda: y)())
    declared = str(getattr(y, "dtype", "")).lower().startswith(("category", "categorical", "enum"))
    column = read_column(cells.reshape(-1), "y", as_levels=declared)
    reading = find_reading(column)
    if reading is not None and reading.sort == "number":
        column = reading.read(column)
    known = column.values[~column.missing]
    match column.kind:
        case "categorical":
            return what_is_held(np.array(column.levels, dtype=object)[known])
        case "boolean":
            return what_is_held(known.astype(bool))
        case "datetime":  # no target at all, which the codec of numbers says
            return Held("regression", "dates", "")
    return what_is_held(known)


def id_or_free_text(values: npt.NDArray[Any], name: str) -> str:
    """Sentences about texts that name rows, not classes; empty for others.

    Examples
    --------
    >>> id_or_free_text(np.array([f"row {i}" for i in range(20)]), "y")
    "y looks like an id or free text: 20 different texts in 20 rows, such as 'row 0'."
    """
    n_rows, n_distinct = len(values), len(set(values.tolist()))
    if n_rows < _FEW_ROWS or values.dtype.kind not in "USO" or n_distinct <= _ID_SHARE * n_rows:
        return ""
    if not all(isinstance(value, str | bytes) for value in values.tolist()):
        return ""
    reading = find_reading(read_column(values.astype(object), name))
    remark = "" if reading is None or not reading.remark else f" As numbers: {reading.remark}."
    return (
        f"{name} looks like an id or free text: {n_distinct} different texts in {n_rows} rows, "
        f"such as {str(values[0])!r}.{remark}"
    )


def holds_classes(values: npt.NDArray[Any]) -> bool:
    """Whether a target without missing values holds classes.

    Text does, and so do two values, or few whole numbers, as long as some value occurs twice.

    Examples
    --------
    >>> holds_classes(np.array(["red", "blue"])), holds_classes(np.array([0, 1, 1]))
    (True, True)
    >>> holds_classes(np.array([1, 2, 3])), holds_classes(np.array([1.5, 2.5, 4.0, 4.0]))
    (False, False)
    """
    if values.dtype.kind not in "iuf":
        return True
    n_distinct = len(np.unique(values))
    if n_distinct == len(values):  # a class would occur twice
        return False
    return n_distinct == 2 or (n_distinct <= MOST_CLASSES and are_whole(values))


def are_whole(values: npt.NDArray[Any]) -> bool:
    """Whether all numbers are whole.

    Examples
    --------
    >>> are_whole(np.array([1.0, 2.0])), are_whole(np.array([1.5]))
    (True, False)
    """
    return values.dtype.kind in "iu" or bool((values == np.round(values)).all())
