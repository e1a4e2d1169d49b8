"""Untidy files on the command line: what is read, what is told, what is refused."""

import json
import subprocess
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

import adacap
from adacap.files import open_table

N = 120
QUICK = ["--method", "fast", "--n-estimators", "2", "--time-limit", "1"]


@pytest.fixture(scope="module")
def frame():
    """Untidy columns as people write them, and a price."""
    rng = np.random.default_rng(0)
    size = rng.uniform(30, 200, size=N)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, size=N), unit="D")
    frame = pd.DataFrame(
        {
            "size": [f"{x:.1f} m²" for x in size],
            "sold": days.strftime("%d/%m/%Y"),
            "city": rng.choice(["Lyon", "Nice", "Paris"], size=N),
            "code": [f"h{k}x" for k in range(N)],
            "price": [f"{x:,.2f}" for x in 1000 * size + rng.normal(0, 100, size=N)],
        }
    )
    frame.loc[5, "size"] = "2100 - 2850"
    return frame


def write(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.fixture
def messy(frame, tmp_path):
    return write(frame, tmp_path / "messy.csv")


def test_fit_tells_what_became_of_each_column(call, messy):
    result = call("fit", messy, "-t", "price", *QUICK)
    assert result.exit_code == 0, result.output
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    told = {line[0]: line[1:] for line in lines if len(line) == 3}
    assert told["code"] == ["dropped", "every value is unique"]
    assert told["size"][0] == "number"
    assert "1 of 120 cells are not numbers and count as missing: '2100 - 2850'" in told["size"][1]
    assert told["sold"] == ["date", "format %d/%m/%Y"]
    assert told["city"][0] == "category"
    assert "The target 'price' is read as number (thousands comma)." in result.stderr
    assert "Not used" not in result.stderr  # the table has said so


def test_json_carries_the_same(call, messy):
    facts = json.loads(call("fit", messy, "-t", "price", *QUICK, "--json").stdout)
    columns = {row["column"]: row for row in facts["columns"]}
    assert columns["size"]["bad_cells"] == 1
    assert columns["size"]["examples"] == ["2100 - 2850"]
    assert columns["sold"]["read_as"] == "date"
    assert facts["dropped"] == ["code"]
    assert facts["scores"]["AdaCapRegressor"]["r2"] > 0.5
    shown = json.loads(call("inspect", "model.adacap", "--no-capacity", "--json").stdout)
    assert shown["columns"][0]["examples"] == ["2100 - 2850"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_predictions_follow_the_rule_of_fit(call, frame, tmp_path, ending):
    table = write(frame, tmp_path / f"messy{ending}")
    assert call("fit", table, "-t", "price", *QUICK).exit_code == 0
    new = write(frame.drop(columns=["price", "code"]), tmp_path / f"new{ending}")
    assert (
        call("predict", "model.adacap", new, "-o", "out.csv", "--batch-rows", "40").exit_code == 0
    )
    expected = adacap.load(tmp_path / "model.adacap").predict(frame.drop(columns="price"))
    found = open_table(tmp_path / "out.csv").read().column("prediction").to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_targets_that_are_no_numbers_are_left_out_and_named(call, frame, tmp_path):
    frame = frame.copy()
    frame.loc[[3, 4, 5, 6], "price"] = ["unknown", "?", "on request", "inf"]
    result = call("fit", write(frame, tmp_path / "t.csv"), "-t", "price", *QUICK)
    assert result.exit_code == 0, result.output
    assert "2 of 118 cells are not numbers, and their rows are left out: 'inf', 'on request'" in (
        result.stderr
    )
    assert "4 of 120 rows have no target" in result.stderr


def test_infinite_targets_are_named_by_row(call, tmp_path):
    table = pd.DataFrame({"x": np.arange(40) % 7, "y": np.arange(40) / 3})
    table.loc[11, "y"] = np.inf
    result = call("fit", write(table, tmp_path / "t.parquet"), "-t", "y", *QUICK)
    assert "infinite in 1 of 40 rows, which are left out: row 12," in result.stderr


def test_unclear_dates_name_both_formats_and_follow_the_one_that_is_said(call, tmp_path):
    days = [f"{k % 12 + 1:02d}/{k % 11 + 1:02d}/2021" for k in range(60)]
    table = pd.DataFrame({"day": days, "x": np.arange(60) % 7, "y": np.arange(60) / 3})
    path = write(table, tmp_path / "t.csv")
    result = call("fit", path, "-t", "y", *QUICK)
    assert "say '%d/%m/%Y' or '%m/%d/%Y'" in result.stdout
    result = call("fit", path, "-t", "y", *QUICK, "--date-format", "%m/%d/%Y", "--force")
    assert "format %m/%d/%Y" in result.stdout
    assert call("predict", "model.adacap", path, "-o", "out.csv").exit_code == 0  # it knows
    refused = call("fit", path, "-t", "y", *QUICK, "--date-format", "%Y", "--force")
    assert refused.exit_code == 1
    assert "'%Y' fits no column of the table: column 'day' holds '01/01/2021'" in refused.stderr


def test_a_column_that_the_model_dropped_is_not_demanded(call, messy, frame, tmp_path):
    call("fit", messy, "-t", "price", *QUICK)
    fewer = write(frame[["size", "city"]], tmp_path / "fewer.csv")
    refused = call("predict", "model.adacap", fewer, "-o", "out.csv")
    assert "is missing 1 of the 4 columns that the model was trained on: 'sold'" in refused.stderr


def test_white_space_between_columns(call, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"  {a:6.3f}   {b:6.3f} {a + b:8.4f}" for a, b in rng.normal(size=(60, 2))]
    (tmp_path / "t.data").write_text("\n".join(rows))
    for separator in ([], ["--separator", r"\s+"], ["--separator", "space"]):
        result = call("fit", "t.data", "-t", "c2", *QUICK, *separator, "--force")
        assert result.exit_code == 0, result.output
        assert "t.data has no line of names: its columns are called c0 to c2" in result.stderr


def test_a_file_without_names_says_so_when_a_name_is_not_found(call, tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    result = call("fit", "t.csv", "-t", "price")
    assert result.exit_code == 2
    assert "Known: c0, c1" in result.stderr
    assert "t.csv has no line of names" in result.stderr


def test_standard_input_and_output(call, messy, frame, tmp_path, environment):
    call("fit", messy, "-t", "price", *QUICK)
    content = frame.drop(columns="price").to_csv(index=False).encode()
    command = [sys.executable, "-m", "adacap", "predict", "model.adacap", "-", "-o", "-"]
    done = subprocess.run(
        command, input=content, capture_output=True, cwd=tmp_path, env=environment, check=True
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "prediction"
    expected = adacap.load(tmp_path / "model.adacap").predict(frame.drop(columns="price"))
    np.testing.assert_allclose(np.array(lines[1:], dtype=float), expected, rtol=1e-6)


def test_predictions_in_a_workbook(call, messy, tmp_path):
    call("fit", messy, "-t", "price", *QUICK)
    result = call("predict", "model.adacap", messy, "-o", "out.xlsx", "--id", "code")
    assert result.exit_code == 0, result.output
    rows = list(openpyxl.load_workbook(tmp_path / "out.xlsx").active.values)
    assert rows[0] == ("code", "prediction")
    assert len(rows) == N + 1


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_an_id_is_named_in_every_format_and_with_missing_targets(call, tmp_path, ending):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": np.arange(60), "x": rng.normal(size=60), "y": rng.normal(size=60)})
    table.loc[[3, 20], "y"] = np.nan
    path = tmp_path / f"t{ending}"
    table.to_csv(path, index=False) if ending == ".csv" else table.to_excel(path, index=False)
    result = call("fit", path, "-t", "y", *QUICK)
    assert "id counts the rows, and may be an id. Consider --drop id." in result.stderr


def test_leaks_repeated_rows_and_outliers_are_told(call, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)})
    table["paid"] = 2 * table["y"]
    table.loc[7, ["y", "paid"]] = 5000.0, 10000.0
    table = pd.concat([table, table[:50]])
    result = call("fit", write(table, tmp_path / "t.csv"), "-t", "y", *QUICK)
    assert "Column 'paid' alone predicts the target almost perfectly" in result.stderr
    assert "test rows are in the training part too" in result.stderr
    assert "2 values far from the others (5000 in row 8, 5000 in row 108)" in result.stderr
    facts = json.loads(call("fit", "t.csv", "-t", "y", *QUICK, "--json", "--force").stdout)
    assert any("'paid'" in note for note in facts["notes"])


def test_a_log_normal_target_is_told(call, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=100), "y": np.exp(rng.normal(size=100))})
    result = call("fit", write(table, tmp_path / "t.csv"), "-t", "y", *QUICK)
    assert "The target 'y' looks log-normal" in result.stderr
