"""Jobs on a Ray cluster, by Ray's own scheduling, retries and object store.

The driver puts each split into the object store once and alone writes to the store of results.
Every machine of the cluster needs adacap and the methods' packages; plugins travel with the jobs.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adacap.exceptions import AdaCapError, need
from adacap_bench.engines import Records, Work
from adacap_bench.engines.slot import Slot, WorkerDied
from adacap_bench.jobs import Record
from adacap_bench.plan import Order
from adacap_bench.split import Split
from adacap_bench.worker import prepare, run_order, thread_variables

__all__ = ["RayEngine"]

_TICK = 0.2  # seconds between looks at Ctrl-C
_QUEUED_PER_CPU = 2  # jobs submitted per processor: enough that none waits for the driver


@dataclass(frozen=True)
class RayEngine:
    """Runs jobs as Ray tasks.

    A worker or node that dies costs its jobs one attempt each; Ray starts them elsewhere, up to
    ``retries`` times. With a ``time_limit`` the Ray worker hands the job to a child process,
    which can be killed at any moment and whose end cannot be mistaken for a crash.
    """

    n_jobs: int  # at once where Ray is started here; a cluster uses what it has
    threads: int = 1  # processors that each job asks for
    time_limit: float | None = None
    retries: int = 1
    address: str | None = None  # none is the cluster this process is connected to, or a new one

    def outcomes(self, works: Iterator[Work], stop: Callable[[], bool]) -> Records:
        """See :class:`~adacap_bench.engines.Engine`."""
        ray = _import_ray()
        connected = ray.is_initialized()
        if not connected:
            self._connect(ray)
        try:
            yield from self._records(ray, works, stop)
        finally:
            if not connected:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address is None:
            cpus = self.n_jobs * self.threads
            # "local": not a cluster that another program runs here, or has left traces of.
            ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)
            return
        try:
            _knock(self.address)
            ray.init(address=self.address, **quiet)
        except OSError as error:
            raise AdaCapError(
                f"Cannot join the Ray cluster at {self.address!r}: {error}. "
                "Start one by 'ray start --head' and give the address it prints."
            ) from error

    def _records(
        self, ray: Any, works: Iterator[Work], stop: Callable[[], bool]
    ) -> Iterator[Record]:
        submit = ray.remote(_run_on_ray).options(
            num_cpus=self.threads,
            max_retries=self.retries,
            retry_exceptions=[WorkerDied],
            runtime_env={"env_vars": thread_variables(self.threads)},
        )
        running: dict[Any, Order] = {}
        last: tuple[Split, Any] | None = None
        while not stop():
            while len(running) < self._room(ray) and (work := next(works, None)):
                order, split = work
                if last is None or last[0] is not split:
                    last = split, ray.put(split)
                running[submit.remote(order, last[1], self.time_limit)] = order
            if not running:
                return
            ready, _ = ray.wait(list(running), timeout=_TICK)
            for ref in ready:
                yield self._result(ray, ref, running.pop(ref))
        ready, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
        for ref in ready:
            yield self._result(ray, ref, running.pop(ref))
        for ref in running:
            ray.cancel(ref, force=True)

    def _room(self, ray: Any) -> int:
        """Jobs to hand to Ray at once: more would fill the object store with waiting splits."""
        cpus = ray.cluster_resources().get("CPU", 0.0)
        return max(1, int(_QUEUED_PER_CPU * cpus / self.threads))

    def _result(self, ray: Any, ref: Any, order: Order) -> Record:
        lost = (
            WorkerDied,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.OutOfMemoryError,
        )
        try:
            record: Record = ray.get(ref)
        except lost as error:
            reason = str(getattr(error, "cause", error))  # of WorkerDied, without Ray's frames
            return order.failure("crashed", reason, attempts=self.retries + 1)
        except ray.exceptions.RayError as error:  # the task could not be run at all
            return order.failure("failed", str(error))
        return record


def _knock(address: str) -> None:
    """Raise at once if nothing listens there; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _import_ray() -> Any:
    need("ray", "engine='ray'", "adacap-bench[ray]")
    import ray
    import ray.exceptions

    return ray


_slot: Slot | None = None  # of this Ray worker, kept between its jobs


def _run_on_ray(order: Order, split: Split, time_limit: float | None) -> Record:
    """Body of a Ray task."""
    if time_limit is None:
        prepare(order)
        return run_order(order, split)
    global _slot
    if _slot is None or _slot.time_limit != time_limit:
        _slot = Slot(order.threads, time_limit)
    _slot.start(order, split)
    return _slot.wait()
