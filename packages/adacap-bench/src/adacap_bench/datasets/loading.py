"""Load a task as features and target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adacap_bench.datasets import builtin
from adacap_bench.datasets.catalogue import find_task
from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.places import how_to_get, read_content, require
from adacap_bench.datasets.reading import read_frame, resolve
from adacap_bench.datasets.targets import code_classes, is_missing, transform_target
from adacap_bench.datasets.tasks import Table, Task

if TYPE_CHECKING:
    import pandas

__all__ = ["load_table", "read_task_frame", "table_of"]


def load_table(
    task: Task | str, *, folder: str | Path | None = None, raw_target: bool = False
) -> Table:
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
    Table
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
    Table(builtin-diabetes: 442 rows, 10 columns, regression)
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
        return builtin.make(task)
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


def table_of(frame: pandas.DataFrame, task: Task, raw_target: bool = False) -> Table:
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
        return Table(task, X, transform_target(column, task, raw_target))
    return Table(task, X, *code_classes(column, task))


def _advice(task: Task) -> str:
    if task.suites and task.file is not None and task.file.urls:
        return f"The file is damaged or another version: adacap data fetch --force {task.key}"
    if task.suites and task.file is not None:
        return f"The file is damaged or another version. {how_to_get(task, task.file)}"
    return "Set header, separator, decimal or encoding in its entry."
