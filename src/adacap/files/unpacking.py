"""Tables that lie in something else: a zip, standard input, columns lined up by blanks.

Each is written to a folder of its own, which goes when the table does.
"""

from __future__ import annotations

import csv
import shutil
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from pathlib import Path

from adacap.files.errors import FileError

__all__ = ["Unpacked", "from_stdin", "unspaced", "unzipped"]

_STARTS = {b"PAR1": ".parquet", b"ARRO": ".feather", b"\x1f\x8b": ".csv.gz", b"BZh": ".csv.bz2"}


class Unpacked:
    """A file in a folder of its own, which goes with this object, and what it was made from."""

    def __init__(self, name: str, made_from: Path) -> None:
        folder = tempfile.mkdtemp(prefix="adacap-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder, name)
        self.made_from = made_from


def unzipped(path: Path) -> Unpacked:
    """The one table of a zip.

    Raises
    ------
    FileError
        If there are several files in it, or none, or it is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entry = _only_table(archive, path)
            found = Unpacked(Path(entry.filename).name, path)
            with archive.open(entry) as packed, open(found.path, "wb") as file:
                shutil.copyfileobj(packed, file)
    except (zipfile.BadZipFile, RuntimeError, EOFError, NotImplementedError) as error:
        raise FileError(f"{path} is not a readable zip: {error}. Unpack it yourself.") from error
    return found


def _only_table(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    entries = [
        entry
        for entry in archive.infolist()
        if not entry.is_dir()
        and not entry.filename.startswith("__MACOSX/")
        and not Path(entry.filename).name.startswith(".")
    ]
    if len(entries) == 1:
        return entries[0]
    names = ", ".join(entry.filename for entry in entries[:5])
    what = f"holds {len(entries)} files ({names})" if entries else "holds no file"
    raise FileError(f"{path} {what}, but a zip must hold one table. Unpack it and name the file.")


def from_stdin() -> Unpacked:
    """Standard input, with an ending by how it begins."""
    content = sys.stdin.buffer
    start = content.read(4)
    if not start.strip():
        start += content.read()
    if not start.strip():
        raise FileError("Standard input is empty. Send a table: cat table.csv | adacap ... -")
    endings = [end for sign, end in _STARTS.items() if start.startswith(sign)]
    ending = endings[0] if endings else ".jsonl" if start.lstrip()[:1] in (b"{", b"[") else ".csv"
    ending = ".xlsx" if start == b"PK\x03\x04" else ending
    found = Unpacked(f"stdin{ending}", Path("-"))
    with open(found.path, "wb") as file:
        file.write(start)
        shutil.copyfileobj(content, file)
    return found


def unspaced(path: Path, encoding: str, made_from: Path) -> Unpacked:
    """A table whose cells stand apart by blanks, as one with tabs; its lines keep their numbers."""
    found = Unpacked(f"{path.stem}.tsv", made_from)
    with open(path, encoding=encoding, newline="") as old:
        with open(found.path, "w", encoding="utf-8", newline="") as new:
            writer = csv.writer(new, delimiter="\t", lineterminator="\n")
            for cells in _spaced_cells(old):
                writer.writerow(cells)
    return found


def _spaced_cells(lines: Iterator[str]) -> Iterator[list[str]]:
    for line in lines:
        text = " ".join(line.removeprefix("\ufeff").split())
        yield next(csv.reader([text], delimiter=" "), [])
