"""The benchmark page: its numbers against Python's, its behaviour in a browser."""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from adacap.exceptions import AdaCapError, OutputExistsError
from adacap.page import Page
from adacap_bench import metrics
from adacap_bench.jobs import Job, Record
from adacap_bench.metrics import MissingCellsError, from_frame, leaderboard
from adacap_bench.report import build_report, write_report
from adacap_bench.report_data import report_data
from adacap_bench.store import Store

STORED = Path(__file__).parent / "tables" / "three_by_four.csv"
HOSTILE = "<img src=x onerror=alert(1)></script>"
METHODS = {
    "adacap-snn": "AdaCap",
    "snn": "DNN",
    "catboost": "GBDT",
    "rf": "RF",
    "ridge": "Linear",
    HOSTILE: "Peer",
}
ALL = {"kind": "regression", "metric": "rmse", "size": "all", "task": "", "easy": False}


def make_frame(seed: int, n_tasks: int = 7, n_splits: int = 3, gaps: int = 0) -> pd.DataFrame:
    """Two thirds regression, ties by rounding, the first cells failed where gaps are asked for."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for t in range(n_tasks):
        kind = ("regression", "regression", "binary", "multiclass")[t % 4]
        for split in range(n_splits):
            for method, category in METHODS.items():
                error = float(np.round(rng.uniform(0.15, 0.9), 2))
                scores = {"test_rmse": error, "test_r2": round(1 - error**2, 4)}
                if kind != "regression":
                    scores = {"test_auc": round(1 - error / 2, 3), "test_accuracy": 1 - error}
                rows.append(
                    {"task": f"task-{t}", "task_name": f"Name {HOSTILE} {t}", "kind": kind}
                    | {"split": split, "seed": 0, "method": method, "category": category}
                    | {"status": "ok", "fit_seconds": float(rng.integers(1, 500)) / 100}
                    | {"predict_seconds": 0.01, "n_train": 50 * 7**t, "n_features": 4 + t}
                    | {"traceback": None, "created": "2024-05-01T00:00:00", **scores}
                )
    frame = pd.DataFrame(rows)
    scores = [name for name in frame.columns if name.startswith("test_")]
    frame.loc[: gaps - 1, ["status", "traceback"]] = ["failed", "Boom\nValueError: no\n"]
    frame.loc[: gaps - 1, scores] = np.nan
    return frame


@pytest.fixture
def visit(visit: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Write a page, open it and wait for its leaderboard."""
    paths = (tmp_path / f"{number}.html" for number in itertools.count())

    def go(made: Page, **looks: Any) -> Any:
        page = visit(made.write(next(paths)), **looks)
        page.locator("#board tbody tr").first.wait_for()
        return page

    return go


def compute(page: Any, call: str, **state: Any) -> Any:
    """Value of an expression over `table` and `data`; NaN comes back as nan."""
    choice = ALL | {"gaps": "mark"} | state
    hidden = choice.pop("hidden", [])
    code = (
        "([choice, hidden]) => { const data = AdaPage.data('benchmark');"
        "const table = AdaBench.select(data, {...choice, hidden: new Set(hidden)});"
        f"return {call}; }}"
    )
    return page.evaluate(code, [choice, hidden])


def column(page: Any, number: int) -> list[str]:
    return page.locator(f"#board tbody tr:not([hidden]) td:nth-child({number})").all_inner_texts()


def test_data_holds_averaged_cells_and_gaps() -> None:
    frame = pd.read_csv(STORED)
    again = frame[frame["method"] == "snn"].assign(seed=1, test_rmse=[0.32, 0.60, 0.70])
    frame = pd.concat([frame, again], ignore_index=True)
    frame.loc[0, "status"] = "crashed"
    data = report_data(frame)
    assert [method["name"] for method in data["methods"]] == ["adacap-snn", "catboost", "rf", "snn"]
    assert data["tasks"][1] == {"key": "t2", "name": "Second", "kind": "regression"} | {
        "n": 2000,
        "p": 9,
    }
    cells = pd.DataFrame(data["cells"])
    assert len(cells) == 12
    assert math.isnan(cells.loc[0, "rmse"])  # adacap-snn × t1 × split 0 crashed
    assert cells.loc[0, "seeds"] == 0
    assert cells.loc[3, ["rmse", "seeds"]].tolist() == pytest.approx([0.27, 2])
    assert data["reference"] == "catboost"
    assert [metric["name"] for metric in data["metrics"]] == ["rmse"]


