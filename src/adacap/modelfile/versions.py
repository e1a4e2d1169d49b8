"""Versions of the format: which are read, how earlier ones are upgraded, what reads the others.

A change of what a file may hold raises ``FORMAT_VERSION``. What a version added is listed in
``ADDED``, with the value that applies to files without it, so that older files can still be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adacap._version import __version__
from adacap.modelfile.archive import FORMAT_VERSION, Json, refuse, shown

__all__ = ["ADDED", "NEEDS", "OLDEST", "Added", "check_version", "upgraded"]

OLDEST = 4
"""The earliest version that is read."""
NEEDS = "0.1.0"
"""The first release that reads ``FORMAT_VERSION``; files say so."""

_WRITERS = {  # of versions that are no longer read
    1: "adacap 0.1.0 as it was before its release, at commit 39fbd41",
    2: "adacap 0.1.0 as it was before its release, at commit 418c917",
    3: "adacap 0.1.0 as it was before its release, at commit 75676b2",
}
_RELEASE = re.compile(r"\d+(\.\w+){0,4}")


class Added(NamedTuple):
    """An entry of the description that a version added."""

    path: tuple[str, ...]  # names of the objects that contain it, and its own
    value: Any  # what a file without it gets
    estimators: tuple[str, ...] = ()  # those that have it; all if empty


ADDED: Mapping[int, Sequence[Added]] = {}
"""Entries by the version that added them."""


def check_version(model: Any) -> None:
    """Refuse a description of a version that is not read, with the library that reads it.

    Anything but an object with a version is ignored.

    Examples
    --------
    >>> check_version({"format_version": 99, "needs": "7.1"})
    Traceback (most recent call last):
    adacap.exceptions.ModelFileError: it has format_version 99, ... pip install 'adacap>=7.1'.
    """
    version = model.get("format_version") if isinstance(model, dict) else None
    if type(version) is not int or OLDEST <= version <= FORMAT_VERSION:
        return
    found = f"it has format_version {shown(version, 20)}, and adacap {__version__} reads"
    found += f" {OLDEST} to {FORMAT_VERSION}." if OLDEST < FORMAT_VERSION else f" {OLDEST} only."
    if version > FORMAT_VERSION:
        refuse(f"{found} Upgrade: pip install {_newer(model)!r}.")
    writer = _WRITERS.get(version)
    if writer is None:
        refuse(f"{found} Fit the model again.")
    refuse(f"{found} {writer[0].upper() + writer[1:]}, reads it. Or fit the model again.")


def _newer(model: Json) -> str:
    """Requirement of the release that a file needs, or was written by."""
    for name in ("needs", "adacap_version"):
        release = model.get(name)
        if isinstance(release, str) and len(release) < 30 and _RELEASE.fullmatch(release):
            return f"adacap>={release}"
    return "adacap>" + __version__


def upgraded(model: Json) -> Json:
    """A description completed with what later versions added.

    Its ``format_version`` stays, to show what the file is.
    """
    for version in range(model["format_version"] + 1, FORMAT_VERSION + 1):
        for added in ADDED.get(version, ()):
            if not added.estimators or model.get("estimator") in added.estimators:
                _put(model, added)
    return model


def _put(place: Any, added: Added) -> None:
    """Add an entry where it is missing; the schema refuses what is malformed."""
    *way, name = added.path
    for key in way:
        place = place.get(key) if isinstance(place, dict) else None
    if isinstance(place, dict):
        place.setdefault(name, added.value)
