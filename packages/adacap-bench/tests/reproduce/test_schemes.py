"""Schemes against each other: ratios in pairs, and claims that follow them."""

import numpy as np
import pytest

from adacap_bench.reproduce import items
from adacap_bench.reproduce.item import judged
from adacap_bench.reproduce.results import NoResultError
from adacap_bench.reproduce.studies.schemes import ratio


def errors(level: float, seed: int, n: int = 20) -> dict[str, float]:
    noise = np.random.default_rng(seed).normal(0.0, 0.02, n)
    return {f"split {k}": float(level * np.exp(e)) for k, e in enumerate(noise)}


def rows(fourier: float, usual: float) -> dict:
    """Rows of AdaCap over Tikhonov with these ratios."""
    found = {}
    for seed, (net, level) in enumerate((("fourier", fourier), ("fast-mlp", usual))):
        label = f"{net}: adacap / tikhonov"
        found[label] = ratio(errors(level, seed), errors(1.0, seed + 10), label)
    return found


@pytest.mark.parametrize(
    ("fourier", "usual", "verdict"),
    [
        (0.7, 1.0, "reproduced"),
        (1.3, 1.0, "not reproduced"),
        (0.7, 0.5, "not reproduced"),  # it gains, but less than with the usual net
    ],
)
def test_mlr_decides_where_features_can_memorise(fourier, usual, verdict):
    claims = judged(items()["n1"].claims(rows(fourier, usual)))
    assert claims[-1].text.startswith("Where features can memorise")
    assert claims[-1].verdict == verdict


def test_every_architecture_has_a_claim_of_its_own():
    claims = items()["n1"].claims(rows(0.7, 1.0))
    assert [claim.text.rpartition(": ")[2] for claim in claims[:-1]] == ["fast-mlp", "fourier"]


def test_the_gain_with_fourier_features_is_told_by_task(made_up):
    item = items()["n1"]
    results = made_up(item, item.scales["quick"])
    for record in results.records:
        gains = record.job.method == "adacap-fourier" and record.job.task == "paper-9"
        record.metrics["test_rmse"] = 0.2 if gains else 0.4
    (remark,) = item.summarise(results, item.scales["quick"]).remarks
    assert remark.endswith("by task: paper-1 1.00, paper-9 0.50.")


def test_a_ratio_needs_an_experiment_that_both_have():
    with pytest.raises(NoResultError, match="No experiment has both errors of a / b"):
        ratio({"split 0": 1.0}, {"split 1": 1.0}, "a / b")


@pytest.mark.parametrize("scale", ["ledger", "paper"])
def test_label_noise_compares_adacap_with_the_plain_net(scale, made_up):
    """The introduction's claim; at the paper's scale for two nets."""
    item = items()["n2"]
    results = made_up(item, item.scales[scale])
    for record in results.records:
        adacap = record.job.method.startswith("adacap-")
        record.metrics["test_rmse"] += 0.0 if adacap else 9.0
    claims = judged(item.summarise(results, item.scales[scale]).claims)
    ours = {c.text: c.verdict for c in claims if c.text.startswith("AdaCap lowers the error")}
    text = "AdaCap lowers the error of the plain net at every share of permuted labels"
    assert ours[text] == "reproduced"
    assert (f"{text}: fast-snn" in ours) == (scale == "paper")
    assert len(claims) == (6 if scale == "ledger" else 12)


def test_label_noise_shows_what_was_run_so_far(made_up):
    item = items()["n2"]
    results = made_up(item, item.scales["ledger"])
    results.records = [r for r in results.records if r.job.task.startswith("paper-1-")]
    labels = {"paper-1-noised-50": "adacap-fast-mlp"}
    results.records = [r for r in results.records if labels.get(r.job.task) != r.job.method]
    outcome = item.summarise(results, item.scales["ledger"])
    assert "adacap, 50% noised" not in {row.label for row in outcome.rows}
    assert {row.n for row in outcome.rows} == {5}
    assert [len(claim.effects) for claim in outcome.claims] == [2, 2, 2, 1, 2, 1]
