"""The graph, run by onnxruntime, predicts what the estimator predicts."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor, Architecture
from adacap.architectures import BACKBONES, _options_of
from adacap.export import compare_onnx, onnx_inputs, to_onnx

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

TINY = {"width": 16, "max_iter": 8, "random_state": 0}
CLOSE = 1e-5


def run(path, feed):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


def assert_same(model, path, X, **options):
    """Predictions and labels of the file against those of the estimator."""
    to_onnx(model, path, force=True, **options)
    assert compare_onnx(model, path, X, **options) <= CLOSE
    outputs = run(path, onnx_inputs(model, X, **options))
    expected = model.predict(X)
    assert outputs["prediction"].shape == expected.shape
    if hasattr(model, "classes_"):
        shares = model.predict_proba(X)
        np.testing.assert_allclose(outputs["probabilities"], shares, 0, CLOSE)
        clear = np.diff(np.sort(shares)[:, -2:])[:, 0] > CLOSE  # no tie that rounding decides
        np.testing.assert_array_equal(outputs["prediction"][clear], expected[clear])
        return
    room = CLOSE * np.maximum(np.abs(expected), np.abs(model.codec_.scale).max())
    assert (np.abs(outputs["prediction"] - expected) <= room).all()


@pytest.mark.parametrize("policy", ["default", "paper"])
@pytest.mark.parametrize("scheme", ["adacap", "tikhonov", "plain"])
def test_mixed_table(frame, unlike, target, tmp_path, policy, scheme):
    model = AdaCapRegressor(**TINY, preprocessing=policy, scheme=scheme).fit(frame, target)
    for X in (frame, unlike, unlike[frame.columns[::-1]], frame[:1]):
        assert_same(model, tmp_path / "m.onnx", X)


def test_policy_none(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    model = AdaCapRegressor(**TINY, preprocessing="none").fit(X, X.sum(1))
    assert_same(model, tmp_path / "m.onnx", X)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", BACKBONES)
def test_every_backbone(frame, target, tmp_path, name, batch_norm, dropout):
    wanted = {"batch_norm": batch_norm, "dropout": dropout}
    net = Architecture(name, **{key: wanted[key] for key in _options_of(name) if key in wanted})
    options = {"architecture": net, "depth": 2}
    options["n_estimators"] = 1
    model = AdaCapRegressor(**TINY, **options).fit(frame, target)
    assert_same(model, tmp_path / "m.onnx", frame)


@pytest.mark.parametrize("validation", [0.2, "folds"])
def test_a_bag(frame, unlike, target, tmp_path, validation):
    model = AdaCapRegressor(**TINY, n_estimators=3, validation=validation).fit(frame, target)
    assert_same(model, tmp_path / "m.onnx", unlike)


def test_several_targets(frame, unlike, target, tmp_path):
    Y = np.column_stack([target, -target, np.full(len(target), 3.0)])
    assert_same(AdaCapRegressor(**TINY).fit(frame, Y), tmp_path / "m.onnx", unlike)
    assert_same(AdaCapRegressor(**TINY).fit(frame, Y[:, :1]), tmp_path / "m.onnx", unlike)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(["no", "oui, à peu près"]), "tensor(string)"),
        (np.array(["no", "yes"], dtype=object), "tensor(string)"),
        (np.array([False, True]), "tensor(bool)"),
        (np.array([-1, 4], dtype=np.int8), "tensor(int64)"),
        (np.array(["a", "b", "ç"]), "tensor(string)"),
        (np.array([1.0, 2.0, 4.0], dtype=np.float32), "tensor(double)"),
        (np.array([3, 5, 9], dtype=np.uint64), "tensor(int64)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else f"{len(value)}-{value.dtype}",
)
def test_classifier(frame, unlike, target, tmp_path, labels, kind):
    y = labels[np.argsort(np.argsort(target)) * len(labels) // len(target)]
    model = AdaCapClassifier(**TINY, n_estimators=2, architecture="mlp").fit(frame, y)
    assert_same(model, tmp_path / "m.onnx", unlike)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    outputs = {output.name: (output.type, output.shape) for output in session.get_outputs()}
    assert outputs == {
        "prediction": (kind, ["n"]),
        "probabilities": ("tensor(double)", ["n", len(labels)]),
    }


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_temperature_of_probabilities(frame, unlike, target, tmp_path, n_classes):
    y = np.argsort(np.argsort(target)) * n_classes // len(target)
    model = AdaCapClassifier(**TINY).fit(frame, y)
    model.codec_ = replace(model.codec_, temperature=0.6)
    assert_same(model, tmp_path / "m.onnx", unlike)


def test_labels_beyond_int64_become_text(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    labels = np.array([1, 2**64 - 1], dtype=np.uint64)
    model = AdaCapClassifier(**TINY).fit(X, labels[(X[:, 0] > 0).astype(int)])
    to_onnx(model, tmp_path / "m.onnx")
    found = run(tmp_path / "m.onnx", onnx_inputs(model, X))["prediction"]
    assert found.tolist() == [str(label) for label in model.predict(X)]


def test_every_column_dropped(tmp_path):
    model = AdaCapRegressor(**TINY).fit(np.ones((20, 2)), np.arange(20.0))
    assert_same(model, tmp_path / "m.onnx", np.ones((3, 2)))


def test_wide_networks_of_the_paper(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(300, 6))
    model = adacap.make("adacap-resblock", max_iter=10, random_state=0).fit(X, X[:, 0] * X[:, 1])
    assert_same(model, tmp_path / "m.onnx", X)


# --------------------------------------------------------------------------- the interface


def test_inputs_and_outputs(frame, target, tmp_path):
    model = AdaCapRegressor(**TINY).fit(frame, target)
    to_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert [entry.name for entry in session.get_inputs()] == list(frame.columns)
    types = {entry.name: entry.type for entry in session.get_inputs()}
    assert types["size"] == types["sold"] == types["when"] == "tensor(double)"
    assert types["colour"] == types["label"] == "tensor(string)"
    assert all(entry.shape == ["n", 1] for entry in session.get_inputs())
    (output,) = session.get_outputs()
    assert (output.name, output.type, output.shape) == ("prediction", "tensor(double)", ["n"])
    notes = session.get_modelmeta().custom_metadata_map
    assert notes["estimator"] == "AdaCapRegressor"
    assert json.loads(notes["inputs"])[5] == {
        "name": "colour",
        "column": "colour",
        "kind": "categorical",
        "dtype": "str",
    }


def test_inputs_written_by_hand(frame, target, tmp_path):
    """The rules of the guide, without the helper that follows them."""
    columns = ["size", "sold", "colour", "when"]
    model = AdaCapRegressor(**TINY).fit(frame[columns], target)
    to_onnx(model, tmp_path / "m.onnx")
    feed = {
        "size": np.array([[0.5], [np.nan]]),
        "sold": np.array([[1.0], [0.0]]),
        "colour": np.array([["mauve"], [""]], dtype=object),
        "when": np.array([[86_400.0 * 50], [np.nan]]),
    }
    rows = pd.DataFrame(
        {
            "size": [0.5, None],
            "sold": [True, False],
            "colour": ["mauve", None],
            "when": pd.to_datetime(pd.Series(["1970-02-20", None])),
        }
    )
    found = run(tmp_path / "m.onnx", feed)["prediction"]
    np.testing.assert_allclose(found, model.predict(rows), CLOSE)


def test_float32(frame, unlike, target, tmp_path):
    fit = frame.drop(columns="gaps")  # whose eight digits float32 does not hold
    model = AdaCapRegressor(**TINY).fit(fit, target)
    assert_same(model, tmp_path / "m.onnx", unlike.drop(columns="gaps"), dtype="float32")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    types = {entry.name: entry.type for entry in session.get_inputs()}
    assert types["size"] == types["sold"] == "tensor(float)"
    assert types["when"] == "tensor(double)"
    assert session.get_outputs()[0].type == "tensor(float)"


def test_numbers_of_eight_digits_need_float64(frame, target, tmp_path):
    model = AdaCapRegressor(**TINY).fit(frame[["gaps"]], target)
    to_onnx(model, tmp_path / "m.onnx", dtype="float32")
    assert compare_onnx(model, tmp_path / "m.onnx", frame[["gaps"]], dtype="float32") > CLOSE
    assert_same(model, tmp_path / "m.onnx", frame[["gaps"]])


def test_a_text_that_marks_missing_cells(tmp_path, seed):
    X = pd.DataFrame({"note": ["", "a", "b", None] * 10, "x": np.arange(40.0)})
    model = AdaCapRegressor(**TINY, preprocessing={"read_text": False}).fit(X, np.arange(40.0))
    message = r"missing_text='' is to mean a missing cell, but it is a value of column 'note'"
    with pytest.raises(ValueError, match=message):
        to_onnx(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    assert_same(model, tmp_path / "m.onnx", X, missing_text="<missing>")


@pytest.mark.parametrize("name", ["prediction", "probabilities", "", "adacap/Cast_1"])
def test_a_column_of_a_name_that_is_taken(tmp_path, name):
    X = pd.DataFrame({"column_1": np.arange(30.0), name: np.arange(30.0) % 7})
    model = AdaCapRegressor(**TINY).fit(X, np.arange(30.0))
    assert_same(model, tmp_path / "m.onnx", X)
    assert list(onnx_inputs(model, X)) == ["column_1", "column_1_"]


def test_columns_without_names(tmp_path):
    X = [[float(i), "ab"[i % 2]] for i in range(30)]
    model = AdaCapRegressor(**TINY).fit(X, np.arange(30.0))
    assert_same(model, tmp_path / "m.onnx", X)
    assert list(onnx_inputs(model, X)) == ["x0", "x1"]


def test_the_file_is_valid_and_always_the_same(frame, target, tmp_path):
    model = AdaCapRegressor(**TINY).fit(frame, target)
    to_onnx(model, tmp_path / "a.onnx")
    to_onnx(model, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    proto = onnx.load(tmp_path / "a.onnx")
    onnx.checker.check_model(proto, full_check=True)
    assert {(entry.domain, entry.version) for entry in proto.opset_import} == {
        ("", 17),
        ("ai.onnx.ml", 3),
    }


# ----------------------------------------------------------------------- files and errors


def test_an_existing_file_is_kept(tmp_path):
    model = AdaCapRegressor(**TINY).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    path = tmp_path / "m.onnx"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"m\.onnx exists\. .* force=True"):
        to_onnx(model, path)
    assert path.read_text() == "mine"
    to_onnx(model, path, force=True)
    assert compare_onnx(model, path, [[1.5]]) <= CLOSE
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.onnx"]


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    model = AdaCapRegressor(**TINY).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        to_onnx(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("package", "use"), [("onnx", to_onnx), ("onnxruntime", lambda m, p: compare_onnx(m, p, [[1]]))]
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, use):
    model = AdaCapRegressor(**TINY).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    monkeypatch.setitem(sys.modules, package, None)  # importing it fails as if it were not there
    with pytest.raises(ImportError, match=rf"needs the package {package}, .*'adacap\[onnx\]'"):
        use(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments(tmp_path):
    model = AdaCapRegressor(**TINY)
    with pytest.raises(NotFittedError):
        to_onnx(model, tmp_path / "m.onnx")
    model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    with pytest.raises(TypeError, match=r"got str\. A saved model is read by adacap\.load"):
        to_onnx("m.adacap", tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'half'"):
        to_onnx(model, tmp_path / "m.onnx", dtype="half")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ any table

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)
CELLS = {
    "number": st.one_of(NUMBERS, st.just(math.nan)),
    "count": st.one_of(st.integers(0, 4), st.none()),
    "near": st.sampled_from([1.0, 1.0 + 5e-8, 1.0 + 1.2e-7, 2.0, 0.0, -0.0]),
    "flag": st.one_of(st.booleans(), st.none()),
    "text": st.one_of(st.sampled_from(["a", "b", "c", "3"]), st.none()),
    "many": st.text("xyz", min_size=1, max_size=3),
    "date": st.one_of(st.datetimes(), st.none()),
}


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_table(tmp_path_factory, any_fit, data):
    model, train, new = any_fit(data, CELLS)
    path = tmp_path_factory.mktemp("any") / "m.onnx"
    assert_same(model, path, train)
    assert_same(model, path, new)


def test_text_that_spells_numbers_is_given_as_numbers(tmp_path):
    X = pd.DataFrame({"size": [f"{k:,} m²" for k in range(900, 960)], "x": np.arange(60.0) % 7})
    model = AdaCapRegressor(**TINY).fit(X, np.arange(60.0))
    assert_same(model, tmp_path / "m.onnx", X)
    assert onnx_inputs(model, X)["size"][0, 0] == 900.0


def test_free_text_is_refused_with_the_way_out(tmp_path):
    texts = [f"a flat of {k} rooms with a view of garden {k}" for k in range(60)]
    model = AdaCapRegressor(**TINY).fit(pd.DataFrame({"text": texts}), np.arange(60.0))
    with pytest.raises(ValueError, match=r"free text cannot be exported.*adacap\.lite"):
        to_onnx(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
