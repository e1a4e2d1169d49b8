"""Shared by the tests of the benchmark: small tables, methods that misbehave, a store to fill."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import adacap
import adacap_bench
from adacap_bench import methods
from adacap_bench.datasets import Task, TaskTable
from adacap_bench.plugins import Plugin, load_plugin
from adacap_bench.store import Store

TOYS = Path(__file__).parent / "toy_methods.py"


@pytest.fixture(autouse=True)
def methods_as_before():
    """What a test registers is gone after it."""
    before = dict(methods.METHODS)
    yield
    methods.METHODS.clear()
    methods.METHODS.update(before)


@pytest.fixture
def toys() -> Path:
    """Path of the plugin; its methods are registered in this process."""
    load_plugin(Plugin.read(TOYS))
    return TOYS


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


@pytest.fixture
def diabetes() -> Task:
    return adacap_task("diabetes", "regression")


@pytest.fixture
def iris() -> Task:
    return adacap_task("iris", "multiclass")


def adacap_task(name: str, kind: str) -> Task:
    options = (("name", name),)
    return Task(f"toy-{name}", name.title(), kind, maker="bundled", options=options)


@pytest.fixture
def make_table():
    """Maker of tables with a numeric, a text and a constant column."""

    def make(n_rows: int = 50, kind: str = "regression", seed: int = 0) -> TaskTable:
        rng = np.random.default_rng(seed)
        size = rng.normal(3.0, 2.0, n_rows)
        X = pd.DataFrame(
            {"size": size, "colour": rng.choice(["red", "blue"], n_rows), "constant": 1.0}
        )
        y = 5.0 * size + 10.0 if kind == "regression" else (size > 3.0).astype(np.int64)
        if kind == "multiclass":
            y = rng.integers(0, 3, n_rows)
        return TaskTable(Task("toy", "Toy", kind), X, y)

    return make


@pytest.fixture
def environment() -> dict[str, str]:
    """Environment in which a new interpreter finds both packages."""
    sources = [str(Path(package.__file__).parents[1]) for package in (adacap, adacap_bench)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sources)}
