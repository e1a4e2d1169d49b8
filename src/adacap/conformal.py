"""Prediction intervals and sets from errors on rows that a model has not seen; NumPy only.

With n errors of exchangeable rows, the next row's error is at most the ``⌈(n + 1)·coverage⌉``-th
smallest of them with probability ``coverage``, whatever the model and the distribution. Rows may
carry weights; ranks are then sums of weights.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats

__all__ = ["conformal_quantile", "conformal_set", "cv_plus", "cv_quantile", "least_rows"]


_SLACK = 1e-9  # (9 + 1)·0.9 is 9 and not a little more


def least_rows(coverage: float) -> int:
    """Fewest rows for which an interval of this coverage is finite.

    Examples
    --------
    >>> least_rows(0.9), least_rows(0.95)
    (9, 19)
    """
    return math.ceil(coverage / (1 - coverage) - _SLACK)


def conformal_quantile(errors: Floats, coverage: float, weight: Floats | None = None) -> Floats:
    """The ``⌈(n + 1)·coverage⌉``-th smallest of the absolute errors (n, c) of unseen rows, (c,).

    ``weight`` says how often each row counts; the row to come counts once. Infinite where there are
    too few rows, see :func:`least_rows`.

    Examples
    --------
    >>> conformal_quantile(np.arange(1.0, 10.0)[:, None], 0.8)
    array([8.])
    >>> conformal_quantile(np.arange(1.0, 9.0)[:, None], 0.9)
    array([inf])
    """
    return np.array([_quantile(*_ranked(column, weight), coverage) for column in errors.T])


def _quantile(errors: Floats, below: Floats, coverage: float) -> float:
    one_more = float(below[-1]) + 1
    place = int(np.searchsorted(below[1:], one_more * coverage - _SLACK * one_more))
    return float(errors[place]) if place < len(errors) else math.inf


def cv_plus(
    predictions: Floats,
    errors: Floats,
    coverage: float,
    weight: Floats | None = None,
    scale: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Interval of cross-validated models by majority.

    Fold k says ``μ₋ₖ(x) ± s₋ₖ(x)·Q``, with Q the ``⌈(n + 1)·coverage⌉``-th smallest of all errors.
    The bounds are medians over folds, so that a value outside is outside for at least half of them.
    With one fold it is split conformal prediction.

    ``predictions`` (m, K, c) are the ``μ₋ₖ(x)`` of the models trained without fold k, ``scale`` (m,
    K, c) is their ``s₋ₖ(x)``, 1 by default, ``errors`` (n, c) the absolute error of each row under
    the model without its fold, over the scale that this gives the row. Bounds are (m, c).

    Notes
    -----
    If each fold's interval misses with probability α, at least half of them miss with probability
    at most 2α, by Markov's inequality (Rüger 1978). CV+ of Barber, Candès, Ramdas and Tibshirani
    (2021), with the same bound, averages over folds instead: it adds how much the folds' models
    differ to errors that contain it already, and is too wide where noise is small.

    Examples
    --------
    >>> errors = np.array([[1.0], [3.0], [2.0], [4.0]])
    >>> lower, upper = cv_plus(np.array([[[0.0], [1.0], [10.0]]]), errors, 0.8)
    >>> lower.tolist(), upper.tolist()  # medians of -4, -3, 6 and of 4, 5, 14
    ([[-3.0]], [[5.0]])
    """
    upper = conformal_quantile(errors, coverage, weight)
    return _middle(predictions, -upper, scale), _middle(predictions, upper, scale)


def cv_quantile(
    predictions: Floats,
    errors: Floats,
    level: float,
    weight: Floats | None = None,
    scale: Floats | None = None,
) -> Floats:
    """Value that a new row stays below with probability ``level``, from signed errors.

    The median over folds of ``μ₋ₖ(x) + s₋ₖ(x)·e``. For a level of one half or more, e is the
    ``⌈(n + 1)·level⌉``-th smallest error; below one half the ``⌊(n + 1)·level⌋``-th, so that a tail
    is never promised to be thinner than it is.

    As in :func:`cv_plus`, but errors are signed: target minus prediction, over the scale of the
    row. Infinite where there are too few rows.

    Examples
    --------
    >>> errors = np.array([-2.0, -1.0, 0.0, 1.0, 5.0])[:, None]
    >>> x = np.array([[[10.0]]])
    >>> [float(cv_quantile(x, errors, level)[0, 0]) for level in (0.2, 0.5, 0.8)]
    [8.0, 10.0, 15.0]
    """
    if level >= 0.5:
        return _middle(predictions, conformal_quantile(errors, level, weight), scale)
    return _middle(predictions, -conformal_quantile(-errors, 1 - level, weight), scale)


def _middle(centres: Floats, error: Floats, scale: Floats | None) -> Floats:
    """``(m, c)``: median over folds of ``centre + scale · error``."""
    found: Floats = np.median(centres + (error if scale is None else scale * error), axis=1)
    return found


def conformal_set(
    scores: Floats,
    errors: Floats,
    fold: npt.NDArray[np.integer],
    coverage: float,
    weight: Floats | None = None,
) -> npt.NDArray[np.bool_]:
    """Classes that a new row may have, by CV+ for classes (Romano, Sesia, Candès 2020).

    A class is in the set where the rows that fit their own class better than x fits this one, each
    under the models that never saw it, count less than ``coverage·(n + 1)``. With one fold it is
    split conformal prediction.

    ``scores`` (m, K, n_classes) say how badly each class fits x under the model trained without
    fold k, ``errors`` (n,) how badly its own class fits row i under that without its fold.

    Examples
    --------
    >>> errors, fold = np.arange(1, 10) / 10, np.zeros(9, dtype=int)
    >>> conformal_set(np.array([[[0.2, 0.8, 0.95]]]), errors, fold, 0.8)
    array([[ True,  True, False]])
    """
    below = np.zeros((len(scores), scores.shape[2]))
    for k in range(scores.shape[1]):
        at = fold == k
        own, counts = _ranked(errors[at], None if weight is None else weight[at])
        below += counts[np.searchsorted(own, scores[:, k], side="left")]
    total = float(len(errors) if weight is None else weight.sum())
    found: npt.NDArray[np.bool_] = below < coverage * (total + 1) * (1 - _SLACK)
    return found


def _ranked(errors: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Sorted errors, and the weight of those below each, that of all at the end."""
    order = np.argsort(errors, kind="stable")
    ones = np.ones(len(errors)) if weight is None else weight[order]
    return errors[order], np.concatenate([[0.0], np.cumsum(ones)])
