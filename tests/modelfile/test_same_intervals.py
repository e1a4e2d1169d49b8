"""Intervals, quantiles and sets of a saved model: by torch, by NumPy, by ONNX."""

import numpy as np
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor, lite, load
from adacap.exceptions import ModelFileError
from adacap.export import compare_onnx, to_onnx

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 4))
NOISE = np.where(X[:, 1] > 0, 1.0, 0.1) * RNG.normal(size=400)
Y = np.column_stack([X[:, 0] + NOISE, 3 * X[:, 2] - 5 * NOISE])
WEIGHT = 1.0 + np.arange(200) % 3
NETS = {"width": 8, "max_iter": 12, "n_estimators": 3, "random_state": 0}
BLEND = {"quality": ["trees", "ridge", "nets:rank"], "width": 8, "max_iter": 12, "random_state": 0}
CASES = {
    "blend": (BLEND, Y[:, 0], None),
    "blend of targets and weights": (BLEND, Y, WEIGHT),
    "kernel": ({"quality": ["kernel"], "random_state": 0}, Y[:, 0], None),
    "set aside": ({"quality": ["trees"], "calibration_fraction": 0.3, "random_state": 0}, Y, None),
    "log of a target": (
        {"quality": ["trees"], "target_transform": "log", "random_state": 0},
        np.exp(Y[:, 0]),
        None,
    ),
    "nets": ({**NETS, "architecture": ["mlp", "glu", "mlp"]}, Y[:, 0], WEIGHT),
    "one net": ({**NETS, "n_estimators": 1}, Y[:, 0], None),
}


@pytest.fixture(scope="module", params=CASES)
def saved(request, tmp_path_factory):
    options, y, weight = CASES[request.param]
    model = AdaCapRegressor(**options).fit(X[:200], y[:200], weight)
    path = tmp_path_factory.mktemp("models") / "m.adacap"
    model.save(path)
    return model, path


def close(found, expected, room):
    np.testing.assert_allclose(found, expected, rtol=room, atol=room)


def test_loaded_to_the_bit_and_lite_to_rounding(saved):
    model, path = saved
    again, light = load(path), lite.load(path)
    assert light.interval_method_ == again.interval_method_ == model.interval_method_
    assert light.intervals_.describe() == again.intervals_.describe()
    for width in ("auto", "constant"):
        expected = model.predict_interval(X[200:], [0.5, 0.9], width=width)
        np.testing.assert_array_equal(
            again.predict_interval(X[200:], [0.5, 0.9], width=width), expected
        )
        close(light.predict_interval(X[200:], [0.5, 0.9], width=width), expected, 1e-5)
    expected = model.predict_quantiles(X[200:], [0.1, 0.5, 0.8])
    np.testing.assert_array_equal(again.predict_quantiles(X[200:], [0.1, 0.5, 0.8]), expected)
    close(light.predict_quantiles(X[200:], [0.1, 0.5, 0.8]), expected, 1e-5)


def test_the_graph_has_the_same_bounds(saved, tmp_path):
    pytest.importorskip("onnxruntime")
    model, _ = saved
    for name, coverage in (("one", 0.8), ("two", [0.5, 0.9])):
        to_onnx(model, tmp_path / name, coverage=coverage)
        assert compare_onnx(model, tmp_path / name, X[200:], coverage=coverage) < 1e-5


def test_a_graph_has_no_bounds_that_would_be_infinite(saved, tmp_path):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match=r"coverage=0\.999 needs at least 999 rows"):
        to_onnx(saved[0], tmp_path / "m.onnx", coverage=0.999)
    classes = AdaCapClassifier(quality=["ridge"], random_state=0).fit(X, NOISE > 0)
    with pytest.raises(ValueError, match="coverage is for regression"):
        to_onnx(classes, tmp_path / "m.onnx", coverage=0.9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [BLEND, {**BLEND, "calibration_fraction": 0.3}, NETS])