@pytest.mark.parametrize("gaps", [0, 3])
def test_numbers_of_the_page_are_those_of_python(
    seed: int, visit: Callable[..., Any], gaps: int
) -> None:
    frame = make_frame(seed, gaps=gaps)
    page = visit(build_report(frame))
    for metric, choice, kinds in [
        ("rmse", "regression", ["regression"]),
        ("r2", "regression", ["regression"]),
        ("auc", "classification", ["binary", "multiclass"]),
        ("accuracy", "binary", ["binary"]),
    ]:
        part = frame[frame["kind"].isin(kinds)]
        board = leaderboard(from_frame(part, metric, missing="mark"), reference="catboost")
        found = compute(page, "AdaBench.leaderboard(table, data)", metric=metric, kind=choice)
        assert [row["name"] for row in found] == board["method"].tolist()
        names = {"fit_seconds": "fit", "longest_fit": "longest", "relative_time": "relative"}
        for name in board.columns.drop(["method", "category"]):
            values = [row[names.get(name, name)] for row in found]
            np.testing.assert_allclose(values, board[name], rtol=1e-5, err_msg=f"{metric} {name}")


def test_filters_and_comparisons_are_those_of_python(seed: int, visit: Callable[..., Any]) -> None:
    frame = make_frame(seed, n_tasks=9, gaps=3)
    page = visit(build_report(frame))
    check_filters(page, frame)
    check_ranks(page, frame)
    check_win_rates(page, frame)
    check_tail(page)


def check_filters(page: Any, frame: pd.DataFrame) -> None:
    regression = frame[frame["kind"] == "regression"]
    cases: list[tuple[dict[str, Any], pd.DataFrame]] = [
        ({"size": "lt1000"}, regression[regression["n_train"] < 1000]),
        ({"size": "ge5000"}, regression[regression["n_train"] >= 5000]),
        ({"task": "task-1"}, regression[regression["task"] == "task-1"]),
        ({"hidden": ["Peer", "RF"]}, regression[~regression["category"].isin(["Peer", "RF"])]),
    ]
    for state, part in cases:
        expected = leaderboard(from_frame(part, missing="mark"))
        found = compute(page, "AdaBench.leaderboard(table, data)", **state)
        assert [row["name"] for row in found] == expected["method"].tolist(), state
        np.testing.assert_allclose([row["mean"] for row in found], expected["mean"])
        np.testing.assert_allclose([row["n"] for row in found], expected["n"])
    table = from_frame(regression, missing="mark")
    experiments = "table.experiments.map(([t, s]) => [data.tasks[t].key, s])"
    easy = compute(page, experiments, easy=True)
    assert [tuple(pair) for pair in easy] == [*metrics.easy_subset(table).experiments]
    whole = compute(page, experiments, gaps="experiments")
    assert [tuple(pair) for pair in whole] == [*table.complete_experiments().experiments]


def check_ranks(page: Any, frame: pd.DataFrame) -> None:
    table = from_frame(frame, missing="mark")
    expected = metrics.critical_difference(table.by_task().complete_methods())
    found = compute(page, "AdaBench.criticalDifference(table, data)")
    assert [entry["name"] for entry in found["entries"]] == [*expected.methods]
    np.testing.assert_allclose([entry["rank"] for entry in found["entries"]], expected.ranks)
    assert found["difference"] == pytest.approx(expected.difference, rel=1e-5)
    assert found["statistic"] == pytest.approx(expected.test.statistic)
    assert found["p"] == pytest.approx(expected.test.p_value)
    assert [tuple(group) for group in found["groups"]] == [*expected.groups]


