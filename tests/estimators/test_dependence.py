"""Rows that are not independent: groups stay whole, what is held out in time comes later."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate

from adacap import AdaCapClassifier, AdaCapRegressor, lite, load
from adacap.estimators.bounds import Depends
from adacap.estimators.dependence import (
    Dependence,
    dependent_folds,
    dependent_hold_out,
    read_dependence,
)

N, N_GROUPS = 96, 12
FAST = ["ridge", "ridge:bins"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.arange(N) % N_GROUPS)
    X = rng.normal(size=(N, 3))
    y = X[:, 0] + 1.5 * rng.normal(size=N_GROUPS)[group] + 0.3 * rng.normal(size=N)
    return X, y, group


def rng():
    return np.random.default_rng(0)


# ------------------------------------------------------------------------------ splitting


@pytest.mark.parametrize("strata", [None, np.arange(200) % 7 // 5])
@pytest.mark.parametrize("n_folds", [2, 5, 9])
def test_a_group_is_held_out_in_one_fold_and_trained_on_in_all_others(n_folds, strata):
    group = np.random.default_rng(1).integers(0, 23, 200)
    folds = dependent_folds(Dependence(group=group), n_folds, 999, strata, rng())
    assert len(folds) == n_folds
    assert sorted(np.concatenate([valid for _, valid in folds])) == list(range(200))
    for train, valid in folds:
        assert not set(group[train]) & set(group[valid])
        assert len(train) + len(valid) == 200
        assert len(valid) <= 200 / n_folds + 20


def test_folds_of_groups_share_out_the_classes():
    group = np.arange(300) // 10
    strata = (group % 3 == 0).astype(np.intp)  # each group has one class
    folds = dependent_folds(Dependence(group=group), 5, 999, strata, rng())
    assert [int(strata[valid].sum()) for _, valid in folds] == [20] * 5


def test_in_time_what_is_held_out_comes_after_what_was_trained_on():
    time = np.random.default_rng(1).integers(0, 40, 200)
    folds = dependent_folds(Dependence(time=time), 5, 999, None, rng())
    assert len(folds) == 5
    for train, valid in folds:
        assert time[train].max() < time[valid].min()
        assert len(train) >= 80
    held = np.concatenate([valid for _, valid in folds])
    assert len(held) == len(set(held)) == (time >= time[folds[0][1]].min()).sum()


def test_with_both_later_rows_of_other_groups_are_held_out():
    draw = np.random.default_rng(1)
    both = Dependence(draw.integers(0, 12, 300), draw.permutation(300))
    for train, valid in dependent_folds(both, 5, 999, None, rng()):
        assert both.time[train].max() < both.time[valid].min()
        assert not set(both.group[train]) & set(both.group[valid])
    train, valid = dependent_hold_out(both, 0.2, 999, None, rng())
    assert both.time[train].max() < both.time[valid].min()
    assert not set(both.group[train]) & set(both.group[valid])


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
def test_a_hold_out_takes_about_its_share_in_whole_groups(share):
    group = np.arange(400) // 10
    train, valid = dependent_hold_out(Dependence(group=group), share, 999, None, rng())
    assert len(valid) == pytest.approx(400 * share, abs=10)
    assert not set(group[train]) & set(group[valid])
    assert len(train) + len(valid) == 400


def test_a_fold_takes_no_more_rows_than_a_net_may_look_at():
    group = np.arange(1000) // 10
    folds = dependent_folds(Dependence(group=group), 5, 50, None, rng())
    assert [len(valid) for _, valid in folds] == [50] * 5
    for train, valid in folds:
        assert not set(group[train]) & set(group[valid])


def test_equal_times_are_never_divided():
    time = np.repeat([0, 1, 2], [90, 5, 5])
    folds = dependent_folds(Dependence(time=time), 5, 999, None, rng())
    assert [np.unique(time[valid]).tolist() for _, valid in folds] == [[1], [2]]


# -------------------------------------------------------------------------------- reading


def test_time_is_read_from_numbers_dates_and_text():
    dates = np.array(["2021-03-01", "2020-12-31", "2021-03-02"])
    for time in (dates, dates.astype("datetime64[D]"), dates.tolist(), [2.5, -1, 1e9]):
        assert read_dependence(None, time, 3).time.tolist() == [1, 0, 2]
    assert read_dependence(None, ["10", "9", "11"], 3).time.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": [1, 2]}, r"groups must hold one value per row, 96 in all, got shape \(2,\)"),
        ({"groups": np.ones((N, 2))}, r"groups must hold one value per row.*\(96, 2\)"),
        ({"groups": [*range(N - 1), np.nan]}, "groups is missing in 1 of 96 rows, .* row 95"),
        ({"groups": [None, *"ab" * 47, "b"]}, "groups is missing in 1 of 96 rows, .* row 0"),
        ({"groups": ["same"] * N}, "groups holds a single group.*at least 2"),
        ({"time": [1.0] * N}, "time holds 1 different times.*at least 3"),
        ({"time": ["first"] * N}, "time must hold numbers or dates, got 'first' in row 0"),
        ({"time": [*range(N - 1), np.inf]}, "time must hold numbers or dates, got inf"),
        ({"time": [None, *range(N - 1)]}, "time is missing in 1 of 96 rows"),
    ],
    ids=["short", "two columns", "nan", "none", "one group", "one time", "words", "inf", "no time"],
)
def test_what_cannot_be_split_is_refused_with_the_way_out(table, given, message):
    X, y, _ = table
    model = AdaCapRegressor(quality=FAST)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **given)
    assert not hasattr(model, "settings_")


# -------------------------------------------------------------------------------- fitting


def same(a, b, X):
    return np.array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("quality", [FAST, "nets"])
def test_neither_names_of_groups_nor_the_order_of_rows_matter(table, quality):
    X, y, group = table
    options = {"max_iter": 2, "width": 8, "n_estimators": 2} if quality == "nets" else {}
    own = AdaCapRegressor(quality=quality, random_state=0, **options)
    first = own.fit(X, y, groups=group).predict(X)
    names = np.array([f"patient {(5 * g) % N_GROUPS}" for g in range(N_GROUPS)])
    order = np.random.default_rng(3).permutation(N)
    again = own.fit(X[order], y[order], groups=names[group[order]])
    assert np.array_equal(again.predict(X), first)


def test_equal_rows_of_two_groups_stay_two_rows_and_copies_in_a_group_one(table):
    X, y, group = table
    X, y = np.vstack([X, X[:1], X[:1]]), np.append(y, [y[0], y[0]])
    other = (group[0] + 1) % N_GROUPS
    model = AdaCapRegressor(quality=FAST).fit(X, y, groups=[*group, other, group[0]])
    assert model.provenance_.n_distinct == N + 1
    assert model.provenance_.n_rows == N + 2


def test_a_weight_of_two_is_the_row_twice_in_its_group(table):
    X, y, group = table
    weight = np.ones(N)
    weight[:9] = 2
    make = AdaCapRegressor(quality=FAST, random_state=0)
    weighted = make.fit(X, y, sample_weight=weight, groups=group).predict(X)
    twice = np.r_[np.arange(N), np.arange(9)]
    repeated = make.fit(X[twice], y[twice], groups=group[twice]).predict(X)
    assert np.array_equal(weighted, repeated)


def test_settings_say_how_rows_were_split(table):
    X, y, group = table
    model = AdaCapRegressor(quality=FAST)
    assert (
        "whole groups, 12 in all, in 5 folds" in model.fit(X, y, groups=group).settings_.split_text
    )
    assert model.settings_.split_by == ("group",)
    assert "split_by" in str(model.settings_)
    assert model.fit(X, y, time=range(N)).settings_.split_text.startswith("in time: 5 blocks")
    assert model.fit(X, y).settings_.split_text == "rows at random, in 5 folds"
    assert "split_by" not in str(model.settings_)


def test_few_groups_make_few_folds_and_are_told(table):
    X, y, group = table
    with pytest.warns(UserWarning, match="3 folds and not 5: 3 groups allow no more"):
        model = AdaCapRegressor(quality=FAST).fit(X, y, groups=group % 3)
    assert model.settings_.n_estimators == 3


def test_up_to_ten_groups_are_a_fold_each(table):
    X, y, group = table
    model = AdaCapRegressor(quality=FAST).fit(X, y, groups=group % 8)
    assert model.settings_.n_estimators == 8
    assert sorted(np.bincount(model.intervals_.folds.fold)) == sorted(np.bincount(group % 8))


def test_nets_hold_out_whole_groups_and_later_rows(table):
    X, y, group = table
    model = AdaCapRegressor(n_estimators=1, max_iter=3, width=8, refit="head", random_state=0)
    model.fit(X, y, groups=group)
    member = model.members_[0].rows
    assert len(member.valid) == 16  # two groups of eight
    model.fit(X, y, time=np.arange(N))
    assert len(model.members_[0].rows.valid) == 19


def test_in_time_the_model_that_predicts_has_seen_all_rows(table):
    X, y, _ = table
    late = np.where(np.arange(N) < 80, 0.0, 50.0)  # what only the last block knows
    model = AdaCapRegressor(quality=["ridge"], random_state=0)
    model.fit(X, y + late, time=np.arange(N))
    assert model.predict(X).mean() == pytest.approx((y + late).mean(), abs=1.0)


def test_rows_set_aside_are_whole_groups_and_each_counts_once(table):
    X, y, group = table
    model = AdaCapRegressor(quality=FAST, calibration_fraction=0.25)
    errors = model.fit(X, y, groups=group).intervals_.split
    assert errors.weight.sum() == pytest.approx(3)
    assert len(errors.values) == 24
    assert len(model.fit(X, y, time=np.arange(N)).intervals_.split.values) == 24
    with pytest.raises(ValueError, match="by groups and time at once"):
        model.fit(X, y, groups=group, time=np.arange(N))


def test_calibrate_counts_groups(table):
    X, y, group = table
    model = AdaCapRegressor(quality=FAST).fit(X[:60], y[:60])
    errors = model.calibrate(X[60:], y[60:], groups=group[60:]).intervals_.split
    assert errors.weight.sum() == pytest.approx(len(set(group[60:])))


def test_classes_are_calibrated_by_groups(table):
    X, y, group = table
    model = AdaCapClassifier(quality=["ridge"], random_state=0).fit(X[:60], y[:60] > 0)
    model.calibrate(X[60:], y[60:] > 0, groups=group[60:])
    assert model.sets_.split.depends == Depends(len(set(group[60:])))
    with pytest.raises(ValueError, match="one value per row, 36 in all"):
        model.calibrate(X[60:], y[60:] > 0, groups=group)


def test_no_more_is_promised_than_dependent_rows_allow(table):
    X, y, group = table
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, y, groups=group)
    told = model.intervals_.describe
    assert told(0.9).startswith("cv+: errors of 12 groups out of fold")
    assert told(0.9).endswith("About 90 % of rows of new groups: measured, not promised.")
    assert told(0.95).endswith("Nothing is promised: 95 % needs at least 19 groups.")
    with pytest.warns(UserWarning, match=r"at least 19 groups to take errors from, got 12.*0\.923"):
        model.predict_interval(X[:2], 0.95)
    with pytest.warns(UserWarning, match="fitted by groups, but these rows count as independent"):
        model.calibrate(X + 0.1, y)
    model.calibrate(X + 0.1, y, groups=group)
    assert model.intervals_.describe().endswith("90 % are promised for a row of a new group.")
    model.fit(X, y, time=np.arange(N))
    assert "48 rows that came later" in model.intervals_.describe()
    assert model.calibrate(X + 0.1, y).intervals_.describe().endswith("nothing is promised.")


def test_leave_one_out_errors_are_no_ground_for_intervals_of_dependent_rows(table):
    X, y, group = table
    model = AdaCapRegressor(quality="nets", max_iter=3, width=8).fit(X, y, groups=group)
    assert model.intervals_.resolve("auto") == "cv+"
    with pytest.raises(ValueError, match="without groups or time"):
        model.predict_interval(X, method="loo")


def test_classes_are_shared_out_among_groups(table):
    X, y, group = table
    labels = np.where(y > 0, "high", "low")
    model = AdaCapClassifier(quality=["ridge"], random_state=0)
    for given in ({"groups": group}, {"time": np.arange(N)}):
        assert model.fit(X, labels, **given).score(X, labels) > 0.7
    one = AdaCapClassifier(quality="nets", max_iter=2, width=8, calibration_fraction=0.2)
    assert one.fit(X, labels, groups=group).settings_.split_by == ("group",)


def test_several_targets_and_validation_rows_go_with_groups(table):
    X, y, group = table
    many = np.column_stack([y, -y, X[:, 1]])
    model = AdaCapRegressor(quality=FAST).fit(X, many, groups=group)
    assert model.predict_interval(X[:4]).shape == (4, 3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nets = AdaCapRegressor(max_iter=3, width=8).fit(X, y, X_val=X, y_val=y, groups=group)
    assert nets.settings_.split_by == ("group",)


def test_a_file_keeps_how_rows_were_split(table, tmp_path):
    X, y, group = table
    for i, given in enumerate([{"groups": group}, {"time": np.arange(N)}]):
        model = AdaCapRegressor(quality=FAST, random_state=0).fit(X, y, **given)
        model.save(tmp_path / f"{i}.adacap")
        loaded = load(tmp_path / f"{i}.adacap")
        assert loaded.settings_ == model.settings_
        assert loaded.intervals_.describe() == model.intervals_.describe()
        light = lite.load(tmp_path / f"{i}.adacap")
        assert light.intervals_.describe() == model.intervals_.describe()
        assert np.array_equal(loaded.predict_interval(X), model.predict_interval(X))


def test_groups_are_routed_as_metadata(table):
    X, y, group = table
    with sklearn.config_context(enable_metadata_routing=True):
        model = AdaCapRegressor(quality=FAST).set_fit_request(groups=True)
        found = cross_validate(
            model, X, y, cv=GroupKFold(3), params={"groups": group}, return_estimator=True
        )
    assert [one.settings_.n_groups for one in found["estimator"]] == [8, 8, 8]


# ------------------------------------------------------------------------------- coverage


def groups_with_effects(n_groups, rng):
    """Ten rows of each group, whose own level no column tells."""
    group = np.repeat(np.arange(n_groups), 10)
    X = np.column_stack([rng.normal(size=(len(group), 3)), rng.normal(size=(n_groups, 2))[group]])
    level = 1.5 * rng.normal(size=n_groups)[group]
    return X, X[:, 0] + level + 0.5 * rng.normal(size=len(group)), group


def coverage(model, X, y):
    bounds = model.predict_interval(X)
    return np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1]))


def coverages(make_rows, n_fits, n_random):
    """Of rows of new groups: of so many fits by groups, and of some at random."""
    by_groups, at_random = [], []
    for seed in range(n_fits):
        X, y, group = make_rows(80, np.random.default_rng(seed))
        train = group < 20
        model = AdaCapRegressor(quality=FAST, random_state=seed)
        model.fit(X[train], y[train], groups=group[train])
        by_groups.append(coverage(model, X[~train], y[~train]))
        if seed < n_random:
            model.fit(X[train], y[train])
            at_random.append(coverage(model, X[~train], y[~train]))
    return by_groups, at_random


def test_intervals_hold_for_rows_of_groups_that_were_not_seen():
    """A small version of benchmarks/groups.py, which has the figures."""
    by_groups, at_random = coverages(groups_with_effects, 12, 12)
    assert 0.86 <= np.mean(by_groups) <= 0.96
    assert np.mean(at_random) < np.mean(by_groups) - 0.08


def repeated_measures(n_subjects, rng):
    """Six visits of each subject, with a level and a slope of its own that no column tells."""
    subject = np.repeat(np.arange(n_subjects), 6)
    visit, dose = np.tile(np.arange(6), n_subjects), rng.uniform(size=len(subject))
    age, before = rng.uniform(20, 80, n_subjects)[subject], rng.normal(size=n_subjects)[subject]
    level, slope = rng.normal(size=(2, n_subjects))[:, subject]
    y = 0.02 * age + before + dose + level + (0.2 * slope - 0.3) * visit
    X = np.column_stack([age, before, dose, visit])
    return X, y + 0.4 * rng.normal(size=len(y)), subject


def test_intervals_hold_for_repeated_measures_of_new_subjects():
    by_groups, at_random = coverages(repeated_measures, 60, 20)
    assert 0.88 <= np.mean(by_groups) <= 0.93
    assert np.mean(at_random) < np.mean(by_groups[:20]) - 0.05


def test_intervals_hold_for_later_rows_of_a_table_that_drifts():
    held = {"time": [], "random": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(240, 3))
        drift = np.cumsum(rng.normal(size=240)) * 0.3
        X = np.column_stack([X, np.arange(240) / 240])
        y = X[:, 0] + drift + 0.3 * rng.normal(size=240)
        model = AdaCapRegressor(quality=FAST, random_state=seed)
        for name, given in (("time", np.arange(200)), ("random", None)):
            model.fit(X[:200], y[:200], time=given)
            held[name].append(coverage(model, X[200:220], y[200:220]))
    assert np.mean(held["time"]) >= 0.8
    assert np.mean(held["random"]) < np.mean(held["time"]) - 0.15
