"""Grid search without a hold-out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.ma import MaskedArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from adacap.model_selection.label_fits import (
    Candidate,
    LabelSetFits,
    Trials,
    fit_label_sets,
    ridge_shortcut,
)
from adacap.model_selection.labels import as_generator, draw_orders
from adacap.model_selection.losses import resolve_loss
from adacap.model_selection.score import check_labels, summarise
from adacap.model_selection.signal import announce, selection_p_value

__all__ = ["MLRSearch"]


def _offered(name: str) -> Any:
    """Offer a method if the best estimator, or before fit the given one, has it."""

    def check(search: MLRSearch) -> bool:
        if not search.refit:
            raise AttributeError(
                f"{name} needs the best model fitted again: MLRSearch was made with refit=False."
            )
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


def _delegated(name: str) -> Any:
    """A method of rows that the best estimator answers."""

    def method(self: MLRSearch, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__name__, method.__qualname__ = name, f"MLRSearch.{name}"
    method.__doc__ = f"``{name}`` of the best estimator."
    return _offered(name)(method)


class MLRSearch(MetaEstimatorMixin, BaseEstimator):
    """Search over parameters by the MLR criterion, with the interface of ``GridSearchCV``.

    Each candidate is fitted on the true labels and on ``n_permutations`` permuted ones, all rows
    each time. The best candidate has the lowest ``fit_true − fit_permuted``. All candidates see the
    same permutations. For scikit-learn's ``Ridge`` with a grid of ``alpha`` alone, one singular
    value decomposition replaces the fits.

    Parameters
    ----------
    estimator : estimator with ``fit`` and ``predict``
    param_grid : mapping or sequence of mappings
        As for ``GridSearchCV``.
    n_permutations : int, default=16
    loss : {"auto", "squared", "rmse", "absolute", "log_loss"} or callable, default="auto"
        As in :func:`mlr_score`.
    n_jobs : int, optional
        Processes, as in joblib.
    refit : bool, default=True
        Fit the best candidate on the true labels, to predict with.
    verbose : int, default=0
        1 prints the number of fits, more is joblib's progress.
    random_state : int, RandomState, Generator or None, default=None
        Source of the permutations.

    Attributes
    ----------
    best_params_ : dict
    best_index_ : int
        Of equally good candidates, the first.
    best_score_ : float
        ``fit_permuted − fit_true`` of the best candidate: greater is better, as elsewhere in
        scikit-learn.
    best_estimator_ : estimator
        Only with ``refit=True``.
    refit_time_ : float
        Seconds. Only with ``refit=True``.
    results_ : dict of arrays
        One entry per candidate, ready for a data frame: ``params``, ``param_*``, ``mlr``,
        ``rank_mlr``, ``fit_true``, ``fit_permuted``, ``std_fit_permuted``, ``p_value``,
        ``total_fit_time``. Also under the name ``cv_results_``.
    score_ : MLRScore
        Summary of the best candidate; its p-value takes the search into account.
    p_value_, snr_ : float
        From ``score_``.
    notes_ : tuple of str
        What speaks against the choice; the text of the warning.
    valid_ : bool
        Whether nothing does.
    shortcut_ : bool
        Whether the decomposition for ridge was used.

    Warns
    -----
    SignalWarning
        If the signal-to-noise band in which the criterion is valid seems violated; see
        :func:`mlr_score`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 60)) @ rng.normal(size=(60, 60))
    >>> y = X.sum(axis=1) / 60 + rng.normal(size=100)
    >>> search = MLRSearch(Ridge(), {"alpha": [1, 100, 1e4, 1e6]}, random_state=0).fit(X, y)
    >>> search.best_params_, search.shortcut_
    ({'alpha': 10000.0}, True)
    >>> search.predict(X[:2]).shape
    (2,)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        n_permutations: int = 16,
        loss: str | Callable[..., float] = "auto",
        n_jobs: int | None = None,
        refit: bool = True,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_permutations = n_permutations
        self.loss = loss
        self.n_jobs = n_jobs
        self.refit = refit
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Score all candidates and fit the best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As the estimator takes it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        **params
            Passed to the estimator's ``fit``; see :func:`mlr_score`.
        """
        loss = resolve_loss(self.loss, self.estimator)
        candidates = list(ParameterGrid(self.param_grid))
        labels = check_labels(X, y, is_classifier(self.estimator))
        rng = as_generator(self.random_state)
        permutations = draw_orders(len(labels), self.n_permutations, rng)
        trials = Trials(self.estimator, candidates, X, labels, permutations, loss, params)
        fits = ridge_shortcut(trials)
        shortcut = fits is not None
        if self.verbose:
            _tell(len(candidates), len(permutations) + 1, shortcut)
        if fits is None:
            fits = fit_label_sets(trials, n_jobs=self.n_jobs, verbose=max(self.verbose - 1, 0))
        results = _table(candidates, fits)
        best = int(results["rank_mlr"].argmin())
        p_value = selection_p_value(fits.losses)
        score = summarise(fits.losses[best], loss, labels, params.get("sample_weight"), p_value)
        self._refit(candidates[best], X, y, params)
        self.results_, self.shortcut_, self.score_ = results, shortcut, score
        self.best_index_, self.best_params_ = best, candidates[best]
        self.best_score_ = -score.value
        self.p_value_, self.snr_ = score.p_value, score.snr
        self.notes_, self.valid_ = score.notes, score.valid
        announce(score.notes, stacklevel=2)
        return self

    def _refit(self, candidate: Candidate, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        """Fit the best candidate, or forget one of an earlier search."""
        for name in ("best_estimator_", "refit_time_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if not self.refit:
            return
        start = perf_counter()
        settings = {name: clone(value, safe=False) for name, value in candidate.items()}
        self.best_estimator_ = clone(self.estimator).set_params(**settings).fit(X, y, **params)
        self.refit_time_ = perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    @property
    def cv_results_(self) -> dict[str, Any]:
        """``results_``, for tools that expect the name of ``GridSearchCV``."""
        check_is_fitted(self, "results_")
        return self.results_

    @property
    def n_features_in_(self) -> int:
        """Number of features, if the best estimator has it."""
        return int(self.best_estimator_.n_features_in_)

    @property
    def classes_(self) -> Any:
        """Classes of the best estimator, if it is a classifier."""
        return self.best_estimator_.classes_

    predict = _delegated("predict")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")
    decision_function = _delegated("decision_function")
    transform = _delegated("transform")

    @_offered("score")  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """``score`` of the best estimator: R² or accuracy on the rows given."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, **params))

    def __sklearn_tags__(self) -> Tags:
        """Tags of the estimator, as far as the search passes them on."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.target_tags.required = True
        tags.input_tags = deepcopy(inner.input_tags)
        return tags


def _table(candidates: Sequence[Candidate], fits: LabelSetFits) -> dict[str, Any]:
    """Results as columns; a parameter that a candidate does not set is masked."""
    true, permuted = fits.losses[:, 0], fits.losses[:, 1:]
    columns: dict[str, Any] = {"params": list(candidates)}
    for name in sorted({name for candidate in candidates for name in candidate}):
        column = MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for i, candidate in enumerate(candidates):
            if name in candidate:
                column[i] = candidate[name]
        columns[f"param_{name}"] = column
    mlr = true - permuted.mean(1)
    return columns | {
        "mlr": mlr,
        "rank_mlr": rankdata(mlr, method="min").astype(np.int32),
        "fit_true": true,
        "fit_permuted": permuted.mean(1),
        "std_fit_permuted": permuted.std(1),
        "p_value": np.array([selection_p_value(losses[None]) for losses in fits.losses]),
        "total_fit_time": fits.seconds,
    }


def _tell(n_candidates: int, n_sets: int, shortcut: bool) -> None:
    how = "from one decomposition" if shortcut else f"totalling {n_candidates * n_sets} fits"
    print(f"Fitting {n_sets} label sets for each of {n_candidates} candidates, {how}")
