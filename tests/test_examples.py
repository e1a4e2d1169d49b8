"""Every script in examples/ runs as a reader would run it, in an empty directory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adacap

SOURCE = str(Path(adacap.__file__).parents[1])  # also where the tests run uninstalled
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def output(request, tmp_path_factory) -> tuple[str, str]:
    """Name of a script and what it prints; each is run once, on one thread."""
    script = request.param
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path_factory.mktemp(script.stem),
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
    return script.stem, result.stdout


def test_there_are_examples():
    assert EXAMPLES


def test_an_example_runs_without_warnings_and_prints(output):
    assert output[1].strip()


def test_accuracies_are_those_of_a_net_that_learns(output):
    """Every accuracy that a script prints, whatever the script."""
    name, text = output
    found = dict(re.findall(r"(\w+): test accuracy ([\d.]+)", text))
    if name == "own_cnn":
        assert set(found) >= {"plain", "adacap"}
    assert all(float(accuracy) > 0.85 for accuracy in found.values()), found
