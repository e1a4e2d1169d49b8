"""Which columns act together: Friedman's H of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from adacap._typing import Floats, Matrix
from adacap.explain.evaluating import Evaluator

__all__ = ["Interaction", "interactions"]

_N_ROWS = 50  # that partial dependence is taken at, and averaged over
_N_COLUMNS = 4  # whose pairs are looked at


@dataclass(frozen=True)
class Interaction:
    """How far two columns act together.

    Attributes
    ----------
    names : tuple of two str
    h : float
        Friedman's H: the share of the joint effect's standard deviation that the two effects do
        not add up to; 0 is a sum, 1 is nothing but interaction.
    strength : float
        That deviation itself, in units of the prediction. H of two weak columns can be large while
        this is small.
    """

    names: tuple[str, str]
    h: float
    strength: float


def interactions(
    evaluator: Evaluator, encoded: Matrix, strongest: Sequence[int], n_pairs: int = 3
) -> tuple[Interaction, ...]:
    """The strongest interactions among the pairs of the columns that drive predictions most.

    At most 50 of the encoded rows are used, and the first four columns, which come in order of
    strength. Of any two outputs, such as classes, the stronger one counts.
    """
    rows, columns = encoded[:_N_ROWS], list(strongest)[:_N_COLUMNS]
    alone = {j: _dependence(evaluator, rows, [j]) for j in columns}
    found = [
        _interaction(evaluator, rows, (i, j), alone[i], alone[j])
        for i, j in combinations(columns, 2)
    ]
    found.sort(key=lambda pair: -pair.strength)
    return tuple(found[:n_pairs])


def _interaction(
    evaluator: Evaluator, rows: Matrix, pair: tuple[int, int], first: Floats, second: Floats
) -> Interaction:
    joint = _dependence(evaluator, rows, pair)
    rest = np.square(joint - first - second).mean(0)
    k = int(rest.argmax())
    whole = float(np.square(joint[:, k]).mean())
    h = min(1.0, float(np.sqrt(rest[k] / whole))) if whole > 0 else 0.0
    i, j = pair
    return Interaction((evaluator.names[i], evaluator.names[j]), h, float(np.sqrt(rest[k])))


def _dependence(evaluator: Evaluator, rows: Matrix, columns: Sequence[int]) -> Floats:
    """Partial dependence ``(n, c)`` on columns at the values of each row, of mean 0."""
    n = len(rows)
    mixed = np.tile(rows, (n, 1))
    for j in columns:
        block = evaluator.blocks[j]
        mixed[:, block] = np.repeat(rows[:, block], n, 0)
    found = evaluator(mixed).reshape(n, n, -1).mean(1)
    centred: Floats = found - found.mean(0)
    return centred
