"""What the distribution declares: its version, what it needs, what it attaches to adacap."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from packaging.requirements import Requirement

import adacap
import adacap_bench
from adacap.cli import GROUP, OF_BENCH
from adacap.comparison.registry import GROUP as METHODS_GROUP

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRIES = PROJECT["entry-points"]


def test_both_distributions_have_one_version():
    assert adacap_bench.__version__ == adacap.__version__
    needed = {Requirement(text).name: Requirement(text) for text in PROJECT["dependencies"]}
    assert str(needed["adacap"].specifier) == f"=={adacap.__version__}"
    assert needed["adacap"].extras == {"files"}


def test_the_licence_is_that_of_the_library():
    assert (ROOT / "LICENSE").read_bytes() == (ROOT.parents[1] / "LICENSE").read_bytes()


def test_every_promised_command_is_attached():
    assert set(ENTRIES[GROUP]) == set(OF_BENCH)


@pytest.mark.parametrize(("name", "value"), ENTRIES[GROUP].items())
def test_an_entry_point_leads_to_a_command(name, value):
    assert isinstance(EntryPoint(name, value, GROUP).load(), typer.Typer)


@pytest.fixture
def installed(environment, tmp_path):
    """Environment in which a new interpreter finds the distribution installed."""
    folder = tmp_path / f"adacap_bench-{adacap_bench.__version__}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: adacap-bench\nVersion: {adacap_bench.__version__}\n")
    lines = [
        line
        for group in (GROUP, METHODS_GROUP)
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in ENTRIES[group].items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines))
    return {**environment, "PYTHONPATH": f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"}


def call(environment, *words):
    command = [sys.executable, "-m", "adacap", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["data", "show", "friedman1"], "key: builtin-friedman1"),
        (["bench", "methods"], "catboost"),
        (["bench", "run", "--help"], " adacap bench run [OPTIONS]"),
        (["reproduce", "list"], "c4"),
        (["reproduce", "--help"], " adacap reproduce [OPTIONS]"),
    ],
)
def test_the_commands_are_those_of_adacap(installed, words, text):
    result = call(installed, *words)
    assert (result.returncode, result.stderr) == (0, "")
    assert text in result.stdout


def test_a_wrong_argument_of_an_attached_command_ends_with_2(installed):
    assert call(installed, "data", "show", "no such name").returncode == 2
    assert call(installed, "reproduce").returncode == 2


def test_help_lists_what_they_do(installed):
    result = call(installed, "--help")
    assert "Compare methods on many tables." in result.stdout
    assert "Needs adacap-bench" not in result.stdout


def test_evaluate_knows_the_methods_and_groups_of_the_benchmark(installed, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("x,y\n" + "".join(f"{i},{i % 7 + i / 8}\n" for i in range(60)))
    options = ["-t", "y", "--method", "fast", "--n-estimators", "2", "--splits", "1", "--json"]
    result = call(installed, "evaluate", str(table), *options, "--against", "fast-snn,baselines")
    assert result.returncode == 0, result.stderr
    assert '"method": "fast-snn"' in result.stdout
    assert '"method": "intercept"' in result.stdout
