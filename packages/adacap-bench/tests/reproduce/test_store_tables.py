"""Tables that are read from a store of the benchmark (C5, C6), on scores counted by hand."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from adacap_bench.metrics import WITHOUT_ADACAP, from_frame
from adacap_bench.plan import Skipped
from adacap_bench.reproduce import items
from adacap_bench.reproduce.item import judged
from adacap_bench.reproduce.results import NoResultError
from adacap_bench.reproduce.studies.contest import whole, wins
from adacap_bench.reproduce.studies.ten_best import PAPER_BEST, best_columns

NETS = ("mlp", "resblock", "snn", "glu-mlp")


def frame(scores: dict[str, list[float]], categories: dict[str, str], **fields) -> pd.DataFrame:
    """A row per method and task."""
    rows = [
        {
            "task": f"t{place}", "split": 0, "seed": 0, "method": method, "status": "ok",
            "kind": "regression", "category": categories.get(method, "DNN"), "test_rmse": score,
            "fit_seconds": 1.0 + place, **fields,
        }
        for method, values in scores.items()
        for place, score in enumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_columns_of_the_ten_best_by_hand():
    table = from_frame(frame({"a": [0.20, 0.50, 0.30], "b": [0.25, 0.45, 0.10]}, {}))
    found = best_columns(table)
    p90, easy_rmse, easy_p90, mean, longest = found.values()
    assert p90.values == pytest.approx({"a": 200 / 3, "b": 200 / 3})  # 0.45 is 0.9 of 0.50
    assert easy_rmse.n == 2
    assert easy_rmse.values == pytest.approx({"a": 0.25, "b": 0.175})
    assert easy_p90.values == {"a": 50.0, "b": 50.0}
    assert mean.values == {"a": 2.0, "b": 2.0}
    assert longest.values == {"a": 3.0, "b": 3.0}


def test_without_a_low_error_the_subset_has_no_columns():
    table = from_frame(frame({"a": [0.5], "b": [0.4]}, {}))
    assert [name for name in best_columns(table) if "below" in name] == []


def test_the_record_has_the_papers_columns_beside_ours(made_up):
    item = items()["c6"]
    rows = item.summarise(made_up(item, item.scales["quick"]), item.scales["quick"]).rows
    paper = {row.label: row.paper for row in rows}
    assert paper["catboost: P90, %"] == PAPER_BEST["catboost"][1] == 66.538
    assert paper["adacap-glu-mlp: longest, s"] == 179.88
    assert paper["catboost: mean seconds"] == 92.518
    assert paper.get("catboost: RMSE where the best is below 0.25") is None  # of other tasks


@pytest.mark.parametrize(
    ("key", "text", "n_nets"),
    [("c6", "A net with AdaCap has the lowest", 8), ("c7", "Of the bags, one of AdaCap nets", 2)],
)
def test_the_best_of_several_nets_pays_for_being_picked(key, text, n_nets, made_up, no_targets):
    item = items()[key]
    outcome = item.summarise(made_up(item, item.scales["ledger"]), item.scales["ledger"])
    (claim,) = [claim for claim in outcome.claims if claim.text.startswith(text)]
    assert {effect.trials for effect in claim.effects} == {n_nets}


def test_a_method_without_a_result_is_named_with_its_reason(made_up):
    item = items()["c6"]
    scale = item.scales["quick"]
    results = made_up(item, scale)
    (lost,) = [r for r in results.records if (r.job.method, r.job.task) == ("catboost", "paper-9")]
    results.records.remove(lost)
    results.failed = [dataclasses.replace(lost, status="timeout")]
    results.records = [r for r in results.records if r.job.method != "svm"]
    results.skipped = [Skipped("*", "svm", "takes up to 9 rows")]
    outcome = item.summarise(results, scale)
    why = "no result on 1 of 2 experiments; timeout on paper-9"
    assert f"Left out of the comparison: catboost, {why}." in outcome.remarks
    assert any("svm, no result at all; not run: takes up to 9" in one for one in outcome.remarks)
    first, lowest, *_ = outcome.claims
    assert not first.effects
    assert first.evidence.endswith(f"catboost is left out: {why}")
    assert lowest.evidence.endswith("without catboost, svm")


def test_experiments_without_one_of_the_networks_are_counted(made_up):
    for key in ("c5", "c6"):
        item = items()[key]
        results = made_up(item, item.scales["quick"])
        results.records = [
            r for r in results.records if (r.job.method, r.job.task) != ("snn", "paper-1")
        ]
        remark = item.summarise(results, item.scales["quick"]).remarks[0]
        assert remark.startswith("1 experiments on 1 tasks. 1 more lack a result of one of the net")


def test_rows_of_the_subset_count_its_own_experiments(made_up):
    item = items()["c5"]
    results = made_up(item, item.scales["ledger"])
    rng = np.random.default_rng(0)
    for record in results.records:
        easy = record.job.task in ("paper-1", "paper-2")
        record.metrics["test_rmse"] = float(rng.uniform(0.1, 0.2) if easy else 0.5)
    rows = item.summarise(results, item.scales["ledger"]).rows
    n = {row.label.partition(", ")[2]: row.n for row in rows}
    assert n["with AdaCap, all"] == 45
    assert n["with AdaCap, min RMSE < 0.25"] == 6


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, "reproduced"), (3.0, "not reproduced"), (2.0, "undecided")]
)
def test_the_overcost_can_fail(factor, verdict, made_up):
    item = items()["c12"]
    results = made_up(item, item.scales["ledger"])
    results.records = [
        dataclasses.replace(
            record,
            fit_seconds=record.fit_seconds
            * (factor if record.job.method.startswith("adacap-") else 1.0),
        )
        for record in results.records
    ]
    (claim,) = judged(item.summarise(results, item.scales["ledger"]).claims)
    assert claim.verdict == verdict
    assert "the paper's own table has 4.24 (mlp)" in claim.evidence


def test_points_of_a_tie_are_divided():
    scores = {**{name: [0.5, 0.3] for name in NETS}, "rf": [0.5, 0.4], "cart": [0.6, 0.6]}
    table = from_frame(frame(scores, {"rf": "RF", "cart": "Tree"}))
    points = wins(table, WITHOUT_ADACAP, ("DNN", "RF", "GBDT"))
    assert points["DNN"] == pytest.approx({"t0, split 0": 0.8, "t1, split 0": 1.0})
    assert [*points["RF"].values()] == pytest.approx([0.2, 0.0])
    assert [*points["GBDT"].values()] == [*points["CART"].values()] == [0.0, 0.0]


def test_a_contest_without_its_networks_is_refused():
    table = from_frame(frame({"mlp": [0.5]}, {}))
    with pytest.raises(NoResultError, match="need snn, which were not run"):
        whole(table, ["mlp", "snn"])


@pytest.mark.parametrize(("loss", "verdict"), [(0.1, "reproduced"), (-0.1, "not reproduced")])
def test_claims_about_classes_follow_the_scores(loss, verdict, made_up):
    """AdaCap loses or gains ``loss``; boosting is always ahead."""
    item = items()["c5-classes"]
    scale = item.scales["ledger"]
    results = made_up(item, scale)
    rng = np.random.default_rng(0)
    results.records = [r for r in results.records if r.category not in ("Peer", "Baseline")]
    for record in results.records:
        level = {"AdaCap": 0.7 - loss, "DNN": 0.7, "GBDT": 0.9}.get(record.category, 0.4)
        score = level + float(rng.normal(0.0, 0.01))
        record.metrics.update(test_auc=score, test_accuracy=score)
    claims = judged(item.summarise(results, scale).claims)
    under = [c for c in claims if "under-performs" in c.text]
    boosted = [c for c in claims if c.text.startswith("Boosted trees")]
    assert [claim.verdict for claim in under] == [verdict] * 2
    assert [claim.verdict for claim in boosted] == ["reproduced"] * 2
