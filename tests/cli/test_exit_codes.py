"""One rule for every command: 0 done, 1 the input or the work failed, 2 the command line is wrong.

A missing file is a wrong command line, whatever it should have held; so is a folder in its place.
"""

import typer

from adacap.cli import app
from adacap.cli.common import exit_code
from adacap.comparison import MethodError
from adacap.comparison.registry import UnknownMethodError
from adacap.exceptions import AdaCapError, OutputError, UsageError
from adacap.files import FileError

# Arguments that name a file which is not there, for every command that takes one.
MISSING = {
    "fit": [["no.csv", "-t", "y"], ["HOUSES", "-t", "rent", "-o", "nowhere/m.adacap"]],
    "predict": [
        ["no.adacap", "HOUSES", "-o", "o.csv"],
        ["MODEL", "no.csv", "-o", "o.csv"],
        ["MODEL", "HOUSES", "-o", "nowhere/o.csv"],
    ],
    "explain": [
        ["no.adacap", "HOUSES", "-o", "o.csv"],
        ["MODEL", "no.csv", "-o", "o.csv"],
        ["MODEL", "HOUSES", "-o", "o.csv", "--rows-from", "no.csv"],
        ["MODEL", "HOUSES", "-o", "nowhere/o.csv"],
    ],
    "evaluate": [["no.csv", "-t", "y"]],
    "advise": [["no.csv", "-t", "y"]],
    "check": [["no.adacap", "HOUSES"], ["MODEL", "no.csv"]],
    "inspect": [["no.adacap"]],
    "calibrate": [["no.adacap", "HOUSES"], ["MODEL", "no.csv", "--target", "rent"]],
    "export": [
        ["no.adacap", "--onnx", "m.onnx"],
        ["MODEL", "--onnx", "m.onnx", "--data", "no.csv"],
        ["MODEL", "--onnx", "nowhere/m.onnx"],
    ],
    "demo": [["-o", "nowhere/demo.adacap"]],
}


def test_a_missing_file_is_a_wrong_command_line_for_every_command(call, houses, house_model):
    names = {"HOUSES": houses, "MODEL": house_model[0]}
    others = {}
    for command in typer.main.get_command(app).commands:
        for arguments in MISSING[command]:  # a new command says here what it reads
            result = call(command, *(names.get(each, each) for each in arguments))
            gone = next(each for each in arguments if each.startswith("no")).split("/")[0]
            if result.exit_code != 2 or gone not in result.stderr or result.stdout:
                others[command, *arguments] = result.exit_code, result.output
    assert others == {}


# The same with a folder, FOLDER, in the place of each file that may be none.
FOLDERS = {
    "fit": [["FOLDER", "-t", "y"], ["HOUSES", "-t", "rent", "-o", "FOLDER"]],
    "predict": [["FOLDER", "HOUSES", "-o", "o.csv"], ["MODEL", "FOLDER", "-o", "o.csv"]],
    "explain": [["FOLDER", "HOUSES", "-o", "o.csv"], ["MODEL", "HOUSES", "-o", "FOLDER"]],
    "evaluate": [["FOLDER", "-t", "y"]],
    "advise": [["FOLDER", "-t", "y"]],
    "check": [["FOLDER", "HOUSES"], ["MODEL", "FOLDER"]],
    "inspect": [["FOLDER"], ["MODEL", "--key-file", "FOLDER"]],
    "calibrate": [["FOLDER", "HOUSES"], ["MODEL", "FOLDER", "--target", "rent"]],
    "export": [["FOLDER", "--onnx", "m.onnx"], ["MODEL", "--onnx", "FOLDER"]],
    "demo": [["-o", "FOLDER"]],
}


def test_a_folder_in_place_of_a_file_is_a_wrong_command_line(call, tmp_path, houses, house_model):
    (tmp_path / "folder").mkdir()
    names = {"HOUSES": houses, "MODEL": house_model[0], "FOLDER": "folder"}
    others = {}
    for command in typer.main.get_command(app).commands:
        for arguments in FOLDERS[command]:
            result = call(command, *(names.get(each, each) for each in arguments))
            if result.exit_code != 2 or "folder" not in result.stderr or result.stdout:
                others[command, *arguments] = result.exit_code, result.output
    assert others == {}


def test_the_rule():
    wrong = UsageError("x"), FileNotFoundError("x"), IsADirectoryError("x"), OutputError("x")
    assert {exit_code(error) for error in wrong} == {2}
    assert exit_code(UnknownMethodError("x")) == 2
    failed = ValueError("x"), FileError("x"), MethodError("x"), AdaCapError("x"), MemoryError()
    assert {exit_code(error) for error in failed} == {1}


def test_a_file_that_will_not_do_is_a_failure_of_the_input(call, tmp_path, houses):
    (tmp_path / "m.adacap").write_text("no model")
    (tmp_path / "x.parquet").write_text("no table")
    assert call("inspect", "m.adacap").exit_code == 1
    assert call("predict", "m.adacap", houses, "-o", "o.csv").exit_code == 1
    assert call("fit", "x.parquet", "-t", "y").exit_code == 1


def test_an_output_that_exists_is_a_wrong_command_line(call, tmp_path, houses):
    (tmp_path / "mine").write_text("mine")
    for command in (
        ["fit", houses, "-t", "rent", "-o", "mine"],
        ["demo", "-o", "mine"],
        ["export", "m.adacap", "--onnx", "mine"],
    ):
        result = call(*command)
        assert (result.exit_code, "mine exists. Choose another" in result.stderr) == (2, True)
    assert (tmp_path / "mine").read_text() == "mine"
