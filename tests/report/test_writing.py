"""The page: what it says, and how it behaves in a browser."""

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from adacap import AdaCapClassifier, AdaCapRegressor, load
from adacap.exceptions import OutputExistsError
from adacap.explain.effects import Effect
from adacap.report import About, build_report, write_report
from adacap.report.charts import chart
from adacap.text import number

from .conftest import TINY, split, table

FIRST = ["summary", "scores"]
LAST = [
    "importance",
    "effects",
    "trained",
    "learning",
    "capacity",
    "memorisation",
    "clusters",
    "details",
]
REGRESSION = [*FIRST, "predictions", "residuals", "coverage", *LAST]
CLASSES = [*FIRST, "confusion", "roc", "reliability", *LAST]
# Charts of each section; one per figure of the report.
CHARTS = {
    "scores": 1, "learning": 1, "capacity": 1, "memorisation": 2, "predictions": 1,
    "residuals": 1, "coverage": 1, "importance": 1, "effects": 6, "clusters": 1,
}  # fmt: skip
CLASS_CHARTS = {
    "scores": 1, "learning": 1, "capacity": 1, "memorisation": 2, "confusion": 1, "roc": 1,
    "reliability": 1, "importance": 1, "effects": 6, "clusters": 1,
}  # fmt: skip


def blended(kind, quality, **options):
    """A model fitted as a blend, and its page's sections by name."""
    X, y = table()
    y = y if kind is AdaCapRegressor else np.digitize(y, [0.3])
    case = split(kind(quality=quality, random_state=0, **options), X, y)
    page = build_report(case.model, case.X_test, case.y_test)
    return case.model, {section.name: section for section in page.sections}, page


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_the_members_of_a_blend_stand_in_a_table(kind, tmp_path):
    names = ["kernel:rank", "nets:bins", "boosting", "ridge"]
    model, sections, page = blended(kind, names, max_iter=3, width=8)
    assert "blend" in sections
    text = page.write(tmp_path / "r.html").read_text()
    for word in ("kernel", "boosted trees", "linear", "ranks", "out-of-fold error"):
        assert word in text
    error = "log-loss" if kind is AdaCapClassifier else "in standard deviations of the target"
    assert error in text
    assert f"blend of {', '.join(part.name for part in model.blend_)}" in text


def test_a_blend_without_nets_has_a_page(tmp_path):
    model, sections, page = blended(AdaCapRegressor, ["kernel", "ridge"])
    assert model.members_ == ()
    assert sections.keys() >= {"blend", "capacity", "memorisation"}
    assert not {"learning", "clusters"} & sections.keys()
    text = page.write(tmp_path / "r.html").read_text()
    assert "held out is the honest test" not in text  # there is no such p-value


def test_nets_alone_have_no_table_of_members(regression):
    page = build_report(regression.model, regression.X_test, regression.y_test)
    assert "blend" not in [section.name for section in page.sections]


def write(case, folder, **options):
    options = {"X_train": case.X_train, "y_train": case.y_train} | options
    return case.model.report(case.X_test, case.y_test, folder / "report.html", **options)


@pytest.fixture(scope="session")
def regression_page(regression, tmp_path_factory):
    return write(regression, tmp_path_factory.mktemp("regression"))


def drawn(page, section):
    """Charts of a section in which something is drawn."""
    charts = page.locator(f"#{section} .plot")
    return sum(charts.nth(i).locator("svg.chart-svg").count() > 0 for i in range(charts.count()))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_of_a_regression_in_a_browser(regression_page, visit, width, scheme):
    assert regression_page.stat().st_size < 500_000
    page = visit(regression_page, width=width, scheme=scheme)
    found = page.locator("main > section").evaluate_all("all => all.map(one => one.id)")
    assert found == REGRESSION
    assert {name: drawn(page, name) for name in CHARTS} == CHARTS
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = [text.split("\t") for text in page.locator("#scores tbody tr").all_inner_texts()]
    assert {row[0] for row in rows} == {"AdaCapRegressor", "mean", "ridge", "random forest"}
    errors = [float(row[2]) for row in rows]
    assert errors == sorted(errors)
    columns = page.locator("#trained tbody tr").all_inner_texts()
    assert len(columns) == 7
    assert any("<img src=x onerror=alert(1)>" in line for line in columns)
    assert "dropped: constant" in " ".join(columns)
    if width > 1000:
        check_hover(page)


