"""A plugin of methods that behave badly on purpose, and of one that only takes time."""

import ctypes
import os
import sys
import time
import uuid
from pathlib import Path

import numpy as np
from joblib.externals.loky import process_executor

from adacap_bench.methods import Method, register

HOARD = []


class Toy:
    """Predicts the mean, after doing what `mode` says. Loads nothing but numpy."""

    def __init__(self, mode: str = "plain", seconds: float = 0.0) -> None:
        self.mode = mode
        self.seconds = seconds

    def get_params(self, deep=True):
        return {"mode": self.mode, "seconds": self.seconds}

    def fit(self, X, y):
        if folder := os.environ.get("ADACAP_TEST_STARTS"):  # one file per attempt
            Path(folder, f"{os.getppid()}-{uuid.uuid4()}").touch()
        time.sleep(self.seconds)
        getattr(self, f"_{self.mode}")(X, y)
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        if self.mode == "nan":
            return np.full(len(X), np.nan)
        if self.mode == "threads":
            return np.full(len(X), float(os.environ["OMP_NUM_THREADS"]))
        return np.full(len(X), self.mean_)

    def _plain(self, X, y): ...

    _nan = _threads = _plain

    def _raise(self, X, y):
        raise RuntimeError("on purpose")

    def _exit(self, X, y):
        sys.exit("the method wants to leave")

    def _die(self, X, y):
        os.write(2, b"last words\n")
        os.kill(os.getpid(), 9)

    def _die_once(self, X, y):
        mark = Path(os.environ["ADACAP_TEST_MARK"])
        if not mark.exists():
            mark.touch()
            self._die(X, y)

    def _fail_once(self, X, y):
        mark = Path(os.environ["ADACAP_TEST_MARK"])
        if not mark.exists():
            mark.touch()
            self._raise(X, y)

    def _stuck(self, X, y):
        ctypes.PyDLL(None).sleep(600)  # holds the interpreter: no Python code can end it

    def _spoil(self, X, y):
        X[:] = 0  # what other jobs get must not change

    def _hoard(self, X, y):
        process_executor._MAX_MEMORY_LEAK_SIZE = 10_000_000
        HOARD.append(np.ones(10_000_000))
        time.sleep(1.1)  # loky looks at most once a second


def toy(mode, seconds=0.0):
    return lambda kind, seed: Toy(mode, seconds)


MODES = ("plain", "nan", "threads", "raise", "exit", "die", "die_once", "fail_once", "stuck")
for mode in (*MODES, "spoil", "hoard"):
    name = f"toy-{mode.replace('_', '-')}"
    register(Method(name, "Baseline", {"regression", "binary"}, toy(mode)))

for hundredths in (5, 10, 20):  # tests of being killed need jobs that take a moment
    sleeper = toy("plain", hundredths / 100)
    register(Method(f"toy-sleep-{hundredths}", "Baseline", {"regression"}, sleeper))
