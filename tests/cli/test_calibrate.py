"""``adacap calibrate``, and intervals, quantiles and sets of ``adacap predict``."""

import json
from pathlib import Path

import numpy as np
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor, load
from adacap.files import open_table

FEATURES = ["size", "rooms", "city", "sold", "garage"]


def columns(path):
    return open_table(path).read().column_names


@pytest.fixture
def fresh(write_houses, tmp_path):
    """Houses that no model was trained on."""
    return write_houses(tmp_path / "fresh.csv", n_rows=120, seed=5)


def test_rows_of_the_training_are_refused(call, houses, house_model):
    refused = call("calibrate", house_model[0], houses, "-o", "new.adacap", "--target", "price")
    assert refused.exit_code == 1
    assert "100% of the 156 rows were in fit" in " ".join(refused.output.split())
    assert not Path("new.adacap").exists()


def test_fresh_rows_make_intervals_of_method_split(call, fresh, house_model):
    result = call("calibrate", house_model[0], fresh, "-o", "new.adacap", "--target", "price")
    assert result.exit_code == 0, result.output
    model = load("new.adacap")
    assert model.interval_method_ == "split"
    assert model.intervals_.split.n_rows == 117  # of which three have no price
    assert "At least 90 % of new rows are promised" in result.output
    table = open_table(fresh).read(FEATURES)
    np.testing.assert_array_equal(model.predict(table), house_model[1].predict(table))
    refused = call("calibrate", house_model[0], fresh, "-o", "new.adacap", "--target", "price")
    assert refused.exit_code != 0
    assert "--force" in refused.output


@pytest.mark.filterwarnings("default:The model was fitted by groups")
def test_groups_count_once_each(call, houses):
    table = open_table(houses).read()
    model = AdaCapRegressor(quality=["ridge"], random_state=0)
    model.fit(table.select(["size"]), table.column("rooms").to_numpy(), groups=np.arange(160) // 8)
    model.save("m.adacap")
    Path("fresh.csv").write_text(
        "size,rooms,block\n" + "".join(f"{100 + i},{i % 5},b{i // 4}\n" for i in range(80))
    )
    given = ["calibrate", "m.adacap", "fresh.csv", "--target", "rooms", "-o"]
    result = call(*given, "new.adacap", "--group", "block")
    assert result.exit_code == 0, result.output
    assert "errors of 20 groups" in result.output
    assert "At least 90 % are promised for a row of a new group" in result.output
    assert load("new.adacap").intervals_.split.n_rows == pytest.approx(20)
    assert "Pass groups=, or --group COLUMN" in call(*given, "rows.adacap").output
    refused = call(*given, "none.adacap", "--group", "bloc")
    assert refused.exit_code != 0
    assert "has no column 'bloc'" in refused.output


def test_rows_are_read_and_weighted_as_told(call, write_houses, house_model, tmp_path):
    plain = write_houses(tmp_path / "plain.csv", n_rows=120, seed=5)
    head, *rows = plain.read_text("utf-8").splitlines()
    own = "\n".join([f"{head},weight", *(f"{row},{1 + i % 2}" for i, row in enumerate(rows))])
    told = own.replace(",", "|").replace(".", ",").replace("Nice", "Nîmes")
    Path("told.csv").write_text(told, encoding="latin-1")
    given = ["--separator", "|", "--decimal", ",", "--encoding", "latin-1", "--weight", "weight"]
    target = ["--target", "price"]
    result = call("calibrate", house_model[0], "told.csv", "-o", "told.adacap", *target, *given)
    assert result.exit_code == 0, result.output
    Path("same.csv").write_text(own.replace("Nice", "Nîmes"), encoding="utf-8")
    call("calibrate", house_model[0], "same.csv", "-o", "same.adacap", *target)
    told, same = (load(f"{name}.adacap").intervals_.split for name in ("told", "same"))
    np.testing.assert_allclose(told.values, same.values)
    known = np.array([i % 40 > 0 for i in range(120)])  # the others have no price
    np.testing.assert_allclose(told.weight / told.weight.max(),
                               (1 + np.arange(120) % 2)[known] / 2)  # fmt: skip
    assert same.weight is None
    refused = call("calibrate", house_model[0], "same.csv", *target, "--weight", "wait")
    assert refused.exit_code == 2
    assert "has no column 'wait'" in refused.output


def test_without_an_output_the_model_itself_is_calibrated(call, fresh, house_model):
    Path("own.adacap").write_bytes(Path(house_model[0]).read_bytes())
    result = call("calibrate", "own.adacap", fresh, "--target", "price", "--json")
    facts = json.loads(result.stdout)
    assert (facts["method"], facts["rows"], facts["output"]) == ("split", 117, "own.adacap")
    assert load("own.adacap").interval_method_ == "split"


def test_a_signed_model_stays_signed(call, fresh, house_model):
    house_model[1].save("signed.adacap", key=b"secret")
    Path("key").write_bytes(b"secret\n")
    refused = call("calibrate", "signed.adacap", fresh, "--target", "price")
    assert refused.exit_code == 2
    assert "--key-file" in refused.output
    done = call("calibrate", "signed.adacap", fresh, "--target", "price", "--key-file", "key")
    assert done.exit_code == 0, done.output
    assert load("signed.adacap", key=b"secret").interval_method_ == "split"


def test_a_target_that_is_not_there(call, houses, house_model):
    result = call("calibrate", house_model[0], houses, "-o", "a.adacap", "--target", "cost")
    assert result.exit_code != 0
    assert "has no column 'cost'" in result.output


def test_a_target_named_twice_counts_once(call, fresh, house_model):
    given = ["calibrate", house_model[0], fresh, "-o", "a.adacap", "--json"]
    result = call(*given, "--target", "price", "--target", "price,price")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target", "size"],
            "'size' is a column the model learned from and cannot be the target.",
        ),
        (
            ["--target", "price", "--group", "price"],
            "'price' is the column of --group and cannot be",
        ),
    ],
)
def test_a_target_that_is_something_else(call, houses, house_model, options, message):
    result = call("calibrate", house_model[0], houses, "-o", "a.adacap", *options)
    assert result.exit_code == 2
    assert message in result.output


