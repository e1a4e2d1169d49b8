"""Results by experiment: named by what a study asks, whatever was run of it so far."""

import numpy as np
import pytest

from adacap_bench.jobs import Job, Record
from adacap_bench.reproduce.item import Grid
from adacap_bench.reproduce.results import Results, row_of, units
from adacap_bench.reproduce.verdicts import contrast
from adacap_bench.sources import MadeTask


def record(method, split=0, seed=0, task="a", rmse=0.5) -> Record:
    job = Job(task, split, method, seed)
    return Record(job, "ok", "", "regression", metrics={"test_rmse": rmse})


def made(key, **fields) -> MadeTask:
    return MadeTask(key, key, "regression", lambda index: None, **fields)


def test_an_experiment_is_what_the_study_asks():
    grids = [
        Grid(["a"], [], range(10), range(10)),  # seeds of a split go together
        Grid(["b", "d"], [], [2], range(1000)),
        Grid(["c"], [], [0]),
        Grid(["d"], [], [3], range(5)),  # two splits in all
        Grid([made("e"), made("f", unit="split")], [], range(4)),
    ]
    assert units(grids) == {
        "a": "split", "b": "seed", "c": "split", "d": "split", "e": "draw", "f": "split",
    }  # fmt: skip


@pytest.mark.parametrize("splits", [range(1), range(10)], ids=["by seed", "by split"])
def test_a_part_of_a_study_has_the_names_of_the_whole(splits):
    """One method has all runs, the other its first two: they are paired on those."""
    seeds = range(10) if len(splits) == 1 else range(1)
    every = [(split, seed) for split in splits for seed in seeds]
    runs = [record("full", *at, rmse=1.0 + sum(at)) for at in every]
    runs += [record("begun", *at, rmse=0.5 + sum(at)) for at in every[:1]]
    runs += [record("begun", 0, seed, rmse=0.5 + seed) for seed in seeds if seed == 1]
    results = Results(runs, n_left=8, units=units([Grid(["a"], [], splits, seeds)]))
    effect = contrast([(1, results.row("f", "full")), (-1, results.row("b", "begun"))])
    assert effect.value == pytest.approx(0.5)
    assert effect.n == len(results.of("begun"))
    assert effect.uneven


def test_a_method_with_one_task_so_far_keeps_the_name_of_that_task():
    results = Results([record("m", k, task="a") for k in range(2)])
    assert [*results.by_experiment("m")] == ["a, split 0", "a, split 1"]
    assert [*results.by_experiment("m", task="a")] == ["split 0", "split 1"]


def test_a_row_over_tasks_has_their_mean_and_no_spread():
    row = row_of("m", {"a, split 0": 1.0, "a, split 1": 2.0, "b, split 0": 3.5})
    assert (row.ours, row.spread, row.n) == (2.5, None, 3)


def test_seeds_enter_the_spread_and_not_the_error():
    runs = [record("m", s, k, rmse=s + 0.1 * k) for s in range(4) for k in range(9)]
    row = Results(runs).row("m", "m", task="a")
    assert (row.n, row.experiments) == (36, 4)
    assert row.error == pytest.approx(np.std(range(4), ddof=1) / 2)
