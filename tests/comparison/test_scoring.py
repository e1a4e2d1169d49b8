"""Metrics of a record, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn import metrics

from adacap.comparison.scoring import (
    PredictionError,
    check_predictions,
    score_classes,
    score_values,
)


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def test_values_agree_with_scikit_learn(rng):
    y, predicted = rng.normal(size=50), rng.normal(size=50)
    scores = score_values(y, predicted)
    assert scores["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    assert scores["r2"] == pytest.approx(metrics.r2_score(y, predicted))


def test_a_constant_target_has_no_r2():
    assert score_values(np.ones(4), np.array([1.0, 1.0, 1.0, 3.0])) == {"rmse": 1.0}


def test_two_classes_agree_with_scikit_learn_also_with_ties(rng):
    y, scores = rng.integers(0, 2, 60), rng.integers(0, 6, 60).astype(float)
    labels = (scores > 3).astype(int)
    found = score_classes(y, labels, scores)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, labels))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(y, scores))


def test_many_classes_are_the_mean_of_each_against_the_rest(rng):
    y = rng.integers(0, 4, 80)
    scores = rng.dirichlet(np.ones(4), size=80)
    found = score_classes(y, scores.argmax(axis=1), scores)
    expected = metrics.roc_auc_score(y, scores, multi_class="ovr", average="macro")
    assert found["auc"] == pytest.approx(expected)


def test_a_class_absent_from_the_test_part_is_left_out_of_the_mean():
    y = np.array([0, 0, 2, 2])
    scores = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.3, 0.4, 0.3]])
    assert score_classes(y, y, scores)["auc"] == pytest.approx((0.5 + 1.0) / 2)


def test_one_class_alone_has_no_auc():
    y = np.ones(3, dtype=int)
    assert score_classes(y, y, np.array([0.1, 0.2, 0.3])) == {"accuracy": 1.0}


def test_a_column_of_predictions_is_taken_as_one_per_row():
    assert check_predictions(np.ones((3, 1)), 3).shape == (3,)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (np.ones(2), r"predictions have shape \(2,\), but there are 3 rows"),
        (np.array(1.0), r"shape \(\)"),
        (np.array([1.0, np.nan, np.inf]), "hold 2 NaN or infinite values out of 3"),
    ],
)
def test_what_cannot_be_scored_is_refused(predictions, message):
    with pytest.raises(PredictionError, match=message):
        check_predictions(predictions, 3)
