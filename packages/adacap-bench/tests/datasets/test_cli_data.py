"""The command ``adacap data``: output, JSON, exit codes."""

import gzip
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from adacap_bench.cli.data import app
from adacap_bench.datasets import find_task


@pytest.fixture
def run():
    def invoke(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args])

    return invoke


def serve(server, data_folder, *keys):
    for key in keys:
        path = next(data_folder.glob(f"{find_task(key).file.path}*"))
        server.files[f"/{path.relative_to(data_folder)}"] = path.read_bytes()


def test_list(run, no_data):
    result = run("list", "--suite", "builtin-quick", "--suite", "paper-31")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].split() == ["key", "name", "kind", "n", "p", "place"]
    assert lines[-2].split() == ["paper-31", "Abalone", "regression", "3341", "10", "absent"]
    assert lines[-1].startswith("4 of 5 present.")


def test_list_all_as_json(run, no_data):
    rows = json.loads(run("list", "--json").output)
    assert len(rows) == 44 + 32 + 2 + 1 + 10
    assert rows[0] == {
        "key": "paper-0",
        "name": "Cervical Cancer Behavior Risk",
        "kind": "binary",
        "n": 57,
        "p": 149,
        "suites": ["paper", "paper-classification"],
        "place": "absent",
    }


def test_list_names_the_suites(run, no_data):
    assert "mlr2021 (the 32 tasks of the 2021 supplement)" in run("list").output


def test_show(run, no_data):
    result = run("show", "builtin-mixed-classes")
    assert result.exit_code == 0
    assert "classes: class 0, class 1" in result.output
    assert "columns used (7):" in result.output
    shown = json.loads(run("show", "builtin-mixed-classes", "--json").output)
    assert shown["table_columns"]["group"]["distinct"] == 3
    assert shown["usable_rows"] == 250


def test_show_what_is_absent(run, no_data):
    result = run("show", "paper-28")
    assert result.exit_code == 0
    assert "how_to_get: They cannot be downloaded without an account" in result.output
    assert "transform: log" in result.output
    assert "header: True" in result.output


def test_show_a_file_of_the_user(run, write, no_data):
    path = write("mine.csv", "a,b\n1,x\n2,y\n3,x\n")
    shown = json.loads(run("show", f"{path}:b", "--json").output)
    assert shown["kind"] == "binary"
    assert shown["classes"] == ["x", "y"]


def test_usage_errors_exit_2(run, no_data):
    result = run("show", "paper-999")
    assert result.exit_code == 2
    assert "Error: Unknown task 'paper-999'. Did you mean" in result.output
    assert run("list", "--suite", "papre").exit_code == 2
    assert run("verify", "papre").exit_code == 2
    assert run("fetch").exit_code == 2
    assert "Nothing to fetch" in run("fetch").output
    assert run("fetch", "--nonsense").exit_code == 2


def test_fetch_from_a_mirror(data_folder, run, server, no_data):
    serve(server, data_folder, "paper-1", "paper-31")
    server.truncate = 1
    args = ("--mirror", server.url, "--retries", "2")
    result = run("fetch", "paper-1", "paper-2", "paper-31", "builtin-iris", *args)
    assert result.exit_code == 0, result.output
    assert f"paper-1: {no_data}/raw/concrete-slump/slump_test.data" in result.output
    assert "paper-2: " not in result.output  # the same file
    assert "builtin-iris: built in" in result.output
    assert "paper-31: 191.9 kB of 191.9 kB, 100 %" in result.output
    assert run("verify", "paper-1", "paper-2", "paper-3", "paper-31").exit_code == 0


def test_fetch_as_json(data_folder, run, server, no_data):
    serve(server, data_folder, "paper-1")
    result = run("fetch", "paper-1", "paper-7", "--mirror", server.url, "--json")
    assert result.exit_code == 1  # paper-7 is not on this mirror
    found = json.loads(result.stdout)
    assert [each["status"] for each in found] == ["ok", "failed"]
    assert "404" in found[1]["reason"]


def test_fetch_explains_kaggle(run, no_data):
    result = run("fetch", "paper-38")
    assert result.exit_code == 1
    assert "get blr_real_estate_prices.csv from https://www.kaggle.com" in result.output


def test_fetch_tells_of_a_file_in_the_way(data_folder, run, server, no_data, write, monkeypatch):
    serve(server, data_folder, "paper-1")
    bad = write("data/raw/concrete-slump/slump_test.data", "damaged")
    monkeypatch.setenv("ADACAP_DATA", str(bad.parents[2]))
    result = run("fetch", "paper-1", "--mirror", server.url)
    assert result.exit_code == 0
    assert f"paper-1: but {bad} is looked at first" in result.output


def test_fetch_mnist(data_folder, run, server, no_data):
    for path in (data_folder / "mnist").iterdir():
        server.files[f"/mnist/{path.name}"] = path.read_bytes()
    result = run("fetch", "mnist", "--mirror", server.url)
    assert result.exit_code == 0, result.output
    assert run("verify", "mnist").exit_code == 0


def test_verify(data_folder, run):
    result = run("verify", "--suite", "paper", "--folder", data_folder)
    assert result.exit_code == 0
    assert result.output.endswith("44 checked: 40 ok, 2 explained, 0 mismatch, 2 absent.\n")
    assert "paper-15: The source's file breaks line 522" in result.output
    assert "paper-38: balcony has 4 values and 609 empty cells" in result.output
    assert "paper-34: Run: adacap data fetch paper-34" in result.output


def test_verify_finds_a_changed_file(data_folder, run, write, tmp_path, no_data):
    path = data_folder / find_task("paper-31").file.path
    write("raw/abalone/abalone.data.gz", gzip.compress(path.read_bytes().replace(b"M,", b"I,")))
    result = run("verify", "paper-31", "--folder", tmp_path)
    assert result.exit_code == 1
    assert "paper-31: mismatch: sha256: expected de37cdcd" in result.output
    assert "paper-31: mismatch: p: expected 10, found 8" in result.output
    verdict = json.loads(run("verify", "paper-31", "--folder", tmp_path, "--json").output)[0]
    assert verdict["status"] == "mismatch"


def test_verify_on_a_fresh_machine(run, no_data):
    result = run("verify", "--suite", "builtin", "--suite", "paper-regression-small")
    assert result.exit_code == 0
    assert result.output.endswith("25 checked: 10 ok, 0 explained, 0 mismatch, 15 absent.\n")


def test_help_loads_nothing_heavy():
    code = (
        "import sys, adacap_bench.cli.data; "
        "print(sorted({'torch', 'sklearn', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tasks_are_found_by_name(capsys):
    runner = CliRunner()
    found = runner.invoke(app, ["show", "yacht"])
    assert found.exit_code == 0
    assert [line.split()[0] for line in found.stdout.splitlines()] == [
        "key", "paper-12", "mlr-regression3",
    ]  # fmt: skip
    assert "paper-1 " in runner.invoke(app, ["show", "concrete-slump"]).stdout
    one = runner.invoke(app, ["show", "friedman1"])
    assert "key: builtin-friedman1" in one.stdout
    none = runner.invoke(app, ["show", "no such name"])
    assert none.exit_code == 2
    assert "Unknown task 'no such name'" in none.stderr
