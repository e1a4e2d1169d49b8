"""A file is there whole or not at all, whoever writes it."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from adacap.exceptions import AdaCapError, NoFolderError, OutputError, OutputExistsError
from adacap.files import check_writable, drafted, write_bytes, write_text


def test_an_existing_file_is_replaced_only_when_told(tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.html", "one")
    with pytest.raises(OutputExistsError, match=r"a\.html exists\. Choose another name.*--force"):
        write_text(path, "two")
    assert path.read_text(encoding="utf-8") == "one"
    write_text(path, "two", force=True)
    assert path.read_text(encoding="utf-8") == "two"
    assert os.listdir(tmp_path) == ["a.html"]


def test_a_file_that_appears_in_the_meantime_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    def write_late() -> None:
        with drafted(path) as draft:
            draft.write_text("late")
            path.write_text("first")

    with pytest.raises(OutputExistsError):
        write_late()
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path: Path, error: type) -> None:
    path = write_text(tmp_path / "a.txt", "old")

    def write_half() -> None:
        with drafted(path, force=True) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_text_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a.html", "x\ud800")  # half a surrogate pair
    assert os.listdir(tmp_path) == []


# --------------------------------------------------------------------------- permissions


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    assert write_text(tmp_path / "page", "").stat().st_mode == plain.stat().st_mode


@pytest.mark.finding("M9", before="a 0600 file was 0644 after saving again")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = write_text(tmp_path / "a.txt", "old")
    path.chmod(mode)
    write_text(path, "new", force=True)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_umask_of_the_process_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("another thread would see this"))
    write_text(tmp_path / "a.txt", "new")


# ------------------------------------------------------------------- refused before work


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoFolderError, match=r"There is no folder .*none to write a\.html to"):
        check_writable(tmp_path / "none" / "a.html")


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"is a folder\. Name a file\."):
        check_writable(tmp_path, force=True)


def test_a_device_is_not_replaced() -> None:
    with pytest.raises(OutputError, match="/dev/null is a device or a pipe"):
        check_writable(os.devnull, force=True)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_refused(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_text(tmp_path / "a.txt", "mine")
    locked = path if what == "file" else tmp_path
    # root may write anything, so that permissions alone would show nothing here
    monkeypatch.setattr(os, "access", lambda name, mode: Path(name) != locked)
    with pytest.raises(OutputError, match=rf"a\.txt cannot be written: .*{locked.name} is read"):
        check_writable(path, force=True)


def test_nothing_is_drafted_for_a_target_that_is_refused(tmp_path: Path) -> None:
    begun = []

    def write() -> None:
        with drafted(tmp_path / "none" / "a.txt") as draft:
            begun.append(draft)

    with pytest.raises(NoFolderError):
        write()
    assert begun == []


def test_the_errors_are_ours_and_of_the_language() -> None:
    for error, builtin in [
        (OutputError, OSError),
        (OutputExistsError, FileExistsError),
        (NoFolderError, FileNotFoundError),
    ]:
        assert issubclass(error, OutputError)
        assert issubclass(error, AdaCapError)
        assert issubclass(error, builtin)


# --------------------------------------------------------------------------------- names


def test_what_a_link_points_to_is_replaced(tmp_path: Path) -> None:
    target, link = write_text(tmp_path / "a.txt", "old"), tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(OutputExistsError, match="link exists"):
        write_text(link, "new")
    write_text(link, "new", force=True)
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_link_to_nowhere_is_no_file(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "none" / "a.txt")
    with pytest.raises(NoFolderError, match="none to write link to"):
        write_text(link, "new", force=True)


def test_a_name_of_the_greatest_length(tmp_path: Path) -> None:
    assert write_bytes(tmp_path / ("x" * 251 + ".csv"), b"1").read_bytes() == b"1"


def test_two_writers_do_not_share_a_draft(tmp_path: Path) -> None:
    path, both = tmp_path / "a.txt", threading.Barrier(2)

    def write(text: str) -> None:
        with drafted(path, force=True) as draft:
            draft.write_text(text * 1000)
            both.wait(timeout=300)

    threads = [threading.Thread(target=write, args=(sign,)) for sign in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in ("a" * 1000, "b" * 1000)
    assert os.listdir(tmp_path) == ["a.txt"]


# ---------------------------------------------------------------------------- what is left


def draft_of(path: Path, process: int, age: float = 3600.0) -> Path:
    """A draft of a file, as a process that was killed leaves it."""
    with drafted(path, force=True) as name:
        name.write_text("whole")
    left = path.with_name(name.name.replace(f"-{os.getpid()}-", f"-{process}-"))
    left.write_text("half")
    os.utime(left, (time.time() - age,) * 2)
    return left


@pytest.fixture
def gone() -> int:
    """Number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, gone: int) -> None:
    left = draft_of(tmp_path / "a.txt", gone)
    write_text(tmp_path / "a.txt", "new", force=True)
    assert not left.exists()
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.finding("L10", before="22 of 100 kills left a draft of 2.2 MB for ever")
def test_a_process_that_is_killed_leaves_what_the_next_one_removes(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from adacap.files import drafted\n"
        "with drafted(sys.argv[1]) as draft:\n"
        "    draft.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.txt")], check=False)
    (left,) = tmp_path.iterdir()
    os.utime(left, (time.time() - 3600,) * 2)
    write_text(tmp_path / "a.txt", "new")
    assert os.listdir(tmp_path) == ["a.txt"]


