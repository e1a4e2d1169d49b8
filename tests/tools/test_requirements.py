"""What the Makefile hands to pip."""

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "requirements.py"
tool = SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def printed(*words: str) -> list[str]:
    command = [sys.executable, "-I", "-S", str(SCRIPT), *words]  # without installed packages
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_group_holds_those_it_includes() -> None:
    groups = {"a": ["one>=1"], "b": [{"include-group": "a"}, "two>=2"]}
    assert list(tool.members(groups, "b")) == ["one>=1", "two>=2"]


def test_an_unknown_group_is_named() -> None:
    with pytest.raises(SystemExit, match="Unknown dependency group 'tests'"):
        list(tool.members({"test": []}, "tests"))


def test_lower_bounds_become_versions() -> None:
    texts = ["numpy>=1.26", "torch>=2.4", "pytest>=9.0", "ray>=2.35; python_version < '3.14'"]
    found = list(tool.lowest(texts))
    assert found == [*tool.OF_THAT_TIME, "numpy==1.26", "pytest>=9.0", "ray==2.35"]


def test_a_requirement_without_lower_bound_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"needs a lower bound.*got 'numpy<3'"):
        list(tool.lowest(["numpy<3"]))


def test_a_pin_has_the_marker_of_its_requirement() -> None:
    constraints = "# Versions.\nnumpy==2.4\nray==2.60\ntorch==2.13.0\n"
    requirements = ["numpy>=1.26", "ray>=2.35; python_version < '3.14'"]
    found = list(tool.pins(constraints, requirements))
    assert found == ["numpy==2.4", "ray==2.60 ; python_version < '3.14'"]


def test_every_command_runs_on_this_project() -> None:
    assert "pytest>=9.0" in printed("group", "test")
    assert "scikit-learn==1.6" in printed("lowest", "test")
    assert any(line.startswith("numpy==") for line in printed("pins"))
