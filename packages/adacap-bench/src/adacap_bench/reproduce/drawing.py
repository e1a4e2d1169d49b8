"""The drawings of a figure: PNG by matplotlib, and a page whose values can be read off."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from adacap.files.atomic import drafted
from adacap_bench.reproduce.figure import FigureData, Panel, Series, labels

__all__ = ["write_html", "write_png"]

_COLOURS = (
    "#3568a8", "#c4532d", "#3a8f5d", "#8457a8", "#b58b00", "#4d9fb5", "#b04673", "#6b6b6b",
)  # fmt: skip
_PER_LINE = 4
_ALL_AXES = {"line": "-", "dashed": "--"}


def write_png(figure: FigureData, path: Path) -> None:
    """Draw a figure as a picture, replacing one that is there."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    n_columns = min(len(figure.panels), _PER_LINE)
    n_lines = math.ceil(len(figure.panels) / _PER_LINE)
    width = 5.2 if n_columns == 1 else 3.4 * n_columns
    canvas = Canvas(figsize=(width, 0.6 + 3.0 * n_lines), layout="constrained")
    FigureCanvasAgg(canvas)
    names = labels(figure.panels)
    for place, panel in enumerate(figure.panels, 1):
        axes = canvas.add_subplot(n_lines, n_columns, place)
        _draw_panel(axes, panel, names)
    if len(names) > 1:
        handles, texts = canvas.axes[0].get_legend_handles_labels()
        columns = max(1, min(len(texts), int(width // 2)))
        canvas.legend(handles, texts, loc="outside lower center", ncols=columns, fontsize=8)
    with drafted(path, force=True) as draft:
        canvas.savefig(draft, dpi=90, metadata={"Software": None})


def _draw_panel(axes: Any, panel: Panel, names: list[str]) -> None:
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.matrix:
        axes.imshow(panel.matrix, vmin=0, vmax=1, cmap="viridis", interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    bars = [one for one in panel.series if one.style == "bar"]
    for series in panel.series:
        colour = _colour(series, names)
        if series.style == "bar":
            _draw_bars(axes, series, colour, bars)
        else:
            axes.errorbar(
                series.x, series.y, yerr=series.error or None, label=series.name, color=colour,
                linestyle=_ALL_AXES[series.style], marker="." if len(series.x) < 30 else None,
            )  # fmt: skip
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:  # setting a scale takes away the names of bars
        axes.set_yscale("log")
    axes.grid(alpha=0.25)


def _colour(series: Series, names: list[str]) -> str:
    """The same for our curve and the paper's, which is dashed; bars need two colours."""
    if series.style == "bar":
        return _COLOURS[names.index(series.name) % len(_COLOURS)]
    stems = list(dict.fromkeys(_stem(name) for name in names))
    return _COLOURS[stems.index(_stem(series.name)) % len(_COLOURS)]


def _stem(name: str) -> str:
    return name.removesuffix("ours").removesuffix("paper")


def _draw_bars(axes: Any, series: Series, colour: str, bars: list[Series]) -> None:
    """Bars of one series, beside those of the others."""
    texts = list(dict.fromkeys(text for one in bars for text in one.x))
    width = 0.8 / len(bars)
    shift = (bars.index(series) - (len(bars) - 1) / 2) * width
    places = [texts.index(text) + shift for text in series.x]
    axes.barh(
        places, series.y, height=width, xerr=series.error or None, label=series.name, color=colour
    )
    axes.set_yticks(range(len(texts)), texts, fontsize=8)
    if series is bars[0]:
        axes.invert_yaxis()


def write_html(figure: FigureData, title: str, path: Path, table: list[list[object]]) -> None:
    """Write a page with the figure, whose values can be read off, and its table, titles first."""
    from adacap.page import Page

    page = Page(title)
    section = page.section("Figure", in_contents=False).text(figure.caption)
    names = labels(figure.panels)
    for panel in figure.panels:
        section.chart(_described(panel, names), caption=panel.title)
    page.section("Numbers", in_contents=False).table([str(name) for name in table[0]], table[1:])
    page.write(path, force=True)


def _described(panel: Panel, names: list[str]) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": panel.x_label}, "type": "log" if panel.log_x else "linear"},
        "yaxis": {"title": {"text": panel.y_label}, "type": "log" if panel.log_y else "linear"},
    }
    if panel.matrix:
        rows = [list(row) for row in panel.matrix]
        return {
            "data": [{"type": "heatmap", "z": rows, "zmin": 0, "zmax": 1}],
            "layout": {"yaxis": {"autorange": "reversed", "scaleanchor": "x"}},
        }
    traces = [_trace(one, _colour(one, names)) for one in panel.series]
    if any(one.style == "bar" for one in panel.series):
        layout["yaxis"]["autorange"] = "reversed"
    return {"data": traces, "layout": layout}


def _trace(series: Series, colour: str) -> dict[str, Any]:
    bar = series.style == "bar"
    values, places = list(series.y), list(series.x)
    trace: dict[str, Any] = {
        "name": series.name,
        "x": values if bar else places,
        "y": places if bar else values,
        "marker": {"color": colour},
    }
    if series.error:
        trace["error_x" if bar else "error_y"] = {"array": list(series.error)}
    if bar:
        return {**trace, "type": "bar", "orientation": "h"}
    dash = "dash" if series.style == "dashed" else "solid"
    mode = "lines+markers" if len(series.x) < 30 else "lines"
    return {**trace, "type": "scatter", "mode": mode, "line": {"dash": dash, "color": colour}}
