"""Work that outlives the process: a long fit saves what it has done, and resumes from there.

The file is a zip of JSON and safetensors, written whole or not at all. Both parts are stored with
their check sums, so that damage is noticed.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import safetensors
import safetensors.torch
from torch import Tensor

from adacap.exceptions import warn_caller

__all__ = ["Checkpoint"]


def is_number(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is an integer or a float between two others; NaN is not.

    Examples
    --------
    >>> is_number(3, 0, 5), is_number(True), is_number("3"), is_number(math.nan)
    (True, False, False, False)
    """
    return type(value) in (int, float) and least <= value <= most


def is_alike(value: Any, own: Any) -> bool:
    """Whether a value has the form of one's own: types, keys, lengths, shapes.

    An integer may stand for a float, and a float for an integer.

    Examples
    --------
    >>> import torch
    >>> is_alike({"step": 3, "x": torch.ones(2)}, {"step": 0.0, "x": torch.zeros(2)})
    True
    >>> is_alike([torch.ones(3)], [torch.ones(2)]), is_alike((1, "a"), (1, 2))
    (False, False)
    """
    if isinstance(own, Tensor):
        is_same = isinstance(value, Tensor) and value.dtype == own.dtype
        return is_same and value.shape == own.shape
    if type(own) in (int, float):
        return type(value) in (int, float)
    if type(value) is not type(own):
        return False
    if isinstance(own, dict):
        return value.keys() == own.keys() and all(is_alike(value[key], own[key]) for key in own)
    if isinstance(own, list | tuple):
        return len(value) == len(own) and all(map(is_alike, value, own))
    return True


# ------------------------------------------------------------- plain data with tensors in it


class Packed(NamedTuple):
    """A value as JSON, with a number in place of each tensor."""

    json: Any
    tensors: list[Tensor]


def pack(value: Any) -> Packed:
    """Copy a value that is made of dictionaries, lists, tuples, tensors, numbers and text.

    A ``TypeError`` for anything else.

    Examples
    --------
    >>> import torch
    >>> pack({"step": 3, 0: (torch.zeros(2), None)}).json
    {'dict': [['step', 3], [0, {'tuple': [{'tensor': 0}, None]}]]}
    >>> pack(print)
    Traceback (most recent call last):
    TypeError: A checkpoint cannot hold a builtin_function_or_method.
    """
    tensors: list[Tensor] = []
    return Packed(_plain(value, tensors), tensors)


