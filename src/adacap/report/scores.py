"""Test scores of a model and of baselines trained on the same table."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from adacap._typing import Floats
from adacap.comparison import baselines, score_shares
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.inputs import read_input
from adacap.estimators.targets import ClassCodec

__all__ = [
    "MethodScores", "PairedDifference", "baseline_scores", "error_name", "model_scores",
    "paired_difference", "sorted_scores",
]  # fmt: skip


MOST_TRAIN = 20_000  # rows that baselines are trained on at most


@dataclass(frozen=True, eq=False)
class MethodScores:
    """Scores of one method on the test rows.

    Attributes
    ----------
    method : str
    scores : dict of str to float
        R², RMSE and MAE, or accuracy, AUC and log-loss; NaN where not defined.
    losses : ndarray of shape (n,)
        Loss of each row: squared error (mean over standardised targets), or log-loss.
    fit_seconds : float
    """

    method: str
    scores: dict[str, float]
    losses: Floats
    fit_seconds: float


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference of two methods' losses over test rows, first minus second."""

    difference: float
    standard_error: float

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than two standard errors."""
        return abs(self.difference) > 2 * self.standard_error


def paired_difference(first: MethodScores, second: MethodScores) -> PairedDifference:
    """Paired comparison of two methods, row by row.

    Parameters
    ----------
    first, second : MethodScores

    Examples
    --------
    >>> a = MethodScores("a", {}, np.array([1.0, 2.0, 3.0]), 0.0)
    >>> b = MethodScores("b", {}, np.array([0.0, 1.1, 1.9]), 0.0)
    >>> paired_difference(a, b).is_clear
    True
    """
    difference = first.losses - second.losses
    n = len(difference)
    error = float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    return PairedDifference(float(difference.mean()), error)


def error_name(row: MethodScores) -> str:
    """The score by which methods are put in order: their RMSE or their log-loss."""
    return next(name for name in row.scores if name.startswith(("RMSE", "log-loss")))


def sorted_scores(rows: Iterable[MethodScores]) -> list[MethodScores]:
    """Methods by their error, the best first.

    Examples
    --------
    >>> a = MethodScores("a", {"RMSE": 2.0}, np.array([4.0]), 0.0)
    >>> b = MethodScores("b", {"RMSE": 1.0}, np.array([1.0]), 0.0)
    >>> [row.method for row in sorted_scores([a, b])]
    ['b', 'a']
    """
    return sorted(rows, key=lambda row: row.scores[error_name(row)])


def model_scores(estimator: Any, X: Any, y: Any) -> MethodScores:
    """Scores of a fitted model on test rows.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X, y : test rows

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=50, random_state=0).fit(X[:60], X[:60, 1])
    >>> list(model_scores(model, X[60:], X[60:, 1]).scores)
    ['R²', 'RMSE', 'MAE']
    """
    check_is_fitted(estimator)
    is_classes = isinstance(estimator.codec_, ClassCodec)
    output = estimator.predict_proba(X) if is_classes else estimator.predict(X)
    seconds = estimator.provenance_.fit_seconds
    return _scored(type(estimator).__name__, estimator.codec_, y, output, seconds)


def baseline_scores(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    random_state: int = 0,
    sample_weight: Any = None,
) -> list[MethodScores]:
    """Scores of a constant, a linear model and a forest, trained on the columns the net sees.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
        Says what the columns are and how the target is coded.
    X_train, y_train : the table that the estimator was fitted on
        Of more than 20,000 rows, as many are drawn.
    X_test, y_test : test rows
    random_state : int, default=0
    sample_weight : array-like of shape (n_train,), optional
        Of the training rows.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=5).fit(X[:60], X[:60, 1])
    >>> found = baseline_scores(model, X[:60], X[:60, 1], X[60:], X[60:, 1])
    >>> [row.method for row in found]
    ['mean', 'ridge', 'random forest']
    """
    check_is_fitted(estimator)
    codec, policy = estimator.codec_, estimator.encoder_.policy
    table, y = read_input(X_train, policy)[0], codec.check(y_train)
    rows = np.random.default_rng(random_state).permutation(len(y))[:MOST_TRAIN]
    table, y = table.take(rows), y[rows]
    weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
    encoder = TableEncoder(policy, read_text=estimator.encoder_.read_text)
    owner = type(estimator).__name__
    # target means learnt out of fold
    train = encoder.fit_encode(table, codec.encode(y), None, layout=None, owner=owner)
    test = encoder.encode(read_input(X_test, policy)[0])
    if train.shape[1] == 0:
        train, test = (np.zeros((len(part), 1), dtype=np.float32) for part in (train, test))
    task = "classification" if isinstance(codec, ClassCodec) else "regression"
    found = []
    for name, model in baselines(task, random_state).items():
        start = time.perf_counter()
        model.fit(train, y, sample_weight=weights)
        seconds = time.perf_counter() - start
        is_classes = isinstance(codec, ClassCodec)
        output = _shares(model, test, codec) if is_classes else model.predict(test)
        found.append(_scored(name, codec, y_test, output, seconds))
    return found


def _shares(model: Any, test: npt.NDArray[Any], codec: ClassCodec) -> Floats:
    """Probabilities in the order of the codec, 0 for a class the sample had none of."""
    found = np.zeros((len(test), len(codec.classes)))
    found[:, np.searchsorted(codec.classes, model.classes_)] = model.predict_proba(test)
    return found


def _scored(method: str, codec: Any, y: Any, output: Floats, seconds: float) -> MethodScores:
    check_consistent_length(output, y)
    if isinstance(codec, ClassCodec):
        return MethodScores(method, *_class_scores(codec, codec.check(y), output), seconds)
    actual = codec.numbers(codec.check(y))
    predicted = codec.numbers(np.asarray(output))
    scale = codec.spread(actual)
    losses = (((actual - predicted) / scale) ** 2).mean(1)
    errors, of = actual - predicted, ""
    if len(scale) > 1:  # targets of different units
        errors, of = errors / scale, " (standardised)"
    scores = {
        "R²": float(metrics.r2_score(actual, predicted)) if len(actual) > 1 else float("nan"),
        f"RMSE{of}": float(np.sqrt(np.mean(errors**2))),
        f"MAE{of}": float(np.abs(errors).mean()),
    }
    return MethodScores(method, scores, losses, seconds)


def _class_scores(
    codec: ClassCodec, y: npt.NDArray[Any], shares: Floats
) -> tuple[dict[str, float], Floats]:
    truth = np.searchsorted(codec.classes, y)
    own = shares[np.arange(len(truth)), truth]
    losses = -np.log(np.clip(own, 1e-15, 1))
    found = score_shares(truth, shares)
    scores = {
        "accuracy": found["accuracy"],
        "AUC": found.get("auc", float("nan")),
        "log-loss": float(losses.mean()),
    }
    return scores, losses
