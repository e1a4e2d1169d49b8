"""The bill of materials names what is needed; the audit and the wheels say what they found."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def test_the_bill_names_every_dependency_and_is_the_same_twice(tmp_path) -> None:
    for name in ("a", "b"):
        command = [sys.executable, TOOLS / "sbom.py", "adacap", "-o", tmp_path / name]
        subprocess.run(command, check=True, timeout=120)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    bill = json.loads((tmp_path / "a").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["name"] == "adacap"
    found = {one["bom-ref"] for one in bill["components"]}
    for name in ("numpy", "scipy", "scikit-learn", "torch", "safetensors", "typer", "rich"):
        assert f"{name}@{importlib.metadata.version(name)}" in found
    known = found | {bill["metadata"]["component"]["bom-ref"]}
    assert {one["ref"] for one in bill["dependencies"]} == known
    assert {other for one in bill["dependencies"] for other in one["dependsOn"]} <= known


@pytest.mark.parametrize("name", ["audit.py", "sbom.py", "soak.py"])
def test_examples_in_the_tools_hold(name) -> None:
    command = [sys.executable, "-m", "doctest", TOOLS / name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_two_builds_give_the_same_bytes() -> None:
    """Needs what builds wheels, from the network or a cache."""
    command = [sys.executable, TOOLS / "same_wheels.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal bytes") == 2
