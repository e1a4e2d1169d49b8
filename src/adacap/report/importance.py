"""Permutation importance of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted

from adacap.estimators.held_out import outputs_of
from adacap.estimators.inputs import as_input, read_input

__all__ = ["Importance", "permutation_importance"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Importance:
    """How much worse predictions get when one column is shuffled.

    Attributes
    ----------
    names : tuple of str
        Columns that the model uses, most important first.
    mean, deviation : ndarray of shape (k,)
        Of the increase of the loss, over repeats.
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
    loss: str
    unit: str
    baseline: float
    n_rows: int
    n_repeats: int


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 5,
    max_rows: int = 1000,
    random_state: int = 0,
) -> Importance | None:
    """Importance of each column on test rows.

    The table is encoded once; a column is shuffled as the block of its encoded columns, which is
    the same and cheaper. Columns that carry the same information share the credit: shuffling one
    of two copies costs little.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X, y : test rows
    n_repeats : int, default=5
    max_rows : int, default=1000
        Rows to look at, drawn at random.
    random_state : int, default=0

    Returns
    -------
    Importance or None
        None where samples are no rows of a table, such as images, or no column is used.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=50, random_state=0).fit(X, X[:, 1])
    >>> permutation_importance(model, X, X[:, 1]).names[0]
    'x1'
    """
    check_is_fitted(estimator)
    blocks = _blocks(estimator)
    if estimator.sample_shape_ is not None or not blocks:
        return None
    rng = np.random.default_rng(random_state)
    encoded = estimator.encoder_.encode(read_input(X, estimator.encoder_.policy)[0])
    coded = estimator.codec_.encode(y)
    rows = rng.permutation(len(coded))[:max_rows]
    encoded, coded = encoded[rows], coded[rows]
    baseline = _loss(estimator, encoded, coded)
    increase = np.empty((len(blocks), n_repeats))
    for i, block in enumerate(blocks.values()):
        for j in range(n_repeats):
            shuffled = encoded.copy()
            shuffled[:, block] = encoded[rng.permutation(len(encoded)), block]
            increase[i, j] = _loss(estimator, shuffled, coded) - baseline
    scale = _scale(estimator)
    increase, baseline = scale * increase, scale * baseline
    mean, names = increase.mean(1), list(blocks)
    order = np.argsort(-mean, kind="stable")
    return Importance(
        names=tuple(names[i] for i in order),
        mean=mean[order],
        deviation=increase.std(1)[order],
        loss="RMSE" if estimator.codec_.loss == "rmse" else "log-loss",
        unit=_unit(estimator),
        baseline=baseline,
        n_rows=len(coded),
        n_repeats=n_repeats,
    )


def _scale(estimator: Any) -> float:
    """From the coded target to the unit of the only one."""
    codec = estimator.codec_
    has_unit = codec.loss == "rmse" and len(codec.scale) == 1
    # negative for a target that was turned round
    return abs(float(codec.scale[0])) if has_unit else 1.0


def _unit(estimator: Any) -> str:
    if estimator.codec_.loss != "rmse":
        return "nats"
    if len(estimator.codec_.scale) == 1:
        return "units of the target"
    return "standard deviations of the targets"


def _blocks(estimator: Any) -> dict[str, slice]:
    """Encoded columns of each column that has any."""
    found, start, encoder = {}, 0, estimator.encoder_
    for plan in (encoder.columns_[j] for j in encoder.layout_):
        if width := len(plan.center):
            found[plan.name] = slice(start, start + width)
            start += width
    return found


def _loss(estimator: Any, encoded: npt.NDArray[np.float32], coded: Floats) -> float:
    device = next(iter(estimator.network_.parameters())).device
    with torch.inference_mode():
        x = as_input(encoded, None, device)
        output = outputs_of(estimator.network_, x).double().cpu().numpy()
    if estimator.codec_.loss == "rmse":
        return float(np.sqrt(np.mean((output - coded) ** 2)))
    shares = estimator.codec_.probabilities(output)
    truth = (coded[:, 0] > 0).astype(np.intp) if coded.shape[1] == 1 else coded.argmax(1)
    return float(-np.log(np.clip(shares[np.arange(len(truth)), truth], 1e-15, 1)).mean())
