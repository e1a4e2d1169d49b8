"""A few kills of what ``make kill`` does by the hundred."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "kill_matrix.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_three_kills_of_save_and_of_fit_lose_nothing() -> None:
    done = subprocess.run(
        [sys.executable, TOOL, "--kills", "3", "--seed", "5", "save", "fit"],
        capture_output=True, text=True, timeout=800,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert [(one["case"], one["kills"], one["failures"]) for one in found] == [
        ("save", 3, []),
        ("fit", 3, []),
    ]
    assert all(0 < one["longest seconds"] and 50 < one["peak MB"] for one in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_fewer_kills_than_asked_for_are_a_failure() -> None:
    done = subprocess.run(
        [sys.executable, TOOL, "--kills", "3", "--seed", "5", "--seconds", "0", "save"],
        capture_output=True, text=True, timeout=800,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "save: only 0 of 3 kills. Give more --seconds." in done.stdout
