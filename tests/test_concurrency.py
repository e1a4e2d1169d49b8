"""Fits and predictions side by side: in threads, in processes of every kind, in an event loop.

Each script runs in a process of its own, which is ended after a quarter of an hour: a hang fails.
"""

import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np, torch
from adacap import AdaCapRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = X[:, 0] * X[:, 1]

def fitted(seed=0):
    return AdaCapRegressor(n_estimators=2, width=16, max_iter=8, random_state=seed).fit(X, y)

def predictions(seed=0):
    return fitted(seed).predict(X)

def same(found, expected):
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)), "other bits"

def n_tasks():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0

def use_the_threads_of_torch():
    torch.set_num_threads(2)
    torch.randn(600, 600) @ torch.randn(600, 600)
    torch.randn(2_000_000).exp().sum()
"""


def run(script: str, **environment: str) -> str:
    """What a script prints; it is ended if it hangs."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(script)],
        capture_output=True, text=True, timeout=800,
        env={**os.environ, "OMP_NUM_THREADS": "2", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_threads_and_an_event_loop() -> None:
    """16 callers that predict have one pool of two threads beside them, not 16 pools."""
    output = run("""
        import asyncio

        use_the_threads_of_torch()
        expected = [predictions(seed) for seed in range(6)]
        with ThreadPoolExecutor(6) as pool:
            same(pool.map(predictions, range(6)), expected)

        model = fitted()
        many = np.tile(X, (300, 1))  # several chunks
        alone = model.predict(many)
        most, over = [0], threading.Event()

        def watch():
            while not over.is_set():
                most[0] = max(most[0], threading.active_count() - 2)  # main thread and this one
                time.sleep(0.0005)

        begun = threading.Barrier(16)

        def one_of_many(turn):
            if turn < 16:
                begun.wait(600)  # so that all callers are there at once
            return model.predict(many)

        watcher = threading.Thread(target=watch)
        watcher.start()
        with ThreadPoolExecutor(16) as pool:
            same(pool.map(one_of_many, range(32)), [alone] * 32)
        over.set()
        watcher.join()

        async def gather():
            tasks = [asyncio.to_thread(predictions, seed) for seed in range(3)]
            tasks += [asyncio.to_thread(model.predict, many) for _ in range(3)]
            return await asyncio.gather(*tasks)

        same(asyncio.run(gather()), [*expected[:3], *[alone] * 3])
        print(most[0])
    """)
    assert 16 <= int(output) <= 16 + 2 * 2


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="Linux alone tells its threads")
@pytest.mark.parametrize("repeats", [1, 300], ids=["one chunk", "several chunks"])
def test_callers_in_threads_start_no_threads_of_torch_each(repeats: int) -> None:
    """16 callers had 15 more threads of the system beside them."""
    output = run(f"""
        use_the_threads_of_torch()
        model, rows, together = fitted(), np.tile(X, ({repeats}, 1)), threading.Barrier(16)
        alone, before = model.predict(rows), n_tasks()

        def predict(_):
            together.wait()
            return model.predict(rows)

        with ThreadPoolExecutor(16) as pool:
            same(pool.map(predict, range(16)), [alone] * 16)
            print(n_tasks() - before - 16, torch.get_num_threads())
    """)
    more, n_threads = map(int, output.split())
    assert more <= 2
    assert n_threads == 2


def test_processes_by_joblib_and_joblib_inside_joblib() -> None:
    output = run("""
        from joblib import Parallel, delayed

        def threads_and(seed):
            return torch.get_num_threads(), predictions(seed)

        def nested(seed):
            with ThreadPoolExecutor(1) as pool:
                pool.submit(int).result()
            inner = Parallel(n_jobs=2)(delayed(predictions)(s) for s in (seed, seed + 1))
            return inner

        if __name__ == "__main__":
            use_the_threads_of_torch()
            expected = [predictions(seed) for seed in range(3)]
            found = Parallel(n_jobs=2, backend="loky")(delayed(threads_and)(s) for s in range(2))
            same([one for _, one in found], expected[:2])
            outer = Parallel(n_jobs=2, backend="loky")(delayed(nested)(s) for s in range(2))
            same(outer[0] + outer[1], [*expected[:2], *expected[1:3]])
            with ThreadPoolExecutor(2) as pool:
                same(Parallel(n_jobs=2, backend="threading")(
                    delayed(predictions)(s) for s in range(2)), expected[:2])
            print(sum(n for n, _ in found), os.cpu_count())
    """)
    in_workers, n_processors = map(int, output.split())
    assert in_workers <= max(2, n_processors)


def test_fresh_processes_by_spawn_and_forkserver(tmp_path) -> None:
    script = tmp_path / "work.py"
    body = """
        import multiprocessing

        if __name__ == "__main__":
            use_the_threads_of_torch()
            expected = predictions(1)
            for method in set(multiprocessing.get_all_start_methods()) - {"fork"}:
                with multiprocessing.get_context(method).Pool(1) as pool:
                    same(pool.map(predictions, [1]), [expected])
            print("done")
    """
    script.write_text(HEAD + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=800,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "done" in done.stdout


@pytest.mark.finding("M3", before="fork, then fit: hung for ever")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_processes_before_and_after_the_threads_of_torch() -> None:
    """They fit and predict on one thread, and leave torch's number of threads as it is."""
    output = run("""
        import multiprocessing

        def child(work):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    work()
                    code = 0
                finally:
                    sys.stdout.flush()
                    os._exit(code)
            for _ in range(6000):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    assert status == 0, status
                    return
                time.sleep(0.1)
            os.kill(pid, 9)
            raise SystemExit("a forked process hangs")

        def both():
            before = torch.get_num_threads()
            same([predictions(1), model.predict(many)], expected)
            assert torch.get_num_threads() == before
            assert n_tasks() <= 1 + 2, n_tasks()

        many = np.tile(X, (200, 1))
        torch.set_num_threads(1)
        model = fitted()
        expected = [predictions(1), model.predict(many)]
        torch.set_num_threads(2)
        child(both)  # before
        use_the_threads_of_torch()
        same([predictions(1), model.predict(many)], expected)
        child(both)  # after
        child(lambda: child(both))  # and once more
        with multiprocessing.get_context("fork").Pool(2) as pool:
            same(pool.map_async(predictions, [1, 1]).get(600), [expected[0]] * 2)
        print("done")
    """)
    assert "done" in output
