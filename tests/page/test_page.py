"""What a page is made of, and how it behaves in a browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adacap.page import Page, PageColumn, PageTable

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
SCROLLS = "document.documentElement.scrollWidth > window.innerWidth"


def make_page(*, chart: bool = False) -> Page:
    page = Page(f"Title {HOSTILE}", f"Subtitle {HOSTILE}")
    section = page.section(f"Part {HOSTILE}").text(f"Prose {HOSTILE}").note(HOSTILE)
    section.facts({HOSTILE: HOSTILE, "rows": 3})
    columns = [
        PageColumn("name"),
        PageColumn("kind", filter=True),
        PageColumn("error", "number", 2, help="less is better"),
        PageColumn("remark", "long"),
    ]
    rows = [
        (HOSTILE, "tree", 10.0, "long " * 40),
        ("item 10", "net", 9.5, ""),
        ("item 9", "net", None, ""),
        ("plain", "tree", float("nan"), ""),
        ("small", "tree", -0.5, ""),
    ]
    section.table(columns, rows, caption=HOSTILE, search=True)
    if chart:
        figure = {
            "data": [{"type": "scatter", "x": [1, 2, 3], "y": [3.0, 1.0, 2.0], "name": HOSTILE}],
            "layout": {"title": {"text": "A line"}, "template": {"layout": {"font": {"size": 99}}}},
        }
        page.section("Chart").chart(figure, caption=f"Caption {HOSTILE}", height=300)
    return page


def names(page: Any) -> list[str]:
    rows = page.locator("tbody tr:not([hidden]) td:first-child")
    return [text.replace(HOSTILE, "hostile") for text in rows.all_inner_texts()]


def test_everything_is_escaped() -> None:
    text = make_page().render()
    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;alert(1)") >= 8


def test_a_page_is_small() -> None:
    assert len(make_page(chart=True).render().encode()) < 100_000


class Made:
    """A figure of plotly is known by this method alone."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def to_plotly_json(self) -> dict[str, Any]:
        trace = {"type": self.kind, "x": [1.0, 2.0], "y": [0.123456789, 1.0]}
        return {"data": [trace], "layout": {"template": {"a": 1}}}


def test_plotly_figures_are_taken() -> None:
    page = Page("Figure")
    page.section("Chart").chart(Made("scatter"))
    text = page.render()
    assert "0.123457" in text
    assert '"template"' not in text


def test_other_traces_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'pie'\. Known: bar, heatmap, scatter\."):
        Page("Figure").section("Chart").chart(Made("pie"))


def test_section_names_are_unique_and_plain() -> None:
    page = Page("t")
    found = [page.section(title).name for title in ("Same!", "same", "Same ", "λ")]
    assert found == ["same", "same-2", "same-3", "section"]
    assert "href='#same-2'" in page.render()


def test_misuse_is_named() -> None:
    page = Page("t")
    with pytest.raises(ValueError, match="Row 0 of the table has 1 values for 2 columns"):
        PageTable([PageColumn("a"), PageColumn("b")], [("x",)])
    with pytest.raises(ValueError, match="made of a-z, 0-9 and -, got 'A b'"):
        page.data("A b", 1)
    page.data("a", 1)
    with pytest.raises(ValueError, match="has data named 'a' already"):
        page.data("a", 2)
    with pytest.raises(ValueError, match="cannot hold '</script'"):
        page.script("x = '</SCRIPT>'")
    with pytest.raises(ValueError, match="cannot hold '</'"):
        page.style("a {} </style>")


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (PageColumn("c", "number", 3), 1.23456, "1.235"),
        (PageColumn("c", "number"), 123456.0, "123,456"),
        (PageColumn("c", "number"), -0.25, "−0.25"),
        (PageColumn("c", "number"), 3.5e12, "3.5e+12"),
        (PageColumn("c", "number", suffix=" %"), 12, "12 %"),
        (PageColumn("c"), None, "–"),
        (PageColumn("c", "number"), float("nan"), "–"),
        (PageColumn("c"), True, "True"),
    ],
)
def test_values_as_text(column: PageColumn, value: object, text: str) -> None:
    assert column.show(value) == text


