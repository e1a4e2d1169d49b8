"""Sections of the page about predictions: of test rows, and the effects of columns on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adacap.explain.effects import Effect, Effects
from adacap.page import Page
from adacap.page.table import PageColumn
from adacap.report.about import About
from adacap.report.charts import Chart, band, chart
from adacap.report.prediction_figures import (
    IntervalCoverage,
    Predictions,
    confusion,
    residuals,
    roc,
)
from adacap.text import number

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
            f"{number(found.mean[k], 3)}, deviation {number(found.deviation[k], 3)}."
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
    column: Chart = {"title": {"text": numbers.name}}
    outcome: Chart = {"title": {"text": f"mean prediction{unit}"}}
    for entry in [one for one in data if one.get("fill")][1:]:
        entry["showlegend"] = False  # one key for the spread of all classes
    layout: Chart = {"xaxis": column, "yaxis": outcome, "showlegend": len(data) > 2}
    if numbers.kind == "categorical":
        layout |= {"xaxis": outcome, "yaxis": column | {"type": "category"}}
        layout["yaxis"] |= {"range": [len(numbers.values) - 0.5, -0.5], "showgrid": False}
    elif numbers.kind == "datetime":
        layout["xaxis"] |= _dates(numbers.values[~numbers.is_missing])
    return {"data": data, "layout": layout}


def _curve(numbers: Effect, mean: Any, spread: Any, name: str) -> list[Chart]:
    """A line within the spread of the folds, and the value of missing cells."""
    known = ~numbers.is_missing
    x, y, s = _numbers(numbers.values[known], numbers.kind), mean[known], spread[known]
    line: Chart = {"type": "scatter", "mode": "lines+markers", "x": x, "y": y}
    line |= {"name": name or "mean prediction", "customdata": s, "marker": {"size": 5}}
    if numbers.kind == "datetime":
        line["text"] = [str(day) for day in numbers.values[known].astype("M8[D]")]
    at = "%{text}" if numbers.kind == "datetime" else "%{x:.4g}"
    line["hovertemplate"] = at + "<br>%{y:.4g} ± %{customdata:.2g}"
    found = [band(x, y - s, y + s, "spread of folds"), line]
    if (~known).any() and len(x):
        flat: Chart = {"type": "scatter", "mode": "lines", "x": x[[0, -1]]}
        flat |= {"y": np.repeat(mean[~known][:1], 2), "name": f"{name} missing".strip()}
        found.append(flat | {"line": {"dash": "dot"}})
    return found


def _levels(numbers: Effect, mean: Any, spread: Any, name: str) -> list[Chart]:
    """A point for each level, and one for missing cells."""
    names = ["missing" if value is None else str(value) for value in numbers.values]
    points: Chart = {"type": "scatter", "mode": "markers", "marker": {"size": 9}}
    points |= {"x": mean, "y": names, "name": name or "mean prediction"}
    points |= {"error_x": {"array": spread}, "hovertemplate": "%{y}<br>%{x:.4g}"}
    return [points]


def _numbers(values: Any, kind: str) -> Any:
    return values.astype("M8[s]" if kind == "datetime" else np.float64).astype(np.float64)


def _dates(values: Any, most: int = 5) -> Chart:
    """Ticks of an axis of dates: at most this many beginnings of years, of months or of days.

    Examples
    --------
    >>> _dates(np.array(["2019-06-01", "2021-03-01"], "M8[D]"))["ticktext"]
    ['2019-06', '2019-11', '2020-04', '2020-09', '2021-02']
    """
    days = values.astype("M8[s]")
    first, last = days.min(), days.max()
    for unit in ("Y", "M", "D"):
        start, end = first.astype(f"M8[{unit}]"), last.astype(f"M8[{unit}]")
        if end - start >= 3 or unit == "D":
            break
    start += start < first
    every = -(-(int((end - start).astype(int)) + 1) // most)
    ticks = np.arange(start, end + 1, max(every, 1))
    return {"tickvals": _numbers(ticks, "datetime"), "ticktext": [str(tick) for tick in ticks]}


def add_effects(page: Page, found: Effects, unit: str = "") -> None:
    """How predictions change along the columns that drive them, and which act together."""
    section = page.section("How predictions change", name="effects")
    section.text(
        f"Mean {found.output} of {found.n_rows} test rows with one column set to the same value in "
        f"all of them. Bands and strokes are the deviation over {found.n_models} models."
    )
    if found.output_names is not None and len(found.output_names) > _MOST_OUTPUTS:
        section.text(f"The first {_MOST_OUTPUTS} of {len(found.output_names)} classes are shown.")
    own = f", in {unit}" if unit else f", {found.output}" if found.output != "prediction" else ""
    for effect in found.effects:
        section.chart(
            chart(effect, unit=own, outputs=found.output_names),
            height=90 + 24 * len(effect.values) if effect.kind == "categorical" else 300,
            caption=f"{effect.name}: {100 * effect.share:.0f} % of what moves predictions.",
        )
    if found.interactions:
        section.table(
            [
                PageColumn("column"),
                PageColumn("with"),
                PageColumn("H", "number", 2, help="0: effects add up; 1: nothing but interaction"),
                PageColumn("strength", "number", help="deviation of the joint effect from the sum"),
            ],
            [[*pair.names, pair.h, pair.strength] for pair in found.interactions],
            caption="Columns that act together, of the strongest ones: Friedman's H, and how far "
            "the joint effect is from the sum of both, in units of the prediction.",
        )
