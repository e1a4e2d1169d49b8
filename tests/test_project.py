"""Facts about the repository itself: files, dependencies, pins."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
MACHINE_PATH = re.compile(r"/(root|work|home/[\w.-]+)/")


def repository_files() -> list[Path]:
    """Files git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def test_no_machine_path() -> None:
    found = []
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" in content:
            continue  # not text
        for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
            if MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


@pytest.mark.parametrize("top", ["root", "work", "home/someone"])
def test_a_machine_path_is_seen(top: str) -> None:
    assert MACHINE_PATH.search(f"see /{top}/notes.txt")


def test_core_dependencies() -> None:
    names = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    assert names == {
        "narwhals",
        "numpy",
        "rich",
        "safetensors",
        "scikit-learn",
        "scipy",
        "torch",
        "typer",
    }


@pytest.mark.parametrize("pin", PINS, ids=str)
def test_pin_is_one_exact_public_version(pin: Requirement) -> None:
    (specifier,) = pin.specifier
    assert specifier.operator == "=="
    assert "*" not in specifier.version
    assert "+" not in specifier.version, "a local version such as +cpu exists on some indexes only"
    assert pin.url is None
    assert pin.extras == set()
    assert pin.marker is None


def test_each_package_is_pinned_once() -> None:
    names = [canonicalize_name(pin.name) for pin in PINS]
    assert names == sorted(set(names))


@pytest.mark.parametrize("extra", [None, "test", "bench", "docs", "files", "report"])
def test_pins_satisfy_the_declared_ranges(extra: str | None) -> None:
    declared = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in PINS}
    for requirement in map(Requirement, declared):
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} excludes {version}"
