"""What was trained or predicted stays, whatever becomes of the other files of a command."""

import errno
import os
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.csv
import pytest

import adacap
from adacap import AdaCapClassifier
from adacap.cli import app
from adacap.files import Parts, open_table

FIT = ["--target", "price", "--method", "fast-nets", "--n-estimators", "1", "--no-refit"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def never_trained(monkeypatch):
    def fit(*args, **options):
        raise AssertionError("trained before the paths were checked")

    monkeypatch.setattr(adacap.AdaCapRegressor, "fit", fit)


@pytest.mark.finding("M8", before="found out only after all training")
@pytest.mark.usefixtures("never_trained")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "nowhere/m.adacap"], "There is no folder nowhere"),
        (["-o", "m.adacap", "--report", "nowhere/r.html"], "There is no folder nowhere"),
        (["-o", "there.adacap"], "there.adacap exists"),
        (["-o", "m.adacap", "--report", "there.adacap"], "there.adacap exists"),
        (["-o", "."], "is a folder"),
        (["-o", "m.adacap", "--report", "m.adacap"], "--output and --report are the same file"),
    ],
)
def test_paths_are_checked_before_training(call, houses, options, message):
    open("there.adacap", "w").close()
    result = call("fit", houses, *FIT, *options)
    assert result.exit_code == 2
    assert message in result.output
    assert os.listdir() == ["there.adacap"]


@pytest.mark.usefixtures("never_trained")
def test_the_data_are_never_the_output(call, write_houses):
    path = write_houses("houses.csv")
    with open(path, "rb") as file:
        before = file.read()
    result = call("fit", path, *FIT, "-o", path, "--force")
    assert result.exit_code == 2
    assert "DATA and --output are the same file" in result.output
    with open(path, "rb") as file:
        assert file.read() == before


@pytest.mark.finding("M8", before="the model was lost with its report")
def test_a_report_that_fails_leaves_the_model(call, houses, monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("adacap.report.write_report", full)
    result = call("fit", houses, *FIT, "-o", "m.adacap", "--report", "r.html")
    assert result.exit_code == 1
    assert "The model m.adacap is kept, but its report could not be written" in result.output
    assert adacap.load("m.adacap").members_


def test_a_folder_that_vanishes_while_fitting_leaves_the_model(call, houses, monkeypatch, tmp_path):
    os.mkdir("out")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    whole = adacap.AdaCapRegressor.fit

    def fit(*args, **options):
        if os.path.isdir("out"):
            os.rmdir("out")
        return whole(*args, **options)

    monkeypatch.setattr(adacap.AdaCapRegressor, "fit", fit)
    result = call("fit", houses, *FIT, "-o", "out/m.adacap")
    assert result.exit_code == 1
    assert "There is no folder out to write m.adacap to. The model is kept in" in result.output
    (kept,) = tmp_path.glob("adacap-*/m.adacap")
    assert adacap.load(kept).members_


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is always full")
@pytest.mark.parametrize("repeats", [1, 300])  # within what is buffered, and beyond
@pytest.mark.parametrize("command", ["inspect", "predict"])
def test_output_that_cannot_be_printed_is_an_error(houses, house_model, command, repeats):
    path, _ = house_model
    with open(houses) as table:
        header, *rows = table.readlines()
    with open("long.csv", "w") as table:
        table.writelines([header, *rows * repeats])
    words = [command, path, *(["long.csv", "-o", "-"] if command == "predict" else [])]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "adacap", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_command_without_standard_output_ends_as_ever(house_model, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as end:
        app(["inspect", str(house_model[0])])
    assert not end.value.code


@pytest.mark.finding("M8", before="the finished parts were discarded, --resume had nothing")
@pytest.mark.parametrize("stage", ["add", "finish"])
def test_predict_on_a_full_disk_can_be_gone_on_with(call, houses, house_model, monkeypatch, stage):
    path, _ = house_model
    command = ["predict", path, houses, "--batch-rows", "20"]
    assert call(*command, "-o", "expected.csv").exit_code == 0
    whole, n_calls = getattr(Parts, stage), []

    def full(self, *args, **options):
        n_calls.append(1)
        if stage == "finish" or len(n_calls) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(self, *args, **options)

    monkeypatch.setattr(Parts, stage, full)
    result = call(*command, "-o", "out.csv")
    assert result.exit_code == 1
    assert "No space left on device" in result.output
    assert "rows are done and kept in .out.csv.part" in result.output
    assert not os.path.exists("out.csv")
    monkeypatch.setattr(Parts, stage, whole)
    result = call(*command, "-o", "out.csv", "--resume", "--json")
    assert result.exit_code == 0, result.output
    assert '"resumed_at": 0' not in result.output
    with open("out.csv") as found, open("expected.csv") as expected:
        assert found.read() == expected.read()
    assert sorted(os.listdir()) == ["expected.csv", "out.csv"]


def test_a_damaged_part_is_refused_by_name(call, houses, house_model, monkeypatch):
    path, _ = house_model
    monkeypatch.setattr(Parts, "finish", lambda *a, **k: (_ for _ in ()).throw(OSError(28, "full")))
    call("predict", path, houses, "-o", "out.csv")
    with open(".out.csv.part/00000000.arrow", "r+b") as file:
        file.truncate(100)
    result = call("predict", path, houses, "-o", "out.csv", "--resume")
    assert result.exit_code == 1
    assert "00000000.arrow is not a readable part of an interrupted run" in result.output


@pytest.mark.finding("L15", before="labels such as =cmd|… were written as they are")
def test_labels_are_escaped_for_spreadsheets_on_request(call):
    X = pa.table({"size": [float(i) for i in range(40)]})
    labels = ["=cmd|' /C calc'!A0", "b"] * 20
    model = AdaCapClassifier(quality="nets", n_estimators=1, max_iter=2, width=8).fit(X, labels)
    model.save("m.adacap")
    pa.csv.write_csv(X, "t.csv")
    assert call("predict", "m.adacap", "t.csv", "-o", "a.csv").exit_code == 0
    assert call("predict", "m.adacap", "t.csv", "-o", "b.csv", "--escape-formulas").exit_code == 0
    exact, safe = open_table("a.csv").read(), open_table("b.csv").read()
    shown = [f"'{x}" if x.startswith("=") else x for x in exact.column("class").to_pylist()]
    assert safe.column("class").to_pylist() == shown
    assert exact.drop_columns("class").equals(safe.drop_columns("class"))