def test_sorts_by_clicks_and_keys(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(make_page().write(tmp_path / "p.html"))
    head = page.locator("th", has_text="error")
    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    # By value, not by text: -0.5, 9.5, 10; what has no value is last either way.
    assert names(page) == ["small", "item 10", "hostile", "item 9", "plain"]
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert names(page) == ["hostile", "item 10", "small", "item 9", "plain"]
    page.locator("th", has_text="name").get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "none"
    assert names(page) == ["hostile", "item 9", "item 10", "plain", "small"]  # 9 before 10


def test_filters_by_choice_and_search(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(make_page().write(tmp_path / "p.html"))
    count = page.locator(".table-count")
    assert count.inner_text() == "5 rows"
    page.get_by_label("kind").select_option("net")
    assert names(page) == ["item 10", "item 9"]
    page.get_by_label("Search").fill("ITEM 9")
    assert names(page) == ["item 9"]
    assert count.inner_text() == "1 of 5 rows"
    page.get_by_label("kind").select_option("all")
    page.get_by_label("Search").fill("")
    assert count.inner_text() == "5 rows"


def test_hostile_text_is_only_text(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(make_page(chart=True).write(tmp_path / "p.html"))
    page.locator(".plot .chart-svg").first.wait_for()
    assert page.locator("h1").inner_text() == f"Title {HOSTILE}"
    assert page.locator("main img").count() == 0


def test_chart_follows_the_colour_scheme(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(make_page(chart=True).write(tmp_path / "p.html"))
    colour = "getComputedStyle(document.querySelector('.chart-svg .texts, .chart-svg text')).fill"
    light, dark = page.evaluate(colour), None
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert (light, dark) == ("rgb(88, 97, 109)", "rgb(162, 171, 182)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    # Paper is light, whatever the screen is.
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(colour) == light
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(colour) == dark


CHARTS: dict[str, dict[str, Any]] = {
    "points": {
        "data": [
            {"type": "scatter", "mode": "markers", "x": [1, 10, 100], "y": [3.0, None, 2.0],
             "customdata": [7, 8, 9], "hovertemplate": "row %{customdata}<br>%{y:.2f} at %{x}"},
        ],
        "layout": {"xaxis": {"type": "log", "title": {"text": "seconds"}}},
    },
    "bars": {
        "data": [{"type": "bar", "orientation": "h", "x": [3.0, -1.0], "y": ["a", HOSTILE],
                  "error_x": {"array": [0.5, 0.1]}, "hovertemplate": "%{y}: %{x}"}],
        "layout": {"xaxis": {"title": {"text": "error"}}, "yaxis": {"autorange": "reversed"}},
    },
    "cells": {
        "data": [{"type": "heatmap", "z": [[0, 50], [100, 25]], "x": ["p", "q"], "y": ["p", "q"],
                  "zmin": 0, "zmax": 100, "text": [[0, 5], [10, 2]], "texttemplate": "%{text}",
                  "colorscale": [[0, "var(--panel)"], [1, "var(--accent)"]],
                  "hovertemplate": "%{y} to %{x}: %{text}", "colorbar": {"title": {"text": "%"}}}],
        "layout": {"yaxis": {"autorange": "reversed"}},
    },
    "picture": {"data": [{"type": "heatmap", "z": [[0, 0.5], [1, 0.2]]}], "layout": {}},
    "two scales": {
        "data": [{"type": "scatter", "mode": "lines", "x": [0, 1], "y": [1, 2], "name": "left"},
                 {"type": "scatter", "x": [0, 1], "y": [9, 5], "name": "right", "yaxis": "y2"}],
        "layout": {"hovermode": "x unified", "yaxis2": {"side": "right"},
                   "xaxis": {"title": {"text": "step"}}},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("points", ".points path >> nth=0", ["row 7", "3.00 at 1"]),
        ("bars", ".points rect >> nth=1", [f"{HOSTILE}: −1"]),
        ("cells", ".cells rect >> nth=2", ["q to p: 10"]),
        ("picture", "image", None),
        ("two scales", ".points path >> nth=1", ["step 1", "left: 2", "right: 5"]),
    ],
)
@pytest.mark.parametrize("width", [1280, 390])
def test_values_are_read_by_the_pointer(
    name: str,
    at: str,
    told: list[str] | None,
    width: int,
    tmp_path: Path,
    visit: Callable[..., Any],
) -> None:
    made = Page("Charts")
    made.section("Chart").chart(CHARTS[name], height=300)
    page = visit(made.write(tmp_path / "p.html"), width=width)
    page.locator(f".chart-svg {at}").hover(force=True)
    tip = page.locator(".chart-tip")
    tip.wait_for()
    lines = tip.locator("div").all_inner_texts()
    assert lines == told or (told is None and len(lines) == 1)
    box, screen = tip.bounding_box(), page.evaluate("window.innerWidth")
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= screen
    assert page.evaluate(SCROLLS) is False


def test_a_chart_is_drawn_anew_when_the_window_changes(
    tmp_path: Path, visit: Callable[..., Any]
) -> None:
    page = visit(make_page(chart=True).write(tmp_path / "p.html"))
    wide = page.locator(".chart-svg").bounding_box()["width"]
    page.set_viewport_size({"width": 390, "height": 900})
    drawn = "most => document.querySelector('.chart-svg').getBoundingClientRect().width < most"
    page.wait_for_function(drawn, arg=min(390, wide))
    assert page.evaluate(SCROLLS) is False


def test_columns_are_explained_below_their_table(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(make_page().write(tmp_path / "p.html"))
    assert page.locator(".meanings dt").all_inner_texts() == ["error"]
    assert page.locator(".meanings dd").all_inner_texts() == ["less is better"]


@pytest.mark.parametrize("width", [390, 1280])
def test_no_sideways_scrolling(tmp_path: Path, visit: Callable[..., Any], width: int) -> None:
    page = visit(make_page(chart=True).write(tmp_path / "p.html"), width=width)
    page.locator(".plot .chart-svg").first.wait_for()
    assert page.evaluate(SCROLLS) is False


def test_on_paper_the_tools_are_gone(tmp_path: Path, visit: Callable[..., Any]) -> None:
    page = visit(make_page().write(tmp_path / "p.html"))
    assert page.locator(".table-tools").is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator(".table-tools").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 29, 33)"


def test_the_policy_forbids_requests(tmp_path: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto(make_page().write(tmp_path / "p.html").resolve().as_uri())
    asked = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')"
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    assert page.evaluate(asked) == "blocked"
    assert any("Content Security Policy" in text for text in refused)
    page.close()
