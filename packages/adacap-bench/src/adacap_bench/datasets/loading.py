"""Load a task as features and target: from its file, or made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap.exceptions import suggest
from adacap_bench.datasets.catalogue import find_task
from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.places import how_to_get, read_content, require
from adacap_bench.datasets.reading import read_frame, resolve
from adacap_bench.datasets.targets import code_classes, is_missing, transform_target
from adacap_bench.datasets.tasks import Task, TaskTable

if TYPE_CHECKING:
    import pandas

__all__ = ["MAKERS", "load_table", "make_table", "read_task_frame", "table_of"]


def load_table(
    task: Task | str, *, folder: str | Path | None = None, raw_target: bool = False
) -> TaskTable:
    """Features and target of a task.

    Parameters
    ----------
    task : Task or str
        Entry of the catalogue, its key, or a CSV file such as ``"mine.csv:price"``.
    folder : path, optional
        Data folder to look in before ``ADACAP_DATA`` and the cache.
    raw_target : bool, default=False
        Leave out the transform of a regression target.

    Returns
    -------
    TaskTable
        Read from the file at each call.

    Raises
    ------
    MissingDataError
        If the file is in none of the folders; the message says how to get it.
    DataError
        If the file is not the table that the entry describes.

    Examples
    --------
    >>> table = load_table("builtin-diabetes")
    >>> table
    TaskTable(builtin-diabetes: 442 rows, 10 columns, regression)
    >>> table.y[:3]
    array([151.,  75., 141.])
    >>> load_table("builtin-iris").classes
    ('setosa', 'versicolor', 'virginica')
    """
    task = find_task(task) if isinstance(task, str) else task
    if raw_target and task.stored_scale:
        raise DataError(
            f"The file of {task.key!r} holds its target as {task.stored_scale}, standardised; the "
            "raw one cannot be recovered. Load it with raw_target=False."
        )
    return table_of(read_task_frame(task, folder), task, raw_target)


def read_task_frame(task: Task, folder: str | Path | None = None) -> pandas.DataFrame:
    """Whole table of a task, target and excluded columns included, checked for its shape."""
    if task.maker:
        return make_table(task)
    if task.file is None:
        raise DataError(f"{task.key!r} has neither a file nor a maker. Give it a path.")
    path = require(task, task.file, folder)
    content = read_content(path, task.file.name)
    try:
        frame = read_frame(content, task.reader, task.columns)
    except (ValueError, LookupError, EOFError) as error:  # of pandas, numpy and codecs
        raise DataError(f"Cannot read {path} as {task.key!r}: {error}. {_advice(task)}") from error
    expected = (task.rows or len(frame), task.columns or frame.shape[1])
    if frame.shape != expected:
        raise DataError(
            f"{path} holds {frame.shape[0]} rows × {frame.shape[1]} columns, but {task.key!r} has "
            f"{expected[0]} × {expected[1]}. {_advice(task)}"
        )
    return frame


def table_of(frame: pandas.DataFrame, task: Task, raw_target: bool = False) -> TaskTable:
    """Features and target of a frame read by :func:`read_task_frame`."""
    names = [str(name) for name in frame.columns]
    (target,) = resolve(task.target, names, task.key)
    excluded = {target, *resolve(task.reader.exclude, names, task.key)}
    keep = ~is_missing(frame.iloc[:, target])
    keep[list(task.reader.drop_rows)] = False
    features = [j for j in range(len(names)) if j not in excluded]
    if not features or not keep.any():
        found = "column of features" if not features else "row with a target"
        raise DataError(f"{task.key!r} has no {found} left. Correct its target and exclude.")
    X = frame.iloc[np.flatnonzero(keep), features].reset_index(drop=True)
    column = frame.iloc[np.flatnonzero(keep), target]
    if task.kind == "regression":
        return TaskTable(task, X, transform_target(column, task, raw_target))
    return TaskTable(task, X, *code_classes(column, task))


def _advice(task: Task) -> str:
    if task.suites and task.file is not None and task.file.urls:
        return f"The file is damaged or another version: adacap data fetch --force {task.key}"
    if task.suites and task.file is not None:
        return f"The file is damaged or another version. {how_to_get(task, task.file)}"
    return "Set header, separator, decimal or encoding in its entry."


# -------------------------------------------------------------------- tables that need no file


def make_table(task: Task) -> pandas.DataFrame:
    """Table of a built-in task, target in the last column."""
    if task.maker not in MAKERS:
        raise DataError(suggest(task.maker, MAKERS, f"maker of {task.key!r}:"))
    X, y, names = MAKERS[task.maker](**dict(task.options))
    import pandas

    frame: pandas.DataFrame = pandas.DataFrame(X, columns=names)
    frame["target"] = y
    return frame


def _bundled(name: str) -> tuple[Any, Any, list[str]]:
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    y = data.target
    if name != "diabetes":
        y = np.array([str(label) for label in data.target_names])[y]
    return data.data, y, [str(feature) for feature in data.feature_names]


def _synthetic(generator: str, n_samples: int, seed: int, **options: Any) -> tuple[Any, Any, Any]:
    from sklearn import datasets

    function = getattr(datasets, f"make_{generator}")
    X, y = function(n_samples=n_samples, random_state=seed, **options)
    return X, y, [f"x{j}" for j in range(X.shape[1])]


def _noisy_linear(
    n_samples: int, n_features: int, noise: float, seed: int
) -> tuple[Any, Any, list[str]]:
    """A linear target of correlated features, a fifth of which matter.

    The noise is measured in deviations of the signal.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) + 0.5 * rng.normal(size=(n_samples, 1))
    beta = np.where(np.arange(n_features) % 5 == 0, rng.normal(size=n_features), 0.0)
    signal = X @ beta
    y = signal + noise * signal.std() * rng.normal(size=n_samples)
    return X, y, [f"x{j}" for j in range(n_features)]


def _mixed_classes(n_samples: int, n_classes: int, seed: int) -> tuple[Any, Any, list[str]]:
    """Numbers, a text column and missing cells, with overlapping classes."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_samples, 6))
    group = rng.choice(["north", "south", "west"], size=n_samples)
    shift = (group == "north") - 1.0 * (group == "west")
    score = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + shift + 0.5 * rng.normal(size=n_samples)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    y = np.array([f"class {c}" for c in range(n_classes)])[np.searchsorted(edges, score)]
    numbers[rng.random(numbers.shape) < 0.02] = np.nan
    X = {f"x{j}": numbers[:, j] for j in range(6)} | {"group": group}
    return X, y, [*X]


MAKERS: dict[str, Callable[..., tuple[Any, Any, list[str]]]] = {
    "bundled": _bundled,
    "synthetic": _synthetic,
    "noisy-linear": _noisy_linear,
    "mixed-classes": _mixed_classes,
}
