"""Sections of the page about predictions of test rows."""

from __future__ import annotations

from typing import Any

from adacap.page import Page
from adacap.report.about import About
from adacap.report.charts import chart
from adacap.report.prediction_figures import (
    IntervalCoverage,
    Predictions,
    confusion,
    residuals,
    roc,
)

__all__ = ["add_class_predictions", "add_intervals", "add_predictions"]

_MOST_TARGETS = 4
_GUARANTEES = {
    "split": "errors on rows that training never saw, with a guarantee of the coverage asked for",
    "cv+": "errors out of fold, with a guarantee of 1 − 2α",
    "loo": "leave-one-out errors of the output layer, without a guarantee",
}


def add_predictions(
    page: Page, estimator: Any, X: Any, y: Any, numbers: Predictions, about: About
) -> None:
    """Predicted against actual values, and residuals."""
    section = page.section("Predicted against actual", name="predictions")
    n_targets = numbers.actual.shape[1]
    found = residuals(estimator, X, y)
    if numbers.reason:
        section.note(f"No intervals: {numbers.reason}")
    for k in range(min(n_targets, _MOST_TARGETS)):
        name = about.target(k, n_targets)
        section.chart(
            chart(numbers, target=k, name=name, rows=about.test_rows),
            height=460,
            caption=f"Actual against predicted {name or 'values'} of test rows; points on the "
            "dotted line are exact."
            + ("" if numbers.reason else " Strokes are the intervals of each row."),
        )
    if n_targets > _MOST_TARGETS:
        section.text(f"The first {_MOST_TARGETS} of {n_targets} targets are shown.")
    section = page.section("Residuals", name="residuals")
    for k in range(min(n_targets, _MOST_TARGETS)):
        name = about.target(k, n_targets)
        which = f" of {name}" if n_targets > 1 else ""
        section.chart(
            chart(found, target=k, name=name, rows=about.test_rows),
            caption=f"Residuals{which} against predictions, and their distribution: mean "
            f"{found.mean[k]:.3g}, deviation {found.deviation[k]:.3g}."
            + _trend(float(found.trend[k])),
        )


def _trend(trend: float) -> str:
    if abs(trend) < 0.3:
        return " Their size hardly depends on the prediction."
    grows = "grow" if trend > 0 else "shrink"
    return f" Errors {grows} with the prediction (correlation {trend:.2f})."


def add_intervals(page: Page, numbers: IntervalCoverage | None, reason: str) -> None:
    """Whether intervals hold what they promise."""
    section = page.section("Interval coverage", name="coverage")
    if numbers is None:
        section.text(f"No intervals: {reason}")
        return
    section.text(f"Method {numbers.method!r}: {_GUARANTEES.get(numbers.method, '')}.")
    section.chart(
        chart(numbers),
        caption="Share of test rows inside their interval, at several levels. Within the grey band "
        "the difference to the level asked for can be chance.",
    )


def add_class_predictions(page: Page, estimator: Any, X: Any, y: Any) -> None:
    """Confusion matrix, ROC and reliability."""
    found = confusion(estimator, X, y)
    section = page.section("Confusion matrix", name="confusion")
    section.chart(
        chart(found),
        height=min(640, 220 + 36 * len(found.classes)),
        caption="Test rows by actual and predicted class; colours are shares of the actual class. "
        f"{100 * found.accuracy:.1f} % lie on the diagonal.",
    )
    curves = roc(estimator, X, y)
    section = page.section("ROC", name="roc")
    if curves.classes:
        section.chart(
            chart(curves),
            height=460,
            caption="True against false positives as the threshold moves; each class against the "
            "rest.",
        )
    else:
        section.text("The test rows are of one class: there is no curve.")
    curve = estimator.reliability(X, y)
    section = page.section("Reliability", name="reliability")
    section.chart(
        chart(curve),
        height=460,
        caption="How often predicted probabilities came true; larger points stand for more rows. "
        f"Expected calibration error {curve.ece:.3f}.",
    )
