"""Units do not matter: of the target, of columns, of weights; nor does the order of columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from torch import nn

from adacap import AdaCapClassifier, AdaCapRegressor, lite
from adacap.estimators.canonical import arrange
from adacap.exceptions import NumericalWarning
from adacap.tables.table import read_table

TINY = {"width": 16, "max_iter": 20, "random_state": 0}


def matrix(seed, n=80, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) ** np.arange(1, d + 1)
    return X, X[:, 0] + np.abs(X[:, 1]) ** 0.5 + 0.3 * rng.normal(size=n)


def frame(seed, n=110):
    """Every kind of column, missing cells, ten rows twice; a target and weights."""
    rng = np.random.default_rng(seed)
    cells = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(size=n)),
            "rooms": rng.integers(1, 5, n),
            "sold": rng.random(n) < 0.5,
            "colour": rng.choice(["red", "blue", None], n),
            "city": rng.choice([f"c{i}" for i in range(20)], n),
        }
    )
    y = cells["size"] + (cells["colour"] == "red") + cells["city"].str[1:].astype(int) / 10
    y = (y + 0.3 * rng.normal(size=n)).to_numpy()
    cells, y = pd.concat([cells, cells[:10]], ignore_index=True), np.r_[y, y[:10]]
    return cells, y, rng.integers(1, 4, n + 10).astype(float)


def predicted(X, y, weight=None, new=None, **settings):
    return AdaCapRegressor(**TINY | settings).fit(X, y, weight).predict(X if new is None else new)


def assert_same(found, expected, y, tolerance=1e-5):
    assert np.abs(found - expected).max() <= tolerance * y.std()


# ------------------------------------------------------------------------ target units

UNITS = [(2.0, 0.0), (-1.0, 0.0), (-3.7, 5.0), (1e5, -7.0), (1.0, 1e6), (-1e-4, 12.0)]


@pytest.mark.parametrize(("a", "b"), UNITS)
@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
def test_a_target_in_other_units_is_predicted_in_these(scheme, a, b, seed):
    X, y, weight = frame(seed)
    expected = predicted(X, y, weight, scheme=scheme)
    found = predicted(X, a * y + b, weight, scheme=scheme)
    assert_same((found - b) / a, expected, y)


@pytest.mark.parametrize(("a", "b"), UNITS)
def test_numbers_alone_without_weights(a, b, seed):
    X, y = matrix(seed)
    assert_same((predicted(X, a * y + b) - b) / a, predicted(X, y), y)


def test_each_of_several_targets_may_change_its_unit(seed):
    X, y = matrix(seed)
    Y = np.column_stack([y, X[:, 1] - y])
    a, b = np.array([-2.0, 30.0]), np.array([1.0, -4.0])
    assert_same((predicted(X, a * Y + b) - b) / a, predicted(X, Y), y)


def test_a_symmetric_target_can_be_turned_round(seed):
    """Its skewness is 0: which way round it is, must be read from the columns."""
    X, _ = matrix(seed)
    y = np.sign(X[:, 0] - np.median(X[:, 0]))
    assert y.sum() == 0
    assert_same(-predicted(X, -y, scheme="plain"), predicted(X, y, scheme="plain"), y)


def test_intervals_and_capacity_follow_the_unit(seed):
    X, y, weight = frame(seed)
    one, other = (AdaCapRegressor(**TINY).fit(X, t, weight) for t in (y, 5.0 - 3.0 * y))
    for method in ("cv+", "loo"):
        lower, upper = one.predict_interval(X, method=method).T
        turned = other.predict_interval(X, method=method)
        assert (turned[:, 0] < turned[:, 1]).all()
        assert_same(turned, np.column_stack([5.0 - 3.0 * upper, 5.0 - 3.0 * lower]), y)
    mine, theirs = one.capacity(), other.capacity()
    assert theirs.effective_dof == pytest.approx(mine.effective_dof, rel=1e-5)
    np.testing.assert_array_equal(mine.rows, theirs.rows)
    assert_same(theirs.residuals, -3.0 * mine.residuals, y)


def test_the_same_unit_after_a_file(tmp_path, seed):
    X, y = matrix(seed)
    for t in (y, -y):
        model = AdaCapRegressor(**TINY).fit(X, t)
        model.save(tmp_path / "m.adacap", force=True)
        np.testing.assert_allclose(
            lite.load(tmp_path / "m.adacap").predict(X), model.predict(X), atol=1e-5
        )


# --------------------------------------------------------------------------- the default


@pytest.fixture(scope="module")
def blended():
    """Table, target, weights and the predictions of the default, which is a blend."""
    X, y, weight = frame(0)
    return X, y, weight, default(X, y, weight)


def default(X, y, weight=None, new=None):
    return AdaCapRegressor(random_state=0).fit(X, y, weight).predict(X if new is None else new)


@pytest.mark.parametrize(("a", "b"), UNITS)
def test_the_default_in_other_units_of_the_target(a, b, blended):
    X, y, weight, expected = blended
    assert_same((default(X, a * y + b, weight) - b) / a, expected, y)


@pytest.mark.parametrize(("c", "d"), [(2.54, 1000.0), (1e-3, 0.0)])
def test_the_default_in_other_units_of_columns(c, d, blended):
    X, y, weight, expected = blended
    names = ["size", "gaps", "rooms"]
    assert_same(default(X.assign(**c * X[names] + d), y, weight), expected, y)


def test_the_default_with_columns_in_another_order(blended):
    X, y, weight, expected = blended
    assert_same(default(X[list(X)[::-1]], y, weight), expected, y)


def test_the_default_with_rows_in_another_order(blended, seed):
    X, y, weight, expected = blended
    rows = np.random.default_rng(seed).permutation(len(y))
    found = default(X.iloc[rows], y[rows], weight[rows], new=X)
    np.testing.assert_array_equal(found, expected)


def test_the_default_with_rows_repeated_as_often_as_they_weigh(blended):
    X, y, weight, expected = blended
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    np.testing.assert_array_equal(default(X.iloc[rows], y[rows], new=X), expected)


@pytest.mark.parametrize("factor", [0.5, 1e-9])
def test_the_default_with_weights_on_another_scale(factor, blended):
    X, y, weight, expected = blended
    assert_same(default(X, y, factor * weight), expected, y)


# ------------------------------------------------------------------- columns and rows


@pytest.mark.parametrize("order", [[3, 2, 1, 0], [1, 3, 0, 2]])
def test_columns_of_an_array_in_another_order(order, seed):
    X, y = matrix(seed)
    assert_same(predicted(X[:, order], y), predicted(X, y), y)


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_columns_of_a_frame_in_another_order(kind, seed):
    X, y, weight = frame(seed)
    y = y if kind is AdaCapRegressor else np.digitize(y, np.quantile(y, [0.3, 0.7]))
    one, other = (kind(**TINY).fit(X[c], y, weight) for c in (list(X), list(X)[::-1]))
    ask = "predict" if kind is AdaCapRegressor else "predict_proba"
    np.testing.assert_allclose(getattr(other, ask)(X), getattr(one, ask)(X), atol=1e-5)
    assert other.feature_names_in_.tolist() == list(X)[::-1]
    assert [plan.name for plan in other.encoder_.columns_] == list(X)[::-1]


def test_names_of_columns_play_no_part(seed):
    X, y, weight = frame(seed)
    renamed = X.rename(columns=dict(zip(X, "zyxwvu", strict=True)))
    np.testing.assert_array_equal(predicted(renamed, y, weight), predicted(X, y, weight))


@pytest.mark.parametrize(("c", "d"), [(2.54, 1000.0), (1e-3, 0.0), (1e6, -1e6)])
def test_a_column_in_other_units(c, d, seed):
    X, y, weight = frame(seed)
    names = ["size", "gaps", "rooms"]
    assert_same(predicted(X.assign(**c * X[names] + d), y, weight), predicted(X, y, weight), y)


def test_rows_in_another_order_change_nothing(seed):
    X, y, weight = frame(seed)
    rows = np.random.default_rng(seed).permutation(len(y))
    found = predicted(X.iloc[rows], y[rows], weight[rows], new=X)
    np.testing.assert_array_equal(found, predicted(X, y, weight))


def test_a_weight_of_two_is_the_row_twice(seed):
    X, y, weight = frame(seed)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    found = predicted(X.iloc[rows], y[rows], new=X)
    np.testing.assert_array_equal(found, predicted(X, y, weight))


@pytest.mark.parametrize("settings", [{"preprocessing": "none"}, {"architecture": "own"}])
def test_columns_stay_as_given_where_positions_may_mean_something(settings, seed):
    if "architecture" in settings:
        settings = {"architecture": lambda d: nn.Linear(d, 16)}
    X, y = matrix(seed)
    model = AdaCapRegressor(**TINY | settings).fit(X, y)
    assert model.encoder_.layout_ == (0, 1, 2, 3)
    assert model.encoder_.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_different_columns_have_different_places(seed):
    X, y = matrix(seed, d=6)
    place = arrange(read_table(X), y[:, None], np.arange(80)).columns
    order = np.random.default_rng(seed).permutation(6)
    moved = arrange(read_table(X[:, order]), y[:, None], np.arange(80)).columns
    assert [order[j] for j in moved] == list(place)


# ---------------------------------------------------------------------- large offsets


@pytest.mark.finding("H3", before="R² 0.000, intervals of width 0, no warning")
@pytest.mark.parametrize("spread", [100.0, 1.0])
def test_a_large_offset_is_no_constant_target(spread, seed):
    X, y = matrix(seed, 300)
    y = 1.7e12 + spread * y
    model = AdaCapRegressor(width=32, max_iter=60, random_state=0).fit(X, y)
    assert r2_score(y, model.predict(X)) > 0.9
    lower, upper = model.predict_interval(X).T
    assert (upper - lower > 0.1 * spread).all()
    assert ((lower <= y) & (y <= upper)).mean() > 0.8


@pytest.mark.parametrize("policy", ["default", "paper"])
def test_a_large_offset_in_a_column(policy, tmp_path, seed):
    X, y = matrix(seed, 300)
    settings = {"width": 32, "max_iter": 60, "preprocessing": policy}
    expected = predicted(X, y, **settings)
    moved = 1.7e12 + 100.0 * X
    model = AdaCapRegressor(**TINY | settings).fit(moved, y)
    assert_same(model.predict(moved), expected, y, 0.05)  # cells are rounded to 1e-6 of the spread
    assert r2_score(y, model.predict(moved)) > 0.9
    model.save(tmp_path / "m.adacap")
    found = lite.load(tmp_path / "m.adacap").predict(moved)
    assert_same(found, model.predict(moved), y)


@pytest.mark.finding("H3", before="R² 0.000, intervals of width 0, no warning")
@pytest.mark.parametrize(("offset", "spread"), [(1e15, 0.5), (1.7e18, 500.0), (-1e9, 5e-7)])
def test_a_target_that_float64_cannot_hold_is_told(offset, spread, seed):
    X, y = matrix(seed)
    y = offset + spread * np.tanh(y)
    assert len(np.unique(y)) > 2
    with pytest.warns(NumericalWarning, match=r"^y is taken as constant: .*Subtract -?\d"):
        AdaCapRegressor(**TINY).fit(X, y)
    two = np.column_stack([X[:, 0], y])
    with pytest.warns(NumericalWarning, match=r"^Target 1 of y is taken as constant"):
        AdaCapRegressor(**TINY).fit(X, two)


def test_the_way_out_of_a_rounded_target(seed):
    X, y = matrix(seed, 300)
    exact = 10**18 + np.round(100 * y).astype(np.int64)
    settings = {"width": 32, "max_iter": 60, "random_state": 0}
    model = AdaCapRegressor(**settings).fit(X, exact - 10**18)
    assert r2_score(exact - 10**18, model.predict(X)) > 0.9


def test_a_constant_target_is_still_one():
    X, _ = matrix(0)
    for constant in (0.1, 1.7e12, -1e-300, 0.0):
        found = predicted(X, np.full(80, constant))
        np.testing.assert_array_equal(found, constant)


# ----------------------------------------------------------------------------- weights


@pytest.mark.parametrize("factor", [2.0**-40, 0.5, 1024.0])
@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_weights_times_a_power_of_two_change_no_bit(kind, factor, seed):
    X, y, weight = frame(seed)
    y = y if kind is AdaCapRegressor else (y > np.median(y))
    one, other = (kind(**TINY).fit(X, y, w) for w in (weight, factor * weight))
    ask = "predict" if kind is AdaCapRegressor else "predict_proba"
    np.testing.assert_array_equal(getattr(other, ask)(X), getattr(one, ask)(X))


@pytest.mark.finding("M1", before="weights of 1e-10 gave R² −0.087, silently")
@pytest.mark.parametrize("factor", ["sum to one", 1e-9, 123.4])
@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
def test_the_common_scale_of_weights_has_no_influence(scheme, factor, seed):
    X, y, weight = frame(seed)
    factor = 1.0 / weight.sum() if factor == "sum to one" else factor
    settings = TINY | {"scheme": scheme, "n_estimators": 5, "validation": "folds"}
    one, other = (AdaCapRegressor(**settings).fit(X, y, w) for w in (weight, factor * weight))
    assert_same(other.predict(X), one.predict(X), y)
    assert_same(other.predict_interval(X), one.predict_interval(X), y)
    mine, theirs = one.capacity(), other.capacity()
    assert theirs.n_solved == pytest.approx(mine.n_solved)
    if scheme != "plain":
        assert theirs.effective_dof == pytest.approx(mine.effective_dof, rel=1e-5)


def test_equal_weights_are_no_weights(seed):
    X, y = matrix(seed)
    np.testing.assert_array_equal(predicted(X, y, np.full(80, 0.1)), predicted(X, y))


def test_rows_of_weight_zero_are_absent(seed):
    X, y, weight = frame(seed)
    weight[::7] = 0.0
    kept = weight > 0
    found = predicted(X[kept], y[kept], weight[kept], new=X)
    np.testing.assert_array_equal(predicted(X, y, weight), found)


def test_intervals_of_rows_set_aside_do_not_see_the_scale_of_weights(seed):
    X, y, weight = frame(seed)
    settings = TINY | {"calibration_fraction": 0.3}
    one, other = (AdaCapRegressor(**settings).fit(X, y, w) for w in (weight, weight / 64))
    np.testing.assert_array_equal(other.predict_interval(X), one.predict_interval(X))
