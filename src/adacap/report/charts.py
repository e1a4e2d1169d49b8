"""Charts of the page, from the numbers of the figures: descriptions in the words of plotly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap._typing import Floats
from adacap.estimators.calibration import Reliability
from adacap.explain.importance import Importance
from adacap.report import prediction_figures as of_rows
from adacap.report import training_figures as of_nets
from adacap.report.scores import MethodScores, error_name
from adacap.text import number

__all__ = ["Chart", "band", "chart", "fit_paths_chart", "scores_chart"]

Chart = dict[str, Any]

GREY = "#8a93a0"  # readable on white and on black
_MOST_POINTS = 1500
_MOST_BARS = 25
_STEPS = "iteration (training steps)"


@singledispatch
def chart(numbers: Any, **options: Any) -> Chart:
    """Description of a chart with the keys ``data`` and ``layout``.

    ``numbers`` is what a figure function of :mod:`adacap.report` returns. Of the options,
    ``target=k`` picks one of several targets, ``name`` is what the axes call it, and ``rows`` are
    the numbers of the test rows in their file.

    Examples
    --------
    >>> from adacap.report import Confusion
    >>> chart(Confusion(np.array(["a", "b"]), np.array([[5, 1], [0, 4]]), 0.9))["data"][0]["type"]
    'heatmap'
    """
    raise TypeError(f"There is no chart of {type(numbers).__name__}.")


def _line(x: Any, y: Any, name: str, **style: Any) -> Chart:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, **style}


def band(x: Floats, low: Floats, high: Floats, name: str) -> Chart:
    """The area between two lines."""
    return {
        "type": "scatter", "mode": "lines", "fill": "toself", "opacity": 0.4, "name": name,
        "x": np.r_[x, x[::-1]], "y": np.r_[low, high[::-1]],
        "line": {"width": 0}, "fillcolor": "rgba(138,147,160,0.3)", "hoverinfo": "skip",
    }  # fmt: skip


def _layout(x: str, y: str, **more: Any) -> Chart:
    """Axes with titles."""
    return {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}, **more}


def _right(title: str) -> Chart:
    """A second scale, at the right."""
    return {"title": {"text": title}, "side": "right", "showgrid": False, "rangemode": "tozero"}


def _upright(x: float, text: str) -> tuple[Chart, Chart]:
    """A vertical mark and its label above the plot."""
    line: Chart = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    return line, {"x": x, "yref": "paper", "y": 1, "text": text}


def _bars(values: Any, edges: Floats) -> Chart:
    """How many values lie between each two edges, as bars that touch."""
    counts = np.histogram(values, edges)[0]
    middles = (edges[1:] + edges[:-1]) / 2
    return {"type": "bar", "x": middles, "y": counts, "width": float(edges[1] - edges[0])}


def _edges(values: Any, most: int = 30) -> Floats:
    """Edges of bins, few for few values."""
    finite = np.asarray(values, dtype=np.float64)
    bins = int(np.clip(2 * np.sqrt(len(finite)), 5, most))
    return np.histogram_bin_edges(finite, bins)


@chart.register
def _(numbers: of_nets.LearningDynamics, **options: Any) -> Chart:
    same = numbers.train_name == numbers.valid_name
    x, data = numbers.iteration, []
    train = _line(x, numbers.train, f"training rows, {numbers.train_name}", line={"width": 2})
    data.append(train if same else {**train, "yaxis": "y2"})
    if numbers.valid is not None:
        name = f"held-out rows, {numbers.valid_name}"
        data.append(_line(x[: len(numbers.valid)], numbers.valid, name, line={"width": 2}))
    for i, other in enumerate(numbers.others):
        data.append(
            _line(np.arange(len(other)), other, "held-out rows, other nets",
                  line={"color": GREY, "width": 1}, opacity=0.5,
                  showlegend=i == 0, hoverinfo="skip", zorder=-1)
        )  # fmt: skip
    mark, label = _upright(numbers.best_iter, "kept")
    layout = _layout(_STEPS, numbers.valid_name, shapes=[mark], annotations=[label])
    layout["hovermode"] = "x unified"
    shown = numbers.train if numbers.valid is None else np.r_[numbers.train, numbers.valid]
    if same and numbers.train_name == "R²" and np.nanmin(shown) < -0.5:
        layout["yaxis"] |= {"range": [-0.5, 1.05], "title": {"text": "R² (cut at −0.5)"}}
    if not same:
        layout["yaxis2"] = _right(numbers.train_name)
    return {"data": data, "layout": layout}


@chart.register
def _(numbers: of_nets.CapacityPaths, **options: Any) -> Chart:
    data = []
    for k, (lam, at, dof) in enumerate(
        zip(numbers.lam, numbers.dof_iteration, numbers.dof, strict=True)
    ):
        first = {"showlegend": k == 0, "opacity": 1.0 if k == 0 else 0.45}
        data += [
            _line(np.arange(len(lam)), lam, "λ",
                  line={"color": "var(--c1)", "width": 2 if k == 0 else 1}, **first),
            {**_line(at, dof, "effective degrees of freedom", yaxis="y2", **first,
                     line={"color": "var(--c7)", "dash": "dash", "width": 2 if k == 0 else 1}),
             "mode": "lines+markers" if k == 0 else "lines", "marker": {"size": 5}},
        ]  # fmt: skip
    for entry in data[2:]:  # the pointer reads the first net
        entry["hoverinfo"] = "skip"
    mark, label = _upright(numbers.best_iter[0], "kept")
    layout = _layout(_STEPS, "λ (no unit)", shapes=[mark], annotations=[label])
    layout |= {"hovermode": "x unified", "yaxis2": _right("degrees of freedom (a count)")}
    spread = np.concatenate(numbers.lam)
    if spread.max() / max(spread.min(), 1e-300) >= 10:
        layout["yaxis"]["type"] = "log"
    return {"data": data, "layout": layout}


@chart.register
def _(numbers: of_nets.LabelFits, **options: Any) -> Chart:
    bars = _bars(numbers.permuted, _edges(numbers.permuted))
    bars |= {"name": "permuted labels", "hovertemplate": "loss about %{x:.4g}<br>%{y} permutations"}
    bars["marker"] = {"opacity": 0.8}
    top: Chart = {"type": "scatter", "mode": "markers+text", "x": [numbers.true], "y": [0]}
    top |= {"name": "true labels", "text": ["true labels"], "textposition": "top center"}
    top |= {"marker": {"size": 15, "symbol": "diamond"}, "cliponaxis": False}
    top["hovertemplate"] = "true labels: %{x:.4g}"
    mark, label = _upright(numbers.baseline, "best constant")
    low = min(numbers.true, float(numbers.permuted.min()))
    high = max(numbers.baseline, float(numbers.permuted.max()))
    layout = _layout(f"loss of the fit: {numbers.name}", "permutations (a count)")
    layout["xaxis"]["range"] = [low - 0.12 * (high - low), high + 0.05 * (high - low)]
    layout |= {"shapes": [mark], "annotations": [label], "showlegend": False}
    return {"data": [bars, top], "layout": layout}


def fit_paths_chart(numbers: of_nets.LabelFits) -> Chart | None:
    """Fit of true and permuted labels at each iteration; None where nothing was permuted."""
    if np.isnan(numbers.permuted_path).all():
        return None
    x = np.arange(len(numbers.true_path))
    data = [
        _line(x, numbers.permuted_path, "permuted labels"),
        _line(x, numbers.true_path, "true labels"),
    ]
    layout = _layout(_STEPS, numbers.name, hovermode="x unified")
    layout["yaxis"]["rangemode"] = "tozero"
    return {"data": data, "layout": layout}


def scores_chart(rows: Sequence[MethodScores], own: str, unit: str = "") -> Chart:
    """The error of each method as a bar, in the given order; that of ``own`` is highlighted."""
    name = error_name(rows[0])
    values = [row.scores[name] for row in rows]
    bars: Chart = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": [row.method for row in rows],
        "text": [number(value) for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertemplate": f"%{{y}}<br>{name} %{{x:.5g}}",
        "marker": {"opacity": [1.0 if row.method == own else 0.5 for row in rows]},
    }
    layout = _layout(f"test {name}{unit}: less is better", "")
    layout["xaxis"]["range"] = [0, 1.15 * max(values)]
    layout["yaxis"] |= {"autorange": "reversed", "type": "category"}
    return {"data": [bars], "layout": layout}


@chart.register
def _(numbers: of_nets.WeightClusters, **options: Any) -> Chart:
    heat: Chart = {
        "type": "heatmap",
        "z": numbers.correlation.round(2),
        "zmin": 0,
        "zmax": 1,
        "colorscale": "Viridis",
        "hovertemplate": "units %{x} and %{y} of this order<br>|correlation| %{z}",
        "colorbar": {"title": {"text": "|correlation|"}},
    }
    layout = _layout("units, like ones side by side", "units, in the same order")
    layout["xaxis"] |= {"showticklabels": False, "showgrid": False}
    layout["yaxis"] |= {"showticklabels": False, "showgrid": False}
    layout["yaxis"] |= {"scaleanchor": "x", "autorange": "reversed"}
    return {"data": [heat], "layout": layout}


@chart.register
def _(numbers: Importance, *, unit: str = "", **options: Any) -> Chart:
    top = slice(None, _MOST_BARS)
    bars: Chart = {
        "type": "bar",
        "orientation": "h",
        "x": numbers.mean[top],
        "y": np.arange(len(numbers.names[top])),
        "customdata": list(numbers.names[top]),
        "error_x": {"array": numbers.error[top]},
        "hovertemplate": "%{customdata}<br>%{x:.4g}",
    }
    layout = _layout(f"increase of the {numbers.loss}, in {unit or numbers.unit}", "")
    layout["yaxis"] |= {"autorange": "reversed", "showgrid": False, "tickvals": bars["y"]}
    layout["yaxis"]["ticktext"] = [_short(name) for name in numbers.names[top]]
    layout["bargap"] = 0.3
    return {"data": [bars], "layout": layout}


def _short(name: str, most: int = 22) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _sample(n: int) -> npt.NDArray[np.intp]:
    """Rows to draw: all, or as many as a page can hold, in order."""
    if n <= _MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MOST_POINTS, replace=False))


def _points(x: Any, y: Any, rows: npt.NDArray[np.intp], names: Any, text: str) -> Chart:
    """Test rows by their positions and what they are called."""
    return {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "name": "test rows",
        "marker": {"size": 6, "opacity": 0.75},
        "customdata": rows if names is None else np.asarray(names)[rows],
        "hovertemplate": f"row %{{customdata}}<br>{text}",
    }  # fmt: skip


@chart.register
def _(
    numbers: of_rows.Predictions,
    *,
    target: int = 0,
    name: str = "",
    rows: Any = None,
    **options: Any,
) -> Chart:
    of, shown = f" {name}" if name else "", rows
    rows = _sample(len(numbers.actual))
    actual, predicted = numbers.actual[rows, target], numbers.predicted[rows, target]
    text = "actual %{y:.5g}<br>predicted %{x:.5g}"
    data = [_points(predicted, actual, rows, shown, text)]
    if numbers.lower is not None and numbers.upper is not None:
        data.append(_interval_bars(numbers, rows, target))
    low = float(min(actual.min(), predicted.min()))
    high = float(max(actual.max(), predicted.max()))
    data.append(
        _line([low, high], [low, high], "prediction = truth", hoverinfo="skip",
              line={"color": GREY, "dash": "dot"})
    )  # fmt: skip
    return {"data": data, "layout": _layout(f"predicted{of}", f"actual{of}")}


def _interval_bars(numbers: of_rows.Predictions, rows: npt.NDArray[np.intp], target: int) -> Chart:
    """Vertical strokes from the lower to the upper bound of each row."""
    assert numbers.lower is not None
    assert numbers.upper is not None
    lower, upper = numbers.lower[rows, target], numbers.upper[rows, target]
    gap = np.full(len(rows), np.nan)
    x = np.column_stack([numbers.predicted[rows, target], numbers.predicted[rows, target], gap])
    bounds = np.column_stack([lower, upper, gap])
    bounds[~np.isfinite(bounds)] = np.nan
    name = f"{100 * numbers.coverage:g} % interval ({numbers.method})"
    line: Chart = {"color": GREY, "width": 1}
    return _line(
        x.ravel(), bounds.ravel(), name, line=line, opacity=0.5, hoverinfo="skip", zorder=-1
    )


@chart.register
def _(numbers: of_rows.Residuals, *, target: int = 0, name: str = "", rows: Any = None) -> Chart:
    of, shown = f" {name}" if name else "", rows
    rows = _sample(len(numbers.residual))
    predicted, residual = numbers.predicted[rows, target], numbers.residual[rows, target]
    text = "predicted %{x:.5g}<br>residual %{y:.4g}"
    points = _points(predicted, residual, rows, shown, text)
    every = numbers.residual[:, target]
    bars = _bars(every, _edges(every))
    bars |= {"x": bars["y"], "y": bars["x"], "orientation": "h", "xaxis": "x2"}
    bars |= {"marker": {"color": "var(--c1)", "opacity": 0.7}}
    bars["hovertemplate"] = "residual about %{y:.4g}<br>%{x} rows"
    unit = f", in units of {name}" if name else ""
    layout = _layout(f"predicted{of}", f"actual − predicted{unit}", showlegend=False)
    layout["xaxis"]["domain"] = [0, 0.75]
    layout["xaxis2"] = {"domain": [0.82, 1], "title": {"text": "test rows"}, "showgrid": False}
    line: Chart = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0}
    return {"data": [points, bars], "layout": {**layout, "shapes": [line]}}


@chart.register
def _(numbers: of_rows.IntervalCoverage, **options: Any) -> Chart:
    x = 100 * numbers.level
    low, high = 100 * (numbers.level - 2 * numbers.error), 100 * (numbers.level + 2 * numbers.error)
    chance = f"chance, {numbers.n_rows} rows"
    between = band(x, low.clip(0), high.clip(max=100), chance)
    even = _line(x, x, "as asked for", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    seen = _line(x, 100 * numbers.observed, f"observed ({numbers.method})")
    seen |= {"mode": "lines+markers", "marker": {"size": 8}}
    seen |= {"customdata": numbers.width}
    seen["hovertemplate"] = (
        "asked for %{x:.0f} %<br>inside %{y:.1f} %"
        "<br>median width %{customdata:.3g} standard deviations of the target"
    )
    layout = _layout("coverage asked for, %", "test rows inside, %")
    return {"data": [between, even, seen], "layout": layout}


@chart.register
def _(numbers: of_rows.Confusion, **options: Any) -> Chart:
    names = [_short(str(label), 16) for label in numbers.classes]
    totals = numbers.counts.sum(1, keepdims=True)
    shares = np.divide(numbers.counts, totals, out=np.zeros(numbers.counts.shape), where=totals > 0)
    heat: Chart = {
        "type": "heatmap", "x": names, "y": names, "z": (100 * shares).round(1),
        "text": numbers.counts, "zmin": 0, "zmax": 100,
        "colorscale": [[0, "var(--panel)"], [1, "var(--accent)"]],
        "hovertemplate": "actual %{y}, predicted %{x}<br>%{text} rows, %{z} % of this class",
        "colorbar": {"title": {"text": "% of the actual class"}},
    }  # fmt: skip
    if len(names) <= 12:
        heat["texttemplate"] = "%{text}"
    layout = _layout("predicted class", "actual class")
    layout["xaxis"] |= {"type": "category"}
    layout["yaxis"] |= {"type": "category", "autorange": "reversed"}
    return {"data": [heat], "layout": layout}


@chart.register
def _(numbers: of_rows.Roc, **options: Any) -> Chart:
    data = []
    curves = zip(
        numbers.classes, numbers.false_positive, numbers.true_positive, numbers.auc, strict=True
    )
    for label, false, true, area in list(curves)[:12]:
        name = f"{_short(str(label), 16)} (AUC {area:.3f})"
        pick = np.unique(np.linspace(0, len(false) - 1, 300).round().astype(np.intp))
        data.append(_line(false[pick], true[pick], name, line={"shape": "hv", "width": 2}))
    chance = _line([0, 1], [0, 1], "chance", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    layout = _layout("false positive rate (share)", "true positive rate (share)")
    layout["xaxis"]["range"] = layout["yaxis"]["range"] = [-0.03, 1.03]
    return {"data": [*data, chance], "layout": layout}


@chart.register
def _(numbers: Reliability, **options: Any) -> Chart:
    seen = _line(numbers.predicted, numbers.observed, "observed")
    size = 6 + 14 * np.sqrt(numbers.count / max(float(numbers.count.max()), 1.0))
    seen |= {"mode": "lines+markers", "marker": {"size": size}, "customdata": numbers.count}
    seen["hovertemplate"] = "predicted %{x:.3f}<br>came true %{y:.3f}<br>%{customdata} rows"
    even = _line([0, 1], [0, 1], "perfect", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    layout = _layout("predicted probability", "share that came true")
    layout["xaxis"]["range"] = layout["yaxis"]["range"] = [-0.06, 1.06]
    return {"data": [seen, even], "layout": layout}
