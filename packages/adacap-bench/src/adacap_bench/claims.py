"""Who runs which job: runners on one store share the work, and jobs of a dead runner are freed."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from pathlib import Path
from typing import Literal

from adacap_bench.jobs import FAILED, Job
from adacap_bench.store_schema import CLAIMS

__all__ = ["Claims", "JobClaim", "is_alive", "this_process"]

JobClaim = Literal["mine", "taken", "done"]

_THIS = "task = ? AND split = ? AND method = ? AND seed = ? AND settings_hash = ?"
_FOREIGN_SECONDS = 3600.0  # life of a claim of another machine, whose processes cannot be seen


class Claims:
    """The claims of a store, whose connection is in autocommit mode; ours are of this process."""

    def __init__(self, db: sqlite3.Connection, owner: str | None = None) -> None:
        self._db = db
        self.owner = owner or this_process()

    def take(self, job: Job, settings: str, *, retry_failed: bool = False) -> JobClaim:
        """Claim a job, in one transaction with the look whether it is done, or taken by others."""
        key = (job.task, job.split, job.method, job.seed, settings)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            found = self._take(key, retry_failed)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return found

    def _take(self, key: tuple[str, int, str, int, str], retry_failed: bool) -> JobClaim:
        self._db.execute(CLAIMS)
        held = self._db.execute(f"SELECT owner, since FROM claims WHERE {_THIS}", key).fetchone()
        if held is not None and held[0] != self.owner and is_alive(*held):
            return "taken"
        done = self._db.execute(f"SELECT status FROM records WHERE {_THIS}", key).fetchone()
        if done is not None and not (retry_failed and done[0] in FAILED):
            return "done"
        row = (*key, self.owner, time.time())
        self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return "mine"

    def release(self, job: Job | None = None, settings: str = "") -> None:
        """Give up one claim, or all of this owner."""
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'claims'").fetchone():
            return
        if job is None:
            self._db.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))
            return
        key = (job.task, job.split, job.method, job.seed, settings)
        self._db.execute(f"DELETE FROM claims WHERE {_THIS} AND owner = ?", (*key, self.owner))


def this_process() -> str:
    """Unique name of this process: machine, process id and start time."""
    return f"{socket.gethostname()}:{os.getpid()}:{_start_of(os.getpid())}"


def is_alive(owner: object, since: object) -> bool:
    """Whether the process that made a claim still runs, as far as can be seen.

    Examples
    --------
    >>> is_alive(this_process(), time.time())
    True
    >>> is_alive("elsewhere:1:0", time.time() - 7200), is_alive("damaged", 0)
    (False, False)
    """
    host, _, rest = str(owner).partition(":")
    pid, _, start = rest.partition(":")
    if host != socket.gethostname():
        return isinstance(since, int | float) and 0 <= time.time() - since < _FOREIGN_SECONDS
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except PermissionError:  # of another user
        return True
    except (OSError, OverflowError, ValueError):  # the last of more than 4,300 digits
        return False
    return start == _start_of(int(pid))


def _start_of(pid: int) -> str:
    """When a process started, in the clock ticks of Linux; empty where that is not available."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