def check_win_rates(page: Any, frame: pd.DataFrame) -> None:
    expected = metrics.win_rate_matrix(from_frame(frame, missing="mark"))
    found = compute(page, "AdaBench.winRates(table, table.methods)")
    np.testing.assert_allclose(np.array(found, dtype=float), expected)


def check_tail(page: Any) -> None:
    for statistic, freedom in [(0.3, 1), (4.6, 3), (12.0, 30), (80.0, 41), (300.0, 60)]:
        tail = page.evaluate(f"AdaBench.chiSquareTail({statistic}, {freedom})")
        assert tail == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-9)


def test_front_holds_what_nothing_beats(visit: Callable[..., Any]) -> None:
    page = visit(build_report(pd.read_csv(STORED)))
    front = compute(
        page, "AdaBench.tradeOff(AdaBench.leaderboard(table, data), false).front.map(r => r.name)"
    )
    # Means and seconds: rf 0.5667, 1; snn 0.54, 1.33; adacap-snn 0.4333, 2.67; catboost 0.44, 5.33
    assert front == ["rf", "snn", "adacap-snn"]


def test_sorts_filters_and_opens_details(visit: Callable[..., Any]) -> None:
    page = visit(build_report(pd.read_csv(STORED)))
    assert column(page, 1) == ["adacap-snn", "catboost", "snn", "rf"]
    assert column(page, 3) == ["0.4333", "0.4400", "0.5400", "0.5667"]
    assert column(page, 5) == ["100 %", "67 %", "33 %", "33 %"]
    page.get_by_role("button", name="Fit (s)").click()
    assert column(page, 1) == ["rf", "snn", "adacap-snn", "catboost"]
    page.get_by_label("Training rows").select_option("1000 rows and more")
    assert column(page, 3) == ["0.8000", "0.8000", "0.9000", "1.0000"]
    assert "4 methods on 1 experiments of 1 task." in page.locator("#summary").inner_text()
    page.get_by_label("Training rows").select_option("all sizes")
    page.get_by_label("Experiments", exact=True).select_option("best error below 0.25")
    assert column(page, 3) == ["0.2000", "0.2200", "0.2500", "0.4000"]
    page.get_by_label("Experiments", exact=True).select_option("all")
    page.get_by_label("AdaCap", exact=True).uncheck()
    assert column(page, 1) == ["catboost", "snn", "rf"]
    page.get_by_role("button", name="none", exact=True).click()
    assert page.locator("#nothing").is_visible()
    assert not page.locator("#board").is_visible()
    page.get_by_role("button", name="all", exact=True).click()
    assert column(page, 1) == ["adacap-snn", "catboost", "snn", "rf"]
    page.locator("#board").get_by_label("Search").fill("snn")
    assert column(page, 1) == ["adacap-snn", "snn"]
    page.locator("#board").get_by_label("Search").fill("")

    page.locator("#board").get_by_role("button", name="catboost", exact=True).click()
    dialog = page.locator("#detail")
    assert dialog.locator("h2").inner_text() == "catboost"
    rows = [row.split("\t") for row in dialog.locator("tbody tr").all_inner_texts()]
    # t1: mean of 0.25 and 0.27, second to adacap-snn's 0.25
    assert [cell.strip() for cell in rows[0]] == [
        "t1", "0.2600", "2 of 4", "0.2500", "adacap-snn", "4.0", "0.2500", "0.2700",
    ]  # fmt: skip
    dialog.get_by_role("button", name="t1").click()
    assert dialog.locator("h2").inner_text() == "t1"
    dialog.locator(".chart-svg").first.wait_for()
    rows = [row.split("\t") for row in dialog.locator("tbody tr").all_inner_texts()]
    assert [cell.strip() for cell in rows[1]] == [
        "catboost", "GBDT", "0.2600", "4.0", "0.2500", "0.2700",
    ]  # fmt: skip
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator("#task-table").get_by_role("button", name="t2").click()
    assert dialog.locator("h2").inner_text() == "t2"
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


