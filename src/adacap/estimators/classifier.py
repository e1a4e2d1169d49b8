"""AdaCap and plain networks for classification."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.estimators._docs import documented
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
        return self.codec_.probabilities(self._outputs(X))  # type: ignore[no-any-return]

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
