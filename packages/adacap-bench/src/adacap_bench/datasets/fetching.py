"""Fetch the files of a task: download, unpack, check, put in place."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from adacap.files.atomic import write_bytes
from adacap_bench.datasets.catalogue import find_task
from adacap_bench.datasets.download import Transfer, download
from adacap_bench.datasets.errors import DataError, DownloadError
from adacap_bench.datasets.places import (
    cache_folder,
    checksum,
    how_to_get,
    locate,
    read_content,
    unpack,
)
from adacap_bench.datasets.reading import read_frame
from adacap_bench.datasets.tasks import DataFile, Task

__all__ = ["fetch", "fetch_file"]

_FRESH_STARTS = 2  # downloads from the first byte before a wrong content is believed
ContentCheck = Callable[[bytes], None]


def fetch(
    task: Task | str,
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    force: bool = False,
    check: bool = True,
    transfer: Transfer | None = None,
) -> Path | None:
    """Path of the file of a task, downloaded if it is absent.

    Parameters
    ----------
    task : Task or str
        Entry of the catalogue or its key.
    folder : path, optional
        Data folder to fetch into, the cache by default.
    mirror : str, optional
        Address of a copy of the data folder, to be used instead of the public sources.
    force : bool, default=False
        Download even if the file is there.
    check : bool, default=True
        Compare the checksum. Without, the shape of the table alone is checked, which
        accepts a file that its source has changed since.
    transfer : Transfer, optional
        Retries, pauses and progress.

    Returns
    -------
    Path or None
        None if the task needs no file.

    Raises
    ------
    DownloadError
        If the file is not available or not the right one; nothing is written then.

    Examples
    --------
    >>> fetch("builtin-iris") is None
    True
    """
    task = find_task(task) if isinstance(task, str) else task
    if task.file is None:
        return None
    if not task.file.urls and mirror is None and (force or locate(task.file, folder) is None):
        raise DownloadError(f"{task.key!r}: {how_to_get(task, task.file)}")
    right = _checker(task.file, task, check)
    return fetch_file(
        task.file, folder=folder, mirror=mirror, force=force, check=right, transfer=transfer
    )


def fetch_file(
    file: DataFile,
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    force: bool = False,
    check: ContentCheck | None = None,
    transfer: Transfer | None = None,
) -> Path:
    """Path of a file of the catalogue, downloaded if it is absent or damaged.

    Parameters are those of :func:`fetch`, except that ``check`` raises a DataError for a
    content that is not right; by default it compares the checksum.
    """
    check = check or _checker(file, None, True)
    present = None if force else locate(file, folder)
    if present is not None and _is_right(present, file, check):
        return present
    target = (Path(folder).expanduser() if folder else cache_folder()) / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    faults = []
    for url in _addresses(file, mirror):
        part = target.with_name(f"{target.name}.{checksum(url.encode())[:8]}.part")
        try:
            content = _obtain(url, part, file, check, transfer or Transfer())
            write_bytes(target, content, force=True)
            part.unlink(missing_ok=True)
            return target
        except DownloadError as fault:
            faults.append(str(fault))
    raise DownloadError(" ".join(faults) or f"No address is known for {file.path}.")


def _addresses(file: DataFile, mirror: str | None) -> list[str]:
    if mirror is None:
        return list(file.urls)
    base = f"{mirror.rstrip('/')}/{quote(file.path)}"
    return [base, f"{base}.gz"]


def _obtain(url: str, part: Path, file: DataFile, check: ContentCheck, transfer: Transfer) -> bytes:
    """Right content of one address. A wrong one is fetched again from its first byte."""
    reason = ""
    for _ in range(_FRESH_STARTS + part.exists()):
        download(url, part, transfer)
        try:
            content = _unpacked(part.read_bytes(), file)
            check(content)
            return content
        except DataError as error:
            part.unlink(missing_ok=True)
            reason = str(error)
    raise DownloadError(f"{url}: the download is not {file.name}: {reason}")


def _unpacked(content: bytes, file: DataFile) -> bytes:
    try:
        content = unpack(content, file.name)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"the archive is damaged ({error}).") from error
    return _csv_of_arff(content) if re.match(rb"\s*(%|@relation)", content, re.I) else content


def _csv_of_arff(content: bytes) -> bytes:
    """Text of separated values with a header, from a dense ARFF file."""
    try:
        head, body = re.split(r"(?im)^\s*@data\s*$", content.decode("utf-8"), maxsplit=1)
    except ValueError as error:
        raise DataError("it is an ARFF file without data, or not in UTF-8.") from error
    names = re.findall(r"(?im)^\s*@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", head)
    lines = [line for line in body.splitlines() if line and line[0] != "%"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(name.strip("'\"") for name in names)
    writer.writerows(csv.reader(lines, quotechar="'", skipinitialspace=True))
    return out.getvalue().encode("utf-8")


def _checker(file: DataFile, task: Task | None, by_sum: bool) -> ContentCheck:
    """Check of a content: its checksum, or the shape of its table where no sum applies."""

    def check(content: bytes) -> None:
        found = checksum(content)
        if found in file.sha256:
            return
        if by_sum and file.exact and file.sha256:
            raise DataError(
                f"its SHA-256 is {found}, not {' or '.join(file.sha256)}. If the source changed "
                "it, --no-check accepts it by the shape of its table."
            )
        if task is not None:
            _check_shape(content, task)

    return check


def _check_shape(content: bytes, task: Task) -> None:
    try:
        frame = read_frame(content, task.reader, task.columns)
    except (ValueError, LookupError, EOFError) as error:
        start = content[:40].decode("latin-1")
        raise DataError(f"it cannot be read ({error}); it starts with {start!r}.") from error
    expected = (task.rows or len(frame), task.columns or frame.shape[1])
    if frame.shape != expected:
        raise DataError(f"its table is {frame.shape}, not {expected}.")


def _is_right(path: Path, file: DataFile, check: ContentCheck) -> bool:
    try:
        check(read_content(path, file.name))
    except DataError:
        return False
    return True
