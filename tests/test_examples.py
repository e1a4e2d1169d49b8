"""Every script in examples/ runs as a reader would run it, in an empty directory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def run(script: Path, folder: Path) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_warnings(script, tmp_path):
    assert run(script, tmp_path).strip()


def test_own_cnn_learns_the_digits(tmp_path):
    (script,) = (path for path in EXAMPLES if path.stem == "own_cnn")
    found = dict(re.findall(r"(\w+): test accuracy ([\d.]+)", run(script, tmp_path)))
    assert set(found) == {"plain", "tikhonov", "adacap"}
    assert all(float(accuracy) > 0.85 for accuracy in found.values()), found
