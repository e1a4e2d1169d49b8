"""What docs/DATA.md shows runs, and what it says of the catalogue is so."""

import re
from pathlib import Path

import pytest

from adacap_bench.cli.data import app
from adacap_bench.datasets import SUITES, catalogue, find_suite, load_table
from adacap_bench.datasets.own import FIELDS

TEXT = (Path(__file__).parents[4] / "docs" / "DATA.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_python_prints_what_it_says(capsys):
    (code,) = blocks("python")
    exec(compile(code, "DATA.md", "exec"), {})
    said = re.findall(r"# (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == said


def test_entry(write, monkeypatch, tmp_path):
    (entry,) = blocks("toml")
    write("mine.toml", entry)
    write("houses.csv", "id,size,town,price\n1,50,a,100\n2,60,unknown,200\n3,70,b,300\n")
    monkeypatch.chdir(tmp_path)
    (task,) = find_suite("mine.toml")
    assert task.key == "mine.toml:house-prices"
    table = load_table(task)
    assert [*table.X.columns] == ["size", "town"]
    assert table.X["town"].isna().sum() == 1


@pytest.mark.parametrize("name", [*SUITES, *FIELDS, "boston", "mlr-regression-1"])
def test_everything_is_mentioned(name):
    assert f"`{name}`" in TEXT or f"\n{name} = " in TEXT


def test_commands_exist():
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"`adacap data (\w+)", TEXT)) == commands


def test_first_rows_that_are_no_samples():
    dropped = [
        task.key for task in catalogue().values() if task.is_encoded and task.reader.drop_rows
    ]
    assert len(dropped) == 12 + 1  # twelve first rows, and cylinder bands
