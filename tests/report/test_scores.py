"""Scores beside baselines, and what is said about them."""

import numpy as np
import pytest
from sklearn import metrics

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.report import MethodScores, baseline_scores, model_scores, paired_difference, remarks
from adacap.report import scores as scores_module
from adacap.text import number

from .conftest import TINY, split, table


def test_regression_scores(regression):
    case = regression
    found = model_scores(case.model, case.X_test, case.y_test)
    predicted = case.model.predict(case.X_test)
    assert found.scores["R²"] == pytest.approx(metrics.r2_score(case.y_test, predicted))
    assert found.scores["RMSE"] == pytest.approx(
        metrics.root_mean_squared_error(case.y_test, predicted)
    )
    assert found.scores["MAE"] == pytest.approx(np.abs(case.y_test - predicted).mean())
    assert found.fit_seconds == case.model.provenance_.fit_seconds > 0
    rows = baseline_scores(case.model, case.X_train, case.y_train, case.X_test, case.y_test)
    assert [row.method for row in rows] == ["mean", "ridge", "random forest"]
    mean = np.full(len(case.y_test), case.y_train.mean())
    assert rows[0].scores["RMSE"] == pytest.approx(
        metrics.root_mean_squared_error(case.y_test, mean)
    )
    assert rows[1].scores["R²"] > 0.9


def test_class_scores(multiclass):
    case = multiclass
    found = model_scores(case.model, case.X_test, case.y_test)
    shares = case.model.predict_proba(case.X_test)
    assert found.scores["accuracy"] == case.model.score(case.X_test, case.y_test)
    assert found.scores["log-loss"] == pytest.approx(metrics.log_loss(case.y_test, shares))
    assert found.scores["AUC"] == pytest.approx(
        metrics.roc_auc_score(case.y_test, shares, multi_class="ovr")
    )
    rows = baseline_scores(case.model, case.X_train, case.y_train, case.X_test, case.y_test)
    assert [row.method for row in rows] == ["class shares", "logistic ridge", "random forest"]
    assert rows[0].scores["AUC"] == 0.5


def test_targets_of_different_units_are_standardised(two_targets):
    case = two_targets
    found = model_scores(case.model, case.X_test, case.y_test)
    assert list(found.scores) == ["R²", "RMSE (standardised)", "MAE (standardised)"]
    rows = baseline_scores(case.model, case.X_train, case.y_train, case.X_test, case.y_test)
    assert rows[0].scores["RMSE (standardised)"] == pytest.approx(1, rel=0.3)


def test_baselines_of_a_long_table_see_a_sample(monkeypatch, binary):
    monkeypatch.setattr(scores_module, "MOST_TRAIN", 8)
    case = binary
    rows = baseline_scores(case.model, case.X_train, case.y_train, case.X_test, case.y_test)
    assert all(np.isfinite(row.losses).all() for row in rows)


def method(name, losses, **scores):
    return MethodScores(name, scores, np.asarray(losses, dtype=float), 0.1)


def test_a_difference_is_clear_beyond_two_standard_errors():
    rng = np.random.default_rng(0)
    losses = rng.random(100)
    worse = paired_difference(
        method("a", losses + 0.5), method("b", losses + 0.01 * rng.random(100))
    )
    assert worse.is_clear
    assert worse.difference > 0
    assert not paired_difference(method("a", losses), method("b", losses[::-1])).is_clear
    assert not paired_difference(method("a", [1.0]), method("b", [0.0])).is_clear


def test_remarks_compare_with_baselines(regression):
    rng = np.random.default_rng(0)
    losses = 1 + rng.random(200)

    def scored(name, losses, **more):
        return method(name, losses, RMSE=float(np.sqrt(np.mean(losses))), **more)

    own = scored("AdaCapRegressor", losses, **{"R²": 0.3})
    noise = rng.normal(size=200) - 0.02
    rows = [
        scored("mean", losses - noise.mean() + noise + 0.02),  # worse by a hair
        scored("ridge", losses - 0.5),
        scored("random forest", losses - noise.mean() + noise - 0.02),  # better by a hair
    ]
    text = remarks(regression.model, own, rows)
    assert text[0].startswith(
        "This table is noisy, or important columns are missing: 70 % of the variance"
    )
    error = {row.method: number(row.scores["RMSE"]) for row in [own, *rows]}
    ours = error["AdaCapRegressor"]
    assert (
        f"Ridge is better here: RMSE {error['ridge']} against {ours}; by more than chance "
        "explains: use it."
    ) in text
    forest = error["random forest"]
    assert (
        f"A random forest is better here: RMSE {forest} against {ours}; it may be chance." in text
    )
    assert (
        f"The mean is not clearly worse: RMSE {error['mean']} against {ours}, which may be chance "
        "on 200 test rows."
    ) in text
    assert any("Columns that are not used: same." in line for line in text)


def test_methods_that_are_not_clearly_worse_share_a_sentence(regression):
    rng = np.random.default_rng(0)
    losses = 1e12 * (1 + rng.random(60))
    own = method("AdaCapRegressor", losses, RMSE=1_200_000.0, **{"R²": 0.9})
    rows = [
        method(name, losses + 1e10 * rng.normal(size=60), RMSE=error)
        for name, error in (("mean", 1_203_000.0), ("ridge", 1_202_000.0))
    ]
    assert remarks(regression.model, own, rows)[0] == (
        "The mean and ridge are not clearly worse: RMSE 1,203,000 and 1,202,000 against 1,200,000, "
        "which may be chance on 60 test rows."
    )


def test_remarks_on_features_that_know_rows_by_heart(regression):
    press = regression.model.capacity().press_r2
    for r2, told in ((press - 0.1, False), (press - 0.3, True)):
        text = " ".join(remarks(regression.model, method("x", np.ones(100), **{"R²": r2})))
        assert ("have learned rows by heart" in text) is told


def test_remarks_on_a_model_that_is_of_no_use(regression):
    own = method("AdaCapRegressor", np.ones(20), **{"R²": -0.2})
    text = remarks(regression.model, own)
    assert text[0].startswith("Only 20 test rows")
    assert "worse than the mean of the test rows would (R² = −0.20)" in text[1]


def test_remarks_on_training():
    X, y = table()
    own = method("x", np.ones(100), **{"R²": 0.99})
    case = split(AdaCapRegressor(time_limit=1e-6, **TINY), X, y)
    assert any("ended at the time limit" in line for line in remarks(case.model, own))
    case = split(AdaCapRegressor(**TINY | {"max_iter": 3}, max_lr=1e-3), X, y)
    assert any("more iterations (max_iter) may help" in line for line in remarks(case.model, own))


def test_remarks_on_classes_without_a_pattern():
    rng = np.random.default_rng(2)
    X, _ = table()
    case = split(AdaCapClassifier(**TINY), X, rng.integers(0, 2, len(X)))
    own = model_scores(case.model, case.X_test, case.y_test)
    text = " ".join(remarks(case.model, own))
    if own.scores["AUC"] < 0.6:
        assert "Classes are hardly distinguished" in text
    if case.model.capacity().holdout_p_value > 0.05:
        assert "no nearer to the labels than to labels in random order" in text
    assert own.scores["AUC"] < 0.6 or case.model.capacity().holdout_p_value > 0.05
