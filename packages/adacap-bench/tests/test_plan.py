"""Plans and settings: what is run, in which order, what is left out, when a result is stale."""

import dataclasses
import itertools

import pytest
from sklearn.linear_model import Ridge

from adacap_bench.datasets import Task, find_task, load_table
from adacap_bench.methods import Method, find_method
from adacap_bench.plan import Tables, make_plan
from adacap_bench.plugins import Plugin
from adacap_bench.settings import RunSettings

EVERY = {"regression", "binary", "multiclass"}


def tables(*tasks):
    def load(task):
        raise AssertionError(f"{task.key} was read, though its size is known")

    return Tables(tasks, load)


def task(key, rows, kind="regression"):
    return Task(key, key.title(), kind, rows=rows, columns=3)


def method(name="toy", alpha=1.0, **fields):
    fields.setdefault("kinds", EVERY)
    return Method(name, "Linear", build=lambda kind, seed: Ridge(alpha=alpha), **fields)


def test_every_combination_once_and_long_tasks_first():
    plan = make_plan(
        tables(task("small", 10), task("large", 1000), task("middle", 100)),
        [method("a"), method("b")], splits=[0, 1], seeds=[0, 1],
    )  # fmt: skip
    jobs = [order.job for order in plan.orders]
    assert len(set(jobs)) == len(jobs) == 3 * 2 * 2 * 2
    assert [key for key, _ in itertools.groupby(job.task for job in jobs)] == [
        "large", "middle", "small",
    ]  # fmt: skip
    assert [split for split, _ in itertools.groupby(job.split for job in jobs)] == [0, 1] * 3


def test_in_pieces_small_tasks_come_first_and_methods_together():
    plan = make_plan(
        tables(task("large", 1000), task("small", 10)),
        [method("a"), method("b")], splits=[0, 1], seeds=range(3), in_pieces=True,
    )  # fmt: skip
    jobs = [order.job for order in plan.orders]
    assert len(set(jobs)) == len(jobs) == 2 * 2 * 2 * 3
    assert [key for key, _ in itertools.groupby(job.task for job in jobs)] == ["small", "large"]
    assert [(job.split, job.seed, job.method) for job in jobs[:12]] == [
        (split, seed, name) for split in (0, 1) for seed in range(3) for name in "ab"
    ]


def test_what_is_left_out_has_a_reason():
    plan = make_plan(
        tables(task("wide", 2000), task("two-classes", 100, "binary")),
        [
            method("absent", packages=("no_such_package",)),
            method("values-only", kinds={"regression"}),
            method("small-only", max_rows=1000),
        ],
        splits=[0, 1],
        seeds=[0],
    )
    assert {(order.job.task, order.job.method) for order in plan.orders} == {
        ("wide", "values-only"), ("two-classes", "small-only"),
    }  # fmt: skip
    reasons = {(s.task, s.method): (s.reason, s.n_jobs) for s in plan.skipped}
    assert "pip install no_such_package" in reasons["*", "absent"][0]
    assert reasons["two-classes", "values-only"] == ("does regression, not binary", 2)
    limit = "takes up to 1000 rows, the table has 2000"
    assert reasons["wide", "small-only"] == (limit, 2)


def test_rows_come_from_the_table_where_the_catalogue_does_not_tell(diabetes):
    read = Tables([diabetes], load_table)
    small = method("small-only", max_rows=441)
    assert make_plan(read, [small], [0], [0]).skipped[0].reason.endswith("the table has 442")
    assert not make_plan(read, [method("enough", max_rows=442)], [0], [0]).skipped


def test_a_table_that_cannot_be_read_does_not_stop_the_plan():
    def load(task):
        raise OSError("gone")

    unknown = dataclasses.replace(task("a", 0), rows=None)
    plan = make_plan(Tables([unknown], load), [method(max_rows=5)], [0], [0])
    assert len(plan.orders) == 1


def test_the_last_table_is_kept():
    calls = []
    read = Tables([task("a", 1), task("b", 1)], lambda one: calls.append(one.key) or one.key)
    assert [read.get(key) for key in "aabba"] == list("aabba")
    assert calls == ["a", "b", "a"]


# -- settings


def test_the_hash_is_the_same_for_the_same():
    one = RunSettings().hash(method(), task("a", 5))
    assert one == RunSettings().hash(method(), task("a", 5))


def test_the_seed_of_a_method_is_not_a_setting():
    forest = find_method("rf")
    assert "random_state=0" in RunSettings()._method(forest, "regression")


def test_threads_are_not_a_setting(monkeypatch):
    one = RunSettings().hash(find_method("rf"), task("a", 5))
    monkeypatch.setenv("ADACAP_THREADS", "7")
    assert RunSettings().hash(find_method("rf"), task("a", 5)) == one


@pytest.mark.parametrize(
    "change",
    [{"transform": "log"}, {"target": 2}, {"classes": ("b", "a")}, {"kind": "binary"}],
    ids=lambda change: next(iter(change)),
)
def test_the_hash_sees_how_a_task_is_read(change):
    before = task("a", 5)
    after = dataclasses.replace(before, **change)
    assert RunSettings().hash(method(), before) != RunSettings().hash(method(), after)


def test_the_hash_sees_the_parameters():
    settings, one = RunSettings(), task("a", 5)
    assert settings.hash(method(), one) != RunSettings().hash(method(alpha=2), one)


def test_the_hash_sees_the_version(monkeypatch):
    before = RunSettings().hash(method(), task("a", 5))
    monkeypatch.setattr("adacap_bench.settings.__version__", "99")
    assert RunSettings().hash(method(), task("a", 5)) != before


def test_raw_targets_are_another_setting_only_where_there_is_a_transform():
    plain, logged = task("a", 5), dataclasses.replace(task("a", 5), transform="log")
    assert RunSettings(True).hash(method(), plain) == RunSettings(False).hash(method(), plain)
    assert RunSettings(True).hash(method(), logged) != RunSettings(False).hash(method(), logged)


def test_the_hash_sees_the_content_of_a_users_file(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b\n" + "1,2\n" * 20)
    before = RunSettings().hash(method(), find_task(str(path)))
    assert RunSettings().hash(method(), find_task(str(path))) == before
    path.write_text("a,b\n" + "1,3\n" * 20)
    assert RunSettings().hash(method(), find_task(str(path))) != before


def test_the_hash_sees_the_source_of_a_plugin_for_its_own_methods_only():
    source = (
        "from adacap_bench.methods import Method, register\n"
        "register(Method('own', 'Peer', {'regression'}, lambda kind, seed: kind))\n"
    )
    first = RunSettings(plugins=[Plugin("p.py", source)])
    own = find_method("own")
    hashes = first.hash(own, task("a", 5)), first.hash(method(), task("a", 5))
    second = RunSettings(
        plugins=[Plugin("p.py", source.replace("register(M", "# new\nregister(M"))]
    )
    assert second.hash(own, task("a", 5)) != hashes[0]
    assert second.hash(method(), task("a", 5)) == hashes[1]


def test_a_method_that_cannot_be_built_still_has_a_hash():
    def build(kind, seed):
        raise RuntimeError("no")

    broken = Method("broken", "Linear", EVERY, build)
    assert RunSettings().hash(broken, task("a", 5)) != RunSettings().hash(method(), task("a", 5))
