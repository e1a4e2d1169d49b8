"""Folds and bags follow joblib's parallel_config.

The example itself runs in test_examples.py, on Ray and Dask. Here its parts meet a backend that
counts, so that nothing is claimed that did not go through it.
"""

import importlib.util
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend
from joblib.parallel import BACKENDS

EXAMPLE = Path(__file__).parents[3] / "examples" / "parallel_backends.py"


@pytest.fixture
def example(monkeypatch):
    spec = importlib.util.spec_from_file_location("parallel_backends", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def calls():
    """Number of tasks in each use of a backend called "counting"."""
    counts = []

    class Counting(ThreadingBackend):
        def configure(self, n_jobs=1, parallel=None, **options):
            n_jobs = super().configure(n_jobs, parallel, **options)
            self._n_jobs = 1  # one thread does all: the nets use torch's global generator
            return n_jobs

        def start_call(self):
            counts.append(0)

        def submit(self, func, callback=None):
            counts[-1] += 1
            return super().submit(func, callback)

    register_parallel_backend("counting", Counting)
    yield counts
    del BACKENDS["counting"]


def test_folds_and_bag_both_go_to_the_chosen_backend(example, calls, capsys):
    @contextmanager
    def counting():
        with parallel_config(backend="counting", n_jobs=2):
            yield

    example.BACKENDS = {"counting": ("joblib", counting)}
    example.main()
    assert calls == [2, 2]  # two folds, then two nets
    lines = capsys.readouterr().out.splitlines()
    figures = {re.sub("^.*: R²", "R²", line) for line in lines}
    assert len(lines) == 2
    assert len(figures) == 1


def test_other_numbers_are_not_passed_over(example, monkeypatch):
    @contextmanager
    def elsewhere():
        yield

    numbers = iter([(0.5, 0.5), (0.5, 0.6)])
    example.BACKENDS = {"elsewhere": ("joblib", elsewhere)}
    monkeypatch.setattr(example, "measure", lambda: next(numbers))
    with pytest.raises(SystemExit, match="elsewhere gives other numbers"):
        example.main()


def test_a_missing_package_is_named(example, monkeypatch, capsys):
    monkeypatch.setattr(example, "measure", lambda: (0.5, 0.5))
    monkeypatch.setattr(example, "find_spec", lambda name: None)
    example.main()
    assert "on dask: left out, since the package distributed is not" in capsys.readouterr().out
