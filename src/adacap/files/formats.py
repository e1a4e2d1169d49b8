"""Which format a file has, by its name or by how it begins."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adacap.exceptions import nearest
from adacap.files.errors import FileError, MissingFileError

__all__ = ["Format", "find_format", "output_format"]

FileKind = Literal["text", "parquet", "arrow", "excel", "json", "zip"]

_KINDS: dict[str, FileKind] = {
    ".csv": "text", ".tsv": "text", ".tab": "text", ".txt": "text", ".data": "text",
    ".parquet": "parquet", ".pq": "parquet",
    ".feather": "arrow", ".arrow": "arrow", ".ipc": "arrow",
    ".xlsx": "excel", ".xlsm": "excel",
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".zip": "zip",
}  # fmt: skip
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_STARTS: dict[bytes, FileKind] = {b"PAR1": "parquet", b"ARRO": "arrow"}
_WRITABLE = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".feather", ".xlsx")
_KINDS_WRITTEN = ("text", "parquet", "arrow", "excel")


@dataclass(frozen=True)
class Format:
    """Kind of a file, how it is packed, and the separator that its name promises."""

    kind: FileKind
    packing: str | None = None
    separator: str | None = None


def _by_name(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packing = _PACKED.get(suffixes[-1]) if suffixes else None
    ending = suffixes[-2] if packing and len(suffixes) > 1 else suffixes[-1] if suffixes else ""
    kind = _KINDS.get(ending)
    if kind is None or (packing and kind != "text"):
        return None
    return Format(kind, packing, "\t" if ending in (".tsv", ".tab") else None)


def find_format(path: str | os.PathLike[str]) -> Format:
    """Format of a table that is to be read; a folder is one of Parquet files.

    Examples
    --------
    >>> import tempfile
    >>> find_format(tempfile.mkdtemp())
    Format(kind='parquet', packing=None, separator=None)
    >>> find_format("nowhere.csv")
    Traceback (most recent call last):
    adacap.files.errors.MissingFileError: There is no file nowhere.csv.
    """
    path = Path(path)
    try:
        path.lstat()
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in (None, errno.ENAMETOOLONG):  # which no file can have
            why = getattr(error, "strerror", None) or str(error)
            raise MissingFileError(f"There is no file {str(path)!r}: {why}.") from error
    if path.is_dir():
        return Format("parquet")
    if path.is_symlink() and not path.exists():
        raise MissingFileError(f"{path} is a link that leads to no file.")
    if not path.exists():
        raise MissingFileError(f"There is no file {path}.{_neighbours(path)}")
    if not path.is_file():  # a pipe ends when it has been read once, and tables are read twice
        raise FileError(f"{path} is a device or a pipe. Send it to standard input and name it -.")
    found = _by_name(path)
    if found is not None:
        return found
    with open(path, "rb") as file:
        start = file.read(4)
    if start in _STARTS:
        return Format(_STARTS[start])
    raise FileError(
        f"The format of {path} is not known by its name. Known: {', '.join(_KINDS)}; text also "
        f"with {', '.join(_PACKED)}; a folder of Parquet files."
    )


def _neighbours(path: Path) -> str:
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = nearest(path.name, names)
    return f" Did you mean {folder / near[0]}?" if near else ""


def output_format(path: str | os.PathLike[str]) -> Format:
    """Format of a table that is to be written, by its name.

    Examples
    --------
    >>> output_format("out.csv.gz").packing
    'gzip'
    >>> output_format("out.doc")
    Traceback (most recent call last):
    adacap.files.errors.FileError: Cannot write a table to out.doc: known endings are ...
    """
    found = _by_name(Path(path))
    if found is None or found.kind not in _KINDS_WRITTEN or str(path).endswith(".xlsm"):
        raise FileError(
            f"Cannot write a table to {os.fspath(path)}: known endings are {', '.join(_WRITABLE)}."
        )
    return found
