"""Fragments of changes/ become a section of CHANGELOG.md."""

import runpy
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
changelog = SimpleNamespace(**runpy.run_path(str(ROOT / "tools" / "changelog.py")))

PAGE = """# Changelog

## Unreleased

### Added

- An old line.

### Fixed

- A bug.

## 0.1.0 (2026-01-02)

### Added

- All.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "CHANGELOG.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("How to write one.", encoding="utf-8")
    return tmp_path


def add(root: Path, name: str, text: str) -> Path:
    path = root / "changes" / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_release_joins_fragments_with_the_open_section(root: Path) -> None:
    new = add(root, "dask.added.md", "Dask runs jobs.\nEverywhere.\n")
    moved = add(root, "seed.numerics.md", "- R2 moves from 0.1 to 0.2.\n")
    changelog.release(root, "0.2.0", date(2026, 3, 4))
    assert (
        (root / "CHANGELOG.md").read_text(encoding="utf-8")
        == """# Changelog

## Unreleased

## 0.2.0 (2026-03-04)

### Added

- An old line.
- Dask runs jobs.
  Everywhere.

### Fixed

- A bug.

### Numerics

- R2 moves from 0.1 to 0.2.

## 0.1.0 (2026-01-02)

### Added

- All.
"""
    )
    assert not new.exists()
    assert not moved.exists()
    assert (root / "changes" / "README.md").exists()


def test_a_fragment_may_hold_several_entries(root: Path) -> None:
    add(root, "dask.fixed.md", "- Dask runs jobs.\n  Everywhere.\n- Ray too.\n")
    changelog.release(root, "0.2.0", date(2026, 3, 4))
    page = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "- A bug.\n- Dask runs jobs.\n  Everywhere.\n- Ray too.\n\n## 0.1.0" in page


def test_two_releases_in_a_row(root: Path) -> None:
    changelog.release(root, "0.2.0", date(2026, 3, 4))
    add(root, "dask.added.md", "Dask runs jobs.")
    changelog.release(root, "0.3.0", date(2026, 3, 5))
    page = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## 0.3.0 (2026-03-05)\n\n### Added\n\n- Dask runs jobs.\n\n## 0.2.0" in page
    assert page.count("- An old line.") == 1


@pytest.mark.parametrize("name", ["dask.md", "dask.news.md", ".added.md", "a.b.added.md"])
def test_a_fragment_that_names_no_kind_is_refused(root: Path, name: str) -> None:
    path = add(root, name, "Dask runs jobs.")
    with pytest.raises(SystemExit, match="A fragment is named"):
        changelog.release(root, "0.2.0", date(2026, 3, 4))
    assert path.exists()
    assert (root / "CHANGELOG.md").read_text(encoding="utf-8") == PAGE


@pytest.mark.parametrize("version", ["", "v0.2.0", "0.2"])
def test_a_version_is_three_numbers(root: Path, version: str) -> None:
    with pytest.raises(SystemExit, match="three numbers"):
        changelog.release(root, version, date(2026, 3, 4))


def test_the_fragments_here_can_be_joined() -> None:
    assert set(changelog.fragments(ROOT / "changes")) == set(changelog.KINDS)
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert page.count(f"{changelog.OPEN}\n") == 1
