"""Build both wheels twice, from copies in other folders and of another age, and compare the bytes.

    python tools/same_wheels.py

Exit code 1 if a wheel differs from its twin. What differs is named.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = (".", "packages/adacap-bench")
EPOCH = "1577836800"  # 2020-01-01, of every file in a wheel
AGES = (1_600_000_000, 1_700_000_000)  # of the copies


def tracked() -> list[str]:
    """Files that belong to the project."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def copied(folder: Path, age: int) -> Path:
    """A copy of the project whose files are all of one age."""
    for name in tracked():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        os.utime(target, (age, age))
    return folder


def built(project: Path, wheels: Path) -> dict[str, Path]:
    """Wheels of all distributions of a project, by name."""
    for part in DISTRIBUTIONS:
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--wheel-dir", wheels, project / part],
            check=True, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
        )  # fmt: skip
    return {wheel.name: wheel for wheel in sorted(wheels.glob("*.whl"))}


def differences(one: Path, other: Path) -> list[str]:
    """Files of two wheels that are not the same."""
    with zipfile.ZipFile(one) as a, zipfile.ZipFile(other) as b:
        first, second = ({i.filename: a_zip.read(i) for i in a_zip.infolist()} for a_zip in (a, b))
    found = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    return found or ["the zip itself: order, dates or permissions"]


def main() -> int:
    """Build, compare, print."""
    with tempfile.TemporaryDirectory(prefix="wheels-") as place:
        projects = [copied(Path(place, f"project{i}"), age) for i, age in enumerate(AGES)]
        first, second = (built(one, Path(place, f"wheels-of-{one.name}")) for one in projects)
        bad = first.keys() != second.keys() or len(first) != len(DISTRIBUTIONS)
        for name, wheel in first.items():
            content = wheel.read_bytes()
            is_same = name in second and content == second[name].read_bytes()
            bad |= not is_same
            digest = hashlib.sha256(content).hexdigest()
            print(f"{name}: {'equal bytes' if is_same else 'differs'}, sha256 {digest}")
            if not is_same and name in second:
                print(*differences(wheel, second[name]), sep="\n")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
