"""From a table to the float32 matrix a network reads, by the plan in a model file."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from adacap.lite.files import Json, require
from adacap.lite.tables import read_table
from adacap.tables.columns import Kind
from adacap.tables.matching import cells_by_plan, column_order
from adacap.tables.plan import PARTS, Cells, ColumnPlan

__all__ = ["Encoder"]

_POLICIES = {"default", "paper", "none"}
_KINDS = get_args(Kind)


class Encoder:
    """What :class:`adacap.TableEncoder` does after fitting, from its description.

    Parameters
    ----------
    data : dict
        What ``TableEncoder.to_dict`` gave.
    owner : str
        Class that messages about the user's data speak of.

    Attributes
    ----------
    names : tuple of str or None
        Column names seen in ``fit``.
    columns : list of ColumnPlan
        The plan of each column.
    n_features_out : int
        Number of columns of the matrix.
    """

    def __init__(self, data: Json, owner: str) -> None:
        self.policy: str = data["policy"]
        self.owner = owner
        self.names: tuple[str, ...] | None = None if data["names"] is None else (*data["names"],)
        self.columns = [_plan(column) for column in data["columns"]]
        self.n_features_out = sum(len(plan.center) for plan in self.columns)
        require(self.policy in _POLICIES, f"encoder.policy is {self.policy!r}, unknown here.")
        fits = self.names is None or (
            len(self.names) == len(self.columns) and all(isinstance(n, str) for n in self.names)
        )
        require(fits and len(self.columns) > 0, "encoder.names do not fit encoder.columns.")
        self.layout: list[int] = data["layout"]
        is_order = sorted(self.layout) == list(range(len(self.columns)))
        require(is_order, "encoder.layout is no order of encoder.columns.")

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Encode rows; the columns of a frame are found by name, in any order."""
        cells = self.cells(X)
        out = np.empty((_n_rows(cells[0]), self.n_features_out), dtype=np.float32)
        pairs = ((self.columns[j], cells[j]) for j in self.layout)
        for k, x in enumerate(x for plan, column in pairs for x in plan.encoded(column)):
            out[:, k] = x
        return out

    def cells(self, X: Any) -> list[Cells]:
        """Columns of X in the order and the kinds of ``fit``.

        A column that fit dropped is missing everywhere, whatever it holds now.
        """
        table = read_table(X)
        order = column_order(
            table.names, len(table.columns), self.names, len(self.columns),
            owner=self.owner, stacklevel=4,  # at the caller of predict
            unused=[plan.name for plan in self.columns if not plan.parts],
        )  # fmt: skip
        nothing = Cells("numeric", np.full(table.n_rows, np.nan), np.empty(0, dtype=np.int32))
        return [
            cells_by_plan(table.columns[j], table.place(j), plan, self.policy)
            if plan.parts
            else nothing
            for j, plan in zip(order, self.columns, strict=True)
        ]


def _n_rows(cells: Cells) -> int:
    return len(cells.codes if cells.kind == "categorical" else cells.values)


def _plan(data: Json) -> ColumnPlan:
    """Plan of a column; one that is malformed or of parts unknown here is refused."""
    place = f"column {data['name']!r}"
    unknown = [part["part"] for part in data["parts"] if part["part"] not in PARTS]
    require(not unknown, f"{place} is encoded by {unknown}, unknown here.")
    require(data["kind"] in _KINDS, f"{place} is of kind {data['kind']!r}, unknown here.")
    plan = ColumnPlan.from_dict(data)
    require(plan.is_consistent and _encodes(plan), f"the plan of {place} contradicts itself.")
    return plan


def _encodes(plan: ColumnPlan) -> bool:
    """Whether two missing cells come out as numbers, one column per centre and scale."""
    cells = Cells(plan.kind, np.full(2, np.nan), np.full(2, -1, dtype=np.int32))
    encoded = map(np.asarray, plan.encoded(cells))
    return all(x.shape == (2,) and x.dtype == np.float64 for x in encoded)
