"""AdaCap for regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.estimators.targets import RegressionCodec

__all__ = ["AdaCapRegressor"]


class AdaCapRegressor(RegressorMixin, AdaCapBase):
    _codec = RegressionCodec
    _auto_scheme = "adacap"

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
