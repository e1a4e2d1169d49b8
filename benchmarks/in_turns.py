"""Whole fits of two source trees, in two processes that take turns: what a change costs.

    git worktree add ../before <commit>
    python benchmarks/in_turns.py ../before/src src [--only diabetes,100] [--cpu]

Prints the medians of both trees, and of the ratios of single rounds with the lowest and highest.
With ``--cpu`` it counts the CPU time of one thread, for a machine that has other work.
What is compared: ``diabetes`` and numbers of rows are fits of nets, ``quality="nets"`` (all that
there was before there were blends); with ``blend-`` in front they are fits of the default. ``mlp``
and ``mlp-100`` are 60 steps of one net of 512 units, on 500 and 100 rows; ``bag80`` and ``bag400``
ten such nets. No net is trained a second time up to its best iteration, which differs between the
trees. ``predict`` and ``blend-predict`` are 100,000 rows by either. ``forest-20000`` is a fit of
``quality=["boosting"]`` on so many rows, and ``forest-predict`` 5,000 rows by it.
"""

import argparse
import os
import statistics
import subprocess
import sys

ROUNDS = {
    "diabetes": 7, "100": 11, "500": 7, "2000": 5, "20000": 5, "bag80": 5, "bag400": 3, "mlp": 3,
    "mlp-100": 7, "predict": 7, "blend-100": 5, "blend-diabetes": 3, "blend-predict": 3,
    "forest-20000": 3, "forest-predict": 3,
}  # fmt: skip

WORKER = """
import inspect, sys, time, warnings
import numpy as np
from sklearn.datasets import load_diabetes
import adacap
warnings.simplefilter("ignore")
Default = adacap.AdaCapRegressor

def table(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20), dtype=np.float32)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * rng.standard_normal(n, dtype=np.float32)
    return X, y.astype(np.float32)

old = "bagging" in inspect.signature(Default).parameters
single = dict(refit_net=False) if old else dict(refit="head")
once = dict(bagging="seeds", validation_fraction=0.2) if old else dict(validation=0.2)

has_blends = "quality" in inspect.signature(Default).parameters
nets = dict(quality="nets") if has_blends else {}

def fit(name):
    if name.startswith("bag"):
        bag = Default(architecture="mlp", width=512, n_estimators=10, max_iter=100,
                      random_state=0, **once, **single)
        return bag.fit(*table(int(name[3:])))
    if name.startswith("mlp"):
        rows = table(100 if name == "mlp-100" else 500)
        return adacap.make("adacap-mlp", max_iter=60, random_state=0, **single).fit(*rows)
    if name == "predict":
        return model.predict(many)
    if name == "blend-predict":
        return blend.predict(many)
    if name == "forest-predict":
        return forest.predict(many[:5000])
    if name == "forest-20000":
        return Default(quality=["boosting"], random_state=0).fit(*table(20_000))
    rows = name.removeprefix("blend-")
    data = load_diabetes(return_X_y=True) if rows == "diabetes" else table(int(rows))
    return Default(random_state=0, **({} if rows != name else nets)).fit(*data)

model, many = Default(random_state=0, max_iter=5).fit(*table(500)), table(100_000)[0]
blend = Default(random_state=0).fit(*table(200))
Default(random_state=0, max_iter=3).fit(*table(3000))
if has_blends:
    forest = Default(quality=["boosting"], random_state=0).fit(*table(20_000))
print("ready", flush=True)
clock = time.process_time if sys.argv[1:] else time.perf_counter
for line in sys.stdin:
    begin = clock()
    fit(line.strip())
    print(clock() - begin, flush=True)
"""


def start(source: str, cpu: bool) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(source)}
    environment |= {"OMP_NUM_THREADS": "1"} if cpu else {}
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, *["cpu"] * cpu],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdout is not None
    if worker.stdout.readline().strip() != "ready":
        raise SystemExit(f"The sources in {source} cannot be run.")
    return worker


def seconds(worker: subprocess.Popen[str], name: str) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", help="folder that holds the package adacap")
    parser.add_argument("after")
    parser.add_argument("--only", default=",".join(ROUNDS), help="fits, by comma")
    parser.add_argument("--cpu", action="store_true", help="CPU time of one thread")
    options = parser.parse_args()
    workers = [start(source, options.cpu) for source in (options.before, options.after)]
    for name in options.only.split(","):
        pairs = []
        for k in range(ROUNDS[name]):
            order = (0, 1) if k % 2 else (1, 0)
            times = {i: seconds(workers[i], name) for i in order}
            pairs.append((times[0], times[1]))
        old, new = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratios = sorted(b / a for a, b in pairs)
        print(
            f"{name:14} before {old:.3f} s  after {new:.3f} s  "
            f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
