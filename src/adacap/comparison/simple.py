"""Methods to compare with: simple ones, and a wrapper for methods that need numbers."""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from adacap.comparison.scoring import check_predictions
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.tables.table import read_table

__all__ = ["Encoded", "baselines"]

Array: TypeAlias = npt.NDArray[Any]

_TREES = 200


def baselines(task: str, random_state: int = 0) -> dict[str, Any]:
    """Baselines to beat: a constant, a linear model and a forest.

    They take numbers; for a table with text, wrap them in :class:`Encoded`.

    Parameters
    ----------
    task : {"regression", "classification"}
    random_state : int, default=0
        Of the forest.

    Examples
    --------
    >>> list(baselines("regression")), list(baselines("classification"))
    (['mean', 'ridge', 'random forest'], ['class shares', 'logistic ridge', 'random forest'])
    """
    if task == "classification":
        return {
            "class shares": DummyClassifier(strategy="prior"),
            "logistic ridge": LogisticRegression(max_iter=2000),
            "random forest": RandomForestClassifier(_TREES, random_state=random_state),
        }
    return {
        "mean": DummyRegressor(),
        "ridge": RidgeCV(np.logspace(-3, 4, 15)),
        "random forest": RandomForestRegressor(_TREES, random_state=random_state),
    }


class Encoded(BaseEstimator):
    """A method that needs numbers, on the matrix that AdaCap's preprocessing makes of a table.

    For regression the target is standardised, for classes it is coded 0, 1, ...

    Parameters
    ----------
    model : estimator
        It is fitted itself, not a clone of it.
    task : {"regression", "classification"}
    read_text : bool or str, default=True
        See :class:`adacap.TableEncoder`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X = [[1.0, "red"], [2.0, "blue"], [3.0, "red"], [4.0, "blue"]]
    >>> Encoded(Ridge(1e-9)).fit(X, [1.0, 2.0, 3.0, 4.0]).predict(X).round(1)
    array([1., 2., 3., 4.])
    """

    def __init__(self, model: Any, task: str = "regression", read_text: bool | str = True) -> None:
        self.model = model
        self.task = task
        self.read_text = read_text

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.task == "classification" else "regressor"
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the encoding, then the method."""
        y = np.asarray(y)
        codec: Any = ClassCodec if self.task == "classification" else RegressionCodec
        encoder = TableEncoder(read_text=self.read_text).set_output(transform="default")
        matrix = encoder.fit_transform(read_table(X), codec.fit(y).encode(y))
        if self.task == "classification":
            self.classes_, targets = np.unique(y, return_inverse=True)
        else:
            self.mean_, self.scale_ = y.mean(), y.std() or 1.0
            targets = (y - self.mean_) / self.scale_
        self.encoder_ = encoder
        weighted = sample_weight is not None and has_fit_parameter(self.model, "sample_weight")
        more = {"sample_weight": sample_weight} if weighted else {}
        self.model.fit(_filled(matrix), targets, **more)
        return self

    def predict(self, X: Any) -> Array:
        """Values in the units of ``y``, or classes."""
        found = np.asarray(self.model.predict(self._matrix(X)))
        if self.task == "classification":
            return np.asarray(self.classes_[check_predictions(found, len(found)).astype(np.intp)])
        return np.asarray(found * self.scale_ + self.mean_)

    @available_if(lambda self: hasattr(self.model, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities, in the order of ``classes_``."""
        return np.asarray(self.model.predict_proba(self._matrix(X)))

    def _matrix(self, X: Any) -> Array:
        return _filled(self.encoder_.transform(read_table(X)))


def _filled(matrix: Array) -> Array:
    """A column of zeros where no column is left."""
    return matrix if matrix.shape[1] else np.zeros((len(matrix), 1))