def test_sets_are_the_same(options, n_classes, tmp_path):
    y = np.digitize(Y[:, 0], [0.0, 0.5][: n_classes - 1])
    model = AdaCapClassifier(**options).fit(X[:200], y[:200])
    model.save(tmp_path / "m.adacap")
    again, light = load(tmp_path / "m.adacap"), lite.load(tmp_path / "m.adacap")
    expected = model.predict_set(X[200:], [0.6, 0.9])
    np.testing.assert_array_equal(again.predict_set(X[200:], [0.6, 0.9]), expected)
    assert (light.predict_set(X[200:], [0.6, 0.9]) != expected).mean() < 0.002  # ties
    assert light.sets_.describe() == again.sets_.describe() == model.sets_.describe()


@pytest.mark.parametrize("name", ["power", "floor", "shift", "slope", "knots", "stretch"])
def test_widths_that_make_no_sense_are_refused(name, tmp_path):
    from adacap.modelfile.diagnostics import interval_tensors
    from adacap.modelfile.evidence import take_intervals

    model = AdaCapRegressor(quality=["trees"], random_state=0).fit(X, Y[:, 0])
    tensors = {n: t.numpy() for n, t in interval_tensors(model.intervals_)}
    assert "intervals.widths.power" in tensors
    key = f"intervals.widths.{name}"
    for wrong in (tensors[key] * np.nan, tensors[key].astype(np.float32), 1e4 + tensors[key]):
        with pytest.raises(ModelFileError, match=key):
            take_intervals({**tensors, key: wrong}, [], 1, 5, has_widths=True)
    with pytest.raises(ModelFileError, match=r"unknown tensors|does not fit"):
        take_intervals(dict(tensors), [], 1, 5)


def test_a_file_from_before_widths_were_stretched_has_none():
    from adacap.modelfile.diagnostics import interval_tensors
    from adacap.modelfile.evidence import formula_in, take_intervals

    model = AdaCapRegressor(quality=["ridge"], random_state=0).fit(X, Y[:, 0])
    tensors = {n: t.numpy() for n, t in interval_tensors(model.intervals_)}
    assert tensors["intervals.widths.knots"].shape == (10, 1)
    early = {n: t for n, t in tensors.items() if not n.endswith((".knots", ".stretch"))}
    formula = formula_in(take_intervals(early, [], 1, 5, has_widths=True))
    outputs, sizes = RNG.normal(size=(4, 5, 1)), RNG.uniform(0.1, 1, (4, 5, 1))
    logs = formula.power[0] * np.log(sizes) - formula.shift
    z = np.clip(outputs, -3, 3)
    logs += formula.power[1] * (formula.slope[:, 0] * z + formula.slope[:, 1] * np.abs(z))
    np.testing.assert_allclose(formula.scale(outputs, sizes), np.exp(logs))
    turned = {**tensors, "intervals.widths.knots": tensors["intervals.widths.knots"][::-1]}
    with pytest.raises(ModelFileError, match=r"widths\.knots does not fit"):
        take_intervals(turned, [], 1, 5, has_widths=True)


def test_how_rows_depend_must_fit_their_errors():
    from adacap.modelfile.diagnostics import interval_tensors
    from adacap.modelfile.evidence import errors_in, take_intervals

    model = AdaCapRegressor(quality=["ridge"], random_state=0)
    model.fit(X, Y[:, 0], groups=np.arange(len(X)) // 10)
    tensors = {n: t.numpy() for n, t in interval_tensors(model.intervals_)}
    has_widths = model.intervals_.widths is not None
    key = "intervals.folds.depends"
    found = take_intervals(dict(tensors), [], 1, 5, has_widths=has_widths)
    assert errors_in(found, "folds").depends == model.intervals_.folds.depends
    earlier = {name: tensor for name, tensor in tensors.items() if name != key}
    found = take_intervals(earlier, [], 1, 5, has_widths=has_widths)
    assert errors_in(found, "folds").depends == (None, False)
    for wrong in ([-1, 0], [10**6, 0], [3, 2], [0, 0], [3], [3.0, 0.0]):
        given = {**tensors, key: np.array(wrong)}
        with pytest.raises(ModelFileError, match=key):
            take_intervals(given, [], 1, 5, has_widths=has_widths)