def check_hover(page):
    """The pointer on a bar shows the column and its value."""
    plot = page.locator("#importance .plot")
    plot.locator("g.points rect").first.hover(force=True)
    plot.locator(".chart-tip").wait_for()
    assert "signal" in plot.locator(".chart-tip").inner_text()


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
    assert facts["memorisation gap"] == number(capacity.memorisation_gap)
    held = capacity.holdout_p_value
    assert facts["p-value on held-out rows"] == ("≤ 0.005" if held <= 0.005 else f"{held:.2g}")


def test_a_blend_of_trees_and_ridge_has_no_empty_parts():
    _, sections, _ = blended(AdaCapClassifier, ["boosting", "ridge"])
    assert not {"learning", "capacity", "memorisation", "clusters"} & sections.keys()
    assert "output layer" not in sections["summary"].render()


def test_readings_of_a_small_member_are_not_told_of_the_model(monkeypatch):
    model, sections, _ = blended(AdaCapRegressor, "fast")
    share = model.settings_.read_from
    assert f"Read from {share.name}, {100 * share.weight:.0f} % of" in sections["capacity"].render()
    monkeypatch.setattr(type(model.capacity()), "remarks", lambda _: ["It memorises."])
    for weight in (0.1, 0.9):
        reading = replace(model.capacity(), read_from=replace(share, weight=weight))
        monkeypatch.setattr(model, "capacity_", reading)
        X, y = table()
        page = build_report(model, X[-20:], y[-20:])
        told = {part.name: part.render() for part in page.sections}
        place = "summary" if weight > 0.5 else "capacity"
        other = "capacity" if weight > 0.5 else "summary"
        assert "It memorises." in told[place]
        assert "It memorises." not in told[other]


def test_the_place_among_methods_names_the_error(multiclass):
    case = multiclass
    text = (
        build_report(
            case.model, case.X_test, case.y_test, X_train=case.X_train, y_train=case.y_train
        )
        .sections[0]
        .render()
    )
    assert re.search(r"Its log-loss is the smallest|its log-loss is number \d", text)


def test_axes_of_dates_and_of_names():
    days = np.array([dt.datetime(2019, 6, 1), dt.datetime(2021, 3, 1), None], dtype=object)
    mean = np.array([1.0, 2.0, 3.0])
    effect = Effect("sold", "datetime", days, mean, mean / 10, 0.5)
    axis = chart(effect)["layout"]["xaxis"]
    assert axis["title"] == {"text": "sold"}
    assert axis["ticktext"] == ["2019-06", "2019-11", "2020-04", "2020-09", "2021-02"]
    names = np.array(["Lyon", "Nice", None], dtype=object)
    effect = Effect("city", "categorical", names, mean, mean / 10, 0.5)
    made = chart(effect, unit=", in euros")
    assert made["data"][0]["y"] == ["Lyon", "Nice", "missing"]
    assert made["layout"]["xaxis"]["title"] == {"text": "mean prediction, in euros"}


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
    with pytest.raises(OutputExistsError, match="Choose another name, or replace it"):
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


@pytest.fixture(scope="module")
def refitted(regression):
    """The page that ``adacap fit --report`` writes: a model of all rows, scored without some."""
    case = regression
    X = pd.concat([case.X_train, case.X_test])
    y = np.concatenate([case.y_train, case.y_test])
    saved = clone(case.model).fit(X, y)
    numbers = X.index.to_numpy() + 1
    about = About("flats.csv", ["price"], numbers, case.X_test.index + 1, "m.adacap")
    page = build_report(
        saved, case.X_test, case.y_test, X_train=case.X_train, y_train=case.y_train,
        scored_by=case.model, about=about,
    )  # fmt: skip
    return saved, numbers, {section.name: section.render() for section in page.sections}, page


def test_the_page_says_which_file_target_and_model(refitted, regression):
    saved, _, parts, page = refitted
    assert page.title == "Predicting price in flats.csv"
    assert "The model predicts price from 7 columns of flats.csv." in parts["summary"]
    assert "<dt>file</dt><dd>flats.csv</dd>" in parts["summary"]
    assert "<dt>target</dt><dd>price</dd>" in parts["summary"]
    n_test = len(regression.y_test)
    n_train = len(regression.y_train)
    assert (
        f"The model, saved as m.adacap, was trained on all {n_train + n_test} rows"
        in parts["summary"]
    )
    assert f"trained on {n_train} of them and tested on the other {n_test}" in parts["summary"]
    assert f"<dt>rows to train on</dt><dd>{n_train + n_test}</dd>" in parts["trained"]
    capacity = saved.capacity()
    assert f"<dd>{capacity.lam:.4g}</dd>" in parts["capacity"]


