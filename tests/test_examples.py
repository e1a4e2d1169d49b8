"""Every script in examples/ runs as a reader would run it, in an empty directory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adacap

SOURCE = str(Path(adacap.__file__).parents[1])  # also where the tests run uninstalled
PAGE = (Path(__file__).parents[1] / "docs" / "gallery.md").read_text(encoding="utf-8")
GALLERY = re.findall(r"literalinclude\} \.\./examples/(\w+)\.py", PAGE)
EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def words(line: str) -> list[str]:
    """A line without its numbers."""
    return re.findall(r"[^\W\d_]+", re.sub(r"\d[\d.]*(e-?\d+)?", "", line))


def test_there_are_examples():
    assert EXAMPLES


def test_the_gallery_shows_scripts_of_at_most_forty_lines():
    assert set(GALLERY) >= {
        "quick_start", "intervals", "capacity", "own_net", "selection", "export", "compare",
    }  # fmt: skip
    scripts = {path.stem: path.read_text(encoding="utf-8").splitlines() for path in EXAMPLES}
    assert [name for name in GALLERY if len(scripts[name]) > 40] == []


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_without_warnings_and_does_what_the_gallery_says(script, tmp_path):
    """One test for each script, so that it runs once: some start servers of their own."""
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    check_accuracies(script.stem, result.stdout)
    if script.stem in GALLERY:
        check_words(script.stem, result.stdout)
    if f"{script.stem}.png" in PAGE:
        assert (tmp_path / f"{script.stem}.png").exists()


def check_accuracies(name: str, printed: str) -> None:
    """Every accuracy that a script prints is that of a net that learns."""
    found = dict(re.findall(r"(\w+): test accuracy ([\d.]+)", printed))
    if name == "own_cnn":
        assert set(found) >= {"plain", "adacap"}
    assert all(float(accuracy) > 0.85 for accuracy in found.values()), found


def check_words(name: str, printed: str) -> None:
    """Numbers move a little between machines: compared is the text around them."""
    shown = PAGE.partition(f"/{name}.py\n")[2].partition("```text\n")[2].partition("```")[0]
    for line, told in zip(shown.splitlines(), printed.splitlines(), strict=True):
        assert words(line) == words(told)
