"""The bill of materials names what is needed; the audit and the wheels say what they found."""

import importlib
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
        subprocess.run(command, check=True, timeout=600)
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


@pytest.fixture
def audit(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("audit")


def test_an_audit_without_pip_audit_says_so(audit, monkeypatch, capsys) -> None:
    monkeypatch.setattr(audit.importlib.util, "find_spec", lambda name: None)
    assert audit.main() == 0
    assert capsys.readouterr().out.startswith("Audit skipped: pip-audit is not installed")


SOUND = {"name": "a", "version": "1", "vulns": []}
HOLED = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("code", "packages", "said", "expected", "word"),
    [
        (0, [SOUND, UNKNOWN], "", 0, "Audit: no known holes in 1 packages, 1 could not be"),
        (1, [SOUND, HOLED], "it timed out", 1, "Audit: known holes in b 2, see above."),
        (0, [UNKNOWN], "No known vulnerabilities found", 0, "Audit skipped: the database"),
        (1, None, "requests.exceptions.ConnectionError", 0, "Audit skipped: pip-audit cannot"),
        (3, None, "Traceback", 1, "Audit failed: pip-audit ended with exit code 3"),
        (2, [SOUND], "", 1, "Audit failed: pip-audit ended with exit code 2"),
    ],
)
def test_an_audit_says_what_was_looked_up(
    code, packages, said, expected, word, audit, monkeypatch, capsys
) -> None:
    found = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    done = subprocess.CompletedProcess([], code, found, f"{said}\n")
    monkeypatch.setattr(audit.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(audit.subprocess, "run", lambda *args, **options: done)
    assert audit.main() == expected
    told = capsys.readouterr().out.splitlines()
    assert told[-1].startswith(word)
    assert ("b 2: PYSEC-1, fixed in 3" in told) == (HOLED in (packages or []))


def test_make_audit_installs_what_it_needs_and_does_not_stop_where_it_cannot() -> None:
    makefile = (TOOLS.parent / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\naudit:")[2].partition("\n\n")[0].splitlines()[1:]
    assert recipe[0].startswith("\t$(PIP) ")
    assert recipe[0].endswith(" group audit) || true")
    assert recipe[1:] == ["\t$(BIN)/python tools/audit.py"]
    command = [sys.executable, TOOLS / "requirements.py", "group", "audit"]
    assert subprocess.check_output(command, text=True).startswith("pip-audit>=")


@pytest.mark.slow
def test_two_builds_give_the_same_bytes() -> None:
    """Needs what builds wheels, from the network or a cache."""
    command = [sys.executable, TOOLS / "same_wheels.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal bytes") == 2
