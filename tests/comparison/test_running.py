"""Methods on repeated splits of a table: the same rows for all, and honest errors."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from sklearn.svm import LinearSVC

from adacap.comparison import (
    Comparison,
    ComparisonInterrupted,
    Encoded,
    baselines,
    compare,
    score_shares,
    split_rows,
    take_rows,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = X @ [1.0, 2.0, 3.0] + rng.normal(size=60)


class Noted(RegressorMixin, BaseEstimator):
    """Notes what it is given."""

    def __init__(self, calls=None):
        self.calls = calls

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y, sample_weight=None):
        self.calls.append((np.asarray(X), np.asarray(y), sample_weight))
        return self

    def predict(self, X):
        return np.zeros(len(X))


# --------------------------------------------------------------------------------- splits


def test_scores_are_those_of_a_fit_by_hand():
    found = compare({"ridge": Ridge(), "mean": DummyRegressor()}, X, Y, n_splits=2)
    for k in range(2):
        train, test = split_rows(Y, 0.2, k, by_class=False)
        predicted = Ridge().fit(X[train], Y[train]).predict(X[test])
        expected = root_mean_squared_error(Y[test], predicted)
        assert found.scores["ridge"]["rmse"][k] == pytest.approx(expected)
    assert (found.metrics, found.n_splits, found.test_ratio) == (("rmse", "r2"), 2, 0.25)
    assert found.ranking == ["ridge", "mean"]


def test_every_method_gets_the_same_rows():
    first, second = [], []
    compare({"a": Noted(first), "b": Noted(second)}, X, Y, n_splits=3)
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
    assert not np.array_equal(first[0][0], first[1][0])


def test_a_function_gets_the_seed_of_each_split():
    seeds = []

    def build(seed):
        seeds.append(seed)
        return Ridge()

    compare({"ridge": build}, X, Y, n_splits=3, random_state=7)
    assert seeds[-3:] == [7, 8, 9]


def test_weights_are_for_training():
    calls = []
    weight = np.arange(60.0)
    compare({"a": Noted(calls), "b": Noted(calls)}, X, Y, n_splits=1, sample_weight=weight)
    train, _ = split_rows(Y, 0.2, 0, by_class=False)
    np.testing.assert_array_equal(calls[0][2], weight[train])


@pytest.mark.parametrize("table", [pd.DataFrame(X), pa.table(dict(zip("abc", X.T, strict=True)))])
def test_frames_are_split_like_arrays(table):
    rows = np.array([5, 2, 9])
    taken = take_rows(table, rows)
    taken = taken if isinstance(taken, pd.DataFrame) else taken.to_pandas()
    np.testing.assert_array_equal(taken.to_numpy(), X[rows])


def test_a_class_that_training_lacks_is_not_tested():
    y = np.array(["a"] * 10 + ["b"] * 10 + ["c"])
    for seed in range(20):
        train, test = split_rows(y, 0.4, seed, by_class=True)
        assert set(y[test]) <= set(y[train])


@pytest.mark.parametrize(
    ("methods", "y", "options", "message"),
    [
        ({}, Y, {}, "Nothing to compare"),
        ({"a": Ridge()}, np.column_stack([Y, Y]), {}, r"one target at a time, got y of shape \(60"),
        ({"a": Ridge()}, Y, {"n_splits": 0}, "n_splits must be at least 1, got 0"),
        ({"a": Ridge()}, Y, {"test_size": 0.01}, "60 rows are too few for a test part of 0.01"),
    ],
)
def test_what_cannot_be_compared_is_refused(methods, y, options, message):
    with pytest.raises(ValueError, match=message):
        compare(methods, X, y, **options)


# -------------------------------------------------------------------------------- classes


def test_classes_are_scored_by_accuracy_and_auc():
    x, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LogisticRegression(max_iter=1000)
    found = compare({"logistic": model, "svm": LinearSVC()}, x, names, n_splits=2)
    assert found.metrics == ("accuracy", "auc")
    assert found.estimate("logistic", "auc").mean > 0.95
    assert found.estimate("svm").mean > 0.8
    assert math.isnan(found.estimate("svm", "auc").mean)  # it has no probabilities


def test_the_auc_is_the_mean_over_classes_that_occur():
    codes = rng.integers(0, 3, 50)
    shares = rng.dirichlet(np.ones(4), 50)  # nobody is of the fourth class
    expected = np.mean([roc_auc_score(codes == k, shares[:, k]) for k in range(3)])
    assert score_shares(codes, shares)["auc"] == pytest.approx(expected)
    assert "auc" not in score_shares(np.zeros(5, dtype=int), shares[:5])


# ------------------------------------------------------------------------------- failures


def failing(seed):
    raise RuntimeError("no luck\nat all")


def test_a_failure_is_kept_and_the_others_go_on():
    found = compare({"ridge": Ridge(), "bad": failing, "mean": DummyRegressor()}, X, Y, n_splits=2)
    assert found.failures == {"bad": "RuntimeError: no luck"}
    assert found.ranking == ["ridge", "mean", "bad"]
    assert found.difference("ridge", "bad").n_splits == 0
    assert "bad" in str(found)


def test_an_error_of_the_first_method_is_raised():
    with pytest.raises(RuntimeError, match="no luck"):
        compare({"bad": failing, "ridge": Ridge()}, X, Y)


def test_predictions_that_are_not_finite_are_a_failure():
    class Wild(Noted):
        def predict(self, X):
            return np.full(len(X), np.nan)

    found = compare({"ridge": Ridge(), "wild": Wild([])}, X, Y, n_splits=1)
    assert "12 NaN or infinite values out of 12" in found.failures["wild"]


def test_ctrl_c_keeps_the_splits_that_are_finished():
    def stop(seed):
        if seed == 2:
            raise KeyboardInterrupt
        return Ridge()

    with pytest.raises(ComparisonInterrupted) as stopped:
        compare({"mean": DummyRegressor(), "ridge": stop}, X, Y, n_splits=5)
    found = stopped.value.finished
    assert found.n_splits == 2
    assert [len(found.scores[name]["rmse"]) for name in ("mean", "ridge")] == [2, 2]
    assert isinstance(stopped.value, KeyboardInterrupt)


# ---------------------------------------------------------------------------------- tests


def comparison(gaps, test_ratio=0.25):
    made = Comparison(("rmse",), test_ratio=test_ratio)
    for gap in gaps:
        made.add("adacap", {"rmse": 1.0 + gap}, 0.0)
        made.add("other", {"rmse": 1.0}, 0.0)
    return made


def test_the_corrected_t_test_by_hand():
    gaps = np.array([0.1, 0.3, -0.1, 0.2])
    found = comparison(gaps).difference("adacap", "other")
    t = gaps.mean() / (gaps.std(ddof=1) * math.sqrt(1 / 4 + 0.25))
    assert found.p_value == pytest.approx(2 * stats.t.sf(t, 3))
    # The error that is shown and the p-value are of one test.
    assert found.standard_error == pytest.approx(gaps.mean() / t)
    assert (found.better_in, found.n_splits) == (1, 4)


def test_the_correction_holds_the_level():
    """On splits whose means share a part, the plain test would reject far too often."""
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(400):
        shared = rng.normal(0, math.sqrt(0.2))  # correlation n_test / n = 0.2
        gaps = shared + rng.normal(0, math.sqrt(0.8), 10)
        rejected += comparison(gaps).difference("adacap", "other").p_value < 0.05
    assert rejected / 400 < 0.09


def test_a_split_without_result_is_left_out_of_the_pair():
    made = comparison([0.1, 0.2])
    made.add("adacap", {"rmse": 1.0}, 0.0)
    made.add("other", {}, 0.0)
    assert made.difference("adacap", "other").n_splits == 2


# -------------------------------------------------------------------------------- methods


def test_encoded_methods_take_tables_with_text():
    table = pd.DataFrame({"x": X[:, 0], "city": np.where(X[:, 1] > 0, "Nice", "Lyon")})
    y = 100 + 10 * X[:, 0] + 50 * (X[:, 1] > 0)
    found = compare({"linear": Encoded(LinearRegression())}, table, y, n_splits=2)
    assert found.estimate("linear", "r2").mean > 0.999


def test_encoded_methods_learn_a_standardised_target():
    calls = []
    Encoded(Noted(calls)).fit(X, 100 + 10 * Y)
    assert calls[0][1].mean() == pytest.approx(0, abs=1e-9)
    assert calls[0][1].std() == pytest.approx(1)


def test_encoded_classes_keep_their_names():
    y = np.where(Y > 0, "high", "low")
    model = Encoded(LogisticRegression(), "classification").fit(X, y)
    assert (model.predict(X) == y).mean() > 0.8
    assert model.predict_proba(X).shape == (60, 2)
    assert not hasattr(Encoded(LinearSVC(), "classification"), "predict_proba")


def test_encoded_methods_manage_without_a_column():
    constant = pd.DataFrame({"x": np.ones(60)})
    found = compare({"mean": Encoded(Ridge())}, constant, Y, n_splits=1)
    assert found.failures == {}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_baselines_can_be_compared(task):
    y = Y if task == "regression" else (Y > 0).astype(int)
    found = compare(baselines(task), X, y, n_splits=1)
    assert list(found.scores) == list(baselines(task))


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["nosuch"], r"methods must be a dict .*, got \['nosuch'\]\. .*find_method\('ridge'\)"),
        ({"a": "ridge"}, "Method 'a' must be an estimator or a function, got 'ridge'"),
    ],
)
def test_what_are_no_methods_is_refused_with_the_way_out(methods, message):
    with pytest.raises(TypeError, match=message):
        compare(methods, [[0.0], [1.0]], [0.0, 1.0])
