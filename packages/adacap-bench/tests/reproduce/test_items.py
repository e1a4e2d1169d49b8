"""Every item of the ledger: its jobs exist, its summary can be made, its claims can fail."""

import json
from dataclasses import replace

import pytest

from adacap_bench.reproduce import SCALES, find_items, items
from adacap_bench.reproduce.drawing import _draw_panel
from adacap_bench.reproduce.figure import Panel, Series
from adacap_bench.reproduce.item import Row, judged
from adacap_bench.reproduce.item_record import read_item_record
from adacap_bench.reproduce.registry import UnknownItemError
from adacap_bench.reproduce.rejudging import rejudged
from adacap_bench.reproduce.running import Machine, reproduce, write_all
from adacap_bench.reproduce.studies.contest import leads
from adacap_bench.reproduce.verdicts import decide

STUDIES = {"structured", "permutations", "lambda", "dither", "width", "batch", "depth"}


def test_the_ledger_has_all_figures_tables_and_studies():
    expected = {f"c{number}" for number in range(1, 13)} | {f"d6-{name}" for name in STUDIES}
    expected |= {"d6-ablation", "d6-ablation-bagged", "n1", "n2", "n3", "n4"} | {"c5-classes"}
    assert set(items()) == expected


def test_an_unknown_item_gets_a_suggestion():
    with pytest.raises(UnknownItemError, match="Did you mean 'c10'"):
        find_items(["c100"])


@pytest.mark.parametrize("scale", ["quick", "ledger"])
@pytest.mark.parametrize("key", items())
def test_every_item_sums_up_its_jobs(key, scale, made_up, no_targets, monkeypatch, tmp_path):
    item = items()[key]
    monkeypatch.setattr(
        "adacap_bench.reproduce.running._run", lambda item, scale, machine: made_up(item, scale)
    )
    record = reproduce(item, Machine(tmp_path / "state.sqlite"), scale)
    assert record.rows
    assert record.claims
    assert all(claim.evidence for claim in record.claims)
    assert record.scale == scale
    if scale == "ledger":
        assert not any("this scale has no row" in claim.evidence for claim in record.claims)
    path = tmp_path / "record.json"
    record.write(path)
    assert path.stat().st_size < 100_000
    back = read_item_record(path)
    assert [row.label for row in back.rows] == [row.label for row in record.rows]
    assert back.to_json() == record.to_json()
    again = rejudged(item, back)
    assert again is not None
    assert [claim.verdict for claim in again.claims] == [c.verdict for c in record.claims]


@pytest.mark.parametrize("key", items())
def test_names_of_methods_are_unique_within_an_item(key):
    for scale in SCALES:
        built = {}
        for grid in items()[key].grids(items()[key].scales[scale]):
            for method in grid.methods:
                name = method if isinstance(method, str) else method.name
                assert built.setdefault(name, repr(method)) == repr(method)


@pytest.mark.parametrize(("share", "holds"), [(0.9, True), (0.1, False), (0.5, None)])
def test_a_shared_lead_decides_nothing(share, holds):
    ours = {f"seed {k}": float(k < 40 * share) for k in range(40)}
    theirs = {name: 1 - won for name, won in ours.items()}
    never = dict.fromkeys(ours, 0.0)
    assert decide([leads("a", {"a": ours, "b": theirs, "never": never})]) == [holds]


def test_a_category_that_wins_everything_leads():
    names = [f"seed {k}" for k in range(40)]
    points = {"a": dict.fromkeys(names, 1.0), "never": dict.fromkeys(names, 0.0)}
    assert decide([leads("a", points)]) == [True]


def test_verdicts_of_rows():
    assert Row("a", 1.05, 1.0).verdict == "agrees"
    assert Row("a", 1.5, 1.0, spread=1.0, n=4).verdict == "higher"  # four runs are too few
    assert Row("a", 1.5, 1.0, spread=1.0, n=10).verdict == "agrees"  # two standard errors
    assert Row("a", 1.5, 1.0, spread=0.1, n=4).verdict == "higher"
    assert Row("a", 0.5, 1.0).verdict == "lower"
    assert Row("a", 0.5).verdict == ""


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "reproduced"), (0.3, "not reproduced")])
def test_a_claim_follows_the_numbers(shift, verdict, made_up, monkeypatch, tmp_path):
    """Dropout hurts, unless the runs without it are the worst."""
    item = items()["c8"]

    def shifted(item, scale, machine):
        results = made_up(item, scale)
        for record in results.records:
            drop = int(record.job.method.split("-drop-")[1].split("-")[0])
            norm = record.job.method.endswith("-norm")
            record.metrics["test_rmse"] = 0.1 + 0.01 * drop + 0.005 * norm + shift * (drop == 0)
        return results

    monkeypatch.setattr("adacap_bench.reproduce.running._run", shifted)
    record = reproduce(item, Machine(tmp_path / "state.sqlite"), "ledger")
    assert record.claims[0].verdict == verdict
    assert (record.verdict == "reproduced") == (verdict == "reproduced")