def test_kinds_bring_their_metrics(seed: int, visit: Callable[..., Any]) -> None:
    page = visit(build_report(make_frame(seed)))
    metric = page.locator("#choose-metric option")
    assert metric.all_inner_texts() == ["RMSE", "R²"]
    page.get_by_label("Tasks", exact=True).select_option("Classification")
    assert metric.all_inner_texts() == ["AUC", "Accuracy"]
    assert page.get_by_label("Experiments", exact=True).is_disabled()
    assert "3 tasks" in page.locator("#summary").inner_text()
    page.get_by_label("Tasks", exact=True).select_option("Multiclass")
    assert "1 task." in page.locator("#summary").inner_text()
    assert "over 3 splits" in page.locator("#ranks-note").inner_text()


def test_gaps_are_marked(seed: int, visit: Callable[..., Any]) -> None:
    page = visit(build_report(make_frame(seed, gaps=2)))
    assert sorted(column(page, 1)[-2:]) == ["adacap-snn †", "snn †"]
    assert "2 methods lack some results" in page.locator("#summary").inner_text()
    assert "2 of 72 cells of RMSE" in page.locator("#overview .note").inner_text()
    failed = page.locator("#missing tbody tr").all_inner_texts()
    assert len(failed) == 2
    assert "ValueError: no" in failed[0]
    page.get_by_label("Missing results").select_option("leave the experiment out")
    assert "†" not in "".join(column(page, 1))


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_figures_fit_the_screen(
    seed: int, visit: Callable[..., Any], width: int, scheme: str
) -> None:
    page = visit(build_report(make_frame(seed, gaps=1)), width=width, scheme=scheme)
    for place in ("#trade-off .chart-svg", "#wins .chart-svg", "#ranks svg"):
        page.locator(place).first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#board").get_by_role("button", name="catboost", exact=True).click()
    page.locator("#detail").get_by_role("button", name="task-0").click()
    page.locator("#detail .chart-svg").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink = page.evaluate("getComputedStyle(document.querySelector('#wins .axis text')).fill")
    assert ink == {"light": "rgb(88, 97, 109)", "dark": "rgb(162, 171, 182)"}[scheme]


def texts(page: Any, part: str) -> list[list[str]]:
    rows = page.locator(f"{part} tbody tr").all_inner_texts()
    return [[cell.strip() for cell in row.split("\t")] for row in rows]


def test_one_test_decides_who_is_ahead(seed: int, visit: Callable[..., Any]) -> None:
    """The table of the leader and the figure of ranks never contradict each other."""
    frame = make_frame(seed, n_tasks=12)
    leads = (frame["kind"] == "regression") & (frame["method"] == "rf")
    frame.loc[leads, "test_rmse"] = 0.01  # rf leads everywhere, ridge is always second
    near = (frame["kind"] == "regression") & (frame["method"] == "ridge")
    frame.loc[near, "test_rmse"] = 0.02
    page = visit(build_report(frame))
    numbers = compute(page, "AdaBench.criticalDifference(table, data)")
    first, last = numbers["groups"][0]
    joined = (
        {entry["name"] for entry in numbers["entries"][first : last + 1]} if not first else set()
    )
    rows = [row for row in texts(page, "#lead") if row[1] == "RMSE"]
    assert {row[2] for row in rows} == {"rf"} == {numbers["entries"][0]["name"]}
    assert {row[0] for row in rows if row[5] == "no"} == joined - {"rf"}
    assert "yes" in {row[5] for row in rows}
    assert {row[4] for row in rows} == {"6 of 6"}
    assert "%" not in page.locator("#lead table").inner_text()  # no share of resamples beside it


