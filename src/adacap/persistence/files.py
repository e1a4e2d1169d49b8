"""The file itself: a zip of two parts, written at once or not at all, read with suspicion.

Both parts are stored, not compressed, so nothing in a file unfolds to more than its size.
"""

from __future__ import annotations

import os
import secrets
import zipfile
from pathlib import Path

import safetensors.torch
from torch import Tensor

from adacap.lite.files import (
    DESCRIPTION,
    MOST_TEXT,
    WEIGHTS,
    read_parts,
    refuse,
    refusing,
    require,
)

__all__ = ["DESCRIPTION", "MOST_TEXT", "WEIGHTS", "read", "refuse", "refusing", "require", "write"]

_BAD_TENSORS = (
    safetensors.SafetensorError, LookupError, AssertionError, RuntimeError, TypeError, ValueError,
    OverflowError,
)  # fmt: skip


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
    text, weights = read_parts(path)
    with refusing(f"{WEIGHTS} is damaged", *_BAD_TENSORS):
        return text, safetensors.torch.load(weights)
