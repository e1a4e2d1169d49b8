"""Intervals that adapt: wider where errors are larger, the same where they are not."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_friedman1

from adacap import AdaCapRegressor
from adacap.estimators.adaptive import LEAST_ROWS, learn_widths

MEMBERS = ["trees", "ridge"]


def uneven(n, seed):
    """A quiet and a noisy kind of rows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    noise = np.where(X[:, 1] > 0, 1.0, 0.1)
    return X, X[:, 0] + noise * rng.normal(size=n)


def share(bounds, y):
    return ((bounds[..., 0] <= y) & (y <= bounds[..., 1])).mean(0)


@pytest.fixture(scope="module")
def model():
    X, y = uneven(300, 0)
    return AdaCapRegressor(quality=MEMBERS, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def many():
    """Two targets, one of them with noise of one size, and weights."""
    X, y = uneven(200, 1)
    Y = np.column_stack([y, X[:, 0] - np.random.default_rng(2).normal(size=200)])
    weight = 1.0 + np.arange(200) % 2
    return AdaCapRegressor(quality=MEMBERS, random_state=0).fit(X, Y, weight)


# ---------------------------------------------------------------------------------- width


def test_noisy_rows_have_wide_intervals_and_both_kinds_are_held(model):
    X, y = uneven(2000, 5)
    bounds, is_noisy = model.predict_interval(X, 0.9), X[:, 1] > 0
    width = np.diff(bounds)[:, 0]
    assert width[is_noisy].mean() > 2.5 * width[~is_noisy].mean()
    for kind in (is_noisy, ~is_noisy):
        assert 0.83 <= share(bounds[kind], y[kind]) <= 0.99
    even = model.predict_interval(X, 0.9, width="constant")
    assert share(even[~is_noisy], y[~is_noisy]) > 0.97
    assert width.mean() < 0.9 * np.diff(even).mean()


def test_noise_of_one_size_has_one_width():
    rng = np.random.default_rng(0)
    x, errors = torch.from_numpy(rng.normal(size=(300, 3))), rng.normal(size=(300, 1))
    assert learn_widths(x, errors, np.zeros((300, 1)), None, np.arange(300) % 5) is None


def test_few_rows_and_perfect_fits_have_one_width():
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.uniform(size=(300, 1)))
    errors = (10 * x.numpy()) ** 2 * rng.normal(size=(300, 1))
    nothing, fold = np.zeros((300, 1)), np.arange(300) % 5
    n = LEAST_ROWS - 1
    assert learn_widths(x, errors, nothing, None, fold) is not None
    assert learn_widths(x[:n], errors[:n], nothing[:n], None, fold[:n]) is None
    assert learn_widths(x, nothing, nothing, None, fold) is None


def test_the_scale_of_a_row_is_learnt_without_its_fold():
    """Errors of one fold that are three times as large leave the scale of its rows alone."""
    rng = np.random.default_rng(0)
    x, fold = torch.from_numpy(rng.uniform(size=(300, 2))), np.arange(300) % 5
    errors = (0.1 + x.numpy()[:, :1]) * rng.normal(size=(300, 1))
    other = np.where(fold[:, None] == 2, 3 * errors, errors)
    one, two = (learn_widths(x, e, 0 * e, None, fold) for e in (errors, other))
    trees = [found[0].trees.fold(2).each(x)[0].numpy() for found in (one, two)]
    np.testing.assert_array_equal(*trees)


