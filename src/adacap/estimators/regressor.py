"""AdaCap for regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import AdaCapBase
from adacap.estimators._docs import documented
from adacap.estimators.held_out import Evidence
from adacap.estimators.intervals import IntervalData, IntervalMethod, errors_of, interval
from adacap.estimators.settings import ONE_NET, TUNED
from adacap.estimators.targets import RegressionCodec

__all__ = ["AdaCapRegressor"]


@documented
class AdaCapRegressor(RegressorMixin, AdaCapBase):
    """Neural network for regression on small tables.

    A feed-forward net whose output layer is the closed-form ridge solution on its last hidden
    layer, trained to fit the labels but not their permutations. Takes frames with text and missing
    values as they are; several targets share one net.

    {parameters}
    intervals_ : IntervalData
        Errors on rows that nets have not seen, behind :meth:`predict_interval`.

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
    intervals_: IntervalData

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

    def predict_interval(
        self, X: Any, coverage: float = 0.9, method: IntervalMethod = "auto"
    ) -> npt.NDArray[np.float64]:
        """Intervals that hold the target of a new row with the given probability.

        Several targets have an interval each, which holds for that target alone. Rows count as in
        ``fit``: one of weight 2 is two rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            1 − α, between 0 and 1.
        method : {"auto", "cv+", "split", "loo"}, default="auto"
            ``"split"``: errors on rows that training never saw (``calibration_fraction`` or
            :meth:`calibrate`), with a guarantee of 1 − α. ``"cv+"``: errors of each row under the
            net of a fold bag that never saw it (``bagging="folds"``); 1 − 2α is guaranteed, up to
            the choice of the best iteration, which is made on the fold, and to the encoding of the
            columns, which is learnt on all rows. ``"loo"``: leave-one-out errors of the output
            layer, given its features, times a factor that was measured; no guarantee. Auto is
            the first of split, cv+ and loo that the model can give.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper bound; infinite, with a warning, where there are too few rows.

        Examples
        --------
        >>> from adacap import make
        >>> from sklearn.datasets import make_friedman1
        >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
        >>> model = make("fast", random_state=0).fit(X[:200], y[:200])
        >>> lower, upper = model.predict_interval(X[200:], coverage=0.9).T
        >>> bool(0.85 <= ((lower <= y[200:]) & (y[200:] <= upper)).mean() <= 1)
        True
        """
        check_is_fitted(self)
        return interval(self, X, coverage, method)

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take errors on fresh rows, for intervals of method ``"split"``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows that neither ``fit`` nor the choice of this model saw; at least 9 for a coverage
            of 0.9, better a hundred.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the row twice.

        Returns
        -------
        self
            Predictions stay as they are.
        """
        check_is_fitted(self)
        errors = errors_of(*self._compare(X, y, sample_weight))
        self.intervals_ = replace(self.intervals_, split=errors)
        return self

    @property
    def _auto(self) -> Mapping[str, Any]:
        """Measured for named architectures with the closed-form output layer."""
        is_known = self.scheme != "plain" and not callable(self.architecture)
        return TUNED["balanced"] if is_known else ONE_NET

    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        return {"intervals_": IntervalData.of(evidence)}

    def __sklearn_tags__(self) -> Tags:
        """Several targets are allowed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
