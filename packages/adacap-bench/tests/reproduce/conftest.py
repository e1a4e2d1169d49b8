"""Runs that never took place: records for every job of an item, so that its summary can be made."""

import numpy as np
import pytest

from adacap_bench.datasets import find_task
from adacap_bench.jobs import Record
from adacap_bench.plan import Tables, expanded, make_plan
from adacap_bench.reproduce.results import Results

N_TEST = 6
GRID = np.linspace(1.0, 0.5, 61).tolist()


def payload(rng) -> dict:
    """What any of the probes may give."""
    return {
        "moved": 0.1, "best_iter": 10.0, "valid_score": 0.5, "lambda_init": 30.0, "lambda": 20.0,
        "train": rng.uniform(0.3, 1, 40).tolist(), "valid": rng.uniform(0.3, 1, 40).tolist(),
        "mean": 0.2, "strong": 0.1, "effective_rank": 0.3,
        "matrix": rng.uniform(0, 1, (4, 4)).tolist(),
        "criterion": GRID, "test_path": GRID, "oracle_rmse": 0.4, "alpha": 1.0,
        "error": float(rng.uniform()), "worst": 1.0, "rate": 0.5,
    }  # fmt: skip


def draw_results(item, scale, seed=0) -> Results:
    """Results of all jobs of an item, with numbers drawn at random."""
    rng = np.random.default_rng(seed)
    records = []
    for grid in item.grids(scale):
        tasks = [find_task(task) if isinstance(task, str) else task for task in grid.tasks]
        tables = Tables(tasks, lambda task: None)
        plan = make_plan(tables, expanded(grid.methods), grid.splits, grid.seeds)
        for order in plan.orders:
            metrics = {
                f"{part}_{name}": float(rng.uniform(0.1, 0.9))
                for part in ("train", "test")
                for name in ("rmse", "r2", "accuracy", "auc")
            }
            records.append(
                Record(
                    order.job, "ok", order.settings_hash, order.kind, order.category, "Toy",
                    metrics=metrics, fit_seconds=float(rng.uniform(1, 2)), payload=payload(rng),
                    predictions=rng.normal(size=N_TEST).astype(np.float32),
                    versions={"adacap": "0"}, created="2026-01-01T00:00:00",
                )
            )  # fmt: skip
    return Results(records)


@pytest.fixture
def no_targets(monkeypatch):
    """True targets without a data folder."""
    monkeypatch.setattr(Results, "targets", lambda self, task, split: np.arange(float(N_TEST)))


@pytest.fixture
def made_up():
    """Maker of results of all jobs of an item."""
    return draw_results
