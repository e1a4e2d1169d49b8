"""Shapley values of one prediction: exact by enumeration or where columns add up, or by sampling.

The game: a coalition of columns has its values from the row, all other columns have theirs from a
background row, and the worth of the coalition is the mean prediction over the background. The
values of all columns add up to the prediction less the mean prediction of the background.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
import numpy.typing as npt

from adacap.explain.evaluating import Evaluator, Floats, Matrix

__all__ = ["Game", "Shapley", "additive", "by_permutations", "enumerate_all"]

Masks = npt.NDArray[np.bool_]

_AT_ONCE = 32_768  # rows evaluated in one call


@dataclass(frozen=True, eq=False)
class Game:
    """Rows to explain and the background they are compared with.

    Attributes
    ----------
    evaluator : Evaluator
    rows : ndarray of shape (n, d)
        Encoded.
    predicted : ndarray of shape (n, c)
        Predictions of the rows as the estimator gives them.
    background : ndarray of shape (m, d)
        Encoded.
    """

    evaluator: Evaluator
    rows: Matrix
    predicted: Floats
    background: Matrix

    @property
    def players(self) -> npt.NDArray[np.intp]:
        """Columns that the model sees."""
        return np.array(self.evaluator.used, dtype=np.intp)

    def spread(self, masks: Masks) -> Masks:
        """Masks ``(s, players)`` of the user's columns as masks ``(s, d)`` of encoded ones."""
        place = np.empty(len(self.evaluator.names), dtype=np.intp)
        place[self.players] = np.arange(len(self.players))
        found: Masks = masks[:, place[self.evaluator.column_of]]
        return found


@dataclass(frozen=True, eq=False)
class Shapley:
    """Values ``(n, players, c)``, their standard errors, and the prediction they start from."""

    values: Floats
    errors: Floats
    base: Floats  # (c,)


def additive(game: Game) -> Shapley:
    """Values where the model is a sum of functions of one column each.

    A column then adds the same whatever the others are: ``gⱼ(x) - mean gⱼ(background)``, read at
    any one row. Rounding is shared out, so that the values add up.
    """
    evaluate, background = game.evaluator, game.background
    base = evaluate(background).mean(0)
    both = np.concatenate([game.rows, background])
    start = background[:1]
    values = np.empty((len(game.rows), len(game.players), game.predicted.shape[1]))
    for i, j in enumerate(game.players):
        mixed = np.repeat(start, len(both), 0)
        block = evaluate.blocks[int(j)]
        mixed[:, block] = both[:, block]
        found = evaluate(mixed)
        values[:, i] = found[: len(game.rows)] - found[len(game.rows) :].mean(0)
    rest = game.predicted - base - values.sum(1)
    values += rest[:, None] / max(1, len(game.players))
    return Shapley(values, np.zeros_like(values), base)


