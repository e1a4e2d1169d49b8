"""How much faster two Ray workers are than one, on jobs of a second or more.

    python benchmarks/ray_throughput.py [--jobs 12] [--method adacap-snn]

Each job fits the method on one split of a table that needs no download, on one thread. The
clock starts when every worker has done a first job, so that it measures work and not the start
of processes. Needs the extra ray and two free processors.
"""

import argparse
import time

from adacap_bench.datasets import find_task, load_table
from adacap_bench.engines.ray import RayEngine
from adacap_bench.methods import find_method
from adacap_bench.plan import Order, Tables, make_plan
from adacap_bench.split import Split, make_split


def planned(method: str, n_jobs: int) -> tuple[list[Order], Split]:
    """Equal jobs: one split, as many seeds as jobs."""
    task = find_task("builtin-friedman1")
    tables = Tables([task], load_table)
    plan = make_plan(tables, [find_method(method)], splits=[0], seeds=range(n_jobs))
    return plan.orders, make_split(tables.get(task.key), 0)


def throughput(method: str, n_workers: int, n_jobs: int) -> tuple[float, float]:
    """Jobs per second of so many workers, and mean seconds of a fit."""
    orders, split = planned(method, n_jobs + n_workers)
    works = ((order, split) for order in orders)
    seconds, start = 0.0, time.perf_counter()
    for k, record in enumerate(RayEngine(n_workers).outcomes(works, lambda: False)):
        if record.status != "ok":
            raise RuntimeError(record.traceback)
        if k < n_workers:
            start = time.perf_counter()
        else:
            seconds += record.fit_seconds
    return n_jobs / (time.perf_counter() - start), seconds / n_jobs


def main() -> None:
    """Print the throughput of one worker, of two, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20, help="jobs that are timed")
    parser.add_argument("--method", default="adacap-snn", help="what each job fits")
    options = parser.parse_args()
    found = []
    for n_workers in (1, 2):
        per_second, seconds = throughput(options.method, n_workers, options.jobs)
        found.append(per_second)
        plural = "s" if n_workers > 1 else " "
        print(f"{n_workers} worker{plural}  {per_second:6.3f} jobs/s  {seconds:6.2f} s per fit")
    print(f"ratio      {found[1] / found[0]:6.2f}")


if __name__ == "__main__":
    main()
