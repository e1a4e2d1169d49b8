"""A file is there whole or not at all."""

from pathlib import Path

import pytest

from adacap.exceptions import AdaCapError
from adacap.page import NoFolderError, PageExistsError, write_text


def test_refuses_to_replace(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.html", "one")
    with pytest.raises(PageExistsError, match=r"a\.html exists.*force"):
        write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "one"
    write_text(path, "two", force=True)
    assert path.read_text(encoding="utf-8") == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(NoFolderError, match=r"There is no folder .*none to write a\.html to"):
        write_text(tmp_path / "none" / "a.html", "")


def test_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.html", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "x\ud800", force=True)  # half a surrogate pair cannot be written
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_readable_as_any_other_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    assert write_text(tmp_path / "page", "").stat().st_mode == plain.stat().st_mode


def test_errors_are_ours_and_of_the_language() -> None:
    assert PageExistsError.__mro__[1:3] == (AdaCapError, FileExistsError)
    assert NoFolderError.__mro__[1:3] == (AdaCapError, FileNotFoundError)
