"""Losses of in-sample fits, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    mean_squared_error,
)

from adacap.exceptions import did_you_mean

__all__ = ["LOSSES", "Loss", "one_of", "resolve_loss"]


@dataclass(frozen=True)
class Loss:
    """A loss, the power that makes it comparable to a variance, and the constant to beat."""

    name: str
    function: Callable[..., float]
    power: int | None = None
    constant: str = "mean"

    def of(self, estimator: Any, X: Any, y: Any, weight: Any = None) -> float:
        """Loss of a fitted estimator on its own training rows."""
        more = {} if weight is None else {"sample_weight": weight}
        if self.name == "log_loss":
            probabilities = estimator.predict_proba(X)
            return float(self.function(y, probabilities, labels=estimator.classes_, **more))
        return float(self.function(y, np.reshape(estimator.predict(X), np.shape(y)), **more))

    def of_constant(self, y: Any, weight: Any = None) -> float:
        """Loss of the best constant prediction."""
        classes = self.constant in ("prior", "most_frequent")
        dummy = (DummyClassifier if classes else DummyRegressor)(strategy=self.constant)
        rows = np.zeros((len(y), 1))
        return self.of(dummy.fit(rows, y, sample_weight=weight), rows, y, weight)


def root_mean_squared_error(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """Root of the mean over rows and targets, as everywhere in adacap."""
    return float(np.sqrt(mean_squared_error(y_true, y_pred, sample_weight=sample_weight)))


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("squared", mean_squared_error, power=1),
        Loss("rmse", root_mean_squared_error, power=2),
        Loss("absolute", mean_absolute_error, power=2, constant="median"),
        Loss("log_loss", log_loss, constant="prior"),
    )
}


def resolve_loss(loss: str | Callable[..., float], estimator: Any) -> Loss:
    """Find a loss by name, wrap a function, or choose one that suits the estimator.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> resolve_loss("auto", Ridge()).name
    'squared'
    """
    for needed in ("fit", "predict"):
        if not hasattr(estimator, needed):
            raise TypeError(
                f"estimator must have fit and predict, got {type(estimator).__name__} without "
                f"{needed}."
            )
    if isinstance(estimator, type):  # as scikit-learn says since 1.8
        name = estimator.__name__
        raise TypeError(
            f"Expected an estimator instance ({name}()), got estimator class instead ({name})."
        )
    classes = is_classifier(estimator)
    if callable(loss):
        constant = "most_frequent" if classes else "mean"
        return Loss(getattr(loss, "__name__", type(loss).__name__), loss, constant=constant)
    one_of("loss", loss, ("auto", *LOSSES), more=" or a function of (y_true, y_pred)")
    if loss == "auto":
        loss = "log_loss" if classes else "squared"
    if classes != (loss == "log_loss"):
        raise ValueError(
            f"loss={loss!r} does not suit {type(estimator).__name__}: classifiers need 'log_loss' "
            "or a function of (y_true, y_pred), regressors any of the others."
        )
    if classes and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"loss='log_loss' needs predict_proba, which {type(estimator).__name__} does not have. "
            "Pass a function of (y_true, y_pred), such as sklearn.metrics.zero_one_loss."
        )
    return LOSSES[loss]


def one_of(name: str, value: Any, known: Sequence[str], more: str = "") -> None:
    """Refuse an unknown name, with the nearest known one."""
    if isinstance(value, str) and value in known:
        return
    hint = did_you_mean(value, known)
    raise ValueError(f"{name} must be one of {', '.join(known)}{more}, got {value!r}.{hint}")