def test_ranks_of_the_board_are_those_of_the_figure(seed: int, visit: Callable[..., Any]) -> None:
    page = visit(build_report(make_frame(seed)))
    found = compute(page, "AdaBench.criticalDifference(table, data)")["entries"]
    ranks = {entry["name"]: f"{entry['rank']:.2f}" for entry in found}
    assert dict(zip(column(page, 1), column(page, 8), strict=True)) == ranks


def test_few_tasks_are_said_to_decide_nothing(visit: Callable[..., Any]) -> None:
    page = visit(build_report(pd.read_csv(STORED)))  # two tasks, four methods
    note = page.locator("#ranks-note").inner_text()
    assert "So few tasks cannot tell any two of 4 methods apart." in note
    assert {row[5] for row in texts(page, "#lead")} == {"no"}


def test_no_contest_without_its_contestants(seed: int) -> None:
    frame = make_frame(seed)
    names = [section.name for section in build_report(frame).sections]
    assert "contests" not in names  # mlp, resblock and glu-mlp were not run
    snn = frame[frame["method"] == "snn"]
    others = [snn.assign(method=name) for name in ("mlp", "resblock", "glu-mlp")]
    page = build_report(pd.concat([frame, *others], ignore_index=True))
    (section,) = (section for section in page.sections if section.name == "contests")
    assert "without AdaCap" in section.render()
    assert "with AdaCap" not in section.render()


def test_every_column_is_explained_where_it_stands(seed: int, visit: Callable[..., Any]) -> None:
    page = visit(build_report(make_frame(seed)))
    titles = page.locator("#board thead button").all_inner_texts()
    told = page.locator("#board .meanings dt").all_inner_texts()
    assert told == titles[2:]  # all but the names of method and category
    assert "Fit ÷ catboost" in told
    assert page.locator("#lead .meanings dt").count() == 4
    assert page.locator("#task-table .meanings dt").count() == 6


def test_versions_are_told_in_words() -> None:
    frame = pd.read_csv(STORED).assign(settings_hash="a")
    page = build_report(frame, versions=[{"numpy": "1"}, {"numpy": "2"}])
    (section,) = (section for section in page.sections if section.name == "versions")
    assert "2 combinations of these versions occur" in section.render()
    assert "<dt>settings</dt>" not in section.render()


def test_hostile_names_are_only_names(seed: int, visit: Callable[..., Any]) -> None:
    made = build_report(make_frame(seed), title=HOSTILE, unavailable={HOSTILE: HOSTILE})
    assert "<img" not in made.render().split("<main>")[0]
    page = visit(made)
    page.locator("#wins .chart-svg").first.wait_for()
    page.locator("#board button.link", has_text="<img").click()
    assert page.locator("#detail h2").inner_text() == HOSTILE
    page.locator("#detail").get_by_role("button", name="task-0").click()
    page.locator("#detail .chart-svg").first.wait_for()
    assert page.locator("img").count() == 0


