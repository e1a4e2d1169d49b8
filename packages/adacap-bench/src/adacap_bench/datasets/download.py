"""Download one address into a file: resumed where it stopped, complete or not at all."""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adacap._version import __version__
from adacap_bench.datasets.errors import DownloadError

__all__ = ["ByteProgress", "Transfer", "download"]

ByteProgress = Callable[[int, int | None], None]  # bytes there, bytes in all if known

_CHUNK = 1 << 16
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class _Passing(Exception):
    """A fault that may not occur at the next try."""


@dataclass(frozen=True)
class Transfer:
    """How patient a download is, and what is called on progress."""

    progress: ByteProgress | None = None
    retries: int = 3  # after a passing fault, such as an answer that ends early
    timeout: float = 30.0  # seconds without an answer
    pause: float = 1.0  # seconds before the second try; doubled for each further one


def download(url: str, part: Path, transfer: Transfer) -> None:
    """Download an address into the file ``part``.

    What ``part`` holds already is kept and only the rest is asked for, if the server can
    answer with a range; otherwise the download starts over. A DownloadError says that the last
    try failed, or that the server refuses for good.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"Only http and https addresses can be fetched, got {url!r}.")
    reason = ""
    for attempt in range(transfer.retries + 1):
        if attempt:
            time.sleep(transfer.pause * 2 ** (attempt - 1))
        try:
            return _try(url, part, transfer)
        except _Passing as fault:
            reason = str(fault)
    raise DownloadError(
        f"{url}: {reason}, in {transfer.retries + 1} tries. Try again later: what was received is "
        "kept and only the rest is fetched."
    )


def _try(url: str, part: Path, transfer: Transfer) -> None:
    start = part.stat().st_size if part.exists() else 0
    try:
        with _open(url, start, transfer.timeout) as answer:
            _save(answer, part, start if answer.status == 206 else 0, transfer.progress)
    except urllib.error.HTTPError as error:
        raise _judged(error, url, part) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise _Passing(f"the connection failed ({reason})") from error


def _open(url: str, start: int, timeout: float) -> Any:
    headers = {"User-Agent": f"adacap/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)


def _judged(error: urllib.error.HTTPError, url: str, part: Path) -> Exception:
    """What an answer that is an error means; an unavailable range discards the part."""
    error.close()
    if error.code == 416:
        part.unlink(missing_ok=True)
        return _Passing("the server refused to resume")
    if error.code in _PASSING:
        return _Passing(f"the server answered {error.code} {error.reason}")
    return DownloadError(f"{url}: the server answered {error.code} {error.reason}.")


def _save(answer: Any, part: Path, start: int, progress: ByteProgress | None) -> None:
    """Append the answer to the first ``start`` bytes of ``part``."""
    begin, total = _extent(answer, start)
    if begin != start:
        part.unlink(missing_ok=True)
        raise _Passing(f"the server resumed at byte {begin}, not {start}")
    done = start
    with part.open("ab" if start else "wb") as file:
        if progress:
            progress(done, total)
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            if progress:
                progress(done, total)
    if total is not None and done != total:
        raise _Passing(f"the answer ended after {done} of {total} bytes")


def _extent(answer: Any, start: int) -> tuple[int, int | None]:
    """First byte of the answer and the size of the whole file, if given."""
    if answer.status == 206:
        found = re.match(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
        if found is None:
            return -1, None
        return int(found[1]), None if found[2] == "*" else int(found[2])
    with suppress(TypeError, ValueError):
        return 0, int(answer.headers["Content-Length"])
    return start, None
