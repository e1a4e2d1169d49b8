"""Check new rows against the schema seen in ``fit``: the same columns, of readable kinds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from adacap.exceptions import nearest, warn_caller
from adacap.tables.columns import Column
from adacap.tables.plan import Cells, ColumnPlan

__all__ = ["cells_by_plan", "column_order"]

_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_NUMBERS = {"numeric", "boolean"}


def column_order(
    names: tuple[str, ...] | None,
    n_columns: int,
    fitted: tuple[str, ...] | None,
    n_fitted: int,
    *,
    owner: str,
    unused: Collection[str] = (),
) -> list[int]:
    """Positions in a new table of the fitted columns: by name, or by position without names.

    A column that the model does not use may be absent: its position is -1. Columns unknown to
    ``fit`` are ignored, with a warning. ``owner`` is the class named in messages.

    Examples
    --------
    >>> column_order(("b", "a"), 2, ("a", "b"), 2, owner="AdaCapRegressor")
    [1, 0]
    """
    if names is not None and fitted is not None:
        _check_names(names, [name for name in fitted if name not in unused], fitted)
        position = {name: j for j, name in enumerate(names)}
        return [position.get(name, -1) for name in fitted]
    if names != fitted:
        found = "has" if names else "does not have valid"
        with_or_not = "with" if fitted else "without"
        warn_caller(f"X {found} feature names, but {owner} was fitted {with_or_not} feature names")
    if n_columns != n_fitted:
        raise ValueError(
            f"X has {n_columns} features, but {owner} is expecting {n_fitted} features as input."
        )
    return list(range(n_columns))


def _check_names(names: Sequence[str], needed: Sequence[str], fitted: Sequence[str]) -> None:
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(needed) - set(names))
    if missing:
        raise _names_error(unseen, missing)
    if unseen:
        shown = ", ".join(map(repr, unseen[:5])) + (", ..." if len(unseen) > 5 else "")
        warn_caller(f"Columns not seen in fit are ignored: {shown}.")


def _names_error(unseen: Sequence[str], missing: Sequence[str]) -> ValueError:
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + _bullets(unseen)
    message += "Feature names seen at fit time, yet now missing:\n" + _bullets(missing)
    for name in unseen:
        for close in nearest(name, missing):
            message += f"{name!r}: did you mean {close!r}?\n"
    return ValueError(message)


def _bullets(names: Sequence[str], most: int = 5) -> str:
    more = ["..."] if len(names) > most else []
    return "".join(f"- {name}\n" for name in [*names[:most], *more])


def cells_by_plan(column: Column, place: str, plan: ColumnPlan, policy: str) -> Cells:
    """Cells of a new column as the kind it had in ``fit``, if possible.

    Examples
    --------
    >>> plan = ColumnPlan("size", "numeric")
    >>> cells_by_plan(Column("boolean", np.array([True])), "column 'size'", plan, "default").values
    array([1.])
    """
    if plan.reading is not None:
        column = plan.reading.read(column, place)
    if policy == "none":
        _refuse_for_none(column, place)
    if not _is_readable(column, plan):
        raise ValueError(
            f"{place[0].upper()}{place[1:]} was {plan.kind} at fit time but is {column.kind} now. "
            f"Convert it to {plan.kind} values, with missing cells as None or NaN."
        )
    return Cells.read(column, plan.kind)


def _is_readable(column: Column, plan: ColumnPlan) -> bool:
    """Whether a column makes sense as the kind it had in ``fit``."""
    now, then = column.kind, plan.kind
    if now == then or {now, then} <= _NUMBERS or column.missing.all():
        return True
    # A column of mixed text and numbers may show only numbers this time.
    known = {level for part in plan.parts for level in getattr(part, "levels", ())}
    return then == "categorical" and now in _NUMBERS and not known.isdisjoint(column.text()[1])


def _refuse_for_none(column: Column, place: str) -> None:
    if column.kind not in _NUMBERS:
        raise ValueError(
            f"policy='none' takes numbers only, but {place} is {column.kind}. "
            "Encode it first or use policy='default'."
        )
    x = column.numbers()
    if n_missing := int(np.isnan(x).sum()):
        raise ValueError(
            f"policy='none' takes no missing values, but {place} contains NaN in "
            f"{n_missing} of {len(x)} rows. Impute them first or use policy='default'."
        )
    if (largest := float(np.abs(x).max())) > _LARGEST_FLOAT32:
        raise ValueError(
            f"policy='none' keeps float32 numbers, but {place} reaches {largest:g}, "
            "which is infinity there. Rescale it or use policy='default'."
        )