def test_twenty_thousand_records(visit: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product(
        [range(44), range(10), range(46)], names=["t", "split", "m"]
    ).to_frame(index=False)
    frame = pd.DataFrame(
        {
            "task": "paper-" + index["t"].astype(str),
            "task_name": "A name of ordinary length " + index["t"].astype(str),
            "kind": np.where(index["t"] < 26, "regression", "binary"),
            "split": index["split"],
            "seed": 0,
            "method": "method-" + index["m"].astype(str),
            "category": "category-" + (index["m"] % 11).astype(str),
            "status": "ok",
            "n_train": 100 * (index["t"] + 1),
            "n_features": 20,
        }
    )
    for name in ("fit_seconds", "predict_seconds", "train_rmse", "train_r2"):
        frame[name] = rng.uniform(0.01, 1, len(frame))
    regression = index["t"] < 26
    for name in ("test_rmse", "test_r2"):
        frame[name] = np.where(regression, rng.uniform(0.1, 1, len(frame)), np.nan)
    for name in ("test_auc", "test_accuracy"):
        frame[name] = np.where(regression, np.nan, rng.uniform(0.5, 1, len(frame)))
    assert len(frame) == 20_240
    made = build_report(frame)
    assert len(made.render().encode()) < 2_500_000
    page = visit(made)
    assert len(column(page, 1)) == 46
    page.get_by_label("Tasks", exact=True).select_option("Binary classes")
    assert "180 experiments of 18 tasks" in page.locator("#summary").inner_text()


def records(frame: pd.DataFrame) -> list[Record]:
    return [
        Record(
            Job(row["task"], row["split"], row["method"], row["seed"]),
            row["status"],
            "0123456789abcdef",
            row["kind"],
            category=row["category"],
            task_name=row["task_name"],
            metrics={"test_rmse": row["test_rmse"]} if row["status"] == "ok" else {},
            fit_seconds=row["fit_seconds"],
            n_train=row["n_train"],
            n_features=row["n_features"],
            versions={"python": "3.11.9"},
            traceback=None if row["status"] == "ok" else "Boom\nValueError: no",
        )
        for row in frame.to_dict("records")
    ]


def test_write_report_from_a_store(tmp_path: Path) -> None:
    frame = pd.read_csv(STORED)
    frame.loc[3, "status"] = "failed"
    with Store(tmp_path / "results.sqlite") as store:
        store.add_all(records(frame))
    out = tmp_path / "report.html"
    folder = tmp_path / "tables"
    assert write_report(tmp_path / "results.sqlite", out, tables_dir=folder) == out
    text = out.read_text(encoding="utf-8")
    assert "ValueError: no" in text
    assert "3.11.9" in text
    assert (folder / "ten-best-rmse.tex").is_file()
    assert (folder / "failures.csv").read_text(encoding="utf-8").count("\n") == 2
    with pytest.raises(OutputExistsError, match=r"report\.html exists.*--force"):
        write_report(tmp_path / "results.sqlite", out)
    write_report(tmp_path / "results.sqlite", out, title="Another title", force=True)
    assert "<h1>Another title</h1>" in out.read_text(encoding="utf-8")
    with pytest.raises(MissingCellsError, match="snn × t1 × split 0"):
        write_report(tmp_path / "results.sqlite", tmp_path / "b.html", allow_missing=False)
    assert not (tmp_path / "b.html").exists()


def test_report_of_some_tasks(tmp_path: Path) -> None:
    frame = pd.read_csv(STORED).replace({"task": {"t1": "builtin-diabetes"}})
    with Store(tmp_path / "results.sqlite") as store:
        store.add_all(records(frame))
    out = write_report(
        tmp_path / "results.sqlite", tmp_path / "r.html", suite="builtin-diabetes, builtin-wine"
    )
    text = out.read_text(encoding="utf-8")
    assert '"name":"First"' in text
    assert '"name":"Second"' not in text
    with pytest.raises(AdaCapError, match="no record of a task of 'builtin-wine'"):
        write_report(tmp_path / "results.sqlite", tmp_path / "s.html", suite="builtin-wine")


def test_the_code_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"snn": "adacap-glu-mlp", "adacap-snn": "adacap-fast-snn"}
    with Store(tmp_path / "results.sqlite") as store:
        store.add_all(records(pd.read_csv(STORED).replace({"method": other})))
    guide = Path(__file__).parents[3] / "docs" / "BENCHMARK.md"
    (code,) = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    assert "adacap-fast-snn" in names["table"].methods


def test_nothing_to_report() -> None:
    frame = pd.read_csv(STORED).assign(status="failed")
    with pytest.raises(AdaCapError, match=r"None of the 12 records has a score"):
        build_report(frame)


def test_mixed_settings_are_said() -> None:
    frame = pd.read_csv(STORED).assign(settings_hash="a")
    frame.loc[0, "settings_hash"] = "b"
    assert "settings of 1 methods changed" in build_report(frame).render()
