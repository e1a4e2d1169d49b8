"""What a reader should know before trusting a model, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adacap.estimators.targets import ClassCodec
from adacap.report.prediction_figures import IntervalCoverage
from adacap.report.scores import MethodScores, error_name, paired_difference
from adacap.text import number

__all__ = ["remarks", "speaks_for_model"]

_FEW = 50  # test rows


def remarks(
    estimator: Any,
    own: MethodScores,
    baselines: Sequence[MethodScores] = (),
    coverage: IntervalCoverage | None = None,
    saved: Any = None,
) -> list[str]:
    """Warnings and hints, the most important first.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    own : MethodScores
        Of the estimator on test rows.
    baselines : sequence of MethodScores
        As :func:`~adacap.report.baseline_scores` gives them.
    coverage : IntervalCoverage, optional
    saved : fitted estimator, optional
        The model that is kept, where it is not the one that was scored.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> from adacap.report import model_scores
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = AdaCapRegressor(max_iter=30, random_state=0).fit(X[:40], X[:40, 0])
    >>> remarks(model, model_scores(model, X[40:], X[40:, 0]))[0]
    'Only 20 test rows: the scores are rough, and a difference in the second digit means nothing.'
    """
    saved = estimator if saved is None else saved
    return [
        *_few_rows(own),
        *_signal(estimator, own),
        *_against(own, baselines),
        *_intervals(coverage),
        *_training(saved),
        *_table(saved),
        *(saved.capacity().remarks() if speaks_for_model(saved.capacity()) else ()),
    ]


def speaks_for_model(capacity: Any) -> bool:
    """Whether readings of an output layer describe the model: half of it or more has the layer."""
    if capacity.scheme == "plain" or not capacity.n_features:
        return False
    return capacity.read_from is None or capacity.read_from.weight >= 0.5


def _few_rows(own: MethodScores) -> Iterator[str]:
    if (n := len(own.losses)) < _FEW:
        yield (
            f"Only {n} test rows: the scores are rough, and a difference in the second digit means "
            "nothing."
        )


def _signal(estimator: Any, own: MethodScores) -> Iterator[str]:
    r2 = own.scores.get("R²", float("nan"))
    if r2 < 0:
        yield (
            "The model predicts worse than the mean of the test rows would "
            f"(R² = {number(r2, 2)}): do not use it as it is."
        )
    elif r2 < 0.5:
        yield (
            f"This table is noisy, or important columns are missing: {100 * (1 - r2):.0f} % of "
            "the variance stays unexplained on test rows."
        )
    press = estimator.capacity().press_r2
    if estimator.members_ and press is not None and press - r2 > 0.2:
        yield (
            f"The hidden layers have learned rows by heart: R² is {press:.2f} when a row is left "
            f"out of the output layer alone, and {r2:.2f} on test rows. More nets "
            "(n_estimators), more weight_decay or a smaller width may help."
        )
    auc = own.scores.get("AUC", float("nan"))
    if auc < 0.6:
        yield f"Classes are hardly distinguished (AUC = {auc:.2f}; 0.5 is chance)."
    held = estimator.capacity().holdout_p_value
    if estimator.scheme_ == "plain" and held is not None and held > 0.05:
        yield (
            "On rows held out of training, predictions were no nearer to the labels than to labels "
            f"in random order (p = {held:.2g})."
        )


def _against(own: MethodScores, baselines: Sequence[MethodScores]) -> Iterator[str]:
    """Where another method is better, or not clearly worse: which one, and by how much."""
    names = {"random forest": "a random forest", "mean": "the mean"}
    names |= {"class shares": "predicting the class shares"}
    near = []
    for other in baselines:
        error = error_name(own)
        found, name = paired_difference(own, other), names.get(other.method, other.method)
        ours, theirs = number(own.scores[error]), number(other.scores[error])
        if other.scores[error] < own.scores[error]:
            how = "by more than chance explains: use it" if found.is_clear else "it may be chance"
            yield f"{_upper(name)} is better here: {error} {theirs} against {ours}; {how}."
        elif not found.is_clear:
            near.append((name, theirs))
    if near:
        who, errors = (_listed(part) for part in zip(*near, strict=True))
        yield (
            f"{_upper(who)} {'is' if len(near) == 1 else 'are'} not clearly worse: {error} "
            f"{errors} against {ours}, which may be chance on {len(own.losses)} test rows."
        )


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _intervals(coverage: IntervalCoverage | None) -> Iterator[str]:
    if coverage is None:
        return
    at = int(np.abs(coverage.level - 0.9).argmin())
    level, observed = coverage.level[at], coverage.observed[at]
    if observed < level - 3 * coverage.error[at]:
        yield (
            f"Intervals are too narrow: {100 * observed:.0f} % of the test rows lie in those of "
            f"{100 * level:.0f} %. Are the test rows of another kind, or is method "
            f"{coverage.method!r} too hopeful here? A net per fold (validation='folds') "
            "gives intervals with a guarantee."
        )


def _training(estimator: Any) -> Iterator[str]:
    n_iter = len(estimator.history_)
    if n_iter == 0:  # a blend without nets
        return
    settings = estimator.settings_.of_net(0)
    max_iter = settings.max_iter
    is_cut = settings.time_limit is not None and not getattr(estimator, "warm_start", False)
    if is_cut and n_iter < max_iter:
        yield (
            f"Training ended at the time limit, after {n_iter} of {max_iter} "
            "iterations: allow more time."
        )
    elif estimator.best_iter_ >= 0.98 * n_iter - 1 and "valid_score" in estimator.history_[-1]:
        yield (
            f"The best iteration was among the last ({estimator.best_iter_ + 1} of {n_iter}): more "
            "iterations (max_iter) may help."
        )


def _table(estimator: Any) -> Iterator[str]:
    dropped = [plan.name for plan in estimator.encoder_.columns_ if plan.dropped]
    if dropped:
        more = f" and {len(dropped) - 5} more" if len(dropped) > 5 else ""
        yield f"Columns that are not used: {', '.join(dropped[:5])}{more}. The table says why."
    if isinstance(estimator.codec_, ClassCodec) and len(estimator.codec_.classes) > 20:
        yield f"{len(estimator.codec_.classes)} classes: is the target really a class?"
