"""From a table to the float32 matrix a network reads, by the plan in a model file."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap.lite.files import Json, require
from adacap.lite.parts import PARTS, Cells
from adacap.lite.tables import Table, read_table

__all__ = ["Encoder"]

_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_NUMBERS = {"numeric", "boolean"}
_POLICIES = {"default", "paper", "none"}
_KINDS = _NUMBERS | {"categorical", "datetime"}


class Encoder:
    """What :class:`adacap.TableEncoder` does after fitting, from its description.

    Parameters
    ----------
    data : dict
        What ``TableEncoder.to_dict`` gave.

    Attributes
    ----------
    names : tuple of str or None
        Column names seen in ``fit``.
    columns : list of dict
        The plan of each column.
    n_features_out : int
        Number of columns of the matrix.
    """

    def __init__(self, data: Json) -> None:
        self.policy: str = data["policy"]
        self.owner: str = data["owner"]
        self.names: tuple[str, ...] | None = None if data["names"] is None else (*data["names"],)
        self.columns: list[Json] = data["columns"]
        self.n_features_out = sum(len(plan["center"]) for plan in self.columns)
        for plan in self.columns:
            _check_plan(plan)
        require(self.policy in _POLICIES, f"encoder.policy is {self.policy!r}, unknown here.")
        fits = self.names is None or (
            len(self.names) == len(self.columns) and all(isinstance(n, str) for n in self.names)
        )
        require(fits and len(self.columns) > 0, "encoder.names do not fit encoder.columns.")

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Encode rows; the columns of a frame are found by name, in any order."""
        cells = self.cells(X)
        out = np.empty((_n_rows(cells[0]), self.n_features_out), dtype=np.float32)
        k = 0
        for plan, column in zip(self.columns, cells, strict=True):
            outputs = (x for part in plan["parts"] for x in PARTS[part["part"]](part, column))
            for x, center, scale in zip(outputs, plan["center"], plan["scale"], strict=True):
                out[:, k] = (x - center) / scale
                k += 1
        return out

    def cells(self, X: Any) -> list[Cells]:
        """Columns of X in the order and the kinds of ``fit``.

        A column that fit dropped is missing everywhere, whatever it holds now.
        """
        table = self._align(read_table(X))
        return [self._cells(table, j, plan) for j, plan in enumerate(self.columns)]

    def _cells(self, table: Table, j: int, plan: Json) -> Cells:
        column = table.columns[j]
        if not plan["parts"]:
            return Cells("numeric", np.full(table.n_rows, np.nan), np.empty(0, dtype=np.int32))
        if self.policy == "none":
            _refuse_for_none(table, j)
        if not _is_readable(table, j, plan):
            place, now, then = table.place(j), column.kind, plan["kind"]
            raise ValueError(
                f"{place[0].upper()}{place[1:]} was {then} at fit time but is {now} now. "
                f"Convert it to {then} values, with missing cells as None or NaN."
            )
        return Cells.read(column, plan["kind"])

    def _align(self, table: Table) -> Table:
        if table.names is not None and self.names is not None:
            _check_names(table.names, self.names)
            position = {name: j for j, name in enumerate(table.names)}
            return Table(tuple(table.columns[position[name]] for name in self.names), self.names)
        if table.names != self.names:
            found = "has" if table.names else "does not have valid"
            fitted = "with" if self.names else "without"
            warnings.warn(
                f"X {found} feature names, but {self.owner} was fitted {fitted} feature names",
                stacklevel=5,  # at the caller of predict
            )
        if len(table.columns) != len(self.columns):
            raise ValueError(
                f"X has {len(table.columns)} features, but {self.owner} is expecting "
                f"{len(self.columns)} features as input."
            )
        return table


def _n_rows(cells: Cells) -> int:
    return len(cells.codes if cells.kind == "categorical" else cells.values)


def _check_plan(plan: Json) -> None:
    """Refuse a plan that is malformed or of parts unknown here, rather than to encode wrongly."""
    place = f"column {plan['name']!r}"
    unknown = [part["part"] for part in plan["parts"] if part["part"] not in PARTS]
    require(not unknown, f"{place} is encoded by {unknown}, unknown here.")
    require(plan["kind"] in _KINDS, f"{place} is of kind {plan['kind']!r}, unknown here.")
    fits = all(_fits(part) for part in plan["parts"]) and _encodes(plan)
    require(fits, f"the plan of {place} contradicts itself.")


def _encodes(plan: Json) -> bool:
    """Whether two missing cells come out as numbers, one column per centre and scale."""
    cells = Cells(plan["kind"], np.full(2, np.nan), np.full(2, -1, dtype=np.int32))
    outputs = [x for part in plan["parts"] for x in PARTS[part["part"]](part, cells)]
    if not len(outputs) == len(plan["center"]) == len(plan["scale"]):
        return False
    triples = zip(outputs, plan["center"], plan["scale"], strict=True)
    encoded = [np.asarray((x - center) / scale) for x, center, scale in triples]
    return all(x.shape == (2,) and x.dtype == np.float64 for x in encoded)


def _fits(part: Json) -> bool:
    """Whether the lists of a part are of equal length."""
    match part["part"]:
        case "Binary":
            return len(part["levels"]) == 2
        case "Frequency":
            return len(part["counts"]) == len(part["levels"])
        case "TargetMean":
            return all(len(means) == len(part["levels"]) for means in part["means"])
    return True


def _is_readable(table: Table, j: int, plan: Json) -> bool:
    """Whether column ``j`` makes sense as the kind it had in ``fit``."""
    column = table.columns[j]
    now, then = column.kind, plan["kind"]
    if now == then or {now, then} <= _NUMBERS or bool(column.missing.all()):
        return True
    # A column of mixed text and numbers may show only numbers this time.
    known = {level for part in plan["parts"] for level in part.get("levels", ())}
    return then == "categorical" and now in _NUMBERS and not known.isdisjoint(column.text()[1])


def _check_names(names: tuple[str, ...], fitted: tuple[str, ...]) -> None:
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if not unseen and not missing:
        return
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + _bullets(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _bullets(missing)
    for name in unseen:
        for close in difflib.get_close_matches(name, missing, n=1):
            message += f"{name!r}: did you mean {close!r}?\n"
    raise ValueError(message)


def _bullets(names: Sequence[str], most: int = 5) -> str:
    more = ["..."] if len(names) > most else []
    return "".join(f"- {name}\n" for name in [*names[:most], *more])


def _refuse_for_none(table: Table, j: int) -> None:
    column = table.columns[j]
    if column.kind not in _NUMBERS:
        raise ValueError(
            f"policy='none' takes numbers only, but {table.place(j)} is {column.kind}. "
            "Encode it first or use policy='default'."
        )
    x = column.numbers()
    if n_missing := int(np.isnan(x).sum()):
        raise ValueError(
            f"policy='none' takes no missing values, but {table.place(j)} contains NaN in "
            f"{n_missing} of {len(x)} rows. Impute them first or use policy='default'."
        )
    if (largest := float(np.abs(x).max())) > _LARGEST_FLOAT32:
        raise ValueError(
            f"policy='none' keeps float32 numbers, but {table.place(j)} reaches {largest:g}, "
            "which is infinity there. Rescale it or use policy='default'."
        )
