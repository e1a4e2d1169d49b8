"""What ``fit`` says of the columns: a table where it may speak, a warning for what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from adacap.estimators.encoder import TableEncoder
from adacap.estimators.settings import Settings
from adacap.exceptions import warn_caller
from adacap.tables.suspicions import doubts_of_columns, doubts_of_target
from adacap.tables.table import Table
from adacap.tables.telling import lost_columns, tell, told_table

__all__ = ["doubts", "tell_columns", "tell_doubts", "tell_fewer_folds"]

_FOLDS = 5  # that one expects


def tell_columns(encoder: TableEncoder, verbose: int | bool) -> None:
    """Print what became of columns that were not taken as they stand; warn of those lost.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted.
    verbose : int or bool
        Whether to print; columns that held something and were dropped are warned of in any case.
    """
    if verbose and (told := tell(encoder.columns_)):
        print(told_table(told))
    if lost := lost_columns(encoder.columns_):
        way_out = "Drop them yourself, or turn them into numbers, dates or fewer categories."
        warn_caller(f"{lost} {way_out}")


def tell_doubts(encoder: TableEncoder, table: Table, y: npt.NDArray[Any], is_class: bool) -> None:
    """Warn of columns that tell the target by themselves, and of a target that is hard to learn.

    Parameters
    ----------
    encoder : TableEncoder
        Fitted on the table.
    table : Table
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
    is_class : bool
        Whether ``y`` holds labels.
    """
    for doubt in doubts(encoder, table, y, is_class):
        warn_caller(doubt)


def tell_fewer_folds(n_told: int | str, settings: Settings) -> None:
    """Warn of fewer folds than were asked for, or than there usually are.

    Parameters
    ----------
    n_told : int or "auto"
        The parameter ``n_estimators``.
    settings : Settings
        Of a fit in folds.
    """
    expected = _FOLDS if isinstance(n_told, str) else int(n_told)
    if settings.n_estimators < expected:
        few = f"{settings.n_groups} groups" if settings.split_by == ("group",) else "the times"
        warn_caller(
            f"There are {settings.n_estimators} folds and not {expected}: {few} allow no more. "
            "Scores and intervals rest on little."
        )


def doubts(
    encoder: TableEncoder,
    table: Table,
    y: npt.NDArray[Any],
    is_class: bool,
    targets: Sequence[str] = ("y",),
    numbers: npt.NDArray[Any] | None = None,
) -> list[str]:
    """The same as sentences, with the names of the targets and what the rows are called."""
    plans = encoder.columns_
    read = table.read([plan.reading for plan in plans])
    found = doubts_of_columns(read.columns, [plan.name for plan in plans], y, is_class)
    if not is_class:
        columns = y.reshape(len(y), -1).T
        for name, values in zip(targets, columns, strict=False):
            found += doubts_of_target(values, name, numbers)
    return found