def test_several_coverages_and_quantiles_are_columns(call, houses, house_model):
    path, model = house_model
    options = ["--interval", "0.5,0.9", "--quantiles", "0.1,0.5"]
    result = call("predict", path, houses, "-o", "out.csv", *options)
    assert result.exit_code == 0, result.output
    assert "50 % by cv+" in result.output
    assert columns("out.csv") == [
        "prediction", "lower_50", "upper_50", "lower_90", "upper_90", "quantile_0.1",
        "quantile_0.5",
    ]  # fmt: skip
    table, found = open_table(houses).read(FEATURES), open_table("out.csv").read()
    bounds = model.predict_interval(table, [0.5, 0.9])
    assert np.allclose(found.column("upper_90").to_numpy(), bounds[:, 1, 1], rtol=1e-12)
    quantile = model.predict_quantiles(table, 0.1)
    assert np.allclose(found.column("quantile_0.1").to_numpy(), quantile, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--interval", "90"], "Did you mean 0.9"),
        (["--interval", "0.5,x"], "--interval takes numbers"),
        (["--quantiles", "1"], "--quantiles is a share between 0 and 1"),
    ],
)
def test_shares_are_between_0_and_1(call, houses, house_model, options, message):
    result = call("predict", house_model[0], houses, "-o", "out.csv", *options)
    assert result.exit_code != 0
    assert message in result.output


def test_sets_of_classes(call, houses):
    table = open_table(houses).read()
    model = AdaCapClassifier(quality=["ridge"], random_state=0)
    model.fit(table.select(["size", "rooms"]), table.column("kind").to_numpy()).save("m.adacap")
    result = call("predict", "m.adacap", houses, "-o", "out.csv", "--set", "0.9")
    assert result.exit_code == 0, result.output
    found = open_table("out.csv").read().column("set").to_pylist()
    inside = model.predict_set(table.select(["size", "rooms"]), 0.9)
    assert found == ["|".join(model.classes_[row]) for row in inside]
    refused = call("predict", "m.adacap", houses, "-o", "b.csv", "--quantiles", "0.5")
    assert "--quantiles is for regression" in refused.output


def test_inspect_and_export_tell_of_intervals(call, house_model):
    pytest.importorskip("onnxruntime")
    assert "Intervals of 90 % by cv+" in call("inspect", house_model[0], "--no-capacity").output
    facts = call("export", house_model[0], "--onnx", "m.onnx", "--interval", "0.8", "--json")
    assert json.loads(facts.stdout)["outputs"] == ["prediction", "lower", "upper"]
