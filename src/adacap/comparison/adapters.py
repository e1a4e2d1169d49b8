"""Estimators that would not take a table as it is: they get numbers, or settings that work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.svm import NuSVC, NuSVR
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from adacap._typing import Array
from adacap.comparison.scoring import check_predictions
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.tables.table import read_table

__all__ = ["Encoded", "FeasibleNuSVC", "FirstFeasible", "NuSVR", "baselines", "largest_nu"]


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


# --------------------------------------------------------- settings that fail on some tables


class FirstFeasible:
    """The first of several estimators that can be fitted.

    It has the methods and attributes of that estimator, before a fit those of the first.

    ``refusal`` is what ``fit`` raises on a table it refuses; if all candidates do, the last is
    raised.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> wanted = DummyRegressor(strategy="constant")  # and no constant
    >>> FirstFeasible([wanted, DummyRegressor()], TypeError).fit([[0], [0]], [1, 3]).predict([[0]])
    array([2.])
    """

    def __init__(self, candidates: Sequence[Any], refusal: type[Exception]) -> None:
        self.candidates = tuple(candidates)
        self.refusal = refusal
        self.chosen = self.candidates[0]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters and class of the estimator, and the differences of the fallbacks."""
        params: dict[str, Any] = self.chosen.get_params()
        others = [candidate.get_params().items() for candidate in self.candidates[1:]]
        return {
            "class": type(self.chosen).__name__,
            **params,
            "instead": [{k: v for k, v in items if v != params.get(k)} for items in others],
        }

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one candidate after the other until one accepts."""
        for candidate in self.candidates:
            try:
                candidate.fit(X, y)
            except self.refusal:
                if candidate is self.candidates[-1]:
                    raise
            else:
                self.chosen = candidate
                break
        return self

    def predict(self, X: Any) -> Any:
        """Values or classes."""
        return self.chosen.predict(X)

    def __getattr__(self, name: str) -> Any:
        if name == "chosen":  # not there yet, while it is being unpickled
            raise AttributeError(name)
        return getattr(self.chosen, name)


def largest_nu(counts: Any) -> float:
    """Largest ν for which ν-SVM has a solution on classes of these sizes.

    Of any two classes the smaller must hold ν/2 of their rows.

    Examples
    --------
    >>> largest_nu([50, 50]), largest_nu([90, 10])
    (1.0, 0.2)
    """
    ordered = np.sort(np.asarray(counts, dtype=float))
    return float(2 * ordered[0] / (ordered[0] + ordered[-1]))


class FeasibleNuSVC(ClassifierMixin, BaseEstimator):
    """``NuSVC`` with ν no larger than the classes allow; 0.5 has no solution on unequal ones."""

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def fit(self, X: Any, y: Any) -> Self:
        """Fit with the largest feasible ν up to ``nu``."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.nu_ = min(self.nu, largest_nu(counts) * (1 - 1e-9))
        self.model_ = NuSVC(nu=self.nu_).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Classes."""
        return self.model_.predict(X)

    def decision_function(self, X: Any) -> Any:
        """Scores, one column per class if there are more than two."""
        return self.model_.decision_function(X)
