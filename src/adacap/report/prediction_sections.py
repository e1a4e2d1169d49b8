"""Sections of the page about predictions: of test rows, and the effects of columns on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adacap.explain.effects import Effect, Effects
from adacap.page import Page
from adacap.page.table import Column
from adacap.report.about import About
from adacap.report.charts import Chart, chart
from adacap.report.prediction_figures import (
    IntervalCoverage,
    Predictions,
    confusion,
    residuals,
    roc,
)

__all__ = ["add_class_predictions", "add_intervals", "add_predictions"]

_MOST_TARGETS = 4


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
    """Whether intervals have the coverage they promise."""
    section = page.section("Interval coverage", name="coverage")
    if numbers is None:
        section.text(f"No intervals: {reason}")
        return
    section.text(f"Intervals of 90 % by {numbers.promise}")
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


# -------------------------------------------------------------------- effects of columns

_MOST_OUTPUTS = 6


@chart.register
def _(numbers: Effect, *, unit: str = "", outputs: Any = None, **options: Any) -> Chart:
    mean, spread = (np.atleast_2d(part.T).T for part in (numbers.mean, numbers.deviation))
    names = [str(name) for name in outputs or [""]][:_MOST_OUTPUTS]
    draw = _levels if numbers.kind == "categorical" else _curve
    data = [
        entry
        for k, name in enumerate(names)
        for entry in draw(numbers, mean[:, k], spread[:, k], name)
    ]
    title = f"{numbers.name}, in years" if numbers.kind == "datetime" else numbers.name
    layout: Chart = {
        "xaxis": {"title": {"text": title}},
        "yaxis": {"title": {"text": f"mean prediction{unit}"}},
        "showlegend": len(data) > 2,
    }
    return {"data": data, "layout": layout}


def _curve(numbers: Effect, mean: Any, spread: Any, name: str) -> list[Chart]:
    """A line within the spread of the folds, and the value of missing cells."""
    known = ~numbers.is_missing
    x, y, s = _numbers(numbers.values[known], numbers.kind), mean[known], spread[known]
    band: Chart = {"type": "scatter", "mode": "lines", "fill": "toself", "opacity": 0.4}
    band |= {"x": np.r_[x, x[::-1]], "y": np.r_[y - s, (y + s)[::-1]], "name": "spread of folds"}
    band |= {"line": {"width": 0}, "fillcolor": "rgba(138,147,160,0.3)", "hoverinfo": "skip"}
    line: Chart = {"type": "scatter", "mode": "lines+markers", "x": x, "y": y}
    line |= {"name": name or "mean prediction", "customdata": s, "marker": {"size": 5}}
    line["hovertemplate"] = "%{x:.4g}<br>%{y:.4g} ± %{customdata:.2g}"
    found = [band, line]
    if (~known).any() and len(x):
        flat: Chart = {"type": "scatter", "mode": "lines", "x": x[[0, -1]]}
        flat |= {"y": np.repeat(mean[~known][:1], 2), "name": f"{name} missing".strip()}
        found.append(flat | {"line": {"dash": "dot"}})
    return found


def _levels(numbers: Effect, mean: Any, spread: Any, name: str) -> list[Chart]:
    """A bar for each level, and one for missing cells."""
    names = ["missing" if value is None else str(value) for value in numbers.values]
    bars: Chart = {"type": "bar", "x": names, "y": mean, "name": name or "mean prediction"}
    bars |= {"error_y": {"array": spread}, "hovertemplate": "%{x}<br>%{y:.4g}"}
    return [bars]


def _numbers(values: Any, kind: str) -> Any:
    if kind != "datetime":
        return values.astype(np.float64)
    return 1970 + values.astype("M8[s]").astype(np.float64) / (365.2425 * 86_400)


def add_effects(page: Page, found: Effects, unit: str = "") -> None:
    """How predictions change along the columns that drive them, and which act together."""
    section = page.section("How predictions change", name="effects")
    section.text(
        f"Mean {found.output} of {found.n_rows} test rows with one column set to the same value in "
        f"all of them. Bands and strokes are the deviation over {found.n_models} models."
    )
    own = f", in {unit}" if unit else f", {found.output}" if found.output != "prediction" else ""
    for effect in found.effects:
        section.chart(
            chart(effect, unit=own, outputs=found.output_names),
            height=300,
            caption=f"{effect.name}: {effect.share:.0%} of what moves predictions.",
        )
    if found.interactions:
        section.table(
            [
                Column("column"),
                Column("with"),
                Column("H", "number", 2, help="0: effects add up; 1: nothing but interaction"),
                Column("strength", "number", help="deviation of the joint effect from the sum"),
            ],
            [[*pair.names, pair.h, pair.strength] for pair in found.interactions],
            caption="Columns that act together, of the strongest ones: Friedman's H, and how far "
            "the joint effect is from the sum of both, in units of the prediction.",
        )
