"""The one way a file is written: whole or not at all, and over another one only on request."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adacap.exceptions import NoFolderError, OutputError, refuse_existing

__all__ = ["check_writable", "drafted", "remove_drafts", "write_bytes", "write_text"]

_MOST_OF_NAME, _MOST_OF_ENDING = 40, 16  # bytes of the target's name in the name of its draft
_OLD_SECONDS = 60.0  # without a change, of a draft whose process may be on another machine


def check_writable(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Refuse a file that cannot be written, before any work is wasted.

    Parameters
    ----------
    path : str or path-like
    force : bool, default=False
        A file that exists may be replaced.

    Returns
    -------
    Path
        The file to write: of a link, what it points to.

    Raises
    ------
    OutputExistsError
        If the file exists and ``force`` is not set.
    NoFolderError
        If its folder does not exist.
    OutputError
        If it is a folder, a device or a link to itself, or if it or its folder cannot be written.

    Examples
    --------
    >>> check_writable("nowhere/out.csv")
    Traceback (most recent call last):
    adacap.exceptions.NoFolderError: There is no folder nowhere to write out.csv to.
    """
    path = Path(path)
    with _named(path):
        target = _target_of(path)
        if target.is_dir():
            raise OutputError(f"{path} is a folder. Name a file.")
        refuse_existing(path, force)
        if not target.parent.is_dir():
            folder = target.parent if path.is_symlink() else path.parent
            raise NoFolderError(f"There is no folder {folder} to write {path.name} to.")
        if target.exists() and not target.is_file():
            raise OutputError(f"{path} is a device or a pipe. Name a file.")
        for needed in (target, target.parent):
            if needed.exists() and not os.access(needed, os.W_OK):
                raise OutputError(f"{path} cannot be written: {needed} is read-only. Name another.")
        _try_draft(target)
    return target


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file that the user asked for where the system refuses a place for it."""
    try:
        yield
    except OutputError:
        raise
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        why = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"{str(path)!r} cannot be written: {why}. Name another.") from error


def _try_draft(target: Path) -> None:
    """Make and remove a draft: some folders take no files, whatever their permissions say."""
    draft = target.with_name(_draft_name(target, _own_mark()))
    draft.touch(exist_ok=False)
    draft.unlink()


def _target_of(path: Path) -> Path:
    """The path itself, or what it points to as a link."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # realpath gives up where links go round in a circle
        raise OutputError(f"{path} is a link that leads back to itself. Name a file.")
    return target


@contextmanager
def drafted(path: str | os.PathLike[str], force: bool = False) -> Iterator[Path]:
    """Name of a draft beside the target; it takes the target's place if all goes well.

    On an error, also on Ctrl-C, the draft is removed and what was there before stays. A file that
    replaces another keeps its permissions; a new one gets those of any new file. Of a file with
    several names (hard links), this name alone gets the new content: to write into what they share
    could leave half a file.

    A process that is killed leaves its draft. The next one that writes this file removes it: only
    drafts of this file, whose process is gone, that nobody has touched for a minute.

    Parameters
    ----------
    path : str or path-like
    force : bool, default=False
        Replace a file that exists.

    Yields
    ------
    Path
        To be written to; it ends as the target does.

    Raises
    ------
    OutputError
        See :func:`check_writable`; also if the file appears in the meantime.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "out.txt")
    >>> with drafted(target) as draft:
    ...     _ = draft.write_text("done")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('done', 1)
    """
    target = check_writable(path, force)
    draft = target.with_name(_draft_name(target, _own_mark()))
    remove_drafts(target)
    try:
        yield draft
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        check_writable(path, force)  # it may have appeared in the meantime
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _draft_name(target: Path, own: str) -> str:
    """Name of a draft; a digest distinguishes targets whose names begin alike."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    stem = os.fsencode(target.stem)[:_MOST_OF_NAME].decode("utf-8", "ignore")
    ending = target.suffix if len(os.fsencode(target.suffix)) <= _MOST_OF_ENDING else ""
    return f".{stem}.draft-{digest}-{own}{ending}"


def _own_mark() -> str:
    return f"{os.getpid()}-{secrets.token_hex(6)}"


def remove_drafts(path: str | os.PathLike[str], idle_seconds: float = _OLD_SECONDS) -> None:
    """Remove what killed processes left of a file; what cannot be removed stays.

    Drafts that changed within ``idle_seconds`` are kept: their process may be on another machine. 0
    is for a file that no other machine writes.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with drafted(folder / "out.txt") as draft:
    ...     _ = draft.write_text("done")
    ...     remove_drafts(folder / "out.txt", idle_seconds=0)  # this process is at work on it
    >>> (folder / "out.txt").read_text()
    'done'
    """
    target = _target_of(Path(path))
    before, after = _draft_name(target, "\0").split("\0")
    pattern = re.compile(re.escape(before) + r"(\d+)-[0-9a-f]{12}" + re.escape(after))
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name)
            if found and _is_left(entry, int(found[1]), idle_seconds):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_left(entry: os.DirEntry[str], process: int, idle_seconds: float) -> bool:
    """Whether a draft is a plain file that no process of this machine writes to any more."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    is_idle = idle_seconds == 0 or time.time() - facts.st_mtime > idle_seconds
    return stat.S_ISREG(facts.st_mode) and is_idle and not _is_running(process)


def _is_running(process: int) -> bool:
    if os.name != "posix":  # where signal 0 is not a query
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def write_bytes(path: str | os.PathLike[str], content: bytes, *, force: bool = False) -> Path:
    """Write a file in one step: a reader sees all of it or what was there before.

    Parameters
    ----------
    path : str or path-like
    content : bytes-like
    force : bool, default=False
        Replace a file that exists.

    Raises
    ------
    OutputError
        See :func:`check_writable`.

    Examples
    --------
    >>> import tempfile
    >>> write_bytes(Path(tempfile.mkdtemp(), "a.bin"), b"12").stat().st_size
    2
    """
    with drafted(path, force) as draft:
        draft.write_bytes(content)
    return Path(path)


def write_text(path: str | os.PathLike[str], text: str, *, force: bool = False) -> Path:
    r"""Write text in UTF-8 in one step; see :func:`write_bytes`.

    Examples
    --------
    >>> import tempfile
    >>> write_text(Path(tempfile.mkdtemp(), "page.html"), "é").read_bytes()
    b'\xc3\xa9'
    """
    return write_bytes(path, text.encode("utf-8"), force=force)
