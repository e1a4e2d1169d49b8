"""Charts of the page, from the numbers of the figures: plain descriptions that plotly draws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap.estimators.calibration import Reliability
from adacap.report.importance import Importance
from adacap.report.prediction_figures import (
    Confusion,
    IntervalCoverage,
    Predictions,
    Residuals,
    Roc,
)
from adacap.report.scores import MethodScores
from adacap.report.training_figures import (
    CapacityPaths,
    LabelFits,
    LearningDynamics,
    WeightClusters,
)

__all__ = ["Chart", "chart", "fit_paths_chart", "scores_chart"]

Chart = dict[str, Any]

GREY = "#8a93a0"  # readable on white and on black
_MOST_POINTS = 1500
_MOST_BARS = 25


@singledispatch
def chart(numbers: Any, **options: Any) -> Chart:
    """Description of a chart with the keys ``data`` and ``layout``.

    Parameters
    ----------
    numbers : what a figure function of :mod:`adacap.report` returns
    **options
        ``target=k`` picks one of several targets.

    Returns
    -------
    dict

    Examples
    --------
    >>> from adacap.report import Confusion
    >>> chart(Confusion(np.array(["a", "b"]), np.array([[5, 1], [0, 4]]), 0.9))["data"][0]["type"]
    'heatmap'
    """
    raise TypeError(f"There is no chart of {type(numbers).__name__}.")


def _line(x: Any, y: Any, name: str, **style: Any) -> Chart:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, **style}


def _layout(x: str, y: str, **more: Any) -> Chart:
    """Axes with titles, and room for them."""
    axes: Chart = {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y, "standoff": 12}}}
    return {**axes, "margin": {"l": 60, "r": 20, "t": 26, "b": 62}, **more}


def _right(title: str) -> Chart:
    """A second scale, at the right."""
    axis: Chart = {"title": {"text": title, "standoff": 12}, "overlaying": "y", "side": "right"}
    return {**axis, "showgrid": False, "rangemode": "tozero", "tickmode": "auto", "nticks": 6}


def _upright(x: float, text: str, **place: Any) -> tuple[Chart, Chart]:
    """A vertical mark and its label."""
    line: Chart = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    line["line"] = {"color": GREY, "dash": "dot", "width": 1.5}
    label: Chart = {
        "x": x,
        "yref": "paper",
        "y": 1,
        "text": text,
        "showarrow": False,
        "yanchor": "bottom",
    }
    return line, {**label, "font": {"color": GREY}, **place}


@chart.register
def _(numbers: LearningDynamics, **options: Any) -> Chart:
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
                  line={"color": GREY, "width": 1}, opacity=0.5, legendgroup="others",
                  showlegend=i == 0, hoverinfo="skip", zorder=-1)
        )  # fmt: skip
    mark, label = _upright(numbers.best_iter, "kept")
    layout = _layout("iteration", numbers.valid_name, shapes=[mark], annotations=[label])
    layout["hovermode"] = "x unified"
    shown = numbers.train if numbers.valid is None else np.r_[numbers.train, numbers.valid]
    if same and numbers.train_name == "R²" and np.nanmin(shown) < -0.5:
        layout["yaxis"] |= {"range": [-0.5, 1.05], "title": {"text": "R² (cut at −0.5)"}}
    if not same:
        layout["yaxis2"] = _right(numbers.train_name)
        layout["margin"]["r"] = 60
    return {"data": data, "layout": layout}


@chart.register
def _(numbers: CapacityPaths, **options: Any) -> Chart:
    data = []
    for k, (lam, at, dof) in enumerate(
        zip(numbers.lam, numbers.dof_iteration, numbers.dof, strict=True)
    ):
        first = {"showlegend": k == 0, "opacity": 1.0 if k == 0 else 0.45}
        data += [
            _line(np.arange(len(lam)), lam, "λ", line={"color": None, "width": 2 if k == 0 else 1},
                  legendgroup="lam", **first),
            {**_line(at, dof, "effective degrees of freedom", legendgroup="dof", yaxis="y2",
                     line={"dash": "dash", "width": 2 if k == 0 else 1}, **first),
             "mode": "lines+markers" if k == 0 else "lines", "marker": {"size": 5}},
        ]  # fmt: skip
    for entry in data:  # one colour per quantity, whatever the number of nets
        entry["line"]["color"] = "#1f77d0" if entry["name"] == "λ" else "#e0701a"
    mark, label = _upright(numbers.best_iter[0], "kept")
    layout = _layout("iteration", "λ", shapes=[mark], annotations=[label], hovermode="x unified")
    layout["yaxis"] |= {"type": "log", "exponentformat": "power", "dtick": 1}
    layout["yaxis2"] = _right("degrees of freedom")
    layout["margin"]["r"] = 60
    spread = np.concatenate(numbers.lam)
    if spread.max() / max(spread.min(), 1e-300) < 10:
        layout["yaxis"] |= {"type": "linear", "dtick": None, "rangemode": "normal"}
    return {"data": data, "layout": layout}


@chart.register
def _(numbers: LabelFits, **options: Any) -> Chart:
    bars: Chart = {
        "type": "histogram",
        "x": numbers.permuted,
        "nbinsx": 30,
        "marker": {"opacity": 0.8},
    }
    bars |= {"name": "permuted labels", "hovertemplate": "loss %{x}<br>%{y} permutations"}
    top: Chart = {"type": "scatter", "mode": "markers+text", "x": [numbers.true], "y": [0]}
    top |= {"name": "true labels", "text": ["true labels"], "textposition": "top center"}
    top |= {"marker": {"size": 15, "symbol": "diamond"}, "cliponaxis": False}
    top["hovertemplate"] = "true labels: %{x:.4g}"
    mark, label = _upright(numbers.baseline, "best constant", xanchor="right")
    low = min(numbers.true, float(numbers.permuted.min()))
    high = max(numbers.baseline, float(numbers.permuted.max()))
    layout = _layout(f"loss of the fit: {numbers.name}", "permutations")
    layout["xaxis"]["range"] = [low - 0.12 * (high - low), high + 0.05 * (high - low)]
    layout |= {"shapes": [mark], "annotations": [label], "showlegend": False}
    return {"data": [bars, top], "layout": layout}


def fit_paths_chart(numbers: LabelFits) -> Chart | None:
    """Fit of true and permuted labels at each iteration; None where nothing was permuted."""
    if np.isnan(numbers.permuted_path).all():
        return None
    x = np.arange(len(numbers.true_path))
    data = [
        _line(x, numbers.permuted_path, "permuted labels"),
        _line(x, numbers.true_path, "true labels"),
    ]
    layout = _layout("iteration", numbers.name, hovermode="x unified")
    layout["yaxis"]["rangemode"] = "tozero"
    return {"data": data, "layout": layout}


def scores_chart(rows: Sequence[MethodScores]) -> Chart:
    """The last score that is an error, as a bar per method, the model itself first."""
    name = next(key for key in rows[0].scores if key.startswith(("RMSE", "log-loss")))
    values = [row.scores[name] for row in rows]
    bars: Chart = {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": [row.method for row in rows],
    }
    bars |= {"text": [f"{value:.4g}" for value in values], "textposition": "outside"}
    bars["cliponaxis"] = False
    bars |= {"hovertemplate": "%{y}: %{x:.5g}<extra></extra>"}
    bars["marker"] = {"opacity": [1.0] + [0.5] * (len(rows) - 1)}
    layout = _layout(f"test {name}, lower is better", "")
    layout["xaxis"]["range"] = [0, 1.12 * max(values)]
    layout["yaxis"] |= {"autorange": "reversed", "type": "category", "ticklabelstandoff": 4}
    return {"data": [bars], "layout": layout}


@chart.register
def _(numbers: WeightClusters, **options: Any) -> Chart:
    k = len(numbers.correlation)
    heat: Chart = {
        "type": "heatmap",
        "z": numbers.correlation.round(2),
        "zmin": 0,
        "zmax": 1,
        "colorscale": "Viridis",
        "hovertemplate": "units %{x} and %{y}<br>|correlation| %{z}<extra></extra>",
        "colorbar": {"title": {"text": "|correlation|", "side": "top"}, "orientation": "h"}
        | {"y": -0.06, "yanchor": "top", "len": 0.5, "thickness": 10},
    }
    axis: Chart = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "range": [-0.5, k - 0.5],
    }
    layout = _layout("", "")
    layout["xaxis"] |= axis | {"constrain": "domain"}
    layout["yaxis"] |= axis | {"scaleanchor": "x", "autorange": "reversed", "constrain": "domain"}
    layout["margin"] = {"l": 20, "r": 20, "t": 10, "b": 90}
    return {"data": [heat], "layout": layout}


@chart.register
def _(numbers: Importance, **options: Any) -> Chart:
    top = slice(None, _MOST_BARS)
    bars: Chart = {
        "type": "bar",
        "orientation": "h",
        "x": numbers.mean[top],
        "y": np.arange(len(numbers.names[top])),
        "customdata": list(numbers.names[top]),
        "error_x": {"type": "data", "array": numbers.deviation[top], "color": GREY, "width": 2},
        "hovertemplate": "%{customdata}: %{x:.4g}<extra></extra>",
    }
    layout = _layout(f"increase of {numbers.loss}", "")
    layout["yaxis"] |= {"autorange": "reversed", "ticklabelstandoff": 4, "tickvals": bars["y"]}
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


@chart.register
def _(numbers: Predictions, *, target: int = 0, **options: Any) -> Chart:
    rows = _sample(len(numbers.actual))
    actual, predicted = numbers.actual[rows, target], numbers.predicted[rows, target]
    points: Chart = {"type": "scatter", "mode": "markers", "x": predicted, "y": actual}
    points |= {"name": "test rows", "marker": {"size": 6, "opacity": 0.75}, "customdata": rows}
    points["hovertemplate"] = (
        "row %{customdata}<br>actual %{y:.5g}<br>predicted %{x:.5g}<extra></extra>"
    )
    data = [points]
    if numbers.lower is not None and numbers.upper is not None:
        data.append(_interval_bars(numbers, rows, target))
    low = float(min(actual.min(), predicted.min()))
    high = float(max(actual.max(), predicted.max()))
    data.append(
        _line([low, high], [low, high], "prediction = truth", hoverinfo="skip",
              line={"color": GREY, "dash": "dot"})
    )  # fmt: skip
    return {"data": data, "layout": _layout("predicted", "actual")}


def _interval_bars(numbers: Predictions, rows: npt.NDArray[np.intp], target: int) -> Chart:
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
def _(numbers: Residuals, *, target: int = 0, **options: Any) -> Chart:
    rows = _sample(len(numbers.residual))
    predicted, residual = numbers.predicted[rows, target], numbers.residual[rows, target]
    points: Chart = {"type": "scatter", "mode": "markers", "x": predicted, "y": residual}
    points |= {"marker": {"size": 6, "opacity": 0.75}, "customdata": rows, "name": "test rows"}
    points["hovertemplate"] = (
        "row %{customdata}<br>predicted %{x:.5g}<br>residual %{y:.4g}<extra></extra>"
    )
    bars: Chart = {"type": "histogram", "y": residual, "nbinsy": 30, "xaxis": "x2", "yaxis": "y"}
    bars |= {"name": "distribution", "marker": {"opacity": 0.8}}
    bars["hovertemplate"] = "%{y}: %{x} rows<extra></extra>"
    layout = _layout("predicted", "residual (actual − predicted)", showlegend=False, bargap=0.05)
    layout["xaxis"]["domain"] = [0, 0.77]
    layout["xaxis2"] = {"domain": [0.8, 1], "title": {"text": "rows"}, "showgrid": False}
    line: Chart = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0}
    layout["shapes"] = [{**line, "line": {"color": GREY, "dash": "dot"}}]
    return {"data": [points, bars], "layout": layout}


@chart.register
def _(numbers: IntervalCoverage, **options: Any) -> Chart:
    x = 100 * numbers.level
    low, high = 100 * (numbers.level - 2 * numbers.error), 100 * (numbers.level + 2 * numbers.error)
    band: Chart = {"type": "scatter", "mode": "lines", "fill": "toself", "opacity": 0.4}
    band |= {"x": np.r_[x, x[::-1]], "y": np.r_[low.clip(0), high.clip(max=100)[::-1]]}
    band |= {"line": {"width": 0}, "fillcolor": "rgba(138,147,160,0.3)", "hoverinfo": "skip"}
    band["name"] = f"chance, {numbers.n_rows} rows"
    even = _line(x, x, "as promised", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    seen = _line(x, 100 * numbers.observed, f"observed ({numbers.method})")
    seen |= {"mode": "lines+markers", "marker": {"size": 8}}
    seen |= {"customdata": numbers.width}
    seen["hovertemplate"] = (
        "asked for %{x:.0f} %<br>inside %{y:.1f} %<br>median width %{customdata:.3g} sd"
        "<extra></extra>"
    )
    layout = _layout("coverage asked for, %", "test rows inside, %")
    return {"data": [band, even, seen], "layout": layout}


@chart.register
def _(numbers: Confusion, **options: Any) -> Chart:
    names = [_short(str(label), 16) for label in numbers.classes]
    totals = numbers.counts.sum(1, keepdims=True)
    shares = np.divide(numbers.counts, totals, out=np.zeros(numbers.counts.shape), where=totals > 0)
    heat: Chart = {
        "type": "heatmap", "x": names, "y": names, "z": (100 * shares).round(1),
        "text": numbers.counts, "zmin": 0, "zmax": 100, "xgap": 1, "ygap": 1,
        "colorscale": [[0, "#dfe9f7"], [1, "#1f5fbf"]],
        "hovertemplate": "actual %{y}, predicted %{x}<br>%{text} rows, %{z} %<extra></extra>",
        "colorbar": {"title": {"text": "% of the row"}, "thickness": 12},
    }  # fmt: skip
    if len(names) <= 12:
        heat["texttemplate"] = "%{text}"
    layout = _layout("predicted", "actual")
    layout["xaxis"] |= {"type": "category"}
    layout["yaxis"] |= {"type": "category", "autorange": "reversed"}
    return {"data": [heat], "layout": layout}


@chart.register
def _(numbers: Roc, **options: Any) -> Chart:
    data = []
    curves = zip(
        numbers.classes, numbers.false_positive, numbers.true_positive, numbers.auc, strict=True
    )
    for label, false, true, area in list(curves)[:12]:
        name = f"{_short(str(label), 16)} (AUC {area:.3f})"
        pick = np.unique(np.linspace(0, len(false) - 1, 300).round().astype(np.intp))
        data.append(_line(false[pick], true[pick], name, line={"shape": "hv", "width": 2}))
    chance = _line([0, 1], [0, 1], "chance", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    layout = _layout("false positive rate", "true positive rate")
    layout["xaxis"]["range"] = layout["yaxis"]["range"] = [-0.03, 1.03]
    return {"data": [*data, chance], "layout": layout}


@chart.register
def _(numbers: Reliability, **options: Any) -> Chart:
    seen = _line(numbers.predicted, numbers.observed, "observed")
    size = 6 + 14 * np.sqrt(numbers.count / max(float(numbers.count.max()), 1.0))
    seen |= {"mode": "lines+markers", "marker": {"size": size}, "customdata": numbers.count}
    seen["hovertemplate"] = (
        "predicted %{x:.3f}<br>came true %{y:.3f}<br>%{customdata} rows<extra></extra>"
    )
    even = _line([0, 1], [0, 1], "perfect", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    layout = _layout("predicted probability", "share that came true")
    layout["xaxis"]["range"] = layout["yaxis"]["range"] = [-0.06, 1.06]
    return {"data": [seen, even], "layout": layout}
