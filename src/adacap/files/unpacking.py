"""Tables inside something else: a zip, standard input, columns aligned by blanks.

Each is written to a folder of its own, which goes when the table does.
"""

from __future__ import annotations

import csv
import re
import shutil
import sys
import tempfile
import weakref
import zipfile
from pathlib import Path

from adacap.files.errors import FileError, readable, temporary_room
from adacap.files.formats import Format
from adacap.files.sniff import SPACES, TextOptions, encoding_of

__all__ = [
    "Unpacked", "bomb_error", "from_stdin", "most_unpacked", "refuse_bomb", "spaced_encoding",
    "unspaced", "unzipped",
]  # fmt: skip

_STARTS = {b"PAR1": ".parquet", b"ARRO": ".feather", b"\x1f\x8b": ".csv.gz", b"BZh": ".csv.bz2"}
_SAMPLE_BYTES = 64 * 1024
_MUCH, _MOST_TIMES = 1 << 28, 200  # bytes of a packed file, unpacked, and times its packed size
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d+)?|\d*\.\d*)([eE][-+]?\d+)?")
_ENOUGH = 0.9  # of the lines of a file whose cells stand apart by blanks


class Unpacked:
    """A file in a temporary folder, deleted with this object, and what it was made from."""

    def __init__(self, name: str, made_from: Path) -> None:
        with temporary_room(name if str(made_from) == "-" else made_from):
            folder = tempfile.mkdtemp(prefix="adacap-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder, name)
        self.made_from = made_from


def unzipped(path: Path) -> Unpacked:
    """The one table of a zip.

    Refuses one with several files in it, or none.
    """
    with readable(path, "zip"), zipfile.ZipFile(path) as archive:
        refuse_bomb(archive, path)
        entry = _only_table(archive, path)
        found = Unpacked(Path(entry.filename).name, path)
        with archive.open(entry) as packed, temporary_room(path), open(found.path, "wb") as file:
            shutil.copyfileobj(packed, file)
    return found


def most_unpacked(packed: Path | bytes) -> int:
    """Bytes that a packed file, or its content, may unpack to: 200 times its size, or 256 MB."""
    size = len(packed) if isinstance(packed, bytes) else packed.stat().st_size
    return max(_MUCH, _MOST_TIMES * size)


def bomb_error(shown: object, size: int) -> FileError:
    """Error about a packed file that unpacks to more bytes than it may."""
    return FileError(
        f"{shown} would unpack to {size / 1e9:.1f} GB or more, over {_MOST_TIMES} times its size, "
        "as no table does. Unpack it yourself if you trust it."
    )


def refuse_bomb(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse a zip that says it unpacks to far more than tables do."""
    size = sum(entry.file_size for entry in archive.infolist())
    if size > most_unpacked(path):
        raise bomb_error(path, size)


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
    with temporary_room("standard input"), open(found.path, "wb") as file:
        file.write(start)
        shutil.copyfileobj(content, file)
    return found


# ------------------------------------------------- cells that stand apart by blanks, as at UCI


def spaced_encoding(path: Path, form: Format, options: TextOptions | None) -> str | None:
    r"""Encoding of a file with cells separated by blanks; None if they are not, or it is packed.

    Such a file has the same number of words in nearly all lines, most of them numbers, and none of
    the other separators.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "t.data")
    >>> _ = path.write_text(" 1.5   2\n 10.25 3\n")
    >>> spaced_encoding(path, Format("text"), None)
    'utf-8'
    """
    asked = options.separator if options else None
    if asked == SPACES and form.packing is not None:
        raise FileError(f"{path} is packed: unpack it, to read it with --separator '{SPACES}'.")
    if form.packing or (form.separator and not asked) or asked not in (None, SPACES):
        return None
    with open(path, "rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    encoding = (options.encoding if options else None) or encoding_of(sample)
    lines = sample.decode(encoding, "replace").splitlines()
    if len(sample) == _SAMPLE_BYTES:
        lines = lines[:-1]
    return encoding if asked or _is_spaced([line for line in lines if line.strip()]) else None


def _is_spaced(lines: list[str]) -> bool:
    if len(lines) < 2 or any(sign in line for line in lines[:200] for sign in ";|"):
        return False
    words = [line.split() for line in lines]
    counts = [len(row) for row in words]
    common = max(set(counts), key=counts.count)
    if common < 2 or counts.count(common) < _ENOUGH * len(counts):
        return False
    if sum("," in line for line in lines) > 0.1 * len(lines) and not _only_decimals(words):
        return False
    tabs = [line.count("\t") for line in lines]
    if tabs[0] and tabs.count(tabs[0]) >= _ENOUGH * len(tabs):
        return False  # a usual separator, with cells that may be empty or hold blanks
    cells = [cell for row in words[1:] for cell in row]
    return sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) >= 0.5 * len(cells)


def _only_decimals(words: list[list[str]]) -> bool:
    """Whether commas stand within numbers only, as decimal signs."""
    return all(_NUMBER.fullmatch(cell) for row in words[1:] for cell in row if "," in cell)


def unspaced(path: Path, encoding: str, made_from: Path) -> Unpacked:
    """A table with cells separated by blanks, rewritten with tabs; line numbers stay the same."""
    found = Unpacked(f"{path.stem}.tsv", made_from)
    with open(path, encoding=encoding, newline="") as old, temporary_room(made_from):
        with open(found.path, "w", encoding="utf-8", newline="") as new:
            writer = csv.writer(new, delimiter="\t", lineterminator="\n")
            for line in old:
                text = " ".join(line.removeprefix("\ufeff").split())
                writer.writerow(next(csv.reader([text], delimiter=" "), []))
    return found
