"""The command line: exit codes, what it prints, what it leaves behind."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from typer.testing import CliRunner

import adacap
from adacap.cli import app, main

ROOT = Path(__file__).parents[1]
METHODS = ["mean", "ridge", "random forest", "plain", "Tikhonov", "AdaCap"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    result = subprocess.run(
        [sys.executable, "-m", "adacap", "demo", "-o", "first.adacap"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(adacap.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def errors(text: str) -> list[dict[str, float]]:
    """Test RMSE of each method, one dict per table printed."""
    rows = re.findall(rf"(?m)^({'|'.join(METHODS)}) +([\d.]+) +[\d.]+$", text)
    values = [(name, float(error)) for name, error in rows]
    n = len(METHODS)
    return [dict(values[i : i + n]) for i in range(0, len(values), n)]


def test_demo_compares_six_methods_on_two_tables(demo):
    tables = errors(demo[1])
    assert [list(table) for table in tables] == [METHODS, METHODS]


def test_demo_bags_with_a_solved_layer_are_best_on_the_smooth_table(demo):
    """Bags of one size and as many steps, which differ in the scheme alone."""
    smooth = errors(demo[1])[1]
    assert max(smooth["Tikhonov"], smooth["AdaCap"]) < smooth["plain"] < smooth["random forest"]


def test_demo_says_where_the_model_is_and_it_loads(demo):
    folder, text = demo
    assert str((folder / "first.adacap").resolve()) in text
    X, y = load_diabetes(return_X_y=True)
    prediction = adacap.load(folder / "first.adacap").predict(X)
    assert np.corrcoef(prediction, y)[0, 1] > 0.6


def test_demo_leaves_only_the_model(demo):
    assert [path.name for path in demo[0].iterdir()] == ["first.adacap"]


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output.strip()) == (0, f"adacap {adacap.__version__}")


def test_unknown_command():
    result = CliRunner().invoke(app, ["no-such-command"])
    assert result.exit_code == 2
    assert "no-such-command" in result.output


def test_unknown_option_of_a_command():
    result = CliRunner().invoke(app, ["demo", "--colour", "red"])
    assert result.exit_code == 2
    assert "--colour" in result.output


def test_no_command_shows_the_help():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "demo" in result.output


def test_an_interruption_ends_with_130_and_no_traceback(monkeypatch, capsys):
    def interrupted(output, seed, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("adacap.demo.run_demo", interrupted)
    monkeypatch.setattr(sys, "argv", ["adacap", "demo"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


def test_the_command_is_declared_under_its_name():
    """What the project declares as script is what ``python -m adacap`` runs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"adacap": "adacap.cli:main"}


def test_demo_options_reach_the_demo(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        "adacap.demo.run_demo", lambda output, seed, force: calls.append((output, seed, force))
    )
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "x"), "--seed", "3"])
    assert (result.exit_code, calls) == (0, [(tmp_path / "x", 3, False)])


def test_help_lists_commands():
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
