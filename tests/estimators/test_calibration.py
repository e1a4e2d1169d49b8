"""Temperature and reliability: values by hand, and what a classifier does with them."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

import adacap
from adacap import AdaCapClassifier
from adacap.estimators.calibration import fit_temperature, reliability

# Nets with dropout are trained one by one, with a warning.
TINY = {"architecture": "mlp", "width": 16, "max_iter": 20, "random_state": 0}


def classifier(**options):
    return AdaCapClassifier(**{**TINY, **options})


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def table(request):
    X, y = make_classification(
        260, 8, n_informative=5, n_classes=request.param, flip_y=0.1, random_state=0
    )
    names = np.array(["a", "b", "c"])[y]
    return X[:160], names[:160], X[160:], names[160:]


# --------------------------------------------------------------------------- temperature


@pytest.mark.parametrize("truth", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_temperature_that_made_the_labels_is_found(truth, n_classes, seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(20_000, 1 if n_classes == 2 else n_classes)) * 2
    if n_classes == 2:
        coded = np.where(rng.random(len(logits)) < expit(logits[:, 0] / truth), 1.0, -1.0)[:, None]
    else:
        edges = softmax(logits / truth, axis=1).cumsum(1)
        coded = np.eye(n_classes)[(rng.random((len(logits), 1)) > edges).sum(1)]
    assert fit_temperature(logits, coded) == pytest.approx(truth, rel=0.1)


def test_few_rows_that_are_all_right_do_not_make_it_cold():
    assert 0.2 < fit_temperature(np.array([[2.0], [-2.0]]), np.array([[1.0], [-1.0]])) < 1


def test_without_rows_it_is_one():
    assert fit_temperature(np.empty((0, 1)), np.empty((0, 1))) == 1
    assert fit_temperature(np.array([[np.inf]]), np.array([[1.0]])) == 1


def test_a_weight_of_two_is_the_row_twice(seed):
    rng = np.random.default_rng(seed)
    logits, coded = rng.normal(size=(30, 1)), np.sign(rng.normal(size=(30, 1)))
    weight = rng.integers(1, 4, 30)
    once = fit_temperature(logits, coded, weight.astype(float))
    twice = fit_temperature(logits.repeat(weight, 0), coded.repeat(weight, 0))
    assert once == pytest.approx(twice, rel=1e-6)


@pytest.mark.parametrize("options", [{"scheme": "adacap"}, {"scheme": "plain"}])
@pytest.mark.parametrize(
    "bag", [{}, {"n_estimators": 3, "validation": "folds"}], ids=["one", "bag"]
)
def test_predictions_do_not_change(options, bag, table):
    X, y, X_new, _ = table
    hot = classifier(**options, **bag).fit(X, y)
    cold = classifier(**options, **bag, calibration_fraction=None).fit(X, y)
    assert cold.temperature_ == 1
    np.testing.assert_array_equal(hot.predict(X_new), cold.predict(X_new))
    np.testing.assert_array_equal(hot._outputs(X_new), cold._outputs(X_new))
    shares = hot.predict_proba(X_new)
    np.testing.assert_allclose(shares.sum(1), 1)
    if hot.temperature_ != 1:
        assert not np.allclose(shares, cold.predict_proba(X_new))


def test_outputs_of_the_solved_layer_become_probabilities(table):
    """Fitted values of ±1 or one-hot codes are no logits; on new rows the gain is large."""
    X, y, X_new, y_new = table
    model = classifier(scheme="adacap", n_estimators=3, validation="folds").fit(X, y)
    as_is = classifier(
        scheme="adacap", n_estimators=3, validation="folds", calibration_fraction=None
    )
    as_is.fit(X, y)
    assert model.temperature_ < 0.8
    assert log_loss(y_new, model.predict_proba(X_new)) < log_loss(y_new, as_is.predict_proba(X_new))
    assert model.reliability(X_new, y_new).ece < as_is.reliability(X_new, y_new).ece


def test_rows_held_out_do_not_make_a_plain_net_surer(table):
    X, y = table[:2]
    assert classifier().fit(X, y).temperature_ >= 1
    assert classifier(validation=0.0).fit(X, y).temperature_ == 1


def test_temperature_from_the_members_that_held_rows_out(table):
    X, y = table[:2]
    model = classifier(scheme="tikhonov", n_estimators=3, validation="folds").fit(X[:159], y[:159])
    outputs = np.concatenate([m.held_out.outputs.numpy() for m in model.members_])
    order = order_of(X[:159], y[:159])
    held = np.concatenate([order[m.rows.valid.numpy()] for m in model.members_])
    assert len(held) == 159
    expected = fit_temperature(outputs.astype(float), model.codec_.encode(y[:159][held]))
    assert model.temperature_ == pytest.approx(expected, rel=1e-4)


def order_of(X, y):
    from adacap.estimators.rows import merge_rows
    from adacap.estimators.targets import ClassCodec
    from adacap.tables.table import read_table

    return merge_rows(read_table(X), ClassCodec.numbers(y), None).index


def test_rows_set_aside_and_fresh_rows(table):
    X, y, X_new, y_new = table
    model = classifier(calibration_fraction=0.3).fit(X, y)
    rows = model.members_[0].rows
    assert len(rows.train) + len(rows.valid) == 112
    assert set(model.classes_) == set(y)
    before = model.predict(X_new)
    assert model.calibrate(X_new, y_new) is model
    best = model.temperature_
    np.testing.assert_array_equal(model.predict(X_new), before)
    coded = model.codec_.encode(y_new)
    assert best == pytest.approx(fit_temperature(model._outputs(X_new).astype(float), coded))


def test_a_class_whose_only_row_is_set_aside_is_still_a_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(21, 2))
    y = np.array(["a", "b"] * 10 + ["rare"])
    for state in range(6):
        model = classifier(calibration_fraction=0.4, random_state=state).fit(X, y)
        assert model.predict_proba(X).shape == (21, 3)


def test_with_rows_to_validate_on(table):
    X, y, X_new, y_new = table
    model = classifier(scheme="tikhonov").fit(X, y, X_val=X_new, y_val=y_new)
    expected = fit_temperature(
        model.members_[0].held_out.outputs.double().numpy(), model.codec_.encode(y_new)
    )
    assert model.temperature_ == pytest.approx(expected, rel=1e-4)


def test_saved_loaded_and_light(table, tmp_path):
    X, y, X_new, _ = table
    model = classifier(scheme="adacap").fit(X, y)
    assert model.temperature_ != 1
    model.save(tmp_path / "m.adacap")
    again, light = adacap.load(tmp_path / "m.adacap"), adacap.lite.load(tmp_path / "m.adacap")
    assert again.temperature_ == light.temperature_ == model.temperature_
    np.testing.assert_array_equal(again.predict_proba(X_new), model.predict_proba(X_new))
    np.testing.assert_allclose(light.predict_proba(X_new), model.predict_proba(X_new), atol=1e-5)


@pytest.mark.parametrize("value", [-0.1, 1.0, "some", True])
def test_calibration_fraction_is_checked(value, table):
    with pytest.raises(ValueError, match=r"calibration_fraction must be a number in \[0, 1\)"):
        classifier(calibration_fraction=value).fit(*table[:2])


# --------------------------------------------------------------------------- reliability


def test_reliability_by_hand():
    p = np.array([0.05, 0.15, 0.95, 0.85, 1.0, 0.0])
    curve = reliability(["n", "y", "y", "n", "y", "n"], np.column_stack([1 - p, p]), n_bins=5)
    np.testing.assert_allclose(curve.predicted, [0.2 / 3, 2.8 / 3])
    np.testing.assert_allclose(curve.observed, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(curve.count, [3, 3])
    assert curve.ece == pytest.approx(0.8 / 3)


def test_reliability_of_several_classes_is_that_of_the_prediction():
    shares = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]]
    curve = reliability([0, 1, 0], shares, classes=[0, 1, 2], n_bins=2)
    np.testing.assert_allclose(curve.predicted, [2.0 / 3])
    np.testing.assert_allclose(curve.observed, [2 / 3])
    assert curve.ece == pytest.approx(0)


def test_reliability_with_weights_and_refusals():
    p = np.array([0.1, 0.1])
    curve = reliability([0, 1], np.column_stack([1 - p, p]), sample_weight=[3.0, 1.0])
    assert curve.observed.item() == pytest.approx(0.25)
    with pytest.raises(ValueError, match=r"column for each of the 1 classes.*Pass classes"):
        reliability([1, 1], np.column_stack([1 - p, p]))
    with pytest.raises(ValueError, match="n_bins must be at least 1, got 0"):
        reliability([0, 1], np.column_stack([1 - p, p]), n_bins=0)


def test_reliability_of_a_classifier_counts_every_row(table):
    X, y, X_new, y_new = table
    curve = classifier().fit(X, y).reliability(X_new, y_new, n_bins=4)
    assert curve.count.sum() == len(y_new)
    assert (np.diff(curve.predicted) > 0).all()
    assert 0 <= curve.ece <= 1
