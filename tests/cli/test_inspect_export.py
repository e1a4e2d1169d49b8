"""``adacap inspect`` and ``adacap export``."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor, lite
from adacap.estimators.settings import Settings
from adacap.exceptions import ModelFileError


def test_inspect_tells_what_the_model_is(call, house_model):
    path, model = house_model
    facts = json.loads(call("inspect", path, "--json").stdout)
    assert facts["estimator"] == "AdaCapRegressor"
    assert facts["lambda"] == pytest.approx(model.lambda_)
    assert facts["effective_dof"] == pytest.approx(model.effective_dof_)
    assert facts["n_networks"] == 3
    assert facts["n_parameters"] == sum(
        tensor.numel() for member in model.members_ for tensor in member.network.parameters()
    )
    summary = model.encoder_.summary()
    assert [c["treatment"] for c in facts["columns"]] == [c["treatment"] for c in summary]
    assert facts["training"][0]["best_iteration"] == model.members_[0].best_iter
    assert facts["provenance"]["n_rows"] == 156
    assert facts["capacity"]["memorisation_gap"] == pytest.approx(model.capacity().memorisation_gap)


def test_inspect_shows_the_settings_of_the_fit(call, house_model):
    path, model = house_model
    stored = json.loads(call("inspect", path, "--json").stdout)["settings"]
    assert Settings.from_dict(stored) == model.settings_
    text = call("inspect", path).stdout
    assert "max_lr                0.03  (auto)" in text
    assert "n_estimators          3\n" in text


def test_inspect_of_a_classifier(call):
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]
    AdaCapClassifier(width=8, max_iter=5, random_state=0).fit(X, labels).save("c.adacap")
    text = call("inspect", "c.adacap").stdout
    assert "2 classes: a, b" in text
    assert "x0" in text


def test_inspect_lists_the_members_of_a_blend(call):
    X = np.random.default_rng(0).normal(size=(60, 3))
    names = ["kernel:rank", "ridge", "boosting"]
    model = AdaCapRegressor(quality=names, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    model.save("b.adacap")
    facts = json.loads(call("inspect", "b.adacap", "--json").stdout)
    assert [share["name"] for share in facts["blend"]] == [
        share.name for share in model.settings_.blend
    ]
    for told, share in zip(facts["blend"], model.settings_.blend, strict=True):
        assert told["encoding"] == ("rank" if share.name == "kernel:rank" else None)
        found = told["weight"], told["error"], told["seconds"]
        assert found == (share.weight, share.error, share.seconds)
    assert facts["lambda"] == model.lambda_
    assert facts["effective_dof"] == model.effective_dof_
    assert (facts["n_networks"], facts["training"], facts["backbone"]) == (0, [], [])
    assert facts["n_parameters"] > 60 * 3
    text = call("inspect", "b.adacap").stdout
    assert "out-of-fold errors in standard deviations of the target" in text
    for share in model.settings_.blend:
        kind, _, encoding = share.name.partition(":")
        weight = f"{share.weight:.3f}" if share.weight else "left out"
        (line,) = [one for one in text.splitlines() if one.startswith(f"  {kind} ")]
        assert line.split()[: 2 if encoding else 1] == [kind, encoding][: 2 if encoding else 1]
        assert weight in line
    assert "Training:" not in text


def test_inspect_of_a_blend_with_nets_shows_both(call):
    X = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.where(X[:, 0] > 0, "a", "b")
    options = {"max_iter": 3, "width": 8, "random_state": 0}
    AdaCapClassifier(quality=["nets", "nets:bins"], **options).fit(X, labels).save("b.adacap")
    text = call("inspect", "b.adacap").stdout
    assert "out-of-fold errors log-loss" in text
    assert "Training:" in text


def test_inspect_without_capacity_loads_no_torch(house_model, environment):
    code = (
        "import sys; from adacap.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'torch', 'sklearn', 'pandas'} & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(house_model[0]), "--no-capacity"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stderr.strip() == "[]"
    assert "AdaCapRegressor" in result.stdout


def test_names_are_spelt_out(call, tmp_path):
    name = "price\u202e\x1b[31m\nred"
    model = AdaCapRegressor(width=4, max_iter=2).fit({name: [0.0, 1.0, 2.0]}, [0.0, 1.0, 2.0])
    model.save(tmp_path / "m.adacap")
    shown = call("inspect", tmp_path / "m.adacap", "--no-capacity")
    told = call("inspect", tmp_path / "m.adacap", "--no-capacity", "--json")
    assert r"price\u202e\x1b[31m\nred" in shown.stdout
    assert json.loads(told.stdout)["columns"][0]["column"] == name
    for text in (shown.stdout, told.stdout):
        assert not {"\u202e", "\x1b"} & set(text)


def test_what_is_no_model(call, houses, tmp_path):
    result = call("inspect", houses)
    assert result.exit_code == 1
    with pytest.raises(ModelFileError, match="it does not begin as a zip file") as refusal:
        lite.load(houses)
    assert result.stderr == f"Error: {refusal.value}\n"
    assert call("inspect", "nothing.adacap").exit_code == 2


def test_export_is_checked_on_synthetic_rows_and_on_data(call, house_model, houses):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    synthetic = json.loads(call("export", house_model[0], "--onnx", "a.onnx", "--json").stdout)
    assert synthetic["difference"] < 1e-5
    assert synthetic["checked_on"] == "256 synthetic rows"
    command = ["export", house_model[0], "--onnx", "b.onnx", "--data", houses, "--json"]
    real = json.loads(call(*command).stdout)
    assert real["difference"] < 1e-5
    assert real["checked_on"] == "160 rows of houses.csv"


def test_export_of_a_model_without_names(call):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    X = np.random.default_rng(0).normal(size=(40, 2))
    AdaCapClassifier(width=8, max_iter=5, random_state=0).fit(X, X[:, 0] > 0).save("c.adacap")
    result = call("export", "c.adacap", "--onnx", "c.onnx")
    assert result.exit_code == 0, result.output
    assert "Inputs: x0, x1. Outputs: prediction, probabilities." in result.stdout


def test_a_graph_that_differs_is_not_written(call, house_model, monkeypatch):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    monkeypatch.setattr("adacap.export.compare_onnx", lambda *args, **options: 0.5)
    result = call("export", house_model[0], "--onnx", "a.onnx")
    assert result.exit_code == 1
    assert "nothing was written" in result.stderr
    assert os.listdir() == []


def test_export_keeps_what_is_there_and_refuses_a_wrong_type(call, house_model, tmp_path):
    (tmp_path / "a.onnx").write_text("mine")
    assert call("export", house_model[0], "--onnx", "a.onnx").exit_code == 2
    assert (tmp_path / "a.onnx").read_text() == "mine"
    result = call("export", house_model[0], "--onnx", "b.onnx", "--dtype", "float")
    assert result.exit_code == 2
    assert "Did you mean 'float" in result.stderr
