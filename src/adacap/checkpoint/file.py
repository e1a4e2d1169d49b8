"""The file of a checkpoint: a zip of JSON and safetensors, written whole or not at all.

Both parts are stored with their check sums, so that damage is noticed.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from pathlib import Path
from typing import Any, TypeAlias

import safetensors
import safetensors.torch

from adacap.checkpoint.trees import Packed, unpack

__all__ = ["BadCheckpoint", "Part", "begins_as_one", "read", "write"]

Part: TypeAlias = dict[str, Any]
"""Of one fit: ``fingerprint``, ``seeds``, ``spent`` and ``units``, each unit a ``Packed``."""

_FORMAT, _VERSION = "adacap-checkpoint", 1
_TEXT, _TENSORS = "checkpoint.json", "tensors.safetensors"
_KEYS = {"fingerprint", "seeds", "spent", "units"}
_START = b"PK\x03\x04"
_BAD = (
    zipfile.BadZipFile, safetensors.SafetensorError, struct.error, EOFError, LookupError,
    NotImplementedError, RecursionError, RuntimeError, TypeError, ValueError, AttributeError,
)  # fmt: skip


class BadCheckpoint(ValueError):
    """A checkpoint that cannot be read."""


def write(path: Path, parts: dict[str, Part]) -> None:
    """Replace the file by these parts, in one step."""
    from adacap.files import drafted

    tensors: dict[str, Any] = {}
    plain: dict[str, Part] = {}
    for name, part in parts.items():
        units = {}
        for key, unit in part["units"].items():
            units[key] = [unit.json, len(unit.tensors)]
            tensors |= {f"{name}|{key}|{i}": tensor for i, tensor in enumerate(unit.tensors)}
        plain[name] = {**part, "units": units}
    text = json.dumps({"format": _FORMAT, "version": _VERSION, "parts": plain})
    with drafted(path, force=True) as draft, zipfile.ZipFile(draft, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_TEXT), text)
        archive.writestr(zipfile.ZipInfo(_TENSORS), safetensors.torch.save(tensors))


def begins_as_one(path: Path) -> bool:
    """Whether a file begins as a checkpoint does; so does an empty one."""
    with open(path, "rb") as file:
        start = file.read(30 + len(_TEXT))
    return not start or (start[:4] == _START and start[30:] == _TEXT.encode())


def read(path: Path) -> dict[str, Part]:
    """Parts of a file.

    Raises
    ------
    BadCheckpoint
        If it is damaged, or of a version that is not known.
    """
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for part in archive.infolist():  # nothing unfolds to more than its size
                if part.compress_type != zipfile.ZIP_STORED or part.file_size > len(content):
                    raise BadCheckpoint(f"{part.filename} is compressed")
            text, numbers = archive.read(_TEXT), archive.read(_TENSORS)
        data = json.loads(text)
        if (data["format"], data["version"]) != (_FORMAT, _VERSION):
            raise BadCheckpoint(f"it is of version {data['version']!r:.20}, not {_VERSION}")
        tensors = safetensors.torch.load(numbers)
        return {str(name): _part(name, part, tensors) for name, part in data["parts"].items()}
    except _BAD as error:
        raise BadCheckpoint(f"{type(error).__name__}: {error}") from error


def _part(name: str, part: Part, tensors: dict[str, Any]) -> Part:
    if part.keys() != _KEYS or not _is_of_a_fit(part):
        raise BadCheckpoint(f"{name!r} is not what a fit writes")
    units = {  # copies, since BLAS may round by where numbers stand in memory
        key: Packed(json, [tensors[f"{name}|{key}|{i}"].clone() for i in range(n)])
        for key, (json, n) in part["units"].items()
    }
    for unit in units.values():
        unpack(unit)  # so that later access cannot fail
    return {**part, "units": units}


def _is_of_a_fit(part: Part) -> bool:
    """Whether the values that are not units have their types."""
    spent, words = part["spent"], part["fingerprint"]
    return (
        type(spent) in (int, float)
        and 0 <= spent < math.inf
        and all(type(seed) is int and 0 <= seed < 2**63 for seed in part["seeds"])
        and all(isinstance(word, str) for word in words.values())
    )
