"""The file itself: a zip of two parts, written at once or not at all, read with suspicion.

Both parts are stored, not compressed, so nothing in a file unfolds to more than its size.
"""

from __future__ import annotations

import io
import os
import secrets
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import safetensors.torch
from torch import Tensor

from adacap.exceptions import ModelFileError

__all__ = ["DESCRIPTION", "MOST_TEXT", "WEIGHTS", "read", "refuse", "refusing", "require", "write"]

DESCRIPTION, WEIGHTS = "model.json", "weights.safetensors"
MOST_TEXT = 64 * 2**20  # bytes

_BAD_ZIP = (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, struct.error)
_BAD_TENSORS = (
    safetensors.SafetensorError, LookupError, AssertionError, RuntimeError, TypeError, ValueError,
    OverflowError,
)  # fmt: skip


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


def write(path: str | os.PathLike[str], text: bytes, tensors: dict[str, Tensor]) -> None:
    """Write both parts; the same content always gives the same bytes."""
    target = Path(path).resolve()  # of a link, what it points to is replaced
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with refusing("there is no way to store a tensor of this type", KeyError):
        weights = safetensors.torch.save(tensors)
    try:
        with open(draft, "xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(zipfile.ZipInfo(DESCRIPTION), text)
                archive.writestr(zipfile.ZipInfo(WEIGHTS), weights)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, Tensor]]:
    """Read both parts.

    Raises
    ------
    ModelFileError
        If there is anything but these two parts, or one of them is damaged.
    """
    with open(path, "rb") as file:
        start = file.read(4)
        require(start == b"PK\x03\x04", "it does not begin as a zip file.")
        content = start + file.read()
    with refusing("the zip file is damaged", *_BAD_ZIP):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_parts(archive.infolist(), len(content))
            text, weights = archive.read(DESCRIPTION), archive.read(WEIGHTS)
    with refusing(f"{WEIGHTS} is damaged", *_BAD_TENSORS):
        return text, safetensors.torch.load(weights)


def _check_parts(parts: list[zipfile.ZipInfo], size: int) -> None:
    """Look at what the directory of the zip declares before a byte of a part is read."""
    names = sorted(part.filename for part in parts)
    require(names == [DESCRIPTION, WEIGHTS], f"its parts are {names}.")
    for part in parts:
        is_stored = part.compress_type == zipfile.ZIP_STORED
        is_whole = part.file_size == part.compress_size <= size
        require(is_stored and is_whole, f"{part.filename} is compressed or gives a false size.")
        is_small = part.filename == WEIGHTS or part.file_size <= MOST_TEXT
        require(is_small, f"{DESCRIPTION} has {part.file_size} bytes, more than {MOST_TEXT}.")
