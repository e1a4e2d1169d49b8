"""Run whole tasks in parallel, each on one torch thread.

Torch's number of threads is global to the process, although each thread uses the value it set
itself. So the first caller that changes it records the old value and every caller restores it, in
whatever order callers start and end.

Torch's threads do not survive a fork, but the code that waits for them does: a computation on
several threads would hang in the child. So a forked process uses one thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import torch

__all__ = ["after_fork", "in_threads", "is_shared_out", "no_team", "one_thread", "stop_asked"]

T = TypeVar("T")

_local = threading.local()  # of a thread: whether it has been asked to stop, whether it is alone
_lock = threading.Lock()
_n_changed = 0  # callers inside one_thread or in_threads
_n_threads = 1  # that torch had before the first of them
_n_pools = 0  # that in_threads has at work
_is_forked = False  # from a process that could compute on several threads


@contextmanager
def _given_back() -> Iterator[None]:
    """Allow changes to torch's number of threads inside; restore it afterwards."""
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
    """Make torch use the calling thread only, inside the block."""
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


@contextmanager
def no_team() -> Iterator[None]:
    """Make torch use the calling thread only, inside the block, unless that is the main thread.

    A thread that computes in parallel starts worker threads of its own, which stay alive: 16
    callers on two processors would leave 16 more.
    """
    if threading.current_thread() is threading.main_thread():
        yield
        return
    with one_thread():
        yield


def _forked() -> None:
    """In a forked process, reset the state: no other thread exists, whoever held the lock."""
    global _lock, _n_changed, _n_pools, _is_forked
    _lock, _n_changed, _n_pools, _is_forked = threading.Lock(), 0, 0, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@contextmanager
def after_fork(*, torch_alone: bool = True) -> Iterator[None]:
    """Make torch use one thread inside the block, if this process was forked.

    Other libraries do the same unless ``torch_alone``. Any other process is left as it is.
    """
    with ExitStack() as stack:
        if _is_forked:
            stack.enter_context(one_thread())
        if _is_forked and not torch_alone:
            from threadpoolctl import threadpool_limits

            stack.enter_context(threadpool_limits(1))
        yield


def in_threads(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Run each task in its own thread, which torch then uses alone; their results in order.

    When one fails, or the caller is interrupted, the others are asked to stop (see
    :func:`stop_asked`), and the error is raised once they have.

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

    with _given_back(), _counted(), ThreadPoolExecutor(len(tasks)) as pool:
        futures = [pool.submit(run, task) for task in tasks]
        try:
            wait(futures)
        except BaseException:  # Ctrl-C, for one
            stop.set()
            raise
        return [future.result() for future in futures]


@contextmanager
def _counted() -> Iterator[None]:
    global _n_pools
    with _lock:
        _n_pools += 1
    try:
        yield
    finally:
        with _lock:
            _n_pools -= 1


def is_shared_out() -> bool:
    """Whether threads of :func:`in_threads` are at work already, for some other caller.

    If so, the caller works alone; otherwise 16 callers would use 16 times as many threads as there
    are processors.
    """
    return _n_pools > 0


def stop_asked() -> bool:
    """Whether the thread that calls works for :func:`in_threads`, and should end early."""
    stop: threading.Event | None = getattr(_local, "stop", None)
    return stop is not None and stop.is_set()
