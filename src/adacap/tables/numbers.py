"""Columns of numbers that are treated alike, encoded as one block.

A column of a matrix is scattered in memory. Where many columns have the same plan, up to its
constants, whole rows are encoded at once, by the arithmetic of :class:`~adacap.tables.plan.Number`
in the same order, and so to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        Positions of the columns in the table and in the encoded matrix.
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
    def of(cls, plans: Sequence[ColumnPlan]) -> NumberBlock | None:
        """The columns of numbers among these, if there are at least two that are alike.

        Examples
        --------
        >>> plan = ColumnPlan("size", "numeric", (Number(0.0),), center=(0.0,), scale=(1.0,))
        >>> NumberBlock.of([plan, plan]).inputs
        array([0, 1])
        """
        starts = np.cumsum([0, *(len(plan.center) for plan in plans)])
        found = [j for j, plan in enumerate(plans) if _is_number(plan)]
        parts = [plans[j].parts[0] for j in found]
        numbers = [part for part in parts if isinstance(part, Number)]
        if len(numbers) < 2 or len({part.clip for part in numbers}) > 1:
            return None
        return cls(
            np.array(found),
            starts[found],
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
        everything = len(self.inputs) == block.shape[1] == out.shape[1]
        for start in range(0, len(block), _ROWS):
            rows = block[start : start + _ROWS]
            encoded = self._encoded(rows if everything else rows[:, self.inputs])
            if everything:
                out[start : start + _ROWS] = encoded
            else:
                out[start : start + _ROWS, self.outputs] = encoded

    def _encoded(self, rows: npt.NDArray[np.generic]) -> Floats:
        x = rows.astype(np.float64, order="C")
        n, d = x.shape
        missing = np.isnan(x)
        if missing.any():
            np.copyto(x, self.fill, where=missing)
        several = max(1, _LENGTH // d)
        whole = n - n % several
        self._squash(x[:whole].reshape(-1, several * d), several)
        self._squash(x[whole:], 1)
        return x

    def _squash(self, z: Floats, several: int) -> None:
        """All steps after the filling, in place, on rows that hold several rows of the table."""

        def of_row(constants: Floats) -> Floats:
            return np.tile(constants, several)

        with np.errstate(over="ignore"):  # far outliers of a tiny scale: clipped below
            z -= of_row(self.center)
            z /= of_row(self.scale)
        if self.clip is not None:
            soft_clip(z, self.clip)
        z -= of_row(self.last_center)
        z /= of_row(self.last_scale)


def _is_number(plan: ColumnPlan) -> bool:
    return plan.kind == "numeric" and len(plan.parts) == 1 and isinstance(plan.parts[0], Number)