def _plain(value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors.append(value.detach().to("cpu", copy=True).contiguous())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, dict):
        return {"dict": [[_plain(k, tensors), _plain(v, tensors)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(part, tensors) for part in value]}
    if isinstance(value, list):
        return [_plain(part, tensors) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"A checkpoint cannot hold a {type(value).__name__}.")


def unpack(packed: Packed) -> Any:
    """The value that was packed; its tensors are on the CPU.

    Examples
    --------
    >>> unpack(pack({"betas": (0.9, 0.99), "names": ["a"]}))
    {'betas': (0.9, 0.99), 'names': ['a']}
    """
    return _value(packed.json, packed.tensors)


def _value(plain: Any, tensors: list[Tensor]) -> Any:
    if isinstance(plain, list):
        return [_value(part, tensors) for part in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(_value(part, tensors) for part in content)
    return {_value(key, tensors): _value(part, tensors) for key, part in content}


# ---------------------------------------------------------------------------------- the file

CheckpointPart: TypeAlias = dict[str, Any]
"""Of one fit: ``fingerprint``, ``seeds``, ``spent`` and ``units``, each unit a ``Packed``."""

_FORMAT, _VERSION = "adacap-checkpoint", 1
_TEXT, _TENSORS = "checkpoint.json", "tensors.safetensors"
_KEYS = {"fingerprint", "seeds", "spent", "units"}
_START = b"PK\x03\x04"
_MOST_DIGITS = 40  # of an integer; float() takes 308
_BAD = (
    zipfile.BadZipFile, safetensors.SafetensorError, struct.error, EOFError, LookupError,
    NotImplementedError, RecursionError, RuntimeError, TypeError, ValueError, AttributeError,
)  # fmt: skip


class BadCheckpoint(ValueError):
    """A checkpoint that cannot be read."""


def write(path: Path, parts: dict[str, CheckpointPart]) -> None:
    """Replace the file by these parts, in one step."""
    from adacap.files import drafted

    tensors: dict[str, Any] = {}
    plain: dict[str, CheckpointPart] = {}
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


def read(path: Path) -> dict[str, CheckpointPart]:
    """Parts of a file; a ``BadCheckpoint`` if it is damaged, or of a version that is not known."""
    content = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for part in archive.infolist():  # nothing unfolds to more than its size
                if part.compress_type != zipfile.ZIP_STORED or part.file_size > len(content):
                    raise BadCheckpoint(f"{part.filename} is compressed")
            text, numbers = archive.read(_TEXT), archive.read(_TENSORS)
        data = json.loads(text, parse_int=_integer)
        if (data["format"], data["version"]) != (_FORMAT, _VERSION):
            raise BadCheckpoint(f"it is of version {data['version']!r:.20}, not {_VERSION}")
        tensors = safetensors.torch.load(numbers)
        return {str(name): _part(name, part, tensors) for name, part in data["parts"].items()}
    except _BAD as error:
        raise BadCheckpoint(f"{type(error).__name__}: {error}") from error


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise BadCheckpoint(f"it holds an integer of {len(digits)} digits")
    return int(digits)


def _part(name: str, part: CheckpointPart, tensors: dict[str, Any]) -> CheckpointPart:
    if part.keys() != _KEYS or not _is_of_a_fit(part):
        raise BadCheckpoint(f"{name!r} is not what a fit writes")
    units = {  # copies, since BLAS may round by where numbers stand in memory
        key: Packed(json, [tensors[f"{name}|{key}|{i}"].clone() for i in range(n)])
        for key, (json, n) in part["units"].items()
    }
    for unit in units.values():
        unpack(unit)  # so that later access cannot fail
    return {**part, "units": units}


def _is_of_a_fit(part: CheckpointPart) -> bool:
    """Whether the values that are not units have their types."""
    spent, words = part["spent"], part["fingerprint"]
    return (
        type(spent) in (int, float)
        and 0 <= spent < math.inf
        and all(type(seed) is int and 0 <= seed < 2**63 for seed in part["seeds"])
        and all(isinstance(word, str) for word in words.values())
    )


# ------------------------------------------------------------------------- a fit in progress


class Checkpoint:
    """A file from which a killed fit resumes.

    Pass its path to ``fit``; use this class to choose how often it is written, or when it is
    removed. Pieces of work are kept under names, each when it is done or as far as it has come.
    Piece by piece a fit is the same every time, so what was done need not be done again.

    Parameters
    ----------
    path : str or path-like
        Of a file that is a checkpoint, or of none.
    every_seconds : float, default=10.0
        Time between two writes while a net is trained.
    part : str, default="fit"
        Name of the fit, where several are kept in one file.
    keep : bool, default=False
        Leave the file when the fit ends, until :meth:`remove` is called.
    tell : callable, optional
        Called with a sentence when a fit goes on from the file: once, when a piece of work was read
        and taken up, and never for a file that is not used.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "long.checkpoint")
    >>> first = Checkpoint.of(path)
    >>> first.begin({"rows of X": "a"}, [7])
    0.0
    >>> first.put("kernel", {"lam": 0.5}, now=True)
    >>> again = Checkpoint.of(Checkpoint(path, every_seconds=60))
    >>> again.begin({"rows of X": "a"}, [7]) > 0
    True
    >>> again.get("kernel")
    {'lam': 0.5}
    >>> again.end()
    >>> path.exists()
    False
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        every_seconds: float = 10.0,
        part: str = "fit",
        keep: bool = False,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        if not isinstance(every_seconds, int | float) or not every_seconds >= 0:
            raise ValueError(f"every_seconds must be 0 or more, got {every_seconds!r}.")
        self.path, self.every_seconds, self.part, self.keep = Path(path), every_seconds, part, keep
        self._tell = tell
        self._lock = threading.RLock()
        self._parts: dict[str, CheckpointPart] = {}
        self._is_on, self._before = False, 0.0
        self._start = self._written = time.perf_counter()

    def __reduce__(self) -> Any:
        """Nothing in another process: only one may write the file."""
        return type(None), ()

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Checkpoint | None) -> Checkpoint | None:
        """What ``fit`` was given, opened; an ``OutputError`` if the file cannot be written."""
        from adacap.files import check_writable

        if given is None:
            return None
        found = given if isinstance(given, Checkpoint) else cls(given)
        check_writable(found.path, force=True)
        found._open()
        return found

    def _open(self) -> None:
        self._parts, self._is_on = {}, True
        self._start = self._written = time.perf_counter()
        self._remove_drafts()
        if not self.path.exists():
            return
        if not begins_as_one(self.path):
            self._is_on = False
            warn_caller(
                f"{self.path} is not a checkpoint of adacap: it is left as it is, and this fit "
                "writes none. Remove it or name another file."
            )
        elif self.path.stat().st_size:
            try:
                self._parts = read(self.path)
            except (BadCheckpoint, OSError) as error:
                self._warn_damaged(f"{error}")

    def _warn_damaged(self, why: str) -> None:
        warn_caller(
            f"The checkpoint {self.path} is damaged and not used, the fit starts over: {why}."
        )

    @property
    def seeds(self) -> list[int]:
        """Seeds that the fit of this part had drawn."""
        return list(self._parts.get(self.part, {}).get("seeds", ()))

    def begin(self, fingerprint: Mapping[str, str], seeds: Sequence[int]) -> float:
        """Load what is there, if it belongs to the same fit; the seconds that this has spent.

        ``fingerprint`` names what the outcome of the fit depends on, each with its value.
        """
        old = self._parts.get(self.part)
        if old is not None and (others := _differ(old["fingerprint"], fingerprint)):
            warn_caller(
                f"The checkpoint {self.path} is not used, the fit starts over: it is of a fit with "
                f"another {', '.join(others)}."
            )
            old = None
        if old is None:
            old = {"fingerprint": dict(fingerprint), "seeds": [], "spent": 0.0, "units": {}}
        self._parts[self.part] = {**old, "seeds": [int(seed) for seed in seeds]}
        self._before = float(old["spent"])
        return self._before

    @property
    def n_units(self) -> int:
        """Pieces of work of this part that are kept."""
        return len(self._parts.get(self.part, {}).get("units", ()))

    def get(self, key: str) -> Any:
        """What is kept of a piece of work; None if there is nothing."""
        with self._lock:
            packed: Packed | None = self._parts[self.part]["units"].get(key)
        return None if packed is None else unpack(packed)

    def accept(self) -> None:
        """Say that the fit resumes from here: its reader could use a piece of work."""
        with self._lock:
            tell, self._tell = self._tell, None
        if tell is not None:
            tell(f"Resuming from the checkpoint {self.path}.")

    def discard(self, key: str) -> None:
        """Discard a piece of work that its reader cannot use, with all others, and warn."""
        with self._lock:
            self._parts[self.part]["units"].clear()
        self._warn_damaged(f"it holds no {key.split()[0]} of this fit")

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.perf_counter() - self._written >= self.every_seconds

    def put(self, key: str, value: Any, *, now: bool = False) -> None:
        """Keep a piece of work, and write the file if it is time to or has to be now.

        A ``TypeError`` if a file cannot hold it.
        """
        packed = pack(value)
        with self._lock:
            self._parts[self.part]["units"][key] = packed
            if now or self.is_due():
                self._write()

    def _write(self) -> None:
        if not self._is_on:
            return
        own = self._parts[self.part]
        own["spent"] = self._before + time.perf_counter() - self._start
        try:
            write(self.path, self._parts)
        except OSError as error:
            self._is_on = False
            warn_caller(f"The fit continues, but its checkpoint cannot be written: {error}.")
        self._written = time.perf_counter()

    def end(self) -> None:
        """The fit is done: remove the file, or write it a last time if it is to be kept."""
        with self._lock:
            if self.keep:
                self._write()
            else:
                self.remove()

    def remove(self) -> None:
        """Remove the file, if it is ours, and what a killed process left beside it."""
        if self._is_on:
            Path(os.path.realpath(self.path)).unlink(missing_ok=True)  # what a link leads to
            self._remove_drafts()

    def _remove_drafts(self) -> None:
        from adacap.files.atomic import remove_drafts

        remove_drafts(self.path, idle_seconds=0)  # one machine alone works on a fit


def _differ(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [key for key in {**new, **old} if old.get(key) != new.get(key)]
