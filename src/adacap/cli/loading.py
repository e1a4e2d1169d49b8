"""A saved model on the command line: load it, find its columns, name what it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from adacap.exceptions import ModelFileError, SignatureError, UsageError, nearest

if TYPE_CHECKING:
    from adacap.files import Source

__all__ = [
    "Asked", "check_model", "file_kinds", "find_columns", "load_model", "output_columns",
    "read_key",
]  # fmt: skip

_MOST_SHOWN = 10


class Asked(NamedTuple):
    """What is asked of a model beside its prediction.

    Coverages of intervals, quantiles, and coverages of sets of classes.
    """

    coverages: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    sets: tuple[float, ...] = ()


def read_key(path: Path | None) -> bytes | None:
    """The key in a file, without blanks and line breaks around it; None without a file."""
    if path is None:
        return None
    _check_file(path, "key file", "key file")
    key = path.read_bytes().strip()
    if not key:
        raise UsageError(f"The key file {path} is empty.")
    return key


def check_model(path: Path) -> None:
    """Refuse what is not there, or is no file."""
    _check_file(path, "model file", "model")


def _check_file(path: Path, what: str, short: str) -> None:
    from adacap.files import MissingFileError

    if not path.exists():
        raise MissingFileError(f"There is no {what} {path}.")
    if not path.is_file():
        raise UsageError(f"The {short} {path} is a folder, a device or a pipe. Name a file.")


def load_model(path: Path, key_file: Path | None = None) -> Any:
    """Fitted estimator of a model file, signed with the key if there is one."""
    from adacap import load

    check_model(path)
    key = read_key(key_file)
    try:
        return load(path, key=key)
    except SignatureError:
        raise
    except ModelFileError as error:
        raise ModelFileError(
            f"{error} Model files are written by adacap fit, or by save in Python."
        ) from error


def find_columns(model: Any, source: Source) -> list[str] | None:
    """Columns of a table that the model takes; None if it takes them by position.

    A column that the model dropped may be absent.

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
    there = set(source.names)
    missing = [name for name in names if name not in there and name not in unused]
    if not missing:
        return [name for name in names if name in there]
    others = sorted(there - set(names))
    lines = [f"{name!r}{_meant(name, others)}" for name in missing[:_MOST_SHOWN]]
    more = ", …" if len(missing) > _MOST_SHOWN else ""
    raise FileError(
        f"{source.path} is missing {len(missing)} of the {len(names)} columns that the model was "
        f"trained on: {', '.join(lines)}{more}. A column without values may stand in for one that "
        "is not known."
    )


def _meant(name: str, others: Sequence[str]) -> str:
    """The column that a missing one may be; letters that look the same are spelt out."""
    same = [other for other in others if normalize("NFKC", other) == normalize("NFKC", name)]
    if same:
        return f" (there is {same[0]!a}, the same letters in other characters)"
    near = nearest(name, others, cutoff=0.5)
    return f" (is it {near[0]!r}?)" if near else ""


def file_kinds(model: Any, columns: Sequence[str], has_format: bool = False) -> dict[str, str]:
    """Kind in which to read each column of a text file that the model takes.

    What ``fit`` read from text is passed as text again, and so read by the same rule; dates are
    not, if the user gives their format.
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


def output_columns(model: Any, X: Any, asked: Asked) -> dict[str, Any]:
    """Predictions of a batch as named columns."""
    if hasattr(model, "predict_proba"):
        return _class_columns(model, X, asked)
    values = model.predict(X)
    columns = values[:, None] if values.ndim == 1 else values
    more = _columns_beside(model, X, asked, columns.shape)
    names = [""] if values.ndim == 1 else _target_names(model, columns.shape[1])
    found = {}
    for k, name in enumerate(names):
        end = f"_{name}" if name else ""
        found[f"prediction{end}"] = columns[:, k]
        for (kind, level), column in more.items():
            found[f"{kind}{end}{level}"] = column[:, k]
    return found


def _columns_beside(
    model: Any, X: Any, asked: Asked, shape: tuple[int, int]
) -> dict[tuple[str, str], Any]:
    """Bounds and quantiles ``(n, n_targets)``, by kind and distinguishing suffix."""
    found: dict[tuple[str, str], Any] = {}
    if asked.coverages:
        bounds = model.predict_interval(X, list(asked.coverages)).reshape(*shape, -1, 2)
        for i, level in enumerate(asked.coverages):
            end = f"_{100 * level:g}" if len(asked.coverages) > 1 else ""
            found["lower", end], found["upper", end] = bounds[:, :, i, 0], bounds[:, :, i, 1]
    if asked.quantiles:
        values = model.predict_quantiles(X, list(asked.quantiles)).reshape(*shape, -1)
        for i, level in enumerate(asked.quantiles):
            found["quantile", f"_{level:g}"] = values[:, :, i]
    return found


def _class_columns(model: Any, X: Any, asked: Asked) -> dict[str, Any]:
    """Class, probabilities and sets of classes."""
    shares = model.predict_proba(X)
    columns: dict[str, Any] = {"class": model.classes_[shares.argmax(axis=1)]}
    for k, label in enumerate(model.classes_):
        columns[f"probability_{label}"] = shares[:, k]
    for level in asked.sets:
        end = f"_{100 * level:g}" if len(asked.sets) > 1 else ""
        inside = model.predict_set(X, level)
        columns[f"set{end}"] = ["|".join(map(str, model.classes_[row])) for row in inside]
    return columns


def _target_names(model: Any, n_targets: int) -> list[str]:
    """Names of the targets, or their numbers where a model does not know them."""
    names = model.provenance_.targets
    return list(names) if len(names) == n_targets else [str(k + 1) for k in range(n_targets)]
