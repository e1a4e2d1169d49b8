"""Permutation importance of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from adacap._typing import Floats, Matrix
from adacap.estimators.dependence import read_dependence
from adacap.explain.evaluating import Evaluator
from adacap.text import plus_minus, table_lines

__all__ = ["Importance", "permutation_importance"]


@dataclass(frozen=True, eq=False)
class Importance:
    """How much worse predictions get when one column is shuffled.

    Attributes
    ----------
    names : tuple of str
        Columns that the model uses, most important first.
    mean, deviation : ndarray of shape (k,)
        Of the increase of the loss, over repeats.
    error : ndarray of shape (k,)
        Standard error of the mean, over rows and repeats: what other rows of the same kind, or
        other groups, could have given.
    loss : str
        What increases: the RMSE or the log-loss.
    unit : str
        Of the loss: the target's, or standard deviations of each of several; nats for log-loss.
    baseline : float
        The loss with nothing shuffled.
    n_rows, n_repeats : int
    """

    names: tuple[str, ...]
    mean: Floats
    deviation: Floats
    error: Floats
    loss: str
    unit: str
    baseline: float
    n_rows: int
    n_repeats: int

    def __str__(self) -> str:
        rows = [
            [name, plus_minus(float(mean), float(error))]
            for name, mean, error in zip(self.names, self.mean, self.error, strict=True)
        ]
        return "\n".join(table_lines(["column", f"increase of the {self.loss}"], rows[:25]))


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 5,
    max_rows: int = 1000,
    random_state: int = 0,
    groups: Any = None,
) -> Importance | None:
    """Importance of each column on test rows.

    The table is encoded once; a column is shuffled as the block of its encoded columns, which is
    the same and cheaper. Columns that carry the same information share the credit: shuffling one
    of two copies costs little.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X, y : array-like or frame
        Rows that ``fit`` has not seen. On training rows, columns that were learnt by heart look
        important.
    n_repeats : int, default=5
    max_rows : int, default=1000
        Rows to look at, drawn at random.
    random_state : int, default=0
    groups : array-like of shape (n,), optional
        Of rows that are not independent: the standard error is then over groups. Cells are
        shuffled over all rows all the same.

    Returns
    -------
    Importance or None
        None where samples are not rows of a table, such as images, or no column is used.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=50, random_state=0).fit(X, X[:, 1])
    >>> permutation_importance(model, X, X[:, 1]).names[0]
    'x1'
    """
    if getattr(estimator, "sample_shape_", None) is not None:
        return None
    evaluator = Evaluator(estimator)
    if not evaluator.blocks:
        return None
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}.")
    rng = np.random.default_rng(random_state)
    encoded, coded = evaluator.encode(X), estimator.codec_.encode(y)
    check_consistent_length(encoded, coded)
    rows = rng.permutation(len(coded))[:max_rows]
    found = read_dependence(groups, None, len(coded))
    unit = rows if found is None else found.take(rows).group  # what is independent
    encoded, coded = encoded[rows], coded[rows]
    before = _losses(evaluator, encoded, coded)
    increase, error = np.empty((len(evaluator.blocks), n_repeats)), np.empty(len(evaluator.blocks))
    order = evaluator.estimator.encoder_.layout_
    used = [j for j in order if j in evaluator.blocks]
    for i, j in enumerate(used):
        after = _shuffled(evaluator, encoded, coded, evaluator.blocks[j], n_repeats, rng)
        increase[i], error[i] = _compare(estimator, before, after, unit)
    scale = _scale(estimator)
    increase, error = scale * increase, scale * error
    mean = increase.mean(1)
    best = np.argsort(-mean, kind="stable")
    return Importance(
        names=tuple(evaluator.names[used[i]] for i in best),
        mean=mean[best],
        deviation=increase.std(1)[best],
        error=error[best],
        loss="RMSE" if estimator.codec_.loss == "rmse" else "log-loss",
        unit=_unit(estimator),
        baseline=scale * _total(estimator, before),
        n_rows=len(coded),
        n_repeats=n_repeats,
    )


def _shuffled(
    evaluator: Evaluator,
    encoded: Matrix,
    coded: Floats,
    block: slice,
    n_repeats: int,
    rng: np.random.Generator,
) -> Floats:
    """Losses ``(repeats, n)`` with one column shuffled."""
    n = len(encoded)
    orders = np.concatenate([rng.permutation(n) for _ in range(n_repeats)])
    mixed = np.tile(encoded, (n_repeats, 1))
    mixed[:, block] = encoded[orders, block]
    return _losses(evaluator, mixed, np.tile(coded, (n_repeats, 1))).reshape(n_repeats, n)


def _total(estimator: Any, losses: Floats) -> Any:
    """Loss of all rows: the root for squared errors."""
    mean = losses.mean(-1)
    return np.sqrt(mean) if estimator.codec_.loss == "rmse" else mean


def _compare(estimator: Any, before: Floats, after: Floats, unit: Any) -> tuple[Floats, float]:
    """Increase of the loss in every repeat, and the standard error of its mean.

    The error is that of the mean over rows of what each row adds to the increase, those of a group
    taken together; the root of a mean is taken to move as its derivative says.
    """
    rows, total = after.mean(0), float(_total(estimator, before))
    change = rows - before
    if estimator.codec_.loss == "rmse":
        high = float(np.sqrt(rows.mean()))
        change = rows / max(2 * high, 1e-300) - before / max(2 * total, 1e-300)
    each = np.bincount(np.unique(unit, return_inverse=True)[1], change - change.mean())
    n = len(each)
    spread = float(np.sqrt(np.square(each).sum() * n / (n - 1))) if n > 1 else float("nan")
    error = spread / len(before)
    return _total(estimator, after) - total, error


def _losses(evaluator: Evaluator, encoded: Matrix, coded: Floats) -> Floats:
    """Loss of every row: mean squared error of the coded targets, or log-loss."""
    outputs, codec = evaluator.outputs(encoded), evaluator.estimator.codec_
    if codec.loss == "rmse":
        squares: Floats = np.square(outputs - coded).mean(1)
        return squares
    shares = codec.probabilities(outputs)
    truth = (coded[:, 0] > 0).astype(np.intp) if coded.shape[1] == 1 else coded.argmax(1)
    found: Floats = -np.log(np.clip(shares[np.arange(len(truth)), truth], 1e-15, 1))
    return found


def _scale(estimator: Any) -> float:
    """From the coded target to the unit of the only one."""
    codec = estimator.codec_
    has_unit = codec.loss == "rmse" and len(codec.scale) == 1
    # negative for a target whose sign was flipped
    return abs(float(codec.scale[0])) if has_unit else 1.0


def _unit(estimator: Any) -> str:
    if estimator.codec_.loss != "rmse":
        return "nats"
    if len(estimator.codec_.scale) == 1:
        return "units of the target"
    return "standard deviations of the targets"
