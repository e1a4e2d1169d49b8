"""Probabilities that mean what they say: a temperature, and the curve that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.utils.validation import _check_sample_weight, check_consistent_length
from torch import Tensor

from adacap._typing import Floats
from adacap.estimators.held_out import Evidence

__all__ = ["Reliability", "fit_temperature", "held_out_temperature", "reliability"]


_RANGE = (np.log(0.02), np.log(50.0))  # of log T


# --------------------------------------------------------------------------- temperature


def fit_temperature(outputs: Floats, coded: Floats, weight: Floats | None = None) -> float:
    """T by which to divide outputs so that their probabilities fit the labels best.

    Minimises the log-loss of ``outputs / T`` over rows that the nets were not trained on, plus
    ``(log T)² / 2``: a few rows that are all right would otherwise ask for probabilities of 0
    and 1.

    Above 1 where the outputs (n, c) are too sure of themselves, 1 without rows. Labels are coded -1
    and 1 in one column, or one-hot.

    Examples
    --------
    Right in three of four cases, but as sure as exp(4) to 1:

    >>> outputs = np.tile([[4.0], [4.0], [4.0], [-4.0]], (50, 1))
    >>> T = fit_temperature(outputs, np.ones((200, 1)))
    >>> bool(abs(1 / (1 + np.exp(-4 / T)) - 0.75) < 0.01)
    True
    """
    if len(outputs) == 0 or not np.isfinite(outputs).all():
        return 1.0
    ones = np.ones(len(outputs)) if weight is None else weight

    def cost(log_t: float) -> float:
        z = outputs * np.exp(-log_t)
        if outputs.shape[1] == 1:
            losses = np.logaddexp(0.0, -coded[:, 0] * z[:, 0])
        else:
            losses = logsumexp(z, axis=1) - (coded * z).sum(1)
        return float(ones @ losses + log_t**2 / 2)

    found = minimize_scalar(cost, bounds=_RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def held_out_temperature(evidence: Evidence) -> float:
    """T from the rows that were set aside, or else from those that the members held out.

    A plain net's iteration was chosen for a low log-loss on the rows it held out, so they flatter
    it: its outputs are then not made larger. The solved layer's outputs are not logits to begin
    with, so they may be.
    """
    rows = evidence.aside
    if rows is not None:
        return _fit(evidence.outputs_aside(), rows.targets, rows.weight)
    rows = evidence.rows if evidence.valid is None else evidence.valid
    if evidence.blend is not None:
        return 1.0  # found with the weights
    index, outputs = evidence.outputs_held_out()
    index = index.to(rows.targets.device)
    found = _fit(outputs, rows.targets[index], None if rows.weight is None else rows.weight[index])
    is_plain = evidence.members[0].lam is None
    return max(1.0, found) if is_plain else found


def _fit(outputs: Tensor, targets: Tensor, weight: Tensor | None) -> float:
    parts = [None if part is None else part.double().cpu().numpy() for part in (targets, weight)]
    return fit_temperature(outputs.cpu().numpy(), *parts)  # type: ignore[arg-type]


# --------------------------------------------------------------------------- reliability


@dataclass(frozen=True, eq=False)
class Reliability:
    """Points of a reliability curve, one per bin of predicted probabilities that has rows.

    Attributes
    ----------
    predicted : ndarray of shape (n_bins,)
        Mean predicted probability in the bin.
    observed : ndarray of shape (n_bins,)
        Share of the rows for which it came true.
    count : ndarray of shape (n_bins,)
        Rows in the bin, or their weight.
    ece : float
        Expected calibration error: mean of ``|predicted − observed|``, each bin by its count.
    """

    predicted: Floats
    observed: Floats
    count: Floats
    ece: float


def reliability(
    y: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 10, sample_weight: Any = None
) -> Reliability:
    """How often predicted probabilities come true.

    For two classes the probability is that of the second one; for more, that of the class
    predicted, which comes true when the prediction is right.

    Parameters
    ----------
    y : array-like of shape (n,)
        True labels.
    probabilities : array-like of shape (n, n_classes)
        As ``predict_proba`` gives them.
    classes : array-like of shape (n_classes,), optional
        Labels of the columns; by default the sorted labels in ``y``.
    n_bins : int, default=10
        Bins of equal width; those without rows are left out.
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> p = np.array([0.1, 0.1, 0.8, 0.8])
    >>> curve = reliability([0, 0, 1, 0], np.column_stack([1 - p, p]))
    >>> curve.predicted.tolist(), curve.observed.tolist(), curve.count.tolist()
    ([0.1, 0.8], [0.0, 0.5], [2.0, 2.0])
    >>> round(curve.ece, 3)
    0.2
    """
    shares = np.asarray(probabilities, dtype=np.float64)
    labels = np.asarray(getattr(y, "to_numpy", lambda: y)())
    known = np.unique(labels) if classes is None else np.asarray(classes)
    check_consistent_length(labels, shares)
    if shares.ndim != 2 or shares.shape[1] != len(known) or len(known) < 2:
        raise ValueError(
            f"probabilities must be (n, n_classes) with a column for each of the {len(known)} "
            f"classes, got shape {shares.shape}. Pass classes where y does not hold all of them."
        )
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}.")
    best = np.ones(len(shares), dtype=np.intp) if len(known) == 2 else shares.argmax(1)
    predicted, is_true = shares[np.arange(len(shares)), best], labels == known[best]
    weight = _check_sample_weight(sample_weight, shares, dtype=np.float64)
    place = np.minimum((predicted * n_bins).astype(np.intp), n_bins - 1)
    count: Floats = np.bincount(place, weight, n_bins).astype(np.float64)
    full = count > 0
    sums = (np.bincount(place, weight * part, n_bins)[full] for part in (predicted, is_true))
    mean, share = (total / count[full] for total in sums)
    ece = float(np.average(np.abs(mean - share), weights=count[full]))
    return Reliability(mean, share, count[full], ece)
