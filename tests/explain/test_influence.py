"""Reported influence is what leaving the row out does, in every member that is solved."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor

ROOT = Path(__file__).parents[2]
KINDS = {
    "nets": {"quality": "nets", "width": 16, "max_iter": 40},
    "kernel": {"quality": ["kernel"]},
    "kernel on ranks": {"quality": ["kernel:rank"]},
    "ridge": {"quality": ["ridge:bins"]},
    "boosting": {"quality": ["boosting"]},
    "blend": {"quality": "fast"},
}


TABLES = ["diabetes", "friedman1", "friedman2"]


@pytest.fixture(scope="module")
def study():
    return runpy.run_path(str(ROOT / "benchmarks" / "influence.py"), run_name="influence")


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        (kind, table)
        for kind in ("nets", "blend")
        for table in ("diabetes", "friedman1", "friedman2")
    ]
    + [(kind, "friedman1") for kind in KINDS if kind not in ("nets", "blend")],
)
def test_influence_is_the_change_on_leaving_the_row_out(study, kind, table):
    X, y = study["tables"]()[table]
    X, y, new = X[:60], y[:60], X[-8:]
    with study["kernels_kept"]() as kernels:
        model = AdaCapRegressor(random_state=0, **KINDS[kind]).fit(X, y)
    told = model.influence(new, X, y)
    assert told.share == 1
    left_out = np.arange(0, 60, 10)
    moves, off = study["moves_by_solving"](model, new, X, y, left_out, kernels)
    assert off < 1e-3 * np.std(y)
    reported = told.values[:, left_out]
    ranks = [spearmanr(a, b).statistic for a, b in zip(reported, moves, strict=True)]
    assert min(ranks) > 0.99
    np.testing.assert_allclose(reported, moves, atol=1e-5 * np.abs(moves).max())


def test_rows_go_by_the_labels_of_the_user(blend):
    found = blend.model.influence(blend.new, blend.X, blend.y)
    assert set(found.labels) == set(blend.X.index)
    assert [found.labels[i] for i in range(3)] == list(blend.X.index[found.positions[:3]])
    label, moved = found.top(0, 1)[0]
    assert label in blend.X.index
    assert abs(moved) == pytest.approx(np.abs(found.values[0]).max())
    frame = found.to_frame(2)
    assert list(frame["row"][:2]) == [blend.new.index[0]] * 2
    assert str(found).splitlines()[0].startswith("row row 90 leans on")


def test_a_loaded_model_tells_the_same(blend, tmp_path):
    blend.model.save(tmp_path / "m.adacap")
    again = adacap.load(tmp_path / "m.adacap")
    before = blend.model.influence(blend.new[:3], blend.X, blend.y)
    after = again.influence(blend.new[:3], blend.X, blend.y)
    assert after.share == before.share == 1
    np.testing.assert_allclose(after.values, before.values, atol=1e-9)


def test_a_weight_of_two_is_the_row_twice():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(40, 2)), np.ones(40)
    y = X[:, 0] + rng.normal(size=40)
    weight[5] = 2
    twice = np.append(np.arange(40), 5)
    model = AdaCapRegressor(quality=["kernel", "ridge"], random_state=0)
    by_weight = model.fit(X, y, weight).influence(X[:3], X, y, weight)
    by_copy = model.fit(X[twice], y[twice]).influence(X[:3], X[twice], y[twice])
    assert len(by_copy.labels) == 40
    np.testing.assert_allclose(by_copy.values, by_weight.values, atol=1e-9)


def test_a_wrong_label_stands_out():
    x = np.linspace(0, 6, 50)
    y = np.sin(x)
    y[20] += 3
    table = pd.DataFrame({"x": x}, index=pd.date_range("2024-01-01", periods=50))
    model = AdaCapRegressor(quality=["kernel"], random_state=0).fit(table, y)
    found = model.influence(table[19:22], table, y)
    assert all(pd.Timestamp(found.top(i, 1)[0][0]) == table.index[20] for i in (0, 2))


def test_other_rows_than_those_of_fit_are_refused(blend):
    with pytest.raises(ValueError, match="are not the rows that this AdaCapRegressor was fitted"):
        blend.model.influence(blend.new, blend.X[:80], blend.y[:80])
    with pytest.raises(ValueError, match="are not the rows"):
        blend.model.influence(blend.new, blend.X, blend.y + 1)


def test_classes_with_a_closed_form_are_told_in_log_odds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=50) > 0, "yes", "no")
    options = {"quality": "nets", "width": 16, "max_iter": 30, "random_state": 0}
    model = AdaCapClassifier(scheme="adacap", **options).fit(X, y)
    found = model.influence(X[:2], X, y)
    assert found.values.shape == (2, 50)
    assert np.abs(found.values).max() > 0
    plain = AdaCapClassifier(**options).fit(X, y)
    with pytest.raises(ValueError, match=r"No part of this model can be solved again.*Fit classes"):
        plain.influence(X[:2], X, y)


def test_rows_weighted_by_class_are_those_of_fit():
    X = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.where(X[:, 0] > 0.8, "rare", "usual")
    options = {"quality": "nets", "scheme": "adacap", "width": 16, "max_iter": 30}
    by_class = AdaCapClassifier(**options, class_weight="balanced", random_state=0)
    weight = np.where(labels == "rare", 60 / (2 * np.sum(labels == "rare")), 1.0)
    weight = np.where(labels == "usual", 60 / (2 * np.sum(labels == "usual")), weight)
    by_row = AdaCapClassifier(**options, random_state=0)
    found = by_class.fit(X, labels).influence(X[:4], X, labels)
    same = by_row.fit(X, labels, sample_weight=weight).influence(
        X[:4], X, labels, sample_weight=weight
    )
    np.testing.assert_allclose(found.values, same.values, atol=1e-9)


def test_what_is_not_solved_is_told(blend):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.sign(X[:, 0]) + X[:, 1]
    model = AdaCapRegressor(quality=["trees", "ridge"], random_state=0).fit(X, y)
    found = model.influence(X[:2], X, y)
    weights = {share.name: share.weight for share in model.settings_.blend}
    assert found.members == {"trees": False, "ridge": True}
    assert found.share == pytest.approx(weights["ridge"])


@pytest.mark.parametrize("members", [["ridge"], ["boosting"], ["kernel"], "fast"])
@pytest.mark.parametrize("name", ["groups", "time"])
def test_dependent_rows_are_told_as_they_were_split(name, members):
    """Members refuse to tell where solving them again does not give what they are."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 2)), 1)
    X[31] = X[30]
    y = X[:, 0] + 0.2 * rng.normal(size=60)
    y[31] = y[30]  # equal rows of two groups, or times, stay two
    own = np.arange(60) % 15 if name == "groups" else np.arange(60)
    model = AdaCapRegressor(quality=members, random_state=0).fit(X, y, **{name: own})
    found = model.influence(X[:3], X, y, **{name: own})
    assert found.share == 1
    assert {30, 31} <= set(found.labels)
    with pytest.raises(ValueError, match=f"Pass {name}= here too"):
        model.influence(X[:3], X, y)
    other = {"groups": "time", "time": "groups"}[name]
    with pytest.raises(ValueError, match=f"Leave {other}= out"):
        model.influence(X[:3], X, y, groups=np.arange(60), time=np.arange(60))