def test_narrow_and_wide_rows_hold_alike():
    """Errors of a mean size of 0.3 and of 1, the small ones all alike, the large ones rare."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.uniform(size=(2000, 2)))
    is_large = x.numpy()[:, :1] > 0.5
    rare = np.where(rng.uniform(size=(2000, 1)) < 0.2, 4.0, 0.2)
    errors = rng.choice([-1, 1], (2000, 1)) * np.where(is_large, rare, 0.3)
    errors *= rng.uniform(0.5, 1, (2000, 1))
    _, scale = learn_widths(x, errors, 0 * errors, None, np.arange(2000) % 5)
    inside = np.abs(errors) <= np.quantile(np.abs(errors) / scale, 0.9) * scale
    assert inside[is_large].mean() == pytest.approx(0.9, abs=0.03)
    assert inside[~is_large].mean() == pytest.approx(0.9, abs=0.03)


def test_calibrated_rows_are_held_by_their_own_widths(model):
    X, y = uneven(400, 7)
    again = AdaCapRegressor(quality=MEMBERS, random_state=0).fit(*uneven(300, 0))
    again.calibrate(X, y)
    assert again.interval_method_ == "split"
    assert share(again.predict_interval(X, 0.9), y) == pytest.approx(361 / 400)  # ⌈401·0.9⌉
    assert np.diff(again.predict_interval(X, 0.9)).std() > 0
    weight = np.arange(400) % 2
    half = AdaCapRegressor(quality=MEMBERS, random_state=0).fit(*uneven(300, 0))
    half.calibrate(X, y, weight)
    assert half.intervals_.split.scale.shape == (200, 1)


def test_rows_set_aside_have_widths_too():
    X, y = uneven(400, 3)
    found = AdaCapRegressor(quality=MEMBERS, calibration_fraction=0.25, random_state=0).fit(X, y)
    assert found.interval_method_ == "split"
    assert found.intervals_.is_adaptive()
    X_new, y_new = uneven(1000, 4)
    assert 0.83 <= share(found.predict_interval(X_new), y_new) <= 0.97


# ------------------------------------------------------------------- coverages, quantiles


def test_several_coverages_are_those_asked_for_one_by_one(model, many):
    X = uneven(30, 9)[0]
    for one, shape in ((model, (30, 3, 2)), (many, (30, 2, 3, 2))):
        found = one.predict_interval(X, [0.5, 0.8, 0.9])
        assert found.shape == shape
        for k, coverage in enumerate((0.5, 0.8, 0.9)):
            np.testing.assert_array_equal(found[..., k, :], one.predict_interval(X, coverage))
        assert (np.diff(found[..., 0], axis=-1) <= 0).all()
        assert (np.diff(found[..., 1], axis=-1) >= 0).all()
    assert many.predict_interval(X).shape == (30, 2, 2)


def test_quantiles_rise_and_hold(model, many):
    X, y = uneven(2000, 11)
    levels = [0.9, 0.1, 0.5, 0.3]
    found = model.predict_quantiles(X, levels)
    assert found.shape == (2000, 4)
    assert (np.diff(found[:, np.argsort(levels)]) >= 0).all()
    assert np.abs((y[:, None] <= found).mean(0) - levels).max() < 0.06
    np.testing.assert_array_equal(found[:, 0], model.predict_quantiles(X, 0.9))
    assert many.predict_quantiles(X[:5], levels).shape == (5, 2, 4)


def test_a_target_turned_round_has_the_quantiles_of_the_other_end():
    X, y = uneven(200, 3)
    y = y + np.random.default_rng(0).exponential(size=200)
    one, other = (AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, t) for t in (y, -y))
    np.testing.assert_allclose(
        one.predict_quantiles(X, [0.1, 0.8]), -other.predict_quantiles(X, [0.9, 0.2]), rtol=1e-9
    )


@pytest.mark.parametrize("levels", [0, 1.0, [0.5, 2], [], "0.5", None])
def test_quantiles_are_shares(levels, model):
    with pytest.raises(ValueError, match="quantiles must be between 0 and 1"):
        model.predict_quantiles(uneven(3, 0)[0], levels)


def test_a_width_that_there_is_not(model):
    with pytest.raises(ValueError, match=r"'const'.*Did you mean 'constant'"):
        model.predict_interval(uneven(3, 0)[0], width="const")


def test_auto_says_what_it_is_and_what_it_promises(model):
    assert model.interval_method_ == "cv+"
    text = model.intervals_.describe(0.9)
    assert text.startswith("cv+: errors of 300 rows out of fold; the width adapts to the row.")
    assert "At least 80 % of new rows are promised" in text
    half = model.intervals_.describe(0.5)
    assert half.endswith("No share of new rows is promised to be inside, about 50 % are.")


def test_a_quantile_that_rows_do_not_reach_is_named_as_asked(model):
    with pytest.warns(UserWarning, match=r"^The quantile 0\.001 needs at least 999 rows") as told:
        found = model.predict_quantiles(uneven(3, 0)[0], [0.001, 0.5])
    assert np.isinf(found[:, 0]).all()
    assert "got 300: it is infinite. Ask for quantiles from 0.00332 to 0.997" in str(
        told[0].message
    )


# ------------------------------------------------------------------------------ many rows


def test_the_promise_is_kept_above_10240_rows():
    """Folds hold out 2,048 rows each at most; errors of these carry cv+ all the same."""
    X, y = make_friedman1(13_000, noise=1.0, random_state=0)
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X[:12_000], y[:12_000])
    assert model.interval_method_ == "cv+"
    assert len(model.intervals_.folds.values) == 10_240
    assert 0.87 <= share(model.predict_interval(X[12_000:]), y[12_000:]) <= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("rows", [300, 20_000])
def test_intervals_of_a_blend_hold_at_any_size(rows):
    X, y = uneven(rows + 4000, 1)
    model = AdaCapRegressor(quality=["boosting", "ridge"], random_state=0).fit(X[:rows], y[:rows])
    assert model.interval_method_ == "cv+"
    assert 0.87 <= share(model.predict_interval(X[rows:]), y[rows:]) <= 0.93