def test_drafts_in_use_and_files_of_others_stay(tmp_path: Path, gone: int) -> None:
    path = tmp_path / "a.txt"
    stays = [
        draft_of(path, os.getpid()),  # its process runs
        draft_of(path, gone, age=1.0),  # of another machine, perhaps
        draft_of(tmp_path / "b.txt", gone),
        draft_of(tmp_path / "a.csv", gone),
        write_text(tmp_path / ".a.0123456789ab.txt", ""),
        write_text(tmp_path / ".a.draft-notes.txt", ""),
    ]
    folder = draft_of(path, gone)
    folder.unlink()
    folder.mkdir()
    os.utime(folder, (0, 0))
    write_text(path, "new", force=True)
    assert [one.name for one in (*stays, folder) if not one.exists()] == []


def test_a_link_in_the_place_of_a_draft_is_not_followed(tmp_path: Path, gone: int) -> None:
    left = draft_of(tmp_path / "a.txt", gone)
    left.unlink()
    left.symlink_to(write_text(tmp_path / "mine", "mine"))
    write_text(tmp_path / "a.txt", "new", force=True)
    assert left.is_symlink()
    assert (tmp_path / "mine").read_text() == "mine"


def test_another_name_of_the_file_keeps_the_old_content(tmp_path: Path) -> None:
    path, other = write_text(tmp_path / "a.txt", "old"), tmp_path / "other"
    os.link(path, other)
    write_text(path, "new", force=True)
    assert (path.read_text(), other.read_text()) == ("new", "old")


# ------------------------------------------------------------------------------------ odd places

needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder of Linux")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a\0b", "embedded null"),
        ("x" * 256, "name too long"),
        ("é" * 128, "name too long"),
        pytest.param("/proc/x.csv", "No such file or directory", marks=needs_proc),
    ],
)
def test_a_place_that_takes_no_file_is_named_and_not_its_draft(tmp_path, name, why):
    place = tmp_path / name
    for use in (check_writable, lambda path: write_text(path, "text")):
        with pytest.raises(OutputError, match=rf"cannot be written: .*{why}.*Name another") as told:
            use(place)
        assert repr(str(place)) in str(told.value)
        assert "draft" not in str(told.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["x" * 255, "x" * 251 + ".csv", "y." + "z" * 240, "é" * 127])
def test_the_longest_names_are_written(tmp_path, name):
    write_text(tmp_path / name, "text")
    assert os.listdir(tmp_path) == [name]
