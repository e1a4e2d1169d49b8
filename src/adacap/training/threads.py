"""Whole pieces of work side by side, each on one thread of torch's.

How many threads torch has is one number for the process, although each thread computes by the one
it set itself. So the number is put down by the first caller that changes it and put back by every
one, in whatever order several callers come and go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

__all__ = ["in_threads", "one_thread", "stop_asked"]

T = TypeVar("T")

_local = threading.local()  # of a thread: whether it has been asked to stop, whether it is alone
_lock = threading.Lock()
_n_changed = 0  # callers inside one_thread or in_threads
_n_threads = 1  # that torch had before the first of them


@contextmanager
def _given_back() -> Iterator[None]:
    """Torch's number of threads free to change inside, as it was before outside."""
    global _n_changed, _n_threads
    with _lock:
        if _n_changed == 0:
            _n_threads = torch.get_num_threads()
        _n_changed += 1
    try:
        yield
    finally:
        with _lock:
            _n_changed -= 1
            torch.set_num_threads(_n_threads)


@contextmanager
def one_thread() -> Iterator[None]:
    """Have torch compute on the calling thread alone inside."""
    if getattr(_local, "alone", False):
        yield
        return
    with _given_back(), _alone():
        yield


@contextmanager
def _alone() -> Iterator[None]:
    torch.set_num_threads(1)  # of this thread, and of those that come up meanwhile
    _local.alone = True
    try:
        yield
    finally:
        _local.alone = False


def in_threads(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run each task in a thread of its own, which is all the threads that torch has there.

    When one fails, or the caller is interrupted, the others are asked to stop (see
    :func:`stop_asked`), and the error is raised once they have.

    Parameters
    ----------
    tasks : sequence of callable

    Returns
    -------
    list
        What the tasks returned, in their order.

    Examples
    --------
    >>> in_threads([lambda: 1, lambda: torch.get_num_threads() + 1])
    [1, 2]
    """
    stop = threading.Event()

    def run(task: Callable[[], T]) -> T:
        _local.stop = stop
        with _alone():
            try:
                return task()
            except BaseException:
                stop.set()
                raise

    with _given_back(), ThreadPoolExecutor(len(tasks)) as pool:
        futures = [pool.submit(run, task) for task in tasks]
        try:
            wait(futures)
        except BaseException:  # Ctrl-C, for one
            stop.set()
            raise
        return [future.result() for future in futures]


def stop_asked() -> bool:
    """Whether the thread that calls works for :func:`in_threads`, and should end early."""
    stop: threading.Event | None = getattr(_local, "stop", None)
    return stop is not None and stop.is_set()
