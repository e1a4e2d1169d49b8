"""Sets of classes: what they hold, and how large they are."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from adacap import AdaCapClassifier

MEMBERS = {"quality": ["ridge", "trees"], "random_state": 0}


@pytest.fixture(scope="module")
def table():
    options = {"n_informative": 4, "n_classes": 3, "flip_y": 0.2, "random_state": 0}
    X, y = make_classification(1500, 8, **options)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def model(table):
    return AdaCapClassifier(**MEMBERS).fit(*table[:2])


def held(sets, y):
    return sets[np.arange(len(y)), y].mean()


def test_sets_hold_what_they_promise(model, table):
    for coverage in (0.7, 0.9):
        sets = model.predict_set(table[2], coverage)
        assert sets.shape == (1200, 3)
        assert sets.any(1).all()
        assert coverage - 0.05 <= held(sets, table[3]) <= coverage + 0.1


def test_several_coverages_and_larger_sets(model, table):
    sets = model.predict_set(table[2], [0.5, 0.8, 0.95])
    assert sets.shape == (1200, 3, 3)
    np.testing.assert_array_equal(sets[:, :, 1], model.predict_set(table[2], 0.8))
    assert (sets[:, :, 0] <= sets[:, :, 1]).all()
    assert (sets[:, :, 1] <= sets[:, :, 2]).all()


def test_an_empty_set_only_where_it_is_allowed(model, table):
    sets = model.predict_set(table[2], 0.3, allow_empty=True)
    assert not sets.any(1).all()
    full = model.predict_set(table[2], 0.3)
    assert full.any(1).all()
    np.testing.assert_array_equal(full[sets.any(1)], sets[sets.any(1)])


def test_fresh_rows_promise_the_coverage(table):
    model = AdaCapClassifier(**MEMBERS).fit(*table[:2])
    assert "cv+: probabilities of 300 rows out of fold. At least 80 %" in model.sets_.describe()
    X, y = table[2][:200], table[3][:200]
    model.calibrate(X, y)
    assert "split: probabilities of 200 rows" in model.sets_.describe()
    sets = model.predict_set(X, 0.9, allow_empty=True)
    assert held(sets, y) == pytest.approx(181 / 200, abs=0.011)  # ⌈201·0.9⌉, and ties
    aside = AdaCapClassifier(**MEMBERS, calibration_fraction=0.3).fit(*table[:2])
    assert aside.sets_.resolve("auto") == "split"
    assert aside.sets_.temperature == 1.0  # found without the rows set aside


def test_two_classes(table):
    y = np.where(table[1] == 0, "no", "yes")
    model = AdaCapClassifier(**MEMBERS).fit(table[0], y)
    sets = model.predict_set(table[2], 0.9)
    assert held(sets, (table[3] != 0).astype(int)) > 0.86


def test_a_single_net_says_how_to_get_sets(table):
    model = AdaCapClassifier(max_iter=3, width=4, random_state=0).fit(*table[:2])
    with pytest.raises(ValueError, match=r"method='split' needs rows.*calibrate"):
        model.predict_set(table[2])
    with pytest.raises(ValueError, match="Unknown method 'loo'"):
        model.predict_set(table[2], method="loo")
