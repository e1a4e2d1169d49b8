"""Metrics of a record: RMSE and R², or accuracy, AUC and log-loss, of one part of a split."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adacap._typing import Array
from adacap.exceptions import AdaCapError

__all__ = ["PredictionError", "check_predictions", "score_classes", "score_shares", "score_values"]


class PredictionError(AdaCapError, ValueError):
    """A method predicted something that cannot be scored."""


def check_predictions(predictions: Array, n_rows: int, what: str = "predictions") -> Array:
    """Predictions as an array of one entry per row, refused if not finite.

    Parameters
    ----------
    predictions : array of shape (n_rows,) or (n_rows, ...)
    n_rows : int
    what : str
        Name in messages.

    Examples
    --------
    >>> check_predictions([[1.0], [2.0]], 2)
    array([1., 2.])
    """
    array = np.asarray(predictions)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0 or len(array) != n_rows:
        raise PredictionError(f"{what} have shape {array.shape}, but there are {n_rows} rows.")
    if array.dtype.kind == "f" and (n_bad := int((~np.isfinite(array)).sum())):
        raise PredictionError(f"{what} hold {n_bad} NaN or infinite values out of {array.size}.")
    return array


def score_values(y: Array, predicted: Array) -> dict[str, float]:
    """RMSE and R² of a regression; R² is absent where ``y`` is constant.

    Parameters
    ----------
    y, predicted : arrays of shape (n_rows,)

    Examples
    --------
    >>> score_values(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    {'rmse': 0.707..., 'r2': 0.5}
    """
    residual = np.asarray(y, dtype=np.float64) - np.asarray(predicted, dtype=np.float64)
    squares, spread = float(residual @ residual), float(np.square(y - np.mean(y)).sum())
    scores = {"rmse": float(np.sqrt(squares / len(residual)))}
    return scores if spread == 0 else {**scores, "r2": 1 - squares / spread}


def score_classes(y: Array, labels: Array, scores: Array | None) -> dict[str, float]:
    """Accuracy and AUC of a classification, and the log-loss where scores are probabilities.

    Parameters
    ----------
    y, labels : integer arrays of shape (n_rows,)
        True and predicted classes.
    scores : array of shape (n_rows,) or (n_rows, n_classes), or None
        Of class 1, or of every class: then the AUC is the mean over classes, each against the
        rest, of those that ``y`` holds. The AUC is absent where ``y`` holds one class only.

    Examples
    --------
    >>> score_classes(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.1, 0.3, 0.2]))
    {'accuracy': 0.666..., 'log_loss': 0.97..., 'auc': 1.0}
    """
    found = {"accuracy": float(np.mean(np.asarray(y) == np.asarray(labels)))}
    classes = np.unique(y)
    if scores is None or len(classes) < 2:
        return found
    found |= _log_loss(np.asarray(y), scores)
    if scores.ndim == 1:
        return {**found, "auc": _auc(y == 1, scores)}
    return {**found, "auc": float(np.mean([_auc(y == c, scores[:, c]) for c in classes]))}


def score_shares(codes: Array, shares: Array) -> dict[str, float]:
    """Accuracy and AUC of the probabilities of every class.

    Parameters
    ----------
    codes : integer array of shape (n_rows,)
        True classes, 0, 1, ...
    shares : array of shape (n_rows, n_classes)

    Examples
    --------
    >>> score_shares(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    {'accuracy': 0.666..., 'log_loss': 0.51..., 'auc': 1.0}
    """
    return score_classes(codes, shares.argmax(1), shares[:, 1] if shares.shape[1] == 2 else shares)


def _log_loss(y: Array, scores: Array) -> dict[str, float]:
    """Mean log-loss of probabilities; nothing for scores of another kind."""
    shares = np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores
    if shares.min() < 0 or not np.allclose(shares.sum(1), 1, atol=1e-3):
        return {}
    own = np.clip(shares[np.arange(len(y)), y.astype(np.intp)], 1e-7, 1)
    return {"log_loss": float(-np.log(own).mean())}


def _auc(positive: npt.NDArray[np.bool_], scores: Array) -> float:
    """Share of (positive, negative) pairs in the right order, ties counting one half."""
    from scipy.stats import rankdata

    n_positive = int(positive.sum())
    n_pairs = n_positive * (len(positive) - n_positive)
    ranks = float(rankdata(scores)[positive].sum())
    return (ranks - n_positive * (n_positive + 1) / 2) / n_pairs
