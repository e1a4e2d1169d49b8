"""Read a model file, a zip of JSON and safetensors, with NumPy and the standard library."""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from adacap._version import __version__
from adacap.exceptions import ModelFileError

__all__ = [
    "DESCRIPTION", "MOST_TEXT", "WEIGHTS", "Json", "Tensors", "read", "read_parts", "refuse",
    "refusing", "require",
]  # fmt: skip

Json: TypeAlias = dict[str, Any]
Tensors: TypeAlias = dict[str, npt.NDArray[Any]]

DESCRIPTION, WEIGHTS = "model.json", "weights.safetensors"
_FORMAT, _FORMAT_VERSION = "adacap-model", 2
MOST_TEXT = 64 * 2**20  # bytes of JSON
_SPECIAL = {repr(value): value for value in (math.nan, math.inf, -math.inf)}
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "|b1"}
_BAD_ZIP = (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, struct.error)
_BAD_HEADER = (LookupError, TypeError, ValueError, AttributeError, RecursionError, struct.error)


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


def read(path: str | os.PathLike[str]) -> tuple[Json, Tensors]:
    """Description and tensors of a model file.

    Raises
    ------
    ModelFileError
        If the file is no model file, damaged, or of a version unknown here.
    """
    text, weights = read_parts(path)
    return _parse(text), _read_tensors(weights)


def read_parts(path: str | os.PathLike[str]) -> tuple[bytes, bytes]:
    """Both parts of a model file as they are, once the directory of the zip has been looked at."""
    with open(path, "rb") as file:
        start = file.read(4)
        require(start == b"PK\x03\x04", "it does not begin as a zip file.")
        content = start + file.read()
    with refusing("the zip file is damaged", *_BAD_ZIP):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_parts(archive.infolist(), len(content))
            return archive.read(DESCRIPTION), archive.read(WEIGHTS)


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


def _parse(text: bytes) -> Json:
    with refusing(f"{DESCRIPTION} is no valid JSON", ValueError, RecursionError):
        model = json.loads(text.decode(), object_pairs_hook=_object)
    is_model = isinstance(model, dict) and model.get("format") == _FORMAT
    require(is_model, f"{DESCRIPTION} does not describe an adacap model.")
    version = model.get("format_version")
    if version != _FORMAT_VERSION:
        refuse(
            f"it has format_version {version}, and adacap {__version__} reads {_FORMAT_VERSION} "
            "only. Upgrade adacap."
        )
    return dict(model)


def _object(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 1 and pairs[0][0] == "float" and isinstance(pairs[0][1], str):
        return _SPECIAL.get(pairs[0][1])
    return dict(pairs)


def _read_tensors(content: bytes) -> Tensors:
    """Arrays of a safetensors file: length of the header, header in JSON, then the numbers."""
    with refusing(f"{WEIGHTS} is damaged", *_BAD_HEADER):
        (length,) = struct.unpack_from("<Q", content)
        require(length <= len(content) - 8, f"{WEIGHTS} gives a false size of its header.")
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        numbers = memoryview(content)[8 + length :]
        return {name: _tensor(name, entry, numbers) for name, entry in header.items()}


def _tensor(name: str, entry: Json, numbers: memoryview) -> npt.NDArray[Any]:
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    start, end = entry["data_offsets"]
    shape = tuple(int(size) for size in entry["shape"])
    fits = 0 <= start <= end <= len(numbers) and end - start == math.prod(shape) * dtype.itemsize
    require(fits and min(shape, default=0) >= 0, f"tensor {name} is not where its header says.")
    return np.frombuffer(numbers[start:end], dtype=dtype).reshape(shape)
