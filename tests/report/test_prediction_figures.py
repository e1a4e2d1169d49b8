"""Figures of test rows: predictions, residuals, intervals, classes and importance."""

import numpy as np
import pytest
from sklearn import metrics

from adacap import AdaCapRegressor
from adacap.report import (
    confusion,
    interval_coverage,
    permutation_importance,
    predictions,
    residuals,
    roc,
)

from .conftest import TINY, split, table


def test_predictions_and_residuals(regression):
    found = predictions(regression.model, regression.X_test, regression.y_test, coverage=0.8)
    predicted = regression.model.predict(regression.X_test)
    np.testing.assert_array_equal(found.predicted[:, 0], predicted)
    np.testing.assert_array_equal(found.actual[:, 0], regression.y_test)
    bounds = regression.model.predict_interval(regression.X_test, 0.8)
    np.testing.assert_array_equal(found.lower[:, 0], bounds[:, 0])
    np.testing.assert_array_equal(found.upper[:, 0], bounds[:, 1])
    method = regression.model.intervals_.resolve("auto")
    assert (found.coverage, found.method, found.reason) == (0.8, method, "")
    errors = residuals(regression.model, regression.X_test, regression.y_test)
    np.testing.assert_allclose(errors.residual[:, 0], regression.y_test - predicted)
    assert errors.mean[0] == pytest.approx((regression.y_test - predicted).mean())


def test_several_targets(two_targets):
    found = predictions(two_targets.model, two_targets.X_test, two_targets.y_test)
    assert found.actual.shape == found.lower.shape == two_targets.y_test.shape
    covered = interval_coverage(two_targets.model, two_targets.X_test, two_targets.y_test)
    assert (np.diff(covered.observed) >= 0).all()
    assert (np.diff(covered.width) > 0).all()


def test_interval_coverage_counts_rows_inside(regression):
    levels = [0.5, 0.9]
    found = interval_coverage(regression.model, regression.X_test, regression.y_test, levels)
    for level, observed in zip(levels, found.observed, strict=True):
        lower, upper = regression.model.predict_interval(regression.X_test, level).T
        inside = (lower <= regression.y_test) & (regression.y_test <= upper)
        assert observed == inside.mean()
    assert found.n_rows == len(regression.y_test)
    np.testing.assert_allclose(found.error, np.sqrt([0.25, 0.09]) / np.sqrt(found.n_rows))


def test_a_level_too_high_for_the_rows_is_infinite_without_a_warning():
    X, y = table(n=24)
    case = split(AdaCapRegressor(**TINY), X, y)
    found = interval_coverage(case.model, case.X_test, case.y_test, [0.5, 0.99])
    assert found.observed[1] == 1
    assert np.isinf(found.width[1])


def test_a_model_without_intervals_says_why():
    X, y = table()
    case = split(AdaCapRegressor(scheme="plain", validation=0.0, **TINY), X, y)
    found = predictions(case.model, case.X_test, case.y_test)
    assert found.lower is found.upper is None
    assert "cannot make intervals" in found.reason
    assert interval_coverage(case.model, case.X_test, case.y_test) is None


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_classes(kind, request):
    case = request.getfixturevalue(kind)
    found = confusion(case.model, case.X_test, case.y_test)
    assert found.counts.sum() == len(case.y_test)
    assert found.accuracy == pytest.approx(case.model.score(case.X_test, case.y_test))
    assert np.trace(found.counts) / found.counts.sum() == pytest.approx(found.accuracy)
    curves = roc(case.model, case.X_test, case.y_test)
    shares = case.model.predict_proba(case.X_test)
    for label, area in zip(curves.classes, curves.auc, strict=True):
        k = list(case.model.classes_).index(label)
        assert area == metrics.roc_auc_score(case.y_test == label, shares[:, k])
    assert len(curves.classes) == (1 if kind == "binary" else 3)


def test_roc_of_one_class_is_empty(binary):
    one = binary.y_test == "high"
    assert roc(binary.model, binary.X_test[one], binary.y_test[one]).classes == ()


def test_figures_refuse_the_other_kind_of_model(regression, binary):
    for figure in (predictions, residuals, interval_coverage):
        with pytest.raises(TypeError, match="needs a fitted regressor, got AdaCapClassifier"):
            figure(binary.model, binary.X_test, binary.y_test)
    for figure in (confusion, roc):
        with pytest.raises(TypeError, match="needs a fitted classifier, got AdaCapRegressor"):
            figure(regression.model, regression.X_test, regression.y_test)


def test_importance_is_that_of_shuffled_columns(regression):
    case = regression
    found = permutation_importance(case.model, case.X_test, case.y_test, n_repeats=3)
    assert found.names[0] == "signal"
    assert "same" not in found.names
    assert len(found.names) == 6
    assert (found.loss, found.unit) == ("RMSE", "units of the target")
    error = np.sqrt(np.mean((case.model.predict(case.X_test) - case.y_test) ** 2))
    assert found.baseline == pytest.approx(error, rel=1e-4)
    losses = []
    rng = np.random.default_rng(5)
    for _ in range(60):  # the same, column by column in the user's table
        shuffled = case.X_test.copy()
        shuffled["city"] = rng.permutation(shuffled["city"].to_numpy())
        losses.append(np.sqrt(np.mean((case.model.predict(shuffled) - case.y_test) ** 2)))
    many = permutation_importance(case.model, case.X_test, case.y_test, n_repeats=60)
    mean = dict(zip(many.names, many.mean, strict=True))["city"]
    assert mean == pytest.approx(np.mean(losses) - error, rel=0.2)


def test_importance_of_classes_and_of_images(binary, seed):
    found = permutation_importance(binary.model, binary.X_test, binary.y_test)
    assert found.loss == "log-loss"
    expected = metrics.log_loss(
        binary.y_test, binary.model.predict_proba(binary.X_test), labels=binary.model.classes_
    )
    assert found.baseline == pytest.approx(expected, rel=1e-4)
    from adacap.nn import ConvNet

    images = np.random.default_rng(seed).normal(size=(20, 1, 8, 8)).astype(np.float32)
    model = AdaCapRegressor(
        architecture=lambda shape: ConvNet(shape, channels=(2, 2), width=8),
        preprocessing="none", max_iter=2, random_state=0,
    ).fit(images, images.mean((1, 2, 3)))  # fmt: skip
    assert permutation_importance(model, images, images.mean((1, 2, 3))) is None
