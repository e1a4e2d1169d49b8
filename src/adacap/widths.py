"""How wide the interval of a row is, from what a model knows about the row; NumPy only.

The scale of a row is learnt from out-of-fold errors: trees say how large the errors of rows like it
are, and a piecewise linear function how they grow with the prediction. Each is weighted by how much
it helps out of fold, so that a target whose errors are the same everywhere has the same width
everywhere. At last the scale is stretched so that the share of errors beyond it is the same among
narrow and wide rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adacap._typing import Floats

__all__ = ["FARTHEST", "MOST_EXPONENT", "Widths"]


FARTHEST = 3.0
"""Predictions are clipped at this many standard deviations of the target."""
MOST_EXPONENT = 50.0
"""The logarithm of a scale is clipped at this: far beyond any error, and well within float32."""


@dataclass(frozen=True, eq=False)
class Widths:
    """Scale of the errors of a row: ``exp(u + h(u))``.

    Here ``u = p₀·log f + p₁·(b₀·z + b₁·|z|) − shift``, f is the size of errors by trees, and z the
    prediction in coded units, clipped at ±3. h is linear between its knots and constant beyond
    them. The exponent is clipped at ±50.

    Examples
    --------
    >>> one, zero = np.ones(1), np.zeros((2, 1))
    >>> same = Widths(zero, one, 0 * one, np.zeros((5, 2, 1)), zero[:1], zero[:1])
    >>> float(same.scale(np.zeros((3, 5, 1)), np.ones((3, 5, 1))).min())
    1.0
    """

    power: Floats  # (2, c) of trees and prediction; both 0 where all rows have one width
    floor: Floats  # (c,) least f
    shift: Floats  # (c,) mean logarithm of training rows, so that their scale is 1
    slope: Floats  # (K, 2, c): b of each fold
    knots: Floats  # (m, c) values of u, increasing
    stretch: Floats  # (m, c) h at the knots

    def scale(self, outputs: Floats, sizes: Floats) -> Floats:
        """Scale of rows under each fold, from its coded predictions and its f, all (n, K, c)."""
        by_trees = np.log(np.maximum(sizes, self.floor))
        z = np.clip(outputs, -FARTHEST, FARTHEST)
        by_level = self.slope[:, 0] * z + self.slope[:, 1] * np.abs(z)
        u = self.power[0] * by_trees + self.power[1] * by_level - self.shift
        exponent = u + self.stretch[0] + self._along(u)
        found: Floats = np.exp(np.clip(exponent, -MOST_EXPONENT, MOST_EXPONENT))
        return found

    @property
    def pieces(self) -> tuple[Floats, Floats, Floats]:
        """Ends of the pieces of h, and its slope on them: each of shape (m − 1, c)."""
        low, high = self.knots[:-1], self.knots[1:]
        return low, high, np.diff(self.stretch, axis=0) / (high - low)

    def _along(self, u: Floats) -> Floats:
        total = np.zeros_like(u)
        for low, high, slope in zip(*self.pieces, strict=True):
            total += slope * (np.clip(u, low, high) - low)
        return total
