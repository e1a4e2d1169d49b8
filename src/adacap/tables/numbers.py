"""Columns of numbers that are treated alike, encoded as one block.

A column of a matrix is scattered in memory. Where many columns have the same plan, up to its
constants, whole rows are encoded at once, by the arithmetic of :class:`~adacap.tables.plan.Number`
in the same order, and so to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from adacap.tables.columns import Floats
from adacap.tables.plan import ColumnPlan, Number, soft_clip

__all__ = ["NumberBlock"]

_ROWS = 4096  # at a time: what is computed from them stays in cache
_LENGTH = 1024  # of the rows that numpy sees, made of several rows of the table


@dataclass(frozen=True, eq=False)
class NumberBlock:
    """Constants of all columns whose plan is one :class:`Number` with the same clip.

    Attributes
    ----------
    inputs, outputs : ndarray of int
        Positions of the columns in the table and in the encoded matrix, in the order of the latter.
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

        Parameters
        ----------
        plans : sequence of ColumnPlan
        starts : sequence of int
            Position of the first output of each column in the encoded matrix.

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
        """Write the encoded columns of a matrix of numbers into ``out``, both as wide as a row.

        Parameters
        ----------
        block : ndarray of shape (n, d)
        out : ndarray of float32, shape (n, number of outputs)
        """
        for start in range(0, len(block), _ROWS):
            rows = slice(start, start + _ROWS)
            encoded = self._encoded(block[rows] if self._as_is else block[rows][:, self.inputs])
            if len(self.outputs) == out.shape[1]:
                out[rows] = encoded
            else:
                out[rows, self.outputs] = encoded

    @cached_property
    def _as_is(self) -> bool:
        """Whether the columns of the block are the first of the table, as they stand."""
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
