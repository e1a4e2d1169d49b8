"""Whole trainings side by side, each on one thread of torch's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

__all__ = ["in_threads", "one_thread", "stop_asked"]

T = TypeVar("T")

_local = threading.local()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have torch compute on the calling thread alone inside."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    before = torch.get_num_threads()
    stop = threading.Event()

    def run(task: Callable[[], T]) -> T:
        torch.set_num_threads(1)  # of this thread, and of those that come up meanwhile
        _local.stop = stop
        try:
            return task()
        except BaseException:
            stop.set()
            raise

    try:
        with ThreadPoolExecutor(len(tasks)) as pool:
            futures = [pool.submit(run, task) for task in tasks]
            try:
                wait(futures)
            except BaseException:  # Ctrl-C, for one
                stop.set()
                raise
            return [future.result() for future in futures]
    finally:
        torch.set_num_threads(before)


def stop_asked() -> bool:
    """Whether the thread that calls works for :func:`in_threads`, and should end early."""
    stop: threading.Event | None = getattr(_local, "stop", None)
    return stop is not None and stop.is_set()