def test_files_of_an_item(made_up, no_targets, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(
        "adacap_bench.reproduce.running._run", lambda item, scale, machine: made_up(item, scale)
    )
    for key in ("c1", "c8", "c10"):  # shades, curves, bars
        record = reproduce(items()[key], Machine(tmp_path / "state.sqlite"), "quick")
        paths = write_all(record, tmp_path)
        assert [path.suffix for path in paths] == [".json", ".md", ".png", ".html"]
        assert paths[2].read_bytes().startswith(b"\x89PNG")
        assert "data-chart" in paths[3].read_text(encoding="utf-8")
        assert json.loads(paths[0].read_text(encoding="utf-8"))["item"] == key


def test_bars_bear_their_names():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Canvas

    axes = Canvas().add_subplot()
    ours = Series("ours", ("a", "b"), (1.0, 2.0), style="bar")
    paper = Series("paper", ("b",), (3.0,), style="bar")
    _draw_panel(axes, Panel("bars", series=(ours, paper)), ["ours", "paper"])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]


def test_the_studies_of_2021_share_the_fit_of_their_default():
    found = []
    for study in ("structured", "permutations", "lambda", "dither", "width"):
        item = items()[f"d6-{study}"]
        methods = [method for grid in item.grids(item.scales["ledger"]) for method in grid.methods]
        found += {repr(method) for method in methods if method.name == "mlr-2-default"}
    assert len(found) == 5
    assert len(set(found)) == 1


def test_large_data_sets_have_splits_of_their_own_and_decide_nothing_then():
    item = items()["d6-dither"]
    scale = item.scales["paper"]
    n_splits = {grid.tasks[0]: len(grid.splits) for grid in item.grids(scale)}
    assert n_splits == {"mlr-regression0": 20, "mlr-regression1": 20, "mlr-regression8": 5}
    rows = {}
    for name, n, worse in (("Concrete Slump −3", 12, 0.0), ("Seoul Bike", 5, 9.0)):
        for sigma, r2 in ((0.0, 0.5), (0.03, 0.5 - worse)):
            values = {f"split {k}": r2 + 1e-3 * (k % 3) * sigma for k in range(n)}
            label = f"{name}, σ̃ {sigma:g}"
            rows[label] = Row(label, r2, n=n, values=values)
    claim = item.claims(rows)[0]
    assert decide([claim.effects]) == [True]
    assert "Seoul Bike: R² 0.500 at 0, -8.500 at 0.03 (5 splits, not judged)" in claim.evidence


def splits(mean: float, n: int, noise: int) -> dict[str, float]:
    return {f"split {k}": mean + 0.01 * ((7 * k + noise) % 5 - 2) for k in range(n)}


def test_the_rule_for_lambda_is_judged_without_the_set_of_five_splits():
    """Seoul Bike speaks against it, but five splits cannot."""
    rows = {}
    for name, n, by_rule in (("Concrete Slump −3", 20, 0.6), ("Seoul Bike", 5, 0.1)):
        for what, r2 in ((lam, 0.4) for lam in ("0.001", "1000", "1e+05")):
            label = f"{name}, λ_init {what}"
            rows[label] = Row(label, r2, n=n, values=splits(r2, n, len(what)))
        label = f"{name}, λ_init by rule"
        rows[label] = Row(label, by_rule, n=n, values=splits(by_rule, n, 0))
    claim = judged(items()["d6-lambda"].claims(rows))[0]
    assert claim.verdict == "reproduced"
    assert "Seoul Bike: R² 0.100 by rule, best of the grid 0.400 (5 splits, not judged)" in (
        claim.evidence
    )


def test_depths_are_compared_on_the_sets_of_enough_splits():
    rows = {}
    for name, n, best in (("Concrete Slump −1", 20, 1), ("Servo", 20, 4), ("Seoul Bike", 5, 2)):
        for depth in range(1, 5):
            label = f"{name}, depth {depth}"
            r2 = 0.5 + 0.2 * (depth == best)
            rows[label] = Row(label, r2, n=n, values=splits(r2, n, depth))
    claim = judged(items()["d6-depth"].claims(rows))[0]
    assert (claim.verdict, min(effect.n for effect in claim.effects)) == ("reproduced", 20)
    assert claim.evidence.endswith("4 on Servo, 2 on Seoul Bike (5 splits, not judged)")


