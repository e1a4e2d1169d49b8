"""From a table to the float32 matrix a network reads, by the plan that ``fit`` wrote.

:class:`adacap.TableEncoder` learns the plan; it, the estimators and ``adacap.lite`` follow it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats, Matrix
from adacap.tables.matching import cells_by_plan, column_order
from adacap.tables.plan import Cells, ColumnPlan, Number, soft_clip
from adacap.tables.table import Table, row_chunks

__all__ = ["OPTIONS", "POLICY_NAMES", "Encoder", "NumberBlock"]


POLICY_NAMES = ("default", "paper", "none")
OPTIONS = ("policy", "max_levels", "one_hot_numeric", "read_text")  # parameters of TableEncoder


class Encoder:
    """Follows a plan: new tables are checked against the fitted one, and encoded.

    ``layout`` has the columns in the order of their outputs in the matrix, of which there are
    ``n_features_out``; ``owner`` is the class named in messages about the user's data.

    Examples
    --------
    >>> from adacap.tables.plan import Number
    >>> from adacap.tables.table import read_table
    >>> plan = ColumnPlan("size", "numeric", (Number(2.0),), center=(2.0,), scale=(1.0,))
    >>> encoder = Encoder("default", ("size",), (plan,), (0,), owner="AdaCapRegressor")
    >>> encoder.encode(read_table({"size": [5.0, None]}))
    array([[3.], [0.]], dtype=float32)
    """

    def __init__(
        self,
        policy: str,
        names: tuple[str, ...] | None,
        columns: Sequence[ColumnPlan],
        layout: Sequence[int],
        *,
        owner: str,
    ) -> None:
        self.policy, self.names, self.owner = policy, names, owner
        self.columns, self.layout = tuple(columns), tuple(layout)
        sizes = [len(columns[j].center) for j in layout]
        self.n_features_out = sum(sizes)
        first = np.cumsum([0, *sizes[:-1]]).tolist()
        self._starts = [first[k] for k in np.argsort(layout)]
        self._numbers = NumberBlock.of(columns, self._starts)
        taken = set() if self._numbers is None else set(self._numbers.inputs.tolist())
        self._alone = [j for j, plan in enumerate(columns) if plan.parts and j not in taken]

    @classmethod
    def from_dict(cls, data: dict[str, Any], owner: str) -> Encoder:
        """Encoder from the output of ``TableEncoder.to_dict``."""
        names = None if data["names"] is None else tuple(data["names"])
        columns = [ColumnPlan.from_dict(column) for column in data["columns"]]
        return cls(data["policy"], names, columns, data["layout"], owner=owner)

    def encode(self, table: Table) -> Matrix:
        """Encode rows; columns are found by name in any order, or by position without names."""
        table = self.align(table)
        out = np.empty((table.n_rows, self.n_features_out), dtype=np.float32)
        block, matrix = self._numbers, table.matrix
        alone: Sequence[int] = range(table.n_columns)
        if block is not None and matrix is not None:
            block.encode(matrix, out)
            alone = self._alone
        if alone:
            for rows in row_chunks(table.n_rows):
                self._encode(table.take(rows), out[rows], alone)
        self._refuse_huge(table, out)
        return out

    def _refuse_huge(self, table: Table, out: Matrix) -> None:
        """Refuse finite cells that are infinite once encoded, naming the column."""
        bad = np.flatnonzero(~np.isfinite(out).all(axis=0))
        if not len(bad):
            return
        sizes = [len(plan.center) for plan in self.columns]
        j = next(j for j, k in enumerate(self._starts) if k <= bad[0] < k + sizes[j])
        cells = np.abs(table.columns[j].numbers())
        if np.isnan(cells).all():  # text
            raise ValueError(
                f"{table.place(j)} is infinity in float32 as this model encodes it: fit it again."
            )
        raise ValueError(
            f"{table.place(j)} reaches {np.nanmax(cells):g}, which is infinity in float32 at the "
            "scale of the training rows. Check that cell, or use preprocessing='default', which "
            "bounds outliers."
        )

    def _encode(self, table: Table, out: Matrix, chosen: Sequence[int]) -> None:
        """Encode the chosen columns, one at a time."""
        for j in chosen:
            plan = self.columns[j]
            if plan.parts:
                encoded = plan.encoded(self._cells(table, j))
                with np.errstate(over="ignore"):  # reported by _refuse_huge
                    for place, x in enumerate(encoded, start=self._starts[j]):
                        out[:, place] = x

    def cells(self, table: Table) -> list[Cells]:
        """Columns in the order and the kinds of ``fit``; one that fit dropped is missing."""
        table = self.align(table)
        nothing = Cells("numeric", np.full(table.n_rows, np.nan), np.empty(0, dtype=np.int32))
        return [
            self._cells(table, j) if plan.parts else nothing for j, plan in enumerate(self.columns)
        ]

    def _cells(self, table: Table, j: int) -> Cells:
        return cells_by_plan(table.columns[j], table.place(j), self.columns[j], self.policy)

    def align(self, table: Table) -> Table:
        """The table with its columns as ``fit`` had them, their text read as in ``fit``."""
        n_fitted = len(self.columns)
        if table.names is not None or self.names is not None or table.n_columns != n_fitted:
            order = column_order(
                table.names, table.n_columns, self.names, n_fitted, owner=self.owner,
                unused=[plan.name for plan in self.columns if not plan.parts],
            )  # fmt: skip
            table = table.arrange(order)
        return table.read([plan.reading for plan in self.columns], is_new=True)


# ------------------------------------------------------- columns of numbers as one block
# A column of a matrix is not contiguous in memory. Where many columns have the same plan, up to
# its constants, whole rows are encoded at once, by the arithmetic of Number
# in the same order, and so to the same bits.

_ROWS = 4096  # at a time: what is computed from them stays in cache
_LENGTH = 1024  # of the rows that numpy sees, made of several rows of the table


@dataclass(frozen=True, eq=False)
class NumberBlock:
    """Constants of all columns whose plan is one :class:`Number` with the same clip.

    ``inputs`` and ``outputs`` are positions in the table and in the encoded matrix, in the order of
    the latter.
    """

    inputs: npt.NDArray[np.intp]
    outputs: npt.NDArray[np.intp]
    fill: Floats
    center: Floats
    scale: Floats
    clip: float | None
    last_center: Floats
    last_scale: Floats

    @classmethod
    def of(cls, plans: Sequence[ColumnPlan], starts: Sequence[int]) -> NumberBlock | None:
        """The columns of numbers among these, if there are at least two that are alike.

        ``starts`` are the positions of their first outputs in the encoded matrix.

        Examples
        --------
        >>> plan = ColumnPlan("size", "numeric", (Number(0.0),), center=(0.0,), scale=(1.0,))
        >>> NumberBlock.of([plan, plan], [1, 0]).inputs
        array([1, 0])
        """
        found = [j for j, plan in enumerate(plans) if _is_number(plan)]
        found.sort(key=lambda j: starts[j])
        parts = [plans[j].parts[0] for j in found]
        numbers = [part for part in parts if isinstance(part, Number)]
        if len(numbers) < 2 or len({part.clip for part in numbers}) > 1:
            return None
        return cls(
            np.array(found),
            np.array([starts[j] for j in found]),
            np.array([part.fill for part in numbers]),
            np.array([part.center for part in numbers]),
            np.array([part.scale for part in numbers]),
            numbers[0].clip,
            np.array([plans[j].center[0] for j in found]),
            np.array([plans[j].scale[0] for j in found]),
        )

    def encode(self, block: npt.NDArray[np.generic], out: npt.NDArray[np.float32]) -> None:
        """Write the encoded columns of a matrix of numbers into ``out``, both as wide as a row."""
        for start in range(0, len(block), _ROWS):
            rows = slice(start, start + _ROWS)
            encoded = self._encoded(block[rows] if self._as_is else block[rows][:, self.inputs])
            with np.errstate(over="ignore"):  # the encoder looks for infinite values
                if len(self.outputs) == out.shape[1]:
                    out[rows] = encoded
                else:
                    out[rows, self.outputs] = encoded

    @cached_property
    def _as_is(self) -> bool:
        """Whether the columns of the block are the first of the table, in its order."""
        return bool((self.inputs == np.arange(len(self.inputs))).all())

    def _encoded(self, rows: npt.NDArray[np.generic]) -> Floats:
        d = len(self.inputs)
        x = rows[:, :d].astype(np.float64, order="C")
        missing = np.isnan(x)
        if missing.any():
            np.copyto(x, self.fill, where=missing)
        several, constants = self._constants
        if whole := len(x) - len(x) % several:
            self._squash(x[:whole].reshape(-1, several * d), *constants)
        if whole < len(x):
            self._squash(x[whole:], *(part[:d] for part in constants))
        return x

    @cached_property
    def _constants(self) -> tuple[int, list[Floats]]:
        """Constants of several rows at once, and of how many."""
        several = max(1, _LENGTH // len(self.inputs))
        parts = (self.center, self.scale, self.last_center, self.last_scale)
        return several, [np.tile(part, several) for part in parts]

    def _squash(
        self, z: Floats, center: Floats, scale: Floats, last_center: Floats, last_scale: Floats
    ) -> None:
        """All steps after the filling, in place, on rows that hold several rows of the table."""
        with np.errstate(over="ignore"):  # far outliers of a tiny scale: clipped below
            z -= center
            z /= scale
        if self.clip is not None:
            soft_clip(z, self.clip)
        z -= last_center
        z /= last_scale


def _is_number(plan: ColumnPlan) -> bool:
    """Whether there is one output, and it is the number; a plan may come from a file."""
    has_one = len(plan.parts) == len(plan.center) == len(plan.scale) == 1
    return has_one and plan.kind == "numeric" and isinstance(plan.parts[0], Number)
