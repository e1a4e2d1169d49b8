"""Where jobs run: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from adacap.exceptions import UsageError
from adacap_bench.jobs import Record
from adacap_bench.plan import Order
from adacap_bench.split import Split

__all__ = ["ENGINES", "Engine", "Records", "Work", "make_engine"]

ENGINES = ("local", "ray")

Work = tuple[Order, Split]
Records = Generator[Record, None, None]


class Engine(Protocol):
    """Runs jobs and hands their records back; it knows nothing of the store."""

    def outcomes(self, works: Iterator[Work], stop: Callable[[], bool]) -> Records:
        """Records as jobs finish, each job once. Closing it ends what is running.

        Parameters
        ----------
        works : iterator of (Order, Split)
            Asked for the next only when there is room for it. Jobs of one split follow each
            other and share one Split object.
        stop : callable
            True once the user wants to end: what is finished is still handed back, what is
            running is given up.
        """


def make_engine(
    name: str,
    n_jobs: int,
    *,
    threads: int = 1,
    time_limit: float | None = None,
    retries: int = 1,
    address: str | None = None,
) -> Engine:
    """Engine of the given name.

    Parameters
    ----------
    name : {"local", "ray"}
    n_jobs : int
        Jobs at once. A running Ray cluster at ``address`` uses all it has instead.
    threads : int, default=1
        Threads of each job.
    time_limit : float, optional
        Seconds after which a job is stopped.
    retries : int, default=1
        How often a job is started again whose worker died.
    address : str, optional
        Ray only: cluster to join; "auto" finds one on this machine.

    Examples
    --------
    >>> make_engine("local", 2)
    LocalEngine(n_jobs=2, threads=1, time_limit=None, retries=1)
    """
    if name not in ENGINES:
        raise UsageError(f"engine must be one of {list(ENGINES)}, got {name!r}.")
    if name == "ray":
        from adacap_bench.engines.ray import RayEngine

        return RayEngine(n_jobs, threads, time_limit, retries, address)
    if address is not None:
        raise UsageError(f"address={address!r} goes with engine='ray', got engine='local'.")
    from adacap_bench.engines.local import LocalEngine

    return LocalEngine(n_jobs, threads, time_limit, retries)
