"""class_weight: a class that weighs more is predicted more often."""

import numpy as np
import pytest

from adacap import AdaCapClassifier, load
from adacap.estimators.rows import weights_of_classes

FAST = {"quality": ["ridge"], "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, np.where(X[:, 0] + rng.normal(size=400) > 1.5, "rare", "often")


def share_of_rare(table, **options):
    return (AdaCapClassifier(**FAST, **options).fit(*table).predict(table[0]) == "rare").mean()


def test_balanced_finds_more_of_a_rare_class(table):
    assert share_of_rare(table, class_weight="balanced") > 1.5 * share_of_rare(table)


def test_it_is_the_sample_weight_of_its_rows(table):
    X, y = table
    weight = np.where(y == "rare", 3.0, 1.0)
    one = AdaCapClassifier(**FAST, class_weight={"rare": 3.0}).fit(X, y)
    other = AdaCapClassifier(**FAST).fit(X, y, weight)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_both_weights_are_multiplied():
    y = np.array([0, 0, 1])
    assert weights_of_classes({1: 4.0}, y, [1, 2, 3]).tolist() == [1.0, 2.0, 12.0]
    balanced = weights_of_classes("balanced", y, [1.0, 1.0, 4.0])
    assert balanced[:2].sum() == pytest.approx(balanced[2])


def test_a_class_that_no_row_has(table):
    with pytest.raises(ValueError, match="class_weight names 'rar', which no row has"):
        AdaCapClassifier(**FAST, class_weight={"rar": 2.0}).fit(*table)


def test_of_many_classes_the_nearest_is_offered_and_all_are_counted():
    y = np.array([f"k{i}" for i in range(11)])
    message = r"Did you mean 'k10'\? Classes: \['k0', .*'k8'\] and 1 more\."
    with pytest.raises(ValueError, match=message):
        weights_of_classes({"kk10": 2.0}, y)


def test_it_is_kept_in_the_model_file(table, tmp_path):
    for k, told in enumerate(("balanced", {"rare": 3.0})):
        model = AdaCapClassifier(**FAST, class_weight=told).fit(*table)
        model.save(tmp_path / f"{k}.adacap")
        assert load(tmp_path / f"{k}.adacap").class_weight == told
    X, y = table
    numbered = AdaCapClassifier(**FAST, class_weight={1: 2.0}).fit(X, (y == "rare").astype(int))
    with pytest.warns(UserWarning, match="not stored in the model file: class_weight"):
        numbered.save(tmp_path / "numbered.adacap")
