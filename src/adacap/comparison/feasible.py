"""Estimators whose settings fail on some tables, adapted to accept them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import NuSVC, NuSVR

__all__ = ["FeasibleNuSVC", "FirstFeasible", "NuSVR", "largest_nu"]


class FirstFeasible:
    """The first of several estimators that can be fitted.

    It has the methods and attributes of that estimator, before a fit those of the first.

    Parameters
    ----------
    candidates : sequence of estimators
        Preferred estimator first, then fallbacks.
    refusal : type of exception
        What ``fit`` raises on a table it refuses. If all candidates do, the last error is raised.

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
    """``NuSVC`` with ν no larger than the classes allow.

    Parameters
    ----------
    nu : float, default=0.5
        Scikit-learn's default; on unequal classes it has no solution.

    Attributes
    ----------
    nu_ : float
        What was used.
    """

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
