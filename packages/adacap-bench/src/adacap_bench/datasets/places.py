"""Where data files lie: a given folder, ``ADACAP_DATA``, the cache; plain, gzip'd or zipped."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO

from adacap.files.unpacking import bomb_error, most_unpacked
from adacap_bench.datasets.errors import DataError, MissingDataError
from adacap_bench.datasets.tasks import DataFile, Task

__all__ = ["cache_folder", "data_folders", "how_to_get", "locate", "read_content", "require"]

_SUFFIXES = ("", ".gz", ".zip")


def cache_folder() -> Path:
    """Folder of downloaded files: ``ADACAP_CACHE``, else the platform's cache folder.

    Examples
    --------
    >>> cache_folder().name
    'adacap'
    """
    if named := os.environ.get("ADACAP_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "adacap"


def data_folders(folder: str | Path | None = None) -> list[Path]:
    """Folders that are searched, in order: the given one, ``ADACAP_DATA``, the cache."""
    named = [folder, os.environ.get("ADACAP_DATA")]
    return [Path(each).expanduser() for each in named if each] + [cache_folder()]


def locate(file: DataFile, folder: str | Path | None = None) -> Path | None:
    """Path of a file that is present, or None. An absolute path is looked for as it is."""
    for base in data_folders(folder):
        for suffix in _SUFFIXES:
            path = base / f"{file.path}{suffix}"
            if path.is_file():
                return path
    return None


def require(task: Task, file: DataFile, folder: str | Path | None = None) -> Path:
    """Path of a file, or an error that says how to get it."""
    path = locate(file, folder)
    if path is None:
        raise MissingDataError(f"The data of {task.key!r} are absent. {how_to_get(task, file)}")
    return path


def how_to_get(task: Task, file: DataFile) -> str:
    """What to do about an absent file."""
    if Path(file.path).is_absolute():
        return f"There is no file {file.path}."
    looked = ", ".join(str(base / file.path) for base in data_folders())
    origin = f" {file.origin}" if file.origin else ""
    if file.urls:
        return f"Run: adacap data fetch {task.key}. Looked for: {looked}.{origin}"
    return (
        f"They cannot be downloaded without an account: get {file.name} from {file.page} and "
        f"put it, zipped or not, at one of: {looked}.{origin}"
    )


def read_content(path: Path, name: str) -> bytes:
    """Content of a file, unpacked; from a zip archive, the member called ``name``."""
    try:
        content = path.read_bytes()
        return unpack(content, name) if path.suffix in _SUFFIXES[1:] else content
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, MemoryError, DataError) as error:
        raise DataError(
            f"Cannot read {path}: {error}. Delete it and get it again, or restore its rights."
        ) from error


def unpack(content: bytes, name: str) -> bytes:
    """Content of a gzip file, or of the member ``name`` of a zip archive; else as it is.

    Raises
    ------
    DataError
        If there is no such member, or it is far more than tables unpack to.
    """
    if content.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(content)) as file:
            return _bounded(file, content)
    if content.startswith(b"PK\x03\x04"):
        return _member(content, name)
    return content


def _member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.namelist():
            if member.rsplit("/", 1)[-1].lower() == name.lower():
                with archive.open(member) as file:
                    return _bounded(file, content)
        raise DataError(f"the archive holds no {name}, but: {', '.join(archive.namelist()[:8])}")


def _bounded(file: IO[bytes] | gzip.GzipFile, packed: bytes) -> bytes:
    most = most_unpacked(packed)
    found = file.read(most + 1)
    if len(found) > most:
        raise DataError(str(bomb_error("it", most)).rstrip("."))
    return found


def checksum(content: bytes) -> str:
    """SHA-256 of the content in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
