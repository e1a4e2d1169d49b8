"""Jobs and records: identity, text keys, settings hashes."""

import dataclasses
import subprocess
import sys

import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

import adacap
from adacap_bench.jobs import Job, Record, describe, describe_function, settings_hash, versions

JOB = Job("paper-1", 2, "ridge", 3)


def test_a_job_is_frozen_hashable_and_ordered():
    assert len({JOB, Job("paper-1", 2, "ridge", 3), Job("paper-1", 2, "ridge", 4)}) == 2
    assert sorted([Job("b", 0, "x"), Job("a", 1, "x"), Job("a", 0, "y")])[0] == Job("a", 0, "y")
    with pytest.raises(dataclasses.FrozenInstanceError):
        JOB.seed = 1


def test_keys_of_different_jobs_differ():
    jobs = [Job(t, s, m, seed) for t in "ab" for s in (1, 11) for m in "xy" for seed in (1, 11)]
    assert len({job.key() for job in jobs}) == len(jobs)
    assert JOB.key() == "paper-1|2|ridge|3"


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        ("done", "binary", r"status must be one of \['ok', .*\], got 'done'"),
        ("ok", "ranking", r"kind must be one of \['regression', .*\], got 'ranking'"),
    ],
)
def test_a_record_refuses_unknown_words(status, kind, message):
    with pytest.raises(ValueError, match=message):
        Record(JOB, status, "0", kind)


def test_the_settings_hash_sees_values_and_not_their_order():
    one = settings_hash({"a": 1, "b": [2, 3]})
    assert one == settings_hash({"b": [2, 3], "a": 1})
    assert one != settings_hash({"a": 1, "b": [3, 2]})


def test_describe_tells_parameters_apart():
    assert describe(Ridge(alpha=1.0)) == describe(Ridge())
    assert describe(Ridge(alpha=2.0)) != describe(Ridge())
    assert "RandomForestRegressor(bootstrap=True" in describe(RandomForestRegressor())


def test_describe_does_not_depend_on_addresses():
    def estimator():
        return Ridge(alpha=lambda: 1)

    assert describe(estimator()) == describe(estimator())
    assert " at 0x" not in describe(estimator())


def test_describe_takes_public_attributes_where_there_are_no_parameters():
    class Bare:
        def __init__(self, depth):
            self.depth = depth
            self._cache = object()

    assert describe(Bare(2)).endswith("Bare(depth=2)")


def test_versions_name_what_is_loaded_only(environment):
    assert versions()["adacap"] == adacap.__version__
    code = "from adacap_bench.jobs import versions; print(sorted(versions(['sklearn', 'ray'])))"
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "['adacap', 'numpy', 'python']"


def test_a_module_that_moved_keeps_the_hashes_of_its_methods():
    """Stores hold results of methods by these texts; a move must not make them run again."""
    from adacap.comparison.adapters import FeasibleNuSVC
    from adacap_bench.methods.adapters import FastaiRegressor, Quiet
    from adacap_bench.reproduce.figure import Panel

    assert describe(FeasibleNuSVC()) == "adacap.bench.methods.feasible.FeasibleNuSVC(nu=0.5)"
    assert describe_function(Quiet) == "adacap.bench.methods.quiet.Quiet"
    fastai = "adacap.bench.methods.fastai_learner.FastaiRegressor"
    assert describe_function(FastaiRegressor) == fastai
    assert describe_function(Panel) == "adacap.reproduce.figure.Panel"
