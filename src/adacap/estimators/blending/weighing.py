"""How much each member of a blend counts, by what it said of rows that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from adacap._typing import Floats
from adacap.estimators import quality
from adacap.estimators.blending.parts import Blended, TrainedMember
from adacap.estimators.held_out import Rows
from adacap.members.blend import blend_weights, class_weights, log_loss

__all__ = ["NET_OPTIMISM", "rmse", "weigh"]

NET_OPTIMISM = 1.08
_FLATTERED_ROWS = 40  # of many rows: share of nets' errors that is flattery, times rows; a guess
_LEAST_FACTOR = 0.01  # of the outputs of a model of classes


def weigh(trained: Sequence[TrainedMember], rows: Rows, fold: Tensor, loss: str) -> Blended:
    """The blend of trained members, weighed by their out-of-fold error."""
    known = fold >= 0
    targets = rows.targets.cpu().double()[known].numpy()
    outputs = np.stack([one.outputs[known].numpy() for one in trained])
    w = None if rows.weight is None else rows.weight.cpu().double()[known].numpy()
    rule = _by_error if loss == "rmse" else _by_log_loss
    factors, shares, errors = rule(trained, outputs, targets, w, loss)
    found = [
        one._replace(part=one.part._replace(weight=share, factor=factor, error=error))
        for one, factor, share, error in zip(trained, factors, shares, errors, strict=True)
    ]
    found.sort(key=lambda one: -one.part.weight)
    total: Any = sum(one.part.factor * one.outputs for one in found)
    first = next((one.part.nets for one in found if one.part.nets), ())
    kernel = next((one for one in found if one.kernel is not None), None)
    return Blended(
        tuple(one.part for one in found if one.part.weight > 0),
        tuple(one.part._replace(nets=(), frozen=None) for one in found if one.part.weight == 0),
        total, fold, tuple(first), kernel,
    )  # fmt: skip


_Weighed = tuple[list[float], list[float], list[float]]  # factors, shares, errors


def _by_error(
    trained: Sequence[TrainedMember], outputs: Floats, targets: Floats, w: Floats | None, loss: str
) -> _Weighed:
    """Weights by squared error, in which nets are taken for a little worse than they look."""
    residuals = (outputs - targets).reshape(len(outputs), -1)
    n = len(targets)
    flattered = NET_OPTIMISM if n <= quality.MANY_ROWS else 1 + _FLATTERED_ROWS / n
    optimism = np.array([flattered if one.part.nets else 1.0 for one in trained])
    each = None if w is None else np.repeat(w, targets.shape[1])
    weights = blend_weights(optimism[:, None] * residuals, each).tolist()
    return weights, weights, [rmse(r**2, each) for r in residuals]


def rmse(squares: Floats, w: Floats | None) -> float:
    """Root of the weighted mean of squares."""
    return float(np.sqrt(np.average(squares, weights=w)))


def _by_log_loss(
    trained: Sequence[TrainedMember], outputs: Floats, targets: Floats, w: Floats | None, loss: str
) -> _Weighed:
    """Factors by log-loss; shares are those of members scaled to their best temperature."""
    classes = (targets + 1) / 2 if loss == "bce" else targets
    factors = class_weights(outputs, classes, w)
    errors = [log_loss(one, classes, w) for one in outputs]
    if not factors.any():  # all are worse than to say nothing: the best says almost nothing
        factors[int(np.argmin(errors))] = _LEAST_FACTOR
    spread = factors * np.array([one.std() for one in outputs])
    spread = spread if spread.any() else factors  # where all say the same of every row
    return factors.tolist(), (spread / spread.sum()).tolist(), errors
