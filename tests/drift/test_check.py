"""What ``check_drift`` promises: what moved is found, what did not raises no alarm."""

import json
import re

import numpy as np
import pytest

import adacap
from adacap import check_drift


@pytest.fixture(params=["blend", "nets"])
def model(request):
    return request.getfixturevalue(request.param)


# ------------------------------------------------------------------------- false alarms


@pytest.mark.parametrize("n_rows", [40, 400])
def test_rows_of_the_same_kind_raise_few_alarms(nets, make_rows, n_rows):
    alarms = sum(check_drift(nets, make_rows(n_rows, seed)).is_drifted for seed in range(1, 101))
    assert alarms <= 9  # of 100, where 5 are allowed: more than 9 has a chance below 3 %


def test_about_one_row_in_a_hundred_is_beyond_reach_by_chance(model, make_rows):
    found = check_drift(model, make_rows(1500, 7))
    assert found.share_beyond < 0.05
    assert found.share_untrusted == found.share_beyond


def test_the_training_rows_are_no_news(model, make_rows):
    found = check_drift(model, make_rows(300, 0))
    assert found.moved == ()
    assert found.never_seen == {}


# --------------------------------------------------------------------------- what moved


def shifted(table, column, seed=1):
    rng = np.random.default_rng(seed)
    n_rows = len(table["size"])
    new = {
        "size": table["size"] + 25,
        "rooms": rng.integers(3, 9, n_rows).astype(float),
        "city": rng.choice(["Lyon", "Nice", "Paris"], n_rows, p=[0.1, 0.1, 0.8]).tolist(),
        "sold": [day.replace(year=day.year + 2) for day in
                 (d.replace(day=min(d.day, 28)) for d in table["sold"])],
        "garden": rng.random(n_rows) < 0.9,
    }  # fmt: skip
    return {**table, column: new[column]}


def test_dates_are_told_as_dates_and_booleans_as_shares(nets, make_rows):
    rows, new = make_rows(300, 0), make_rows(250, 3)
    for column, note in (("sold", r"median 20\d\d-\d\d-\d\d → 20\d\d-\d\d-\d\d"),
                         ("garden", r"true \d\d % → \d\d %$")):  # fmt: skip
        one = check_drift(nets, shifted(new, column)).columns[0]
        assert (one.column, one.test) == (column, "distribution")
        assert re.match(note, one.note), one.note
    share = np.mean(rows["garden"])
    assert one.note.startswith(f"true {100 * share:.0f} %")


def test_training_rows_are_counted(nets, make_rows):
    told = check_drift(nets, make_rows(40, 1)).to_dict()["training_rows"]
    assert told == 300
    assert isinstance(told, int)


@pytest.mark.parametrize("column", ["size", "rooms", "city", "sold", "garden"])
def test_a_column_that_moved_is_named_and_no_other(model, make_rows, column):
    found = check_drift(model, shifted(make_rows(250, 3), column))
    assert found.moved == (column,)
    assert found.columns[0].moved
    assert column in str(found)


def test_new_gaps_are_found(model, make_rows):
    table = make_rows(250, 3)
    table["size"][::2] = np.nan
    found = check_drift(model, table)
    assert [(one.column, one.test) for one in found.columns if one.moved] == [("size", "missing")]


def test_rows_of_which_nearly_all_is_missing_are_not_trusted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    model = adacap.AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, X[:, 0])
    new = rng.normal(size=(100, 10))
    new[:20, 1:], new[20:30], new[30:40, :5] = np.nan, np.nan, np.nan
    found = check_drift(model, new)
    assert found.untrusted[:30].all()
    assert not found.untrusted[30:].all()
    gaps = np.where(rng.random((300, 1)) < 0.2, np.nan, X[:, :1])  # what training rows had too
    model.fit(gaps, X[:, 0])
    assert not check_drift(model, np.full((50, 1), np.nan)).untrusted.any()


def test_categories_never_seen_are_named_and_their_rows_not_trusted(model, make_rows):
    table = make_rows(250, 3)
    table["city"][:50] = ["Brest"] * 50
    found = check_drift(model, table)
    assert found.never_seen["city"] == ("Brest",)
    assert ("city", "never seen") in {(c.column, c.test) for c in found.columns if c.moved}
    assert found.untrusted[:50].all()