def test_a_study_in_pieces_is_judged_on_the_data_sets_that_are_far_enough():
    """One that has a single setting so far keeps no claim from being decided on the others."""
    from adacap_bench.reproduce.studies.mlr_numbers import NAMES, QSAR, SLUMP

    study = items()["d6-dither"]
    settings = (0.0, 0.01, 0.03, 0.1, 0.3)
    rows = {}
    for place, setting in enumerate(settings):
        label = f"{NAMES[SLUMP]}, σ̃ {setting:g}"
        values = {f"split {k}": 0.3 + 0.001 * (k + place) for k in range(12)}
        rows[label] = Row(label, 0.3, n=12, values=values)
    label = f"{NAMES[QSAR]}, σ̃ 0.03"
    rows[label] = Row(label, 0.4, n=3, values={f"split {k}": 0.4 for k in range(3)})
    assert [claim.verdict for claim in judged(study.claims(rows))] == ["reproduced"] * 2


def test_sets_weigh_the_same_in_the_rows_and_the_effects_of_the_ablation(made_up, no_targets):
    """Seoul Bike has five splits, the others twenty."""
    study = items()["d6-ablation"]
    outcome = study.summarise(made_up(study, study.scales["ledger"]), study.scales["ledger"])
    rows = {row.label: row.ours for row in outcome.rows}
    (effect,) = outcome.claims[1].effects
    gain = rows["NN + Ridge + permutations"] - rows["NN + Ridge"]
    assert effect.n == 45
    assert effect.value == pytest.approx(gain)


D6 = {"mlr-regression0": 20, "mlr-regression1": 20, "mlr-regression8": 5}


@pytest.mark.parametrize(
    ("key", "runs"),
    [
        ("c3", {f"mnist-{n}": 20 for n in (2, 3, 5, 10, 20, 50)}),
        ("c4", {"ridge-entrywise": 2000, "ridge-shared": 2000}),
        ("c8", {"paper-1": 100}),
        ("c9", {"paper-31": 10}),
        ("c10", {"paper-1": 1000}),
        ("d6-ablation", D6),
        ("d6-ablation-bagged", {task: 10 * n for task, n in D6.items()}),
        ("d6-batch", {**D6, "paper-42": 1}),
        *((f"d6-{name}", D6) for name in sorted(STUDIES - {"batch", "depth"})),
    ],
)
def test_the_scale_of_the_paper(key, runs, data_folder):
    """Runs of the first method on each task."""
    item = items()[key]
    found = {}
    for grid in item.grids(replace(item.scales["paper"], folder=data_folder)):
        for task in grid.tasks:
            name = task if isinstance(task, str) else task.key
            found.setdefault(name, len(grid.splits) * len(grid.seeds))
    assert found == runs


@pytest.mark.parametrize(
    ("key", "n_tasks", "n_splits", "n_seeds"),
    [
        ("c5", 26, 3, 1),
        ("c6", 26, 3, 1),
        ("c12", 26, 3, 1),
        ("c5-classes", 18, 3, 1),  # two of them need data that are not to be had
        ("c7", 15, 1, 10),
        ("d6-depth", 16, 10, 1),
    ],
)
def test_the_scale_of_the_papers_tables(key, n_tasks, n_splits, n_seeds):
    grids = items()[key].grids(items()[key].scales["paper"])
    assert sum(len(grid.tasks) for grid in grids) == n_tasks
    assert {len(grid.splits) for grid in grids if grid.tasks[0] != "mlr-regression8"} == {n_splits}
    assert {len(grid.seeds) for grid in grids} == {n_seeds}


@pytest.mark.parametrize(("tasks", "has_number"), [(3, True), (2, False)])
def test_a_mean_over_other_data_sets_has_no_number_of_the_paper_beside_it(
    made_up, no_targets, tasks, has_number
):
    study = items()["d6-ablation"]
    scale = study.scales["paper"]
    some = replace(scale, splits=2, options={"tasks": scale["tasks"][:tasks]})
    outcome = study.summarise(made_up(study, some), some)
    assert {row.paper is not None for row in outcome.rows} == {has_number}
    names = [one.name for one in outcome.figure.panels[0].series]
    assert names == (["ours", "paper"] if has_number else ["ours"])
