"""Must work as printed: fit, predict with intervals, evaluate, inspect, export, as processes."""

import csv
import json

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_houses):
    folder = tmp_path_factory.mktemp("pipeline")
    write_houses(folder / "houses.csv", separator=";", decimal=",")
    write_houses(folder / "new.csv", n_rows=30, seed=1, with_price=False)
    return folder


SETTINGS = [
    "--target",
    "price",
    "--drop",
    "id,rent,kind",
    "--method",
    "fast",
    "--n-estimators",
    "2",
]
FIT = ["fit", "houses.csv", *SETTINGS]
PREDICT = ["new.csv", "--interval", "0.9", "--id", "id"]
EVALUATE = ["evaluate", "houses.csv", *SETTINGS, "--against", "ridge,logreg", "--splits", "2"]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_five_commands_for_people(folder, run):
    fitted = run(*FIT, "-o", "m.adacap", cwd=folder)
    assert "Target: price (regression" in fitted
    assert "ridge" in fitted
    assert "90 % intervals (cv+) held for" in fitted
    assert "m.adacap" in fitted.splitlines()[-2]
    assert "trained on all 156 rows" in fitted

    predicted = run("predict", "m.adacap", *PREDICT, "-o", "out.csv", cwd=folder)
    assert "30 rows predicted" in predicted
    rows = read(folder / "out.csv")
    assert list(rows[0]) == ["id", "prediction", "lower", "upper"]
    assert [row["id"] for row in rows] == [f"h{i}" for i in range(30)]
    assert all(float(r["lower"]) < float(r["prediction"]) < float(r["upper"]) for r in rows)

    table = run(*EVALUATE, cwd=folder)
    assert "adacap against" in table
    assert "±" in table

    inspected = run("inspect", "m.adacap", cwd=folder)
    for text in ("AdaCapRegressor", "sold", "datetime", "cycle", "missing flag", "Capacity of"):
        assert text in inspected

    exported = run("export", "m.adacap", "--onnx", "m.onnx", cwd=folder)
    assert "Largest difference from the model" in exported
    assert (folder / "m.onnx").stat().st_size > 1000
    names = {path.name for path in folder.iterdir()}
    assert names == {"houses.csv", "new.csv", "m.adacap", "out.csv", "m.onnx"}


def test_the_five_commands_for_machines(folder, run):
    fitted = json.loads(run(*FIT, "-o", "j.adacap", "--json", cwd=folder))
    assert fitted["task"] == "regression"
    assert fitted["rows"] == {"in_file": 160, "drawn": None, "without_target": 4, "used": 156}
    assert fitted["scores"]["AdaCapRegressor"]["r2"] > 0.6
    assert set(fitted["scores"]) == {"AdaCapRegressor", "random forest", "ridge", "mean"}
    assert fitted["intervals"]["method"] == "cv+"
    assert [c["kind"] for c in fitted["columns"]] == [
        "numeric", "numeric", "categorical", "datetime", "boolean",
    ]  # fmt: skip

    command = ["predict", "j.adacap", *PREDICT, "-o", "out.parquet", "--json"]
    predicted = json.loads(run(*command, cwd=folder))
    assert (predicted["rows"], predicted["interval_method"]) == (30, "cv+")
    assert predicted["columns"] == ["id", "prediction", "lower", "upper"]

    found = json.loads(run(*EVALUATE, "--json", cwd=folder))
    assert [method["method"] for method in found["methods"]] == ["adacap", "ridge"]
    assert len(found["methods"][0]["rmse"]["values"]) == 2
    assert found["against"][0]["n_splits"] == 2
    assert "does binary and multiclass" in found["left_out"]["logreg"]

    inspected = json.loads(run("inspect", "j.adacap", "--json", cwd=folder))
    assert inspected["n_networks"] == 0
    assert {share["name"] for share in inspected["blend"]} == {"kernel", "ridge:bins", "boosting"}
    assert inspected["target"]["names"] == ["price"]
    assert inspected["capacity"]["effective_dof"] == pytest.approx(inspected["effective_dof"])

    command = ["export", "j.adacap", "--onnx", "j.onnx", "--data", "new.csv", "--json"]
    exported = json.loads(run(*command, cwd=folder))
    assert exported["difference"] < 1e-5
    assert exported["checked_on"] == "30 rows of new.csv"
    assert list(exported["inputs"]) == ["size", "rooms", "city", "sold", "garage"]
