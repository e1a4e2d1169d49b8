"""The file itself: a zip of JSON and safetensors, written at once or not at all, read on NumPy.

Both parts are stored, not compressed, so nothing in a file unfolds to more than its size. What a
file declares is checked against the bytes it has before anything is allocated.
"""

from __future__ import annotations

import io
import json
import math
import os
import reprlib
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap.exceptions import ModelFileError

__all__ = [
    "DESCRIPTION", "FORMAT", "FORMAT_VERSION", "MOST_TEXT", "WEIGHTS", "ArchiveParts", "Json",
    "Tensors", "read", "read_tensors", "refuse", "refusing", "require", "shown", "unique_names",
    "write",
]  # fmt: skip

Json: TypeAlias = dict[str, Any]
Tensors: TypeAlias = dict[str, npt.NDArray[Any]]

FORMAT, FORMAT_VERSION = "adacap-model", 5
DESCRIPTION, WEIGHTS = "model.json", "weights.safetensors"
MOST_TEXT = 64 * 2**20  # bytes of JSON

_FOREIGN = ("BF16", "F8_E4M3", "F8_E5M2")  # types that NumPy has not: a field of that name
_DTYPES: dict[str, Any] = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "|b1", "C64": "<c8",
    **{name: [(name, "<i2" if name == "BF16" else "<i1")] for name in _FOREIGN},
}  # fmt: skip
_BAD_ZIP = (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, struct.error)
_BAD_HEADER = (
    LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError, struct.error,
)  # fmt: skip


# --------------------------------------------------------------------------------- refusals


def refuse(message: str, cause: BaseException | None = None) -> NoReturn:
    """Raise :class:`ModelFileError`."""
    raise ModelFileError(message) from cause


def require(fact: bool, message: str) -> None:
    """Raise :class:`ModelFileError` unless this is a fact."""
    if not fact:
        refuse(message)


@contextmanager
def refusing(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn these errors into :class:`ModelFileError`, with what they mean for the file."""
    try:
        yield
    except ModelFileError:
        raise
    except errors as error:
        refuse(f"{what} ({type(error).__name__}: {error}).", error)


def unique_names(pairs: list[tuple[str, Any]], part: str) -> Json:
    """A JSON object without duplicate names."""
    found = dict(pairs)
    if len(found) != len(pairs):
        refuse(f"{part} gives a name twice, among {shown([name for name, _ in pairs[:9]])}.")
    return found


_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother, _REPR.maxlong = 3, 60, 60, 40


def shown(value: Any, most: int = 80) -> str:
    """A value of a file as messages show it: short, however large or deep it is.

    Examples
    --------
    >>> shown([[[[[1]]]]]), len(shown("a" * 1000)) <= 80
    ('[[[[...]]]]', True)
    """
    return _REPR.repr(value)[:most]


# ---------------------------------------------------------------------------------- the zip


def write(
    path: str | os.PathLike[str],
    text: bytes,
    weights: bytes,
    *,
    force: bool,
    signature: bytes = b"",
) -> None:
    """Write both parts; the same content always gives the same bytes."""
    from adacap.files import drafted

    with drafted(path, force) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(DESCRIPTION), text)
        archive.writestr(zipfile.ZipInfo(WEIGHTS), weights)
        archive.comment = signature


class ArchiveParts(NamedTuple):
    """What a zip holds: the description as it is written, safetensors, its comment."""

    text: bytes
    weights: bytes
    comment: bytes


def read(path: str | os.PathLike[str]) -> ArchiveParts:
    """The parts of a file.

    Refuses anything but these two parts, and damage.
    """
    content = _content(os.fspath(path))  # a number would be an open file of the process
    with refusing("the zip file is damaged", *_BAD_ZIP):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_parts(archive.infolist(), len(content))
            return ArchiveParts(archive.read(DESCRIPTION), archive.read(WEIGHTS), archive.comment)


def _content(path: str) -> bytes:
    """The bytes of a file that begins as a zip; that it is missing or locked is told by Python."""
    is_odd = os.path.exists(path) and not os.path.isfile(path)
    what = "a folder" if is_odd and os.path.isdir(path) else "a device or a pipe"
    require(not is_odd, f"it is {what}.")
    try:
        with open(path, "rb") as file:
            start = file.read(4)
            require(start == b"PK\x03\x04", "it does not begin as a zip file.")
            return start + file.read()
    except (FileNotFoundError, PermissionError, ModelFileError):
        raise
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        refuse(f"it cannot be read ({getattr(error, 'strerror', None) or error}).", error)


def _check_parts(parts: list[zipfile.ZipInfo], size: int) -> None:
    """Check what the directory of the zip declares before a part is read."""
    names = sorted(part.filename for part in parts)
    require(names == [DESCRIPTION, WEIGHTS], f"its parts are {names}.")
    for part in parts:
        is_stored = part.compress_type == zipfile.ZIP_STORED
        is_whole = part.file_size == part.compress_size <= size
        require(is_stored and is_whole, f"{part.filename} is compressed or gives a false size.")
        is_small = part.filename == WEIGHTS or part.file_size <= MOST_TEXT
        require(is_small, f"{DESCRIPTION} has {part.file_size} bytes, more than {MOST_TEXT}.")


# ------------------------------------------------------------------------------- the tensors


def read_tensors(content: bytes) -> Tensors:
    """Arrays of a safetensors file: length of the header, header in JSON, then the numbers."""
    with refusing(f"{WEIGHTS} is damaged", *_BAD_HEADER):
        (length,) = struct.unpack_from("<Q", content)
        require(length <= len(content) - 8, f"{WEIGHTS} gives a false size of its header.")
        require(length <= MOST_TEXT, f"{WEIGHTS} has a header of {length} bytes.")
        header = json.loads(
            content[8 : 8 + length].decode(),
            object_pairs_hook=lambda pairs: unique_names(pairs, WEIGHTS),
        )
        require("__metadata__" not in header, f"{WEIGHTS} holds more than tensors.")
        numbers = memoryview(content)[8 + length :]
        places = sorted(entry["data_offsets"] for entry in header.values())
        ends = [0, *(end for _, end in places)]
        is_dense = [start for start, _ in places] == ends[:-1] and ends[-1] == len(numbers)
        require(is_dense, f"the tensors of {WEIGHTS} do not stand one after another.")
        return {name: _tensor(name, entry, numbers) for name, entry in header.items()}


def _tensor(name: str, entry: Json, numbers: memoryview) -> npt.NDArray[Any]:
    is_whole = entry.keys() == {"dtype", "shape", "data_offsets"}
    sizes = [*entry["shape"], *entry["data_offsets"]] if is_whole else [None]
    is_whole = all(type(size) is int and size >= 0 for size in sizes)
    require(is_whole, f"tensor {name} has a malformed header.")
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    start, end = entry["data_offsets"]
    fits = end - start == math.prod(shape) * dtype.itemsize
    require(fits, f"tensor {name} is not where its header says.")
    return np.frombuffer(numbers[start:end], dtype=dtype).reshape(shape)
