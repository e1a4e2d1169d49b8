"""What ``fit`` reports about columns: a table if verbose, a warning for what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from adacap.estimators.encoder import TableEncoder
from adacap.estimators.quality import LEAST_ROWS
from adacap.estimators.settings import Settings
from adacap.exceptions import NumericalWarning, warn_caller
from adacap.tables.suspicions import doubts_of_columns, doubts_of_target
from adacap.tables.table import Table
from adacap.tables.telling import lost_columns, tell, told_table

__all__ = [
    "doubts", "tell_columns", "tell_few_rows", "tell_fewer_folds", "tell_large",
]  # fmt: skip

_FOLDS = 5  # the usual number
_LARGE = 1e4  # cells beside which float32 was measured to cost 0.001 deviations of a prediction
_BY_ORDER = {"ridge", "boosting", "trees"}  # members that do not depend on the scale of a column


def tell_columns(encoder: TableEncoder, verbose: int | bool) -> None:
    """Print what became of columns that were changed; warn of those lost."""
    if verbose and (told := tell(encoder.columns_)):
        print(told_table(told))
    if lost := lost_columns(encoder.columns_):
        way_out = "Drop them yourself, or turn them into numbers, dates or fewer categories."
        warn_caller(f"{lost} {way_out}")


def tell_few_rows(told: Any, settings: Settings, n_rows: int) -> None:
    """Warn of a blend that was asked for and has too few rows to be weighed on."""
    if settings.quality == "nets" and told not in ("auto", "nets") and tuple(told) != ("nets",):
        warn_caller(
            f"quality={told!r} needs at least {LEAST_ROWS} different rows to weigh members on, got "
            f"{n_rows}: a bag of nets is trained instead, as quality='nets' does."
        )


def tell_fewer_folds(n_told: int | str, settings: Settings) -> None:
    """Warn of fewer folds than ``n_estimators`` asked for, or than there usually are."""
    expected = _FOLDS if isinstance(n_told, str) else int(n_told)
    if settings.n_estimators < expected:
        few = f"{settings.n_groups} groups" if settings.split_by == ("group",) else "the times"
        warn_caller(
            f"There are {settings.n_estimators} folds and not {expected}: {few} allow no more. "
            "Scores and intervals rest on little."
        )


def tell_large(encoder: TableEncoder, x: Tensor, members: Sequence[str]) -> None:
    """Warn of unprocessed columns that are too large for float32.

    Members of trees and ridge take any scale.
    """
    if encoder.policy != "none" or {name.partition(":")[0] for name in members} <= _BY_ORDER:
        return
    largest = x.abs().amax(0).flatten()
    if not (found := torch.nonzero(largest > _LARGE).flatten().tolist()):
        return
    names = [encoder.columns_[j].name for j in found[:3]] if x.ndim == 2 else []
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    place = f" in {', '.join(names)}{more}" if names else ""
    warn_caller(
        f"preprocessing='none' leaves cells up to {float(largest.max()):.3g}{place}. Beside cells "
        f"beyond {_LARGE:g}, float32 loses the digits that distinguish rows: nets learn worse, and "
        "their predictions differ by more than rounding from one reader or machine to another. "
        "Rescale the columns, or use preprocessing='default'.",
        NumericalWarning,
    )


def doubts(
    encoder: TableEncoder,
    table: Table,
    y: npt.NDArray[Any],
    is_class: bool,
    targets: Sequence[str] = ("y",),
    numbers: npt.NDArray[Any] | None = None,
    transform: str | None = None,
) -> list[str]:
    """Columns that predict the target by themselves, and targets hard to learn, in sentences.

    ``y`` holds labels if ``is_class``; ``numbers`` are those of its rows, where not from 0.
    """
    plans = encoder.columns_
    read = table.read([plan.reading for plan in plans])
    found = doubts_of_columns(read.columns, [plan.name for plan in plans], y, is_class)
    if not is_class:
        columns = y.reshape(len(y), -1).T
        for name, values in zip(targets, columns, strict=False):
            found += doubts_of_target(values, name, numbers, transform)
    return found
