"""What a fit has done so far, in memory and now and then in a file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from adacap.checkpoint import file
from adacap.checkpoint.trees import Packed, pack, unpack
from adacap.exceptions import warn_caller

__all__ = ["Checkpoint"]


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
        if not every_seconds >= 0:
            raise ValueError(f"every_seconds must be 0 or more, got {every_seconds!r}.")
        self.path, self.every_seconds, self.part, self.keep = Path(path), every_seconds, part, keep
        self._tell = tell
        self._lock = threading.RLock()
        self._parts: dict[str, file.Part] = {}
        self._is_on, self._before = False, 0.0
        self._start = self._written = time.perf_counter()

    def __reduce__(self) -> Any:
        """Nothing in another process: only one may write the file."""
        return _nothing, ()

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Checkpoint | None) -> Checkpoint | None:
        """What ``fit`` was given, opened: a path, a checkpoint or nothing.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
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
        if not file.begins_as_one(self.path):
            self._is_on = False
            warn_caller(
                f"{self.path} is not a checkpoint of adacap: it is left as it is, and this fit "
                "writes none. Remove it or name another file."
            )
        elif self.path.stat().st_size:
            self._read()

    def _read(self) -> None:
        try:
            self._parts = file.read(self.path)
        except (file.BadCheckpoint, OSError) as error:
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
        """Load what is there, if it belongs to the same fit.

        Parameters
        ----------
        fingerprint : mapping of str to str
            What the outcome of the fit depends on, each with its value.
        seeds : sequence of int

        Returns
        -------
        float
            Seconds spent before; 0 for a fit that starts over.
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
        """Say that the fit goes on from here: a piece of work is what its reader needs."""
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

        Raises
        ------
        TypeError
            If a file cannot hold it.
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
            file.write(self.path, self._parts)
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
            self.path.unlink(missing_ok=True)
            self._remove_drafts()

    def _remove_drafts(self) -> None:
        from adacap.files.atomic import remove_drafts

        remove_drafts(self.path, idle_seconds=0)  # one machine alone works on a fit


def _nothing() -> None:
    return None


def _differ(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [key for key in {**new, **old} if old.get(key) != new.get(key)]
