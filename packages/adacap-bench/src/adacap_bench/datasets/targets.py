"""Targets: transformed numbers for regression, codes for classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.tasks import Task

if TYPE_CHECKING:
    import pandas

__all__ = ["MISSING", "TRANSFORMS", "code_classes", "is_missing", "transform_target"]


MISSING = ("", "?", "NA", "NaN", "nan")  # a target that reads so is not there


def _double_log(y: Floats) -> Floats:
    """Of the Seoul task: z = −log(1+y), then log(z − min z + 2)."""
    z = -np.log1p(y)
    return np.asarray(np.log(z - z.min() + 2.0))


TRANSFORMS: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "none": (lambda y: y, -np.inf),
    "log": (np.log, 0.0),
    "log1p": (np.log1p, -1.0),
    "double-log": (_double_log, -1.0),
}  # name: function, and the bound that targets must lie above


def is_missing(target: pandas.Series[Any]) -> npt.NDArray[np.bool_]:
    """Rows whose target is empty or a marker of a missing value."""
    absent = target.isna()
    if target.dtype.kind not in "biuf":
        absent |= target.astype(str).str.strip().isin(MISSING)
    return np.array(absent, dtype=bool)


def transform_target(target: pandas.Series[Any], task: Task, raw: bool) -> Floats:
    """Numbers of a target column, transformed as the task says unless ``raw``."""
    try:
        y = np.asarray(target.to_numpy(), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"The target of {task.key!r}, column {target.name!r}, is to be predicted as a number, "
            f"but is not one everywhere: {error}. Choose another target, or kind 'multiclass'."
        ) from error
    if raw:
        return y
    function, bound = TRANSFORMS[task.transform]
    if not (y > bound).all():
        raise DataError(
            f"The transform {task.transform!r} of {task.key!r} needs targets above {bound:g}, got "
            f"{y.min():g}. Load it with raw_target=True, or set transform = 'none'."
        )
    return function(y)


def code_classes(
    target: pandas.Series[Any], task: Task
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Codes of a target column and the class of each code, in the order of the task."""
    text = _as_text(target)
    present, codes = np.unique(text, return_inverse=True)
    classes = task.classes or tuple(sorted(present.tolist(), key=_number_first))
    unknown = sorted(set(present.tolist()) - set(classes))
    if unknown:
        raise DataError(
            f"The target of {task.key!r} holds the class {unknown[0]!r}, which its entry does not "
            f"list: {', '.join(classes)}. Correct the classes of the entry, or the file."
        )
    if not 2 <= len(classes) or (task.kind == "binary" and len(classes) != 2):
        wanted = "two classes" if task.kind == "binary" else "at least two classes"
        raise DataError(
            f"The target of {task.key!r} needs {wanted}, got {len(classes)}: "
            f"{', '.join(classes[:8])}. Correct its kind or its target."
        )
    order = {name: code for code, name in enumerate(classes)}
    return np.array([order[name] for name in present.tolist()], dtype=np.int64)[codes], classes


def _as_text(target: pandas.Series[Any]) -> npt.NDArray[np.str_]:
    """Class names; 1 and 1.0 are the same one."""
    if target.dtype.kind == "f" and (target % 1 == 0).all():
        target = target.astype(np.int64)
    return np.asarray(target.astype(str).str.strip(), dtype=str)


def _number_first(name: str) -> tuple[int, float, str]:
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
