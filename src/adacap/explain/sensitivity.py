"""Which columns drive predictions: shares of the variation of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adacap._typing import Floats, Index, Matrix
from adacap.explain.evaluating import Evaluator

__all__ = ["sensitivity", "shares_of"]

_MOST_ROWS = 128
_LEAST_ROWS = 8
_MOST_EVALUATED = 20_000


def sensitivity(evaluator: Evaluator, encoded: Matrix, random_state: int = 0) -> Floats:
    """Share of each column in the variation of predictions when a column is taken from another row.

    Half the mean squared move is the total Sobol index of the column (Jansen, 1999), before it is
    divided by the variance of predictions: the variance that stays when all other columns are
    known, under independence. It needs no labels, and shows what drives predictions, not how good
    they are.

    Shares of the user's columns are not negative, of sum 1; zeros where no column moves anything.
    """
    found = np.zeros(len(evaluator.names))
    if not evaluator.blocks or len(encoded) < 2:
        return found
    rng = np.random.default_rng(random_state)
    rows = encoded[rng.permutation(len(encoded))[: _n_rows(len(evaluator.blocks))]]
    before = evaluator.outputs(rows)
    for j, block in evaluator.blocks.items():
        moved = rows.copy()
        moved[:, block] = rows[_elsewhere(len(rows), rng), block]
        found[j] = np.square(evaluator.outputs(moved) - before).mean()
    total = found.sum()
    return found / total if total > 0 else found


def shares_of(estimator: Any) -> Floats:
    """:func:`sensitivity` on the rows that a model keeps.

    An ``AttributeError`` if there are none: of images, or in a file that was written without
    shares.
    """
    rows = estimator.background_.rows
    if rows is None:
        raise AttributeError(
            "feature_importances_ needs rows of a table that the model was fitted on, and this one "
            "keeps none. Use importance(X, y) on rows of yours."
        )
    return sensitivity(Evaluator(estimator), rows)


def _n_rows(n_columns: int) -> int:
    return int(np.clip(_MOST_EVALUATED // (n_columns + 1), _LEAST_ROWS, _MOST_ROWS))


def _elsewhere(n: int, rng: np.random.Generator) -> Index:
    """Another row for every row: a random order, moved on by one."""
    order = rng.permutation(n)
    found = np.empty(n, dtype=np.intp)
    found[order] = np.roll(order, 1)
    return found
