"""AdaCap and plain networks for classification."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.estimators._docs import documented
from adacap.estimators.calibration import (
    Reliability,
    fit_temperature,
    held_out_temperature,
    reliability,
)
from adacap.estimators.held_out import Evidence
from adacap.estimators.targets import ClassCodec

__all__ = ["AdaCapClassifier"]


@documented
class AdaCapClassifier(ClassifierMixin, AdaCapBase):
    """Neural network for classification on small tables.

    The default trains a plain net, which does better here than AdaCap: the paper says so too. The
    other schemes are there for study. Labels may be strings, two or more classes.

    {parameters}
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    temperature_ : float
        What outputs are divided by before they become probabilities; above 1 where the nets were
        too sure of themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaCapClassifier(max_iter=50, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _codec = ClassCodec
    _auto_scheme = "plain"
    _auto_architecture = "mlp"
    codec_: ClassCodec

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.codec_.probabilities(self._outputs(X))

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the temperature anew, on fresh rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows that ``fit`` did not see.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            Which class is predicted stays as it is.
        """
        check_is_fitted(self)
        found = fit_temperature(*self._compare(X, y, sample_weight))
        self.codec_ = replace(self.codec_, temperature=found)
        return self

    def reliability(
        self, X: Any, y: Any, *, n_bins: int = 10, sample_weight: Any = None
    ) -> Reliability:
        """How often predicted probabilities come true on test rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        n_bins : int, default=10
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        Reliability
            Mean predicted probability, observed share and number of rows per bin, and ``ece``; see
            :class:`~adacap.estimators.calibration.Reliability`.
        """
        shares = self.predict_proba(X)
        return reliability(
            y, shares, classes=self.classes_, n_bins=n_bins, sample_weight=sample_weight
        )

    @property
    def temperature_(self) -> float:
        """What outputs are divided by before they become probabilities."""
        return self.codec_.temperature

    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        given = self.temperature
        found = held_out_temperature(evidence) if given == "auto" else float(given)
        return {"codec_": replace(codec, temperature=found)}

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels
