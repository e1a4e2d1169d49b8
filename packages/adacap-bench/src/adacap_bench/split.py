"""From a table to the arrays of one split: seeded 80/20, the paper's preprocessing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Index
from adacap.exceptions import AdaCapError

if TYPE_CHECKING:
    from adacap_bench.datasets import TaskTable

__all__ = ["PREPROCESSING", "TEST_RATIO", "Split", "SplitError", "make_split", "split_rows"]

PREPROCESSING = "paper"  # policy of TableEncoder; part of every settings hash
_TRAIN_SHARE = 0.8
TEST_RATIO = 1 / _TRAIN_SHARE - 1  # test rows per training row


class SplitError(AdaCapError, ValueError):
    """A table cannot be split or encoded."""


@dataclass(frozen=True, eq=False)
class Split:
    """Arrays of one split, ready for any method.

    Attributes
    ----------
    X_train, X_test : float32 arrays of shape (n_rows, n_features)
        Encoded by what the training part teaches.
    y_train, y_test : arrays of shape (n_rows,)
        Regression: float64, brought to mean 0 and deviation 1 by the training part.
        Classes: integer codes 0 to ``n_classes - 1``.
    kind : {"regression", "binary", "multiclass"}
    n_classes : int
        0 for regression.
    """

    X_train: npt.NDArray[np.float32]
    X_test: npt.NDArray[np.float32]
    y_train: npt.NDArray[Any]
    y_test: npt.NDArray[Any]
    kind: str
    n_classes: int


def split_rows(n_rows: int, index: int) -> tuple[Index, Index]:
    """Rows of the training and of the test part: 80 % and the rest, not stratified.

    Examples
    --------
    >>> train, test = split_rows(5, index=0)
    >>> train, test
    (array([2, 4, 3, 0]), array([1]))
    """
    if n_rows < 5:
        raise SplitError(f"A split into 80 % and 20 % needs at least 5 rows, got {n_rows}.")
    order = np.random.default_rng(index).permutation(n_rows)
    n_train = int(_TRAIN_SHARE * n_rows)
    return order[:n_train], order[n_train:]


def make_split(table: TaskTable, index: int) -> Split:
    """Split a table and encode it by the paper's preprocessing.

    Every statistic (levels, means, deviations, those of the target too) is that of the
    training part.

    Parameters
    ----------
    table : TaskTable
        As :func:`adacap_bench.datasets.load_table` gives it.
    index : int
        Number of the split, from 0.

    Returns
    -------
    Split

    Examples
    --------
    >>> from adacap_bench.datasets import load_table
    >>> split = make_split(load_table("builtin-diabetes"), index=0)
    >>> split.X_train.shape, split.X_test.shape
    ((353, 10), (89, 10))
    >>> bool(abs(split.y_train.mean()) < 1e-9)
    True
    """
    from adacap.estimators import TableEncoder
    from adacap.tables.table import read_table

    train, test = split_rows(len(table.y), index)
    if table.task.is_encoded:
        X_train, X_test = _standardised(table.X.to_numpy(np.float64), train, test)
        y_train, y_test, n_classes = _targets(table, train, test)
        return Split(X_train, X_test, y_train, y_test, table.task.kind, n_classes)
    encoder = TableEncoder(PREPROCESSING).set_output(transform="default")
    X_train = encoder.fit_transform(read_table(table.X.iloc[train]))
    if X_train.shape[1] == 0:
        raise SplitError(
            f"The preprocessing leaves no column of task {table.task.key!r}: all "
            f"{table.X.shape[1]} are constant, dates, or text of more than 12 levels."
        )
    X_test = encoder.transform(read_table(table.X.iloc[test]))
    y_train, y_test, n_classes = _targets(table, train, test)
    return Split(X_train, X_test, y_train, y_test, table.task.kind, n_classes)


def _standardised(
    X: npt.NDArray[np.float64], train: Index, test: Index
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Mean 0 and deviation 1 by the training part, for matrices that are encoded already."""
    mean, scale = X[train].mean(0), X[train].std(0)
    X = (X - mean) / np.where(scale > 0, scale, 1.0)
    return X[train].astype(np.float32), X[test].astype(np.float32)


def _targets(
    table: TaskTable, train: Index, test: Index
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], int]:
    y_train, y_test = table.y[train], table.y[test]
    if table.task.kind != "regression":
        return y_train, y_test, int(table.y.max()) + 1
    mean, scale = float(y_train.mean()), float(y_train.std()) or 1.0
    return (y_train - mean) / scale, (y_test - mean) / scale, 0
