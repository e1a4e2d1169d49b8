"""AdaCap for regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.estimators._docs import documented
from adacap.estimators.targets import RegressionCodec

__all__ = ["AdaCapRegressor"]


@documented
class AdaCapRegressor(RegressorMixin, AdaCapBase):
    """Neural network for regression on small tables.

    A feed-forward net whose output layer is the closed-form ridge solution on its last hidden
    layer, trained to fit the labels but not their permutations. Takes frames with text and missing
    values as they are; several targets share one net.

    {parameters}

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = AdaCapRegressor(random_state=0).fit(X[:200], y[:200])
    >>> model.predict(X[200:]).shape
    (100,)
    >>> model.score(X[200:], y[200:]) > 0.95
    True
    """

    _codec = RegressionCodec
    _auto_scheme = "adacap"
    _auto_architecture = "glu"

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Columns are matched by name where ``fit`` saw names.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        return self.codec_.decode(self._outputs(X))  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Tags:
        """Several targets are allowed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