def test_rare_levels_that_are_new_by_chance_are_no_alarm(make_rows, target):
    rng = np.random.default_rng(0)
    table, new = make_rows(200, 0), make_rows(200, 1)
    table["street"] = [f"s{k}" for k in rng.integers(0, 300, 200)]
    new["street"] = [f"s{k}" for k in rng.integers(0, 300, 200)]
    model = adacap.AdaCapRegressor(width=4, max_iter=3, random_state=0).fit(table, target(table))
    found = check_drift(model, new)
    assert "street" in found.never_seen
    assert found.moved == ()


def test_a_difference_too_small_to_matter_is_no_alarm(nets, make_rows):
    table = make_rows(20_000, 5)
    table["size"] = table["size"] + 0.5
    assert "size" not in check_drift(nets, table).moved


def test_rows_far_outside_are_not_trusted(model, make_rows):
    table = make_rows(250, 3)
    table["size"][:25] = 500.0
    found = check_drift(model, table)
    assert found.untrusted[:25].all()
    assert found.untrusted[25:].mean() < 0.1


def test_columns_the_model_disregards_do_not_make_rows_untrusted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 4))
    model = adacap.AdaCapRegressor(quality="fast", random_state=0).fit(X, np.sin(2 * X[:, 0]))
    new = rng.normal(size=(200, 4))
    in_vain, in_earnest = new + np.array([0, 0, 3, 3]), new + np.array([3, 0, 0, 0])
    share = [check_drift(model, rows).share_untrusted for rows in (new, in_vain, in_earnest)]
    assert share[0] < 0.06
    assert share[1] < 0.5 < share[2]


def test_intervals_fail_more_often_on_rows_that_are_flagged():
    rng = np.random.default_rng(0)

    def wave(X):
        return 3 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=len(X))

    X = rng.normal(size=(250, 4))
    new = rng.normal(size=(600, 4)) * [2.0, 1, 1, 1]
    model = adacap.AdaCapRegressor(quality="fast", random_state=0).fit(X, wave(X))
    lower, upper = model.predict_interval(new, coverage=0.9).T
    y = wave(new)
    held, flagged = (lower <= y) & (y <= upper), check_drift(model, new).untrusted
    assert held[flagged].mean() < held[~flagged].mean() - 0.2


# -------------------------------------------------------------------------- models, files


def test_a_saved_model_says_the_same(model, make_rows, tmp_path):
    model.save(tmp_path / "m.adacap")
    again, table = adacap.load(tmp_path / "m.adacap"), make_rows(60, 2)
    one, other = check_drift(model, table), check_drift(again, table)
    assert one.columns == other.columns
    np.testing.assert_allclose(one.leverage, other.leverage, rtol=1e-6)


def test_classifiers_are_checked_too(make_rows, target):
    table = make_rows(150, 0)
    model = adacap.AdaCapClassifier(width=4, max_iter=3, random_state=0)
    model.fit(table, target(table) > 300)
    assert check_drift(model, shifted(make_rows(150, 1), "size")).moved == ("size",)


def test_a_model_without_a_summary_says_so(nets, make_rows, monkeypatch):
    monkeypatch.setattr(nets, "seen_", None)
    with pytest.raises(ValueError, match="Fit it again"):
        check_drift(nets, make_rows(10, 0))


@pytest.mark.parametrize("alpha", [0, 1, 5])
def test_alpha_is_a_chance(nets, make_rows, alpha):
    with pytest.raises(ValueError, match="between 0 and 1"):
        check_drift(nets, make_rows(10, 0), alpha=alpha)


def test_the_finding_is_json(blend, make_rows):
    found = check_drift(blend, make_rows(50, 1))
    assert json.loads(json.dumps(found.to_dict()))["rows"] == 50


def test_a_model_of_constant_columns_has_nothing_to_tell_rows_by(tmp_path):
    X, y = np.ones((40, 2)), np.arange(40.0)
    model = adacap.AdaCapRegressor(width=4, max_iter=2, random_state=0).fit(X, y)
    model.save(tmp_path / "m.adacap")
    found = check_drift(adacap.load(tmp_path / "m.adacap"), X + 5)
    assert (found.moved, found.leverage, found.share_untrusted) == ((), None, 0.0)
    assert "cannot detect rows beyond its reach" in str(found)
