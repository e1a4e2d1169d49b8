"""Numbers of the figures about test rows: predictions, residuals, intervals, classes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.utils.validation import check_is_fitted

from adacap._typing import Floats
from adacap.estimators.targets import ClassCodec, RegressionCodec

__all__ = [
    "Confusion", "IntervalCoverage", "Predictions", "Residuals", "Roc", "confusion",
    "interval_coverage", "predictions", "residuals", "roc",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted and actual values of test rows, with an interval where there is one.

    Attributes
    ----------
    actual, predicted : ndarray of shape (n, n_targets)
    lower, upper : ndarray of shape (n, n_targets) or None
    coverage : float
        That the intervals aim at.
    method : str
        How they were made; empty without intervals.
    reason : str
        Why there are none; empty where there are.
    """

    actual: Floats
    predicted: Floats
    lower: Floats | None
    upper: Floats | None
    coverage: float
    method: str
    reason: str


def predictions(estimator: Any, X: Any, y: Any, coverage: float = 0.9) -> Predictions:
    """Predicted against actual values, with prediction intervals.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor
    X, y : test rows
    coverage : float, default=0.9

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = AdaCapRegressor(max_iter=30, random_state=0).fit(X[:40], X[:40, 0])
    >>> found = predictions(model, X[40:], X[40:, 0])
    >>> found.actual.shape, found.method
    ((20, 1), 'cv+')
    """
    _need(estimator, RegressionCodec, "predictions", "confusion")
    actual = RegressionCodec.numbers(RegressionCodec.check(y))
    predicted = RegressionCodec.numbers(estimator.predict(X))
    try:
        method = estimator.intervals_.resolve("auto")
        bounds = _bounds(estimator, X, coverage)
    except ValueError as error:
        return Predictions(actual, predicted, None, None, coverage, "", str(error))
    lower, upper = bounds[..., 0], bounds[..., 1]
    return Predictions(actual, predicted, lower, upper, coverage, method, "")


def _bounds(estimator: Any, X: Any, coverage: float) -> Floats:
    """Bounds (n, n_targets, 2); an infinite bound is a valid result here, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "coverage=.* needs at least", UserWarning)
        found = estimator.predict_interval(X, coverage)
    bounds: Floats = found[:, None, :] if found.ndim == 2 else found
    return bounds


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of test rows, against the prediction and as a distribution.

    Attributes
    ----------
    predicted, residual : ndarray of shape (n, n_targets)
        ``residual`` is actual minus predicted.
    mean, deviation : ndarray of shape (n_targets,)
    trend : ndarray of shape (n_targets,)
        Correlation of the size of a residual with the prediction: far from 0, errors grow or
        shrink with the level.
    """

    predicted: Floats
    residual: Floats
    mean: Floats
    deviation: Floats
    trend: Floats


def residuals(estimator: Any, X: Any, y: Any) -> Residuals:
    """Residuals of test rows.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor
    X, y : test rows

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = AdaCapRegressor(max_iter=30, random_state=0).fit(X[:40], X[:40, 0])
    >>> residuals(model, X[40:], X[40:, 0]).residual.shape
    (20, 1)
    """
    _need(estimator, RegressionCodec, "residuals", "confusion")
    actual = RegressionCodec.numbers(RegressionCodec.check(y))
    predicted = RegressionCodec.numbers(estimator.predict(X))
    errors = actual - predicted
    trend = [_correlation(np.abs(e), p) for e, p in zip(errors.T, predicted.T, strict=True)]
    return Residuals(predicted, errors, errors.mean(0), errors.std(0), np.array(trend))


def _correlation(a: Floats, b: Floats) -> float:
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


@dataclass(frozen=True, eq=False)
class IntervalCoverage:
    """Share of test rows that lie in their interval, at several levels.

    Attributes
    ----------
    level : ndarray of shape (k,)
        Coverage asked for.
    observed : ndarray of shape (k,)
        Share of rows and targets inside.
    width : ndarray of shape (k,)
        Median width, in standard deviations of the target in training; may be infinite.
    n_rows : int
    method : str
    promise : str
        What 90 % intervals are based on and guarantee, in words.
    """

    level: Floats
    observed: Floats
    width: Floats
    n_rows: int
    method: str
    promise: str = ""

    @property
    def error(self) -> Floats:
        """Standard error of ``observed`` if the intervals have their nominal coverage."""
        found: Floats = np.sqrt(self.level * (1 - self.level) / self.n_rows)
        return found


