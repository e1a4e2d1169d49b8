"""The page: what it says, and how it behaves in a browser."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from adacap import AdaCapRegressor, load
from adacap.page import PageExistsError
from adacap.report import build_report, write_report

from .conftest import TINY, split, table

pytest.importorskip("plotly", reason="the page embeds plotly.js")

COMMON = ["summary", "scores", "trained", "learning", "capacity", "memorisation"]
LAST = ["importance", "clusters", "details"]
REGRESSION = [*COMMON, "predictions", "residuals", "coverage", *LAST]
CLASSES = [*COMMON, "confusion", "roc", "reliability", *LAST]
# Charts of each section; one per figure of the report.
CHARTS = {
    "scores": 1, "learning": 1, "capacity": 1, "memorisation": 2, "predictions": 1,
    "residuals": 1, "coverage": 1, "importance": 1, "clusters": 1,
}  # fmt: skip
CLASS_CHARTS = {
    "scores": 1, "learning": 1, "capacity": 1, "memorisation": 2, "confusion": 1, "roc": 1,
    "reliability": 1, "importance": 1, "clusters": 1,
}  # fmt: skip


@pytest.fixture
def visit(browser):
    """Open a file; fails the test on a message, an error or a request beyond the file itself."""
    contexts, trouble = [], []

    def go(path, *, width=1280, scheme="light"):
        view = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=view, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)  # a page of 5 MB on a busy machine
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        address = path.resolve().as_uri()
        page.on(
            "request",
            lambda request: (
                request.url.startswith((address, "data:", "blob:"))
                or trouble.append(f"request: {request.url}")
            ),
        )
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert trouble == []


def write(case, folder, **options):
    options = {"X_train": case.X_train, "y_train": case.y_train} | options
    return case.model.report(case.X_test, case.y_test, folder / "report.html", **options)


@pytest.fixture(scope="session")
def regression_page(regression, tmp_path_factory):
    return write(regression, tmp_path_factory.mktemp("regression"))


def drawn(page, section):
    """Charts of a section in which something is drawn."""
    charts = page.locator(f"#{section} .plot")
    return sum(charts.nth(i).locator("svg.main-svg").count() > 0 for i in range(charts.count()))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_of_a_regression_in_a_browser(regression_page, visit, width, scheme):
    assert regression_page.stat().st_size < 6_000_000
    page = visit(regression_page, width=width, scheme=scheme)
    found = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert found == REGRESSION
    assert {name: drawn(page, name) for name in CHARTS} == CHARTS
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cells = page.locator("#scores tbody td:first-child").all_inner_texts()
    assert cells == ["AdaCapRegressor", "mean", "ridge", "random forest"]
    columns = page.locator("#trained tbody tr").all_inner_texts()
    assert len(columns) == 7
    assert any("<img src=x onerror=alert(1)>" in line for line in columns)
    assert "dropped: constant" in " ".join(columns)
    if width > 1000:
        check_hover(page)


def check_hover(page):
    """The pointer on a bar shows the column and its value."""
    plot = page.locator("#importance .plot")
    plot.locator("g.points path").first.hover(force=True)
    plot.locator("g.hovertext").wait_for()
    assert "signal" in plot.locator("g.hovertext").text_content()


def test_the_page_of_a_classifier_in_a_browser(multiclass, tmp_path, visit):
    page = visit(write(multiclass, tmp_path))
    found = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert found == CLASSES
    assert {name: drawn(page, name) for name in CLASS_CHARTS} == CLASS_CHARTS


def test_the_page_of_a_plain_net(binary):
    made = build_report(binary.model, binary.X_test, binary.y_test)
    parts = {section.name: section.render() for section in made.sections}
    assert list(parts) == CLASSES
    charts = {name for name, text in parts.items() if "<figure" in text}
    assert charts == CLASS_CHARTS.keys() - {"scores", "capacity", "memorisation"}
    assert "The plain scheme has no closed-form output layer" in parts["capacity"]
    assert "p-value on held-out rows" in parts["memorisation"]


def test_baselines_are_left_out_with_a_sentence(regression, tmp_path):
    text = write(regression, tmp_path, X_train=None, y_train=None).read_text("utf-8")
    assert "Mean, ridge and forest are left out" in text
    assert "random forest</td>" not in text


def test_the_page_says_what_was_trained(regression):
    html = build_report(regression.model, regression.X_test, regression.y_test).render()
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html))
    assert facts["rows to train on"] == str(len(regression.y_train))
    assert facts["rows to test on"] == str(len(regression.y_test))
    assert facts["columns"] == "7"
    assert facts["nets"] == "3"
    assert facts["backbone"] == "glu, 3 × 16"
    assert regression.model.provenance_.torch in html
    assert "validation</td>" in html
    capacity = regression.model.capacity()
    assert facts["memorisation gap"] == f"{capacity.memorisation_gap:.4g}"
    assert facts["p-value on held-out rows"] == f"{capacity.holdout_p_value:.2g}"


def test_several_targets_have_a_chart_each(two_targets):
    page = build_report(two_targets.model, two_targets.X_test, two_targets.y_test)
    section = next(s for s in page.sections if s.name == "predictions")
    assert section.render().count("<figure") == 2


def test_a_loaded_model_reports_alike(regression, tmp_path):
    case = regression
    case.model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    one = build_report(case.model, case.X_test, case.y_test, title="a").render()
    assert build_report(again, case.X_test, case.y_test, title="a").render() == one


@pytest.mark.parametrize(
    "options", [{"scheme": "tikhonov"}, {"scheme": "plain"}, {"validation": 0.0}]
)
def test_other_models_have_a_page(options):
    case = split(AdaCapRegressor(**TINY, **options), *table())
    names = [s.name for s in build_report(case.model, case.X_test, case.y_test).sections]
    assert names == REGRESSION


def test_numpy_tables_and_one_test_row(seed):
    X = np.random.default_rng(seed).normal(size=(40, 2))
    model = AdaCapRegressor(**TINY).fit(X, X[:, 0])
    assert build_report(model, X[:1], X[:1, 0], X_train=X, y_train=X[:, 0]).sections


def test_files_are_not_replaced_unless_told(regression, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    before = path.read_bytes()
    with pytest.raises(PageExistsError, match="Choose another name, or replace it"):
        regression.model.report(regression.X_test, regression.y_test, path)
    assert path.read_bytes() == before
    made = write_report(
        regression.model, regression.X_test, regression.y_test, path, force=True, title="Mine & me"
    )
    assert isinstance(made, Path)
    assert "<h1>Mine &amp; me</h1>" in path.read_text("utf-8")


def test_misuse_is_refused(regression, binary, tmp_path):
    case = regression
    with pytest.raises(NotFittedError):
        AdaCapRegressor().report(case.X_test, case.y_test)
    with pytest.raises(ValueError, match="X_train and y_train go together"):
        build_report(case.model, case.X_test, case.y_test, X_train=case.X_train)
    with pytest.raises(ValueError, match="at least one test row"):
        build_report(case.model, case.X_test[:0], case.y_test[:0])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples|same length|broadcast"):
        build_report(case.model, case.X_test, case.y_test[:-1])
    with pytest.raises(ValueError, match=r"classes unseen in training: \['new'\]"):
        build_report(binary.model, binary.X_test, np.full(len(binary.y_test), "new"))