def test_scores_are_those_of_the_model_that_has_not_seen_the_rows(refitted, regression):
    case, parts = regression, refitted[2]
    error = np.sqrt(np.mean((case.model.predict(case.X_test) - case.y_test) ** 2))
    assert f"<dt>test RMSE</dt><dd>{number(error)}</dd>" in parts["summary"]
    seen = np.sqrt(np.mean((refitted[0].predict(case.X_test) - case.y_test) ** 2))
    assert number(seen) != number(error)


def test_rows_go_by_their_number_in_the_file(refitted):
    saved, numbers, parts, _ = refitted
    expected = [numbers[row.row] for row in saved.capacity().most_influential(8)]
    body = parts["capacity"].split("<tbody>")[1]
    assert [int(n) for n in re.findall(r"<tr><td data-value='(\d+)'", body)] == expected
    assert "number of the row in flats.csv; the first one is 1" in parts["capacity"]


def test_axes_have_names_and_units(refitted):
    text = refitted[3].render()
    for title in (
        "predicted price", "actual price", "actual − predicted, in units of price",
        "increase of the RMSE, in units of price", "test RMSE, in units of price: less is better",
        "iteration (training steps)", "coverage asked for, %",
    ):  # fmt: skip
        assert f'"text":"{title}"' in text
    titles = re.findall(r'"[xy]axis2?":\{"title":\{"text":"(.*?)"', text)
    assert titles
    # Names of methods and columns are their own titles.
    assert sum(not title for title in titles) == 2


def test_one_net_of_several_is_said_to_be_one(refitted):
    saved, _, parts, _ = refitted
    kept = [member.best_iter for member in saved.members_]
    assert "Net 1 of 3: score of the rows" in parts["learning"]
    assert f"iteration {kept[0]} was kept" in parts["learning"]
    assert f"The other nets, in grey, kept {kept[1]}, {kept[2]}." in parts["learning"]


def test_sizes_of_the_layer_agree(refitted):
    parts = refitted[2]
    assert "<dd>glu, 3 × 16</dd>" in parts["trained"]
    assert re.search(r"<dt>degrees of freedom</dt><dd>[\d.]+ of 16</dd>", parts["capacity"])
    assert "<dt>units of the layer</dt><dd>16</dd>" in parts["clusters"]


def test_numbers_of_rows_must_fit(regression):
    case = regression
    with pytest.raises(ValueError, match=r"About.test_rows has 2 numbers for \d+ rows"):
        build_report(case.model, case.X_test, case.y_test, about=About(test_rows=[1, 2]))


def test_the_summary_of_classes(multiclass):
    case = multiclass
    page = build_report(
        case.model, case.X_test, case.y_test, X_train=case.X_train, y_train=case.y_train
    )
    share = 100 * np.mean(case.model.predict(case.X_test) == case.y_test)
    text = page.sections[0].render()
    assert f"it named the right class for {share:.0f} %; naming the most frequent class" in text
    assert "This page is about one model trained on" in text


def test_wide_tables_are_shuffled_less_often():
    X = np.random.default_rng(0).normal(size=(60, 100))
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X[:40], X[:40, 0])
    made = build_report(model, X[40:], X[40:, 0])
    text = next(s for s in made.sections if s.name == "importance").render()
    assert "mean of 2 shuffles" in text


def test_errors_of_several_targets_have_their_unit(two_targets):
    case = two_targets
    parts = {
        s.name: s.render() for s in build_report(case.model, case.X_test, case.y_test).sections
    }
    assert re.search(r"off by [\d.]+ standard deviations on average", parts["summary"])
    assert "root mean squared error, in standard deviations of each target" in parts["scores"]


def test_many_classes_share_the_key_of_the_spread():
    mean = np.tile([[0.1, 0.2, 0.7]], (4, 1))
    effect = Effect("size", "numeric", np.arange(4.0), mean, mean / 10, 0.5)
    data = chart(effect, outputs=["a", "b", "c"])["data"]
    shown = [entry["name"] for entry in data if entry.get("showlegend", True)]
    assert shown == ["spread of folds", "a", "b", "c"]