def interval_coverage(
    estimator: Any, X: Any, y: Any, levels: Any = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
) -> IntervalCoverage | None:
    """How often intervals cover the target; None where the model has no intervals.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor
    X, y : test rows
    levels : sequence of float

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = AdaCapRegressor(max_iter=30, random_state=0).fit(X[:40], X[:40, 0])
    >>> interval_coverage(model, X[40:], X[40:, 0], levels=[0.5, 0.9]).level
    array([0.5, 0.9])
    """
    _need(estimator, RegressionCodec, "interval_coverage", "roc")
    try:
        promise = estimator.intervals_.describe()
    except ValueError:
        return None
    actual = RegressionCodec.numbers(RegressionCodec.check(y))
    scale = estimator.codec_.spread(actual)
    observed, width = [], []
    for level in levels:
        lower, upper = np.moveaxis(_bounds(estimator, X, float(level)), -1, 0)
        observed.append(float(((lower <= actual) & (actual <= upper)).mean()))
        width.append(float(np.median((upper - lower) / scale)))
    parts = np.array(levels, dtype=np.float64), np.array(observed), np.array(width)
    method = estimator.interval_method_
    return IntervalCoverage(*parts, n_rows=len(actual), method=method, promise=promise)


# ------------------------------------------------------------------------------- classes


@dataclass(frozen=True, eq=False)
class Confusion:
    """Rows by actual class (first axis) and predicted class (second).

    Attributes
    ----------
    classes : ndarray of shape (k,)
    counts : ndarray of shape (k, k)
    accuracy : float
    """

    classes: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    accuracy: float


def confusion(estimator: Any, X: Any, y: Any) -> Confusion:
    """Confusion matrix of test rows.

    Parameters
    ----------
    estimator : fitted AdaCapClassifier
    X, y : test rows

    Examples
    --------
    >>> from adacap import AdaCapClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = AdaCapClassifier(max_iter=30, random_state=0).fit(X, X[:, 0] > 0)
    >>> int(confusion(model, X, X[:, 0] > 0).counts.sum())
    60
    """
    _need(estimator, ClassCodec, "confusion", "predictions")
    labels = ClassCodec.check(y)
    predicted = estimator.predict(X)
    counts = confusion_matrix(labels, predicted, labels=estimator.classes_)
    return Confusion(estimator.classes_, counts, float(np.mean(labels == predicted)))


@dataclass(frozen=True, eq=False)
class Roc:
    """ROC curve of each class against the rest; for two classes, of the second one.

    Attributes
    ----------
    classes : tuple
        Those that have a curve: both they and others occur in the test rows.
    false_positive, true_positive : tuple of ndarray
    auc : tuple of float
    """

    classes: tuple[Any, ...]
    false_positive: tuple[Floats, ...]
    true_positive: tuple[Floats, ...]
    auc: tuple[float, ...]


def roc(estimator: Any, X: Any, y: Any) -> Roc:
    """ROC curves of test rows.

    Parameters
    ----------
    estimator : fitted AdaCapClassifier
    X, y : test rows

    Examples
    --------
    >>> from adacap import AdaCapClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = AdaCapClassifier(max_iter=30, random_state=0).fit(X, X[:, 0] > 0)
    >>> roc(model, X, X[:, 0] > 0).auc[0] > 0.9
    True
    """
    _need(estimator, ClassCodec, "roc", "interval_coverage")
    labels, shares = ClassCodec.check(y), estimator.predict_proba(X)
    columns = [1] if len(estimator.classes_) == 2 else range(len(estimator.classes_))
    found = []
    for k in columns:
        is_class = labels == estimator.classes_[k]
        if is_class.any() and not is_class.all():
            false, true, _ = roc_curve(is_class, shares[:, k])
            area = float(roc_auc_score(is_class, shares[:, k]))
            found.append((estimator.classes_[k], false, true, area))
    parts: list[Any] = [tuple(row[i] for row in found) for i in range(4)]
    return Roc(*parts)


def _need(estimator: Any, codec: type, name: str, instead: str) -> None:
    check_is_fitted(estimator)
    if not isinstance(estimator.codec_, codec):
        kind = "regressor" if codec is RegressionCodec else "classifier"
        raise TypeError(
            f"{name} needs a fitted {kind}, got {type(estimator).__name__}. "
            f"Use {instead} for this one."
        )
