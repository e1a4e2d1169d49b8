"""Methods against each other on repeated splits of one table."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adacap.cli.common import UsageError
from adacap.cli.models import build, encode, split

if TYPE_CHECKING:
    from adacap.bench.methods import Method
    from adacap.cli.tables import Loaded

__all__ = ["Contest", "compare", "corrected_error", "run_contest"]

Array = npt.NDArray[Any]
OWN = "adacap"


@dataclass
class Contest:
    """Scores of every method on every split.

    ``scores[method][metric]`` has one value per split, NaN where the method failed; ``left_out``
    and ``failures`` say why a method has none, or not all.
    """

    metrics: list[str]
    scores: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    test_ratio: float = 0.25  # test rows per training row
    n_splits: int = 0  # that were finished
    is_interrupted: bool = False

    @property
    def main(self) -> str:
        """The metric by which methods are compared."""
        return self.metrics[0]

    def forget_after(self, n_splits: int) -> None:
        """Leave out what belongs to a split that was not finished."""
        for method in list(self.scores):
            for values in (*self.scores[method].values(), self.seconds[method]):
                del values[n_splits:]
            if not self.seconds[method]:
                del self.scores[method], self.seconds[method]

    def add(self, method: str, scores: dict[str, float], seconds: float) -> None:
        """Add the scores of one split."""
        own = self.scores.setdefault(method, {name: [] for name in self.metrics})
        for name in self.metrics:
            own[name].append(scores.get(name, math.nan))
        self.seconds.setdefault(method, []).append(seconds)


def run_contest(
    loaded: Loaded,
    against: Sequence[str],
    *,
    method: str | None,
    n_estimators: int | None,
    time_limit: float | None,
    n_splits: int,
    test_size: float,
    seed: int,
    on_step: Callable[[int, int, str], None],
) -> Contest:
    """Fit every method on every split.

    AdaCap gets the table as it is, the others the matrix that AdaCap's preprocessing makes of the
    training part, and for regression a standardised target.
    """
    os.environ.setdefault("ADACAP_THREADS", str(os.cpu_count() or 1))
    kind = _kind(loaded)
    metrics = ["rmse", "r2"] if kind == "regression" else ["accuracy", "auc"]
    contest = Contest(metrics)
    methods = _usable(against, kind, len(loaded.target.y), contest)
    total = n_splits * (1 + len(methods))
    try:
        for index in range(n_splits):
            train, test = split(loaded.target, test_size, seed + index)
            if not len(test):
                raise UsageError(f"{len(loaded.target.y)} rows are too few for a test part.")
            contest.test_ratio = len(test) / len(train)
            part = _Part(loaded, kind, train, test)
            own = build(
                loaded.target.task, method, seed=seed + index,
                n_estimators=n_estimators, time_limit=time_limit, read_text=loaded.read_text,
            )  # fmt: skip
            for k, (name, job) in enumerate(_jobs(own, methods, part, seed + index)):
                on_step(index * (1 + len(methods)) + k, total, name)
                _score(contest, name, job)
            contest.n_splits = index + 1
    except KeyboardInterrupt:
        contest.is_interrupted = True
    contest.forget_after(contest.n_splits)
    on_step(contest.n_splits * (1 + len(methods)), total, "")
    return contest


def _score(contest: Contest, name: str, job: Callable[[], dict[str, float]]) -> None:
    start = time.perf_counter()
    try:
        scores = job()
    except Exception as error:  # a foreign method may raise anything
        if name == OWN:
            raise
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        contest.failures.setdefault(name, reason)
        scores = {}
    contest.add(name, scores, time.perf_counter() - start)


def _jobs(
    own: Any, methods: Sequence[Method], part: _Part, seed: int
) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    yield OWN, lambda: part.own_scores(own)
    for method in methods:
        yield method.name, partial(_score_method, method, part, seed)


def _score_method(method: Method, part: _Part, seed: int) -> dict[str, float]:
    return part.scores(method.build(part.kind, seed))


def _kind(loaded: Loaded) -> str:
    if len(loaded.target.names) > 1:
        raise UsageError("evaluate compares methods on one target at a time.")
    if loaded.target.task == "regression":
        return "regression"
    return "binary" if len(np.unique(loaded.target.y)) == 2 else "multiclass"


def _usable(names: Sequence[str], kind: str, n_rows: int, contest: Contest) -> list[Method]:
    """Methods that can be run here; the reason for the others is noted."""
    from adacap.bench.methods import MethodError, expand_methods, unavailable

    try:
        methods = expand_methods([name for name in names if name != OWN])
    except MethodError as error:
        raise UsageError(str(error)) from error
    usable = []
    for method in methods:
        if reason := unavailable(method):
            contest.left_out[method.name] = reason
        elif kind not in method.kinds:
            contest.left_out[method.name] = f"does {' and '.join(sorted(method.kinds))}, not {kind}"
        elif method.max_rows is not None and n_rows > method.max_rows:
            contest.left_out[method.name] = f"is for {method.max_rows} rows at most"
        else:
            usable.append(method)
    return usable


class _Part:
    """One split, for AdaCap as tables and for others as matrices."""

    def __init__(self, loaded: Loaded, kind: str, train: Array, test: Array) -> None:
        self.kind = kind
        self.X_train, self.X_test = loaded.X.take(train), loaded.X.take(test)
        self.y_train, self.y_test = loaded.target.y[train], loaded.target.y[test]
        self.x_train, self.x_test = encode(
            loaded.target, self.X_train, self.y_train, self.X_test, loaded.read_text
        )
        self.classes, codes = np.unique(loaded.target.y, return_inverse=True)
        self.codes_test = codes[test]
        self.weights = loaded.weights(train)

    def own_scores(self, model: Any) -> dict[str, float]:
        """Fit on the table itself."""
        model.fit(self.X_train, self.y_train, sample_weight=self.weights)
        if self.kind == "regression":
            return self._values(model.predict(self.X_test))
        return self._classes(model.predict_proba(self.X_test), model.classes_)

    def scores(self, model: Any) -> dict[str, float]:
        """Fit on the encoded matrix."""
        if self.kind == "regression":
            mean, scale = self.y_train.mean(), self.y_train.std() or 1.0
            self._fit(model, (self.y_train - mean) / scale)
            return self._values(np.asarray(model.predict(self.x_test.copy())) * scale + mean)
        seen, codes = np.unique(self.y_train, return_inverse=True)
        self._fit(model, codes)
        if hasattr(model, "predict_proba"):
            return self._classes(np.asarray(model.predict_proba(self.x_test.copy())), seen)
        from adacap.bench.scoring import check_predictions

        x_test = self.x_test.copy()
        labels = check_predictions(model.predict(x_test), len(x_test)).astype(np.intp)
        return {"accuracy": float(np.mean(seen[labels] == self.y_test))}

    def _fit(self, model: Any, targets: Array) -> None:
        """Fit on a copy of the matrix, with the weights where the method takes any."""
        from sklearn.utils.validation import has_fit_parameter

        weighted = self.weights is not None and has_fit_parameter(model, "sample_weight")
        more = {"sample_weight": self.weights} if weighted else {}
        model.fit(self.x_train.copy(), targets, **more)

    def _values(self, predicted: Array) -> dict[str, float]:
        from adacap.bench.scoring import check_predictions, score_values

        return score_values(self.y_test, check_predictions(predicted, len(self.y_test)))

    def _classes(self, shares: Array, seen: Array) -> dict[str, float]:
        from adacap.bench.scoring import check_predictions, score_classes

        shares = check_predictions(shares, len(self.y_test), "probabilities")
        full = np.zeros((len(shares), len(self.classes)))
        full[:, np.searchsorted(self.classes, seen)] = shares
        scores = full[:, 1] if len(self.classes) == 2 else full
        return score_classes(self.codes_test, full.argmax(1), scores)


def compare(contest: Contest, other: str) -> dict[str, Any]:
    """AdaCap minus another method, over the splits that both have.

    Standard error and p-value are of the corrected resampled t-test (Nadeau and Bengio 2003):
    splits of one table share rows, so the variance of the mean is ``(1/k + n_test/n_train)`` times
    that of a split.

    Examples
    --------
    >>> contest = Contest(["rmse"], test_ratio=0.25)
    >>> for own, ridge in [(1.0, 2.0), (1.2, 2.1), (0.9, 2.2)]:
    ...     contest.add("adacap", {"rmse": own}, 0.1)
    ...     contest.add("ridge", {"rmse": ridge}, 0.1)
    >>> found = compare(contest, "ridge")
    >>> round(found["difference"], 3), found["better_in"], found["p_value"] < 0.05
    (-1.067, 3, True)
    """
    metric = contest.main
    pairs = np.array([contest.scores[OWN][metric], contest.scores[other][metric]])
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    gaps, k = pairs[0] - pairs[1], pairs.shape[1]
    wins = gaps < 0 if metric == "rmse" else gaps > 0
    return {
        "method": other,
        "metric": metric,
        "difference": float(gaps.mean()) if k else math.nan,
        "standard_error": corrected_error(gaps, contest.test_ratio),
        "better_in": int(wins.sum()),
        "n_splits": k,
        "p_value": _p_value(gaps, contest.test_ratio),
    }


def corrected_error(values: Array, test_ratio: float) -> float:
    """Standard error of a mean over splits that share rows; NaN for a single split.

    Examples
    --------
    >>> round(corrected_error(np.array([1.0, 2.0, 3.0]), 0.25), 3)
    0.764
    """
    k = len(values)
    return float(values.std(ddof=1)) * math.sqrt(1 / k + test_ratio) if k > 1 else math.nan


def _p_value(gaps: Array, test_ratio: float) -> float:
    from scipy import stats

    error = corrected_error(gaps, test_ratio)
    if not error > 0:
        return math.nan
    return float(2 * stats.t.sf(abs(float(gaps.mean()) / error), len(gaps) - 1))
