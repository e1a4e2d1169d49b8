"""A stranger's figure of the report: numbers, a chart of them, a place on the page."""

import numpy as np

from adacap import AdaCapRegressor
from adacap.report import build_report


def recipe(model, X, y, path):
    page = build_report(model, X, y)
    errors = np.sort(np.abs(y - model.predict(X)))
    line = {
        "type": "scatter",
        "x": errors.tolist(),
        "y": np.linspace(0, 1, len(errors)).tolist(),
    }
    axes = {"xaxis": {"title": {"text": "error"}}, "yaxis": {"title": {"text": "share of rows"}}}
    section = page.section("Errors, sorted", name="errors")
    section.chart({"data": [line], "layout": axes}, caption="Share of rows below each error.")
    return page.write(path)


def test_a_new_figure_stands_on_the_page(recipe, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X[:40], X[:40, 0])
    html = recipe(model, X[40:], X[40:, 0], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "id='errors'" in html
    assert "share of rows" in html
    assert "Share of rows below each error." in html
