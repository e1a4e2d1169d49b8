"""What a model keeps of its training rows: enough to refuse them where fresh ones are needed."""

import numpy as np
import pytest

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = {"size": rng.normal(size=200), "city": rng.choice(["Lyon", "Nice", "Paris"], 200)}
    return X, X["size"] + rng.normal(size=200)


def rows(X, index):
    return {name: column[index] for name, column in X.items()}


@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_rows_of_the_fit_are_refused_by_number(table, kind, tmp_path):
    X, y = table
    y = y if kind is AdaCapRegressor else y > 0
    first, fresh = np.arange(120), np.arange(120, 200)
    model = kind(quality=["ridge"], random_state=0).fit(rows(X, first), y[first])
    model.save(tmp_path / "m.adacap")
    few, many = np.r_[fresh, first[:4]], np.r_[first[:20], fresh]
    for one in (model, adacap.load(tmp_path / "m.adacap")):
        one.calibrate(rows(X, fresh), y[fresh]).calibrate(rows(X, few), y[few])
        before = one.intervals_ if kind is AdaCapRegressor else one.sets_
        with pytest.raises(ValueError, match=r"20% of the 100 rows were in fit .*rows 0, 1, 2"):
            one.calibrate(rows(X, many), y[many])
        assert (one.intervals_ if kind is AdaCapRegressor else one.sets_) is before


def test_rows_set_aside_by_the_fit_are_no_rows_of_it(table):
    X, y = table
    X = np.column_stack([X["size"], y**2])
    model = AdaCapRegressor(quality=["ridge"], calibration_fraction=0.4, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"About 60% of the 200 rows"):
        model.calibrate(X, y)


def test_a_table_of_few_different_rows_repeats_itself(table):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (400, 4)), rng.integers(0, 2, 400)
    model = AdaCapClassifier(quality=["ridge"], random_state=0).fit(X[:200], y[:200])
    model.calibrate(X[200:], y[200:])  # all of them stand in the training rows, by chance
    assert model.sets_.split.n_rows == 200


def test_of_many_rows_some_hashes_are_enough():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 2))
    y = X[:, 0] + rng.normal(size=6000)
    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X[:4000], y[:4000])
    assert len(model.seen_.keys) == 1024
    model.calibrate(X[4000:], y[4000:])
    with pytest.raises(ValueError, match=r"About (3[0-9]|2[5-9])% of the 3,000 rows"):
        model.calibrate(X[3000:], y[3000:])
