"""``adacap fit``: what it accepts, refuses, writes and leaves behind."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import adacap
from adacap.cli.fit import shown_score

BAG = ["--method", "fast", "--n-estimators", "2", "--drop", "id"]
QUICK = [*BAG, "--time-limit", "1"]


def fit(call, data, *options):
    return call("fit", data, *QUICK, *options)


def test_the_saved_model_is_trained_on_all_rows_unless_told(call, houses, tmp_path):
    for name, option in (("all", "--refit"), ("part", "--no-refit")):
        result = fit(call, houses, "-t", "rent", "-o", f"{name}.adacap", option)
        assert result.exit_code == 0, result.output
    everything, part = (adacap.load(tmp_path / f"{n}.adacap").provenance_ for n in ("all", "part"))
    assert (everything.n_rows, part.n_rows) == (160, 128)
    assert everything.targets == ("rent",)
    assert sorted(os.listdir(tmp_path)) == ["all.adacap", "part.adacap"]


def test_the_same_seed_gives_the_same_model(call, houses, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        options = ["-o", f"{name}.adacap", "--seed", seed, "--test-size", "0"]
        call("fit", houses, "-t", "rent", *BAG, *options)
    table = adacap.files.open_table(houses).read(["size", "rooms", "city", "sold", "garage",
                                                  "price", "kind"])  # fmt: skip
    a, b, c = (adacap.load(tmp_path / f"{name}.adacap").predict(table) for name in "abc")
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_classes_by_default_for_text(call, houses, tmp_path):
    result = call("fit", houses, "-t", "kind", "--drop", "id", "--time-limit", "2", "--json")
    facts = json.loads(result.stdout)
    assert (facts["task"], facts["estimator"]) == ("classification", "AdaCapClassifier")
    assert set(facts["scores"]["AdaCapClassifier"]) == {"accuracy", "auc", "log_loss"}
    assert adacap.load(tmp_path / "model.adacap").classes_.tolist() == ["flat", "villa"]


def test_classes_have_weights_on_the_command_line(call, houses, tmp_path):
    options = ["-t", "kind", "--drop", "id,price,rent", "--method", "ridge:bins"]
    villas = {}
    for name, told in (("a", "balanced"), ("b", "villa=20"), ("c", "villa=0.05,flat=1")):
        result = call("fit", houses, *options, "-o", f"{name}.adacap", "--class-weight", told)
        assert result.exit_code == 0, result.output
        model = adacap.load(tmp_path / f"{name}.adacap")
        features = adacap.files.open_table(houses).read(model.encoder_.names_)
        villas[name] = (model.predict(features) == "villa").mean()
    assert model.class_weight == {"villa": 0.05, "flat": 1.0}
    assert villas["b"] > villas["a"] > villas["c"]


@pytest.mark.parametrize(
    ("target", "told", "message"),
    [
        ("kind", "vila=2", "--class-weight: Unknown class 'vila'. Did you mean 'villa'?"),
        ("kind", "villa", "takes balanced, or weights such as rare=5,common=1, got 'villa'"),
        ("kind", "villa=-1", "got 'villa=-1'"),
        ("rent", "balanced", "--class-weight is for classes, but the task is regression."),
    ],
)
def test_class_weights_that_mean_nothing(call, houses, target, told, message):
    result = call("fit", houses, "-t", target, "--drop", "id", "--class-weight", told)
    assert result.exit_code == 2
    assert message in result.output


def test_the_transform_that_is_found_is_said(call, tmp_path):
    x = np.random.default_rng(0).normal(size=(160, 2))
    rows = "".join(f"{a},{b},{np.exp(2 * a)},{a + b}\n" for a, b in x)
    (tmp_path / "skewed.csv").write_text(f"a,b,y,z\n{rows}")
    options = ["--method", "ridge:bins", "--target-transform", "auto", "--force"]
    told = call("fit", "skewed.csv", "-t", "y,z", *options).stdout
    found, none = adacap.load(tmp_path / "model.adacap").settings_.target_transform
    assert (found in ("log", "yeo-johnson"), none) == (True, "none")
    assert f"Target transform: {found} of y, none of z, found out of fold." in told
    result = call("fit", "skewed.csv", "-t", "z", "--drop", "y", *options, "--json")
    assert json.loads(result.stdout)["target_transform"] == "none"
    told = call("fit", "skewed.csv", "-t", "y", "--drop", "z", *options[:3], "log", "--force")
    assert "Target transform: log." in told.stdout


def test_one_column_is_singular(call, tmp_path):
    rows = "".join(f"{i * 1.5},{i * i % 11}.5\n" for i in range(40))
    (tmp_path / "one.csv").write_text(f"x,y\n{rows}")
    told = call("fit", "one.csv", "-t", "y", "--method", "ridge")
    assert told.exit_code == 0, told.output
    assert "one.csv: 40 rows, 1 column to learn from." in told.stdout
    assert "1 column becomes 1 input " in call("inspect", "model.adacap").stdout


def test_several_targets(call, houses, tmp_path):
    result = fit(call, houses, "-t", "price,rent", "--json")
    facts = json.loads(result.stdout)
    assert facts["target"] == ["price", "rent"]
    assert len(facts["intervals"]["coverage"]) == 2
    call("predict", "model.adacap", houses, "-o", "out.csv", "--interval", "0.8")
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert (
        header == "prediction_price,lower_price,upper_price,prediction_rent,lower_rent,upper_rent"
    )


def test_one_net_by_name_gives_intervals_too(call, houses):
    result = call("fit", houses, "-t", "rent", "--drop", "id", "--n-estimators", "1",
                  "--time-limit", "2", "--json")  # fmt: skip
    facts = json.loads(result.stdout)
    assert (facts["n_estimators"], facts["intervals"]["method"]) == (1, "loo")


def test_report(call, houses, tmp_path):
    result = fit(call, houses, "-t", "rent", "--report", "r.html")
    assert result.exit_code == 0, result.output
    assert "<html" in (tmp_path / "r.html").read_text("utf-8")[:1000]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-t", ","], "--target names no column"),
        (["-t", "prize"], "Unknown target column 'prize'. Did you mean 'price'?"),
        (["-t", "price", "--drop", "roms"], "Unknown column 'roms'. Did you mean 'rooms'?"),
        (["-t", "id", "--drop", "id"], "'id' is the target and cannot be dropped"),
        (["-t", "price", "--method", "fats"], "Unknown preset 'fats'. Did you mean 'fast'?"),
        (["-t", "price", "--task", "regress"], "Unknown task 'regress'"),
        (["-t", "price,kind", "--task", "classification"], "are for regression only"),
        (["-t", "price", "--report", "r.html", "--test-size", "0"], "--report needs a test part"),
        (["-t", "price", "--separator", ",,"], "--separator must be one character"),
        (["-t", "price", "--encoding", "utf-9"], "Unknown --encoding 'utf-9'"),
        (["-t", "price", "--encoding", "rot13"], "Unknown --encoding 'rot13'"),
        (["-t", "price", "--encoding", "undefined"], "Unknown --encoding 'undefined'"),
        (["-t", "price", "--encoding", ""], "Unknown --encoding ''"),
    ],
)
def test_wrong_usage_ends_with_2(call, houses, tmp_path, options, message):
    result = call("fit", houses, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert os.listdir(tmp_path) == []


def target_table(tmp_path, values):
    path = tmp_path / "t.parquet"
    x = np.random.default_rng(0).normal(size=len(values))
    pyarrow.parquet.write_table(pa.table({"x": x, "y": values}), path)
    return path


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([7.0] * 30, "'y' is 7.0 in all 30 rows: there is nothing to learn"),
        (
            [f"name {k}" for k in range(30)],
            "such as 'name 0'. If these are numbers, correct how they are written",
        ),
        (list(range(100, 130)), "looks like an id: it counts the rows, 100 to 129"),
        (pa.nulls(30, pa.float64()), "'y' is missing in all 30 rows"),
        (pa.array(range(30), pa.timestamp("s")), "'y' holds dates"),
    ],
)
def test_targets_that_are_refused(call, tmp_path, values, message):
    result = call("fit", target_table(tmp_path, values), "-t", "y")
    assert result.exit_code == 1
    assert message in result.stderr


def test_text_is_no_regression_target(call, tmp_path):
    path = target_table(tmp_path, ["small", "large"] * 15)
    result = call("fit", path, "-t", "y", "--task", "regression")
    assert result.exit_code == 1
    assert "holds text such as 'small'" in result.stderr


def test_a_count_is_taken_if_it_is_meant(call, tmp_path):
    path = target_table(tmp_path, list(range(30)))
    result = call("fit", path, "-t", "y", "--task", "regression", *QUICK[:4], "--time-limit", "1")
    assert result.exit_code == 0, result.output


def test_an_existing_model_is_kept(call, houses, tmp_path):
    (tmp_path / "m.adacap").write_text("mine")
    result = fit(call, houses, "-t", "rent", "-o", "m.adacap")
    assert result.exit_code == 2
    assert (
        "m.adacap exists. Choose another name, or replace it: force=True (--force" in result.stderr
    )
    assert (tmp_path / "m.adacap").read_text() == "mine"
    assert fit(call, houses, "-t", "rent", "-o", "m.adacap", "--force").exit_code == 0
    assert adacap.load(tmp_path / "m.adacap").provenance_.n_rows == 160


def test_an_output_without_folder(call, houses):
    result = fit(call, houses, "-t", "rent", "-o", "nowhere/m.adacap")
    assert result.exit_code == 2
    assert "There is no folder nowhere to write m.adacap to." in result.stderr


def test_unreadable_data(call, tmp_path):
    (tmp_path / "x.parquet").write_text("no parquet")
    result = call("fit", "x.parquet", "-t", "y")
    assert result.exit_code == 1
    assert "is not a readable Parquet file" in result.stderr
    assert call("fit", "nothing.csv", "-t", "y").exit_code == 2


def test_a_large_folder_is_drawn_from(call, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for k in range(3):
        x = rng.normal(size=2000)
        table = pa.table({"x": x, "y": 2 * x + rng.normal(0, 0.1, 2000)})
        pyarrow.parquet.write_table(table, folder / f"{k}.parquet", row_group_size=500)
    result = call("fit", folder, "-t", "y", "--method", "fast", "--max-rows", "600", "--json")
    facts = json.loads(result.stdout)
    assert facts["rows"] == {"in_file": 6000, "drawn": 600, "without_target": 0, "used": 600}
    assert "600 of 6,000 rows were drawn at random" in result.stderr
    assert facts["scores"]["AdaCapRegressor"]["r2"] > 0.95


def test_a_column_that_counts_rows_is_pointed_out(call, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "t.parquet"
    table = pa.table({"row": range(50), "x": rng.normal(size=50), "y": rng.normal(size=50)})
    pyarrow.parquet.write_table(table, path)
    result = call("fit", path, "-t", "y", *QUICK[:4], "--test-size", "0", "--time-limit", "1")
    assert "row counts the rows, and may be an id. Consider --drop row." in result.stderr


def test_ctrl_c_leaves_nothing(call, houses, monkeypatch, tmp_path):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("adacap.AdaCapRegressor.fit", interrupted)
    result = call("fit", houses, "-t", "rent", "--drop", "id")
    assert result.exit_code == 130
    assert result.stderr.endswith("Interrupted: nothing was written.\n")
    assert os.listdir(tmp_path) == []


def test_ctrl_c_in_the_report_keeps_the_model(call, houses, monkeypatch, tmp_path):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("adacap.report.write_report", interrupted)
    result = fit(call, houses, "-t", "rent", "-o", "m.adacap", "--report", "r.html")
    assert result.exit_code == 130
    assert "Interrupted: the model m.adacap is kept, without a report." in result.stderr
    assert os.listdir(tmp_path) == ["m.adacap"]


def test_weights_count_in_training_alone(call, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = np.where(np.arange(200) % 2, 5.0, 1.0) * x  # two lines; the weight chooses one
    table = pa.table({"x": x, "y": y, "w": np.where(np.arange(200) % 2, 1.0, 0.0)})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    options = ["-t", "y", "--weight", "w", "--method", "fast", "--json"]
    result = call("fit", "t.parquet", *options, "-o", "m.adacap")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["weight"] == "w"
    model = adacap.load(tmp_path / "m.adacap")
    assert list(model.encoder_.names_) == ["x"]
    slope = float(model.predict(pa.table({"x": [1.0]}))[0])
    assert slope == pytest.approx(5.0, abs=0.5)
    assert facts["scores"]["ridge"]["r2"] > 0.3  # trained with the weights too


@pytest.mark.parametrize(
    ("weight", "values", "message"),
    [
        ("ww", [1.0, 2.0], "Unknown weight column 'ww'. Did you mean 'w'?"),
        ("y", [1.0, 2.0], "--weight y is the target: name another column."),
        ("w", [1.0, -2.0], "The weight 'w' is -2 in row 2. Weights are 0 or more."),
        ("w", ["a", "b"], "The weight 'w' holds string values, not numbers."),
        ("w", [0.0, 0.0], "The weight 'w' is 0 in every row that has a target."),
    ],
)
def test_weights_that_are_none(call, tmp_path, weight, values, message):
    table = pa.table({"x": [1.0, 2.0], "y": [1.5, 2.5], "w": values})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    result = call("fit", "t.parquet", "-t", "y", "--weight", weight)
    assert result.exit_code in (1, 2)
    assert message in result.stderr


@pytest.mark.filterwarnings("default:quality=")  # which the command shows
def test_the_way_out_of_few_rows_is_one_the_command_has(call, tmp_path):
    (tmp_path / "three.csv").write_text("a,y\n1,2\n2,3\n4,5\n")
    result = call("fit", "three.csv", "-t", "y", "--method", "fast-nets")
    assert result.exit_code == 2
    assert "got 3. Train one net: --n-estimators 1." in result.stderr
    assert "regression: numbers, 3 distinct" in result.stdout
    result = call("fit", "three.csv", "-t", "y", "--method", "fast-nets", "--n-estimators", "1")
    assert result.exit_code == 0, result.output
    result = call("fit", "three.csv", "-t", "y", "--method", "fast", "--force")
    assert result.exit_code == 0, result.output
    assert "a bag of nets is trained instead" in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "export", "bench run"])
def test_help_has_room_on_80_columns(call, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    text = call(*command.split(), "--help").stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    # What options mean begins in the left half of the screen.
    starts = [len(line) - len(line.lstrip()) for line in lines if line.startswith(" " * 12)]
    assert max(starts, default=0) <= 40


def test_help_loads_nothing_heavy(environment):
    code = (
        "import sys; from adacap.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'sklearn', 'numpy', 'pandas', 'pyarrow', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stderr.strip() == "[]"
    assert "evaluate" in result.stdout


def test_help_names_every_option(call):
    text = call("fit", "--help").output
    asked = (
        "target output report task method n-estimators time-limit drop seed test-size force json"
    )
    for option in asked.split():
        assert f"--{option}" in text


def test_scores_of_any_size_stand_in_the_table():
    shown = [
        ("R²", -3.98e-05, "0.0000"),
        ("R²", -0.0214, "−0.0214"),
        ("RMSE", 0.00123, "0.00123"),
        ("MAE", 23456.7, "23,457"),
        ("AUC", float("nan"), "–"),
        ("RMSE", 3.9e-5, "3.900e−05"),
    ]
    assert [shown_score(name, value) for name, value, _ in shown] == [text for *_, text in shown]
