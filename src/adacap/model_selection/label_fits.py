"""Fits of any estimator on the true and on permuted labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils import check_X_y

from adacap._typing import Floats, Index
from adacap.model_selection.losses import Loss
from adacap.model_selection.spectrum import decompose

__all__ = ["LabelSetFits", "Trials", "fit_label_sets", "ridge_shortcut"]

Candidate = Mapping[str, Any]


@dataclass(frozen=True)
class LabelSetFits:
    """In-sample losses (n_candidates, 1 + T), true labels first, and seconds per candidate."""

    losses: Floats
    seconds: Floats


class Trials(NamedTuple):
    """Every candidate on every label set; fit parameters stay with their rows of X."""

    estimator: Any
    candidates: Sequence[Candidate]
    X: Any
    y: Any
    permutations: Index
    loss: Loss
    params: Mapping[str, Any]


def fit_label_sets(trials: Trials, *, n_jobs: int | None = None, verbose: int = 0) -> LabelSetFits:
    """Fit every candidate on every label set."""
    label_sets = [trials.y, *(trials.y[rows] for rows in trials.permutations)]
    results = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_fit_one)(trials.estimator, candidate, trials.X, labels, trials.loss, trials.params)
        for candidate in trials.candidates
        for labels in label_sets
    )
    table = np.array(results).reshape(len(trials.candidates), len(label_sets), 2)
    return LabelSetFits(table[..., 0], table[..., 1].sum(1))


def _fit_one(
    estimator: Any, candidate: Candidate, X: Any, y: Any, loss: Loss, params: Mapping[str, Any]
) -> tuple[float, float]:
    start = perf_counter()
    model = clone(estimator).set_params(**{k: clone(v, safe=False) for k, v in candidate.items()})
    try:
        model.fit(X, y, **params)
    except Exception as error:
        error.add_note(f"while fitting {type(model).__name__} with {dict(candidate)}")
        raise
    return loss.of(model, X, y, params.get("sample_weight")), perf_counter() - start


def ridge_shortcut(trials: Trials) -> LabelSetFits | None:
    """The same losses from one decomposition, where the estimator is ridge and only λ varies.

    None where that would not be exact: other settings vary, a solver iterates, coefficients
    are constrained, X is sparse or of single precision, or rows are weighted.
    """
    estimator, candidates, X, y, permutations, loss, params = trials
    if not (
        type(estimator) is Ridge
        and not estimator.positive
        and estimator.solver in ("auto", "svd", "cholesky")
        and loss.name in ("squared", "rmse")
        and not params
        and not scipy.sparse.issparse(X)
        and getattr(X, "dtype", None) != np.float32
        and all(set(c) == {"alpha"} and np.ndim(c["alpha"]) == 0 for c in candidates)
        and all(c["alpha"] > 0 for c in candidates)
    ):
        return None
    start = perf_counter()
    X, y = check_X_y(X, y, dtype=np.float64, multi_output=True, y_numeric=True, estimator="Ridge")
    Y = y.reshape(len(y), -1).astype(np.float64)
    spectrum = decompose(X, Y, permutations, fit_intercept=estimator.fit_intercept)
    alphas = np.array([float(c["alpha"]) for c in candidates])
    losses = spectrum.residual_squares(alphas).mean(-1) / len(Y)
    if loss.name == "rmse":
        losses = np.sqrt(losses)
    seconds = (perf_counter() - start) / len(candidates)
    return LabelSetFits(losses, np.full(len(candidates), seconds))