def enumerate_all(game: Game) -> Shapley:
    """Values from the worth of all 2^d coalitions."""
    base = game.evaluator(game.background).mean(0)
    d, (n, c) = len(game.players), game.predicted.shape
    masks = (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(np.bool_)
    spread = game.spread(masks)
    values = np.empty((n, d, c))
    for i in range(n):
        worth = np.empty((2**d, c))
        worth[0], worth[-1] = base, game.predicted[i]
        step = max(1, _AT_ONCE // len(game.background))
        for start in range(1, 2**d - 1, step):
            part = slice(start, min(start + step, 2**d - 1))
            worth[part] = _mean_worth(game, i, spread[part])
        values[i] = _from_worth(worth, masks)
    return Shapley(values, np.zeros_like(values), base)


def _mean_worth(game: Game, i: int, masks: Masks) -> Floats:
    """Worth ``(s, c)`` of coalitions: the mean over the background."""
    mixed = np.where(masks[:, None], game.rows[i], game.background)
    found = game.evaluator(mixed.reshape(-1, mixed.shape[-1]))
    return found.reshape(len(masks), len(game.background), -1).mean(1)  # type: ignore[no-any-return]


def _from_worth(worth: Floats, masks: Masks) -> Floats:
    """Shapley values ``(d, c)`` of the worth ``(2^d, c)`` of all coalitions."""
    d = masks.shape[1]
    sizes = masks.sum(1)
    share = np.array([factorial(s) * factorial(d - s - 1) / factorial(d) for s in range(d)])
    found = np.empty((d, worth.shape[1]))
    for j in range(d):
        without = np.flatnonzero(~masks[:, j])
        gain = worth[without + (1 << j)] - worth[without]
        found[j] = share[sizes[without]] @ gain
    return found


def by_permutations(game: Game, n_each: int, rng: np.random.Generator) -> Shapley:
    """Values by random orders of the columns, each order with its reverse.

    A walk from a background row to the row, one column after another, gives every column its gain;
    gains of a walk add up to the difference of both predictions, and so do their means. Every
    background row begins equally many walks.

    Parameters
    ----------
    game : Game
    n_each : int
        Pairs of walks from each background row, at least 2: their differences give the error.
    rng : Generator
    """
    d, (n, c) = len(game.players), game.predicted.shape
    first = game.evaluator(game.background)  # (m, c)
    origin = np.tile(np.arange(len(first)), n_each)
    n_pairs = len(origin)
    orders = np.argsort(rng.random((n_pairs, d)), axis=1)
    orders = np.stack([orders, orders[:, ::-1]], 1)  # (pairs, 2, d)
    rank = np.argsort(orders, axis=2)
    steps = rank[:, :, None] < np.arange(1, d)[:, None]  # (pairs, 2, d - 1, d)
    masks = game.spread(steps.reshape(-1, d))
    starts = np.repeat(game.background[origin], 2 * (d - 1), 0)
    values, errors = np.empty((n, d, c)), np.empty((n, d, c))
    size = max(1, _AT_ONCE // max(1, len(masks)))
    for at in range(0, n, size):
        part = slice(at, min(at + size, n))
        inside = _inside(game, part, masks, starts).reshape(-1, n_pairs, 2, d - 1, c)
        gains = _gains(inside, first[origin], game.predicted[part])
        own = np.take_along_axis(gains, rank[None, ..., None], 3).mean(2)  # (rows, pairs, d, c)
        values[part] = own.mean(1)
        errors[part] = _errors(own, n_each)
    return Shapley(values, errors, first.mean(0))


def _errors(found: Floats, n_each: int) -> Floats:
    """Standard errors of the means over pairs ``(rows, pairs, d, c)``.

    The background is given, so that only pairs from the same background row measure chance.
    """
    each = found.reshape(len(found), n_each, -1, *found.shape[2:])
    error: Floats = np.sqrt(each.var(1, ddof=1).mean(1) / found.shape[1])
    return error


def _inside(game: Game, part: slice, masks: Masks, starts: Matrix) -> Floats:
    """Predictions at the inner points of all walks of some rows."""
    rows = game.rows[part]
    found = []
    for row in rows if len(masks) > _AT_ONCE else [rows]:
        for at in range(0, max(1, len(masks)), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            mixed = np.where(masks[some], np.atleast_2d(row)[:, None], starts[some])
            found.append(game.evaluator(mixed.reshape(-1, mixed.shape[-1])))
    return np.concatenate(found)


def _gains(inside: Floats, start: Floats, end: Floats) -> Floats:
    """Differences along walks ``(rows, pairs, 2, d, c)`` from start to end."""
    n, pairs, _, _, c = inside.shape
    first = np.broadcast_to(start[None, :, None, None], (n, pairs, 2, 1, c))
    last = np.broadcast_to(end[:, None, None, None], (n, pairs, 2, 1, c))
    return np.diff(np.concatenate([first, inside, last], 3), axis=3)
