"""A saved model on the command line: load it, find its columns, name what it predicts."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adacap.exceptions import ModelFileError

if TYPE_CHECKING:
    from adacap.files import Source

__all__ = ["file_kinds", "find_columns", "load_model", "output_columns"]

_MOST_SHOWN = 10


def load_model(path: Path) -> Any:
    """Fitted estimator of a model file."""
    from adacap import load
    from adacap.files import MissingFileError

    if not path.is_file():
        raise MissingFileError(f"There is no model file {path}.")
    try:
        return load(path)
    except ModelFileError as error:
        raise ModelFileError(
            f"{error} Model files are written by adacap fit, or by save in Python."
        ) from error


def find_columns(model: Any, source: Source) -> list[str] | None:
    """Columns of a table that the model takes; None if it goes by position.

    One that the model has dropped may be absent.

    Raises
    ------
    FileError
        If some are missing, with the nearest names that the table has.
    """
    from adacap.files import FileError

    names = model.encoder_.names_
    if names is None:
        return None
    unused = {plan.name for plan in model.encoder_.columns_ if not plan.parts}
    missing = [name for name in names if name not in source.names and name not in unused]
    if not missing:
        return [name for name in names if name in source.names]
    others = [name for name in source.names if name not in names]
    lines = []
    for name in missing[:_MOST_SHOWN]:
        near = difflib.get_close_matches(name, others, n=1, cutoff=0.5)
        lines.append(f"{name!r}" + (f" (is it {near[0]!r}?)" if near else ""))
    more = ", …" if len(missing) > _MOST_SHOWN else ""
    raise FileError(
        f"{source.path} lacks {len(missing)} of the {len(names)} columns that the model was "
        f"trained on: {', '.join(lines)}{more}. A column without values may stand in for one that "
        "is not known."
    )


def file_kinds(model: Any, columns: Sequence[str], has_format: bool = False) -> dict[str, str]:
    """Kind in which to read each column of a text file that the model takes.

    What ``fit`` read from text is given as text again, and so read by the same rule; dates are not,
    where the user says how they are written.
    """
    plans = list(model.encoder_.columns_)
    if model.encoder_.names_ is not None:
        by_name = {plan.name: plan for plan in plans}
        plans = [by_name[name] for name in columns]
    return {
        name: plan.kind
        if plan.reading is None or (has_format and plan.kind == "datetime")
        else "categorical"
        for name, plan in zip(columns, plans, strict=False)
    }


def output_columns(model: Any, X: Any, interval: float | None) -> dict[str, Any]:
    """Predictions of a batch as named columns."""
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        labels = model.classes_[shares.argmax(axis=1)]
        columns = {"class": labels}
        for k, label in enumerate(model.classes_):
            columns[f"probability_{label}"] = shares[:, k]
        return columns
    values = model.predict(X)
    bounds = None if interval is None else model.predict_interval(X, coverage=interval)
    if values.ndim == 1:
        columns = {"prediction": values}
        if bounds is not None:
            columns |= {"lower": bounds[:, 0], "upper": bounds[:, 1]}
        return columns
    columns = {}
    for k, name in enumerate(_target_names(model, values.shape[1])):
        columns[f"prediction_{name}"] = values[:, k]
        if bounds is not None:
            columns |= {f"lower_{name}": bounds[:, k, 0], f"upper_{name}": bounds[:, k, 1]}
    return columns


def _target_names(model: Any, n_targets: int) -> list[str]:
    """Names of the targets, or their numbers where a model does not know them."""
    names = model.provenance_.targets
    return list(names) if len(names) == n_targets else [str(k + 1) for k in range(n_targets)]
