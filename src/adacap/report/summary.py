"""The first lines of a page: how good the model is, for readers who read no further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adacap.estimators.targets import ClassCodec
from adacap.report.about import About
from adacap.report.prediction_figures import IntervalCoverage
from adacap.report.scores import MethodScores, error_name, sorted_scores
from adacap.text import number

__all__ = ["how_scored", "summary"]

_CONSTANTS = ("mean", "class shares")


def summary(
    estimator: Any,
    about: About,
    own: MethodScores,
    baselines: Sequence[MethodScores] = (),
    coverage: IntervalCoverage | None = None,
) -> str:
    """What is predicted from what, how well, and compared with what: a few plain sentences.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    about : About
    own : MethodScores
        Of the model on test rows.
    baselines : sequence of MethodScores
    coverage : IntervalCoverage, optional
    """
    what = " and ".join(about.targets) or "the target"
    n_columns = estimator.n_features_in_
    where = f" of {about.data}" if about.data else ""
    columns = f"{n_columns} column{'' if n_columns == 1 else 's'}"
    return " ".join(
        [
            f"The model predicts {what} from {columns}{where}.",
            *_quality(estimator, own, baselines),
            *_place(own, baselines),
            *_intervals(coverage),
        ]
    )


def how_scored(estimator: Any, scorer: Any, about: About, n_test: int) -> str:
    """Which model the page is about, and which model and rows its scores come from."""
    n_rows = estimator.provenance_.n_rows
    saved = f", saved as {about.model}," if about.model else ""
    if scorer is estimator:
        return (
            f"This page is about one model{saved} trained on {n_rows:,} rows. Its scores come from "
            f"{n_test:,} other rows, which it has not seen."
        )
    n_train = scorer.provenance_.n_rows
    return (
        f"The model{saved} was trained on all {n_rows:,} rows, so no row is left to test it on. "
        f"The scores come from a model of the same settings that was trained on {n_train:,} of "
        f"them and tested on the other {n_test:,}; with more rows to learn from, the saved one "
        "should do no worse."
    )


def _quality(estimator: Any, own: MethodScores, baselines: Sequence[MethodScores]) -> Iterator[str]:
    n = f"{len(own.losses):,} rows that it had not seen"
    constant = next((row for row in baselines if row.method in _CONSTANTS), None)
    if isinstance(estimator.codec_, ClassCodec):
        share = f"On {n}, it named the right class for {100 * own.scores['accuracy']:.0f} %"
        if constant is None:
            yield f"{share}."
        else:
            yield (
                f"{share}; naming the most frequent class each time is right for "
                f"{100 * constant.scores['accuracy']:.0f} %."
            )
        return
    name = next(key for key in own.scores if key.startswith("MAE"))
    unit = "" if name == "MAE" else " standard deviations"
    off = f"On {n}, it was off by {number(own.scores[name])}{unit} on average"
    if constant is None:
        yield f"{off}."
    else:
        yield f"{off}; the mean each time would be off by {number(constant.scores[name])}."
    r2 = own.scores["R²"]
    if np.isfinite(r2) and r2 > 0:
        yield f"It explains {100 * r2:.0f} % of the variance."


def _place(own: MethodScores, baselines: Sequence[MethodScores]) -> Iterator[str]:
    if not baselines:
        return
    order = [row.method for row in sorted_scores([own, *baselines])]
    place, n = order.index(own.method) + 1, len(order)
    error = error_name(own)
    if place == 1:
        yield f"Its {error} is the smallest of the {n} methods compared."
    else:
        yield f"Of the {n} methods compared, its {error} is number {place}; {order[0]} is first."


def _intervals(coverage: IntervalCoverage | None) -> Iterator[str]:
    if coverage is None:
        return
    at = int(np.abs(coverage.level - 0.9).argmin())
    level, observed = 100 * coverage.level[at], 100 * coverage.observed[at]
    yield f"Of its {level:.0f} % intervals, {observed:.0f} % held the true value."
