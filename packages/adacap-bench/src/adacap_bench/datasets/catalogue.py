"""Find tasks and suites: those of the catalogue, and the user's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from adacap.exceptions import UsageError, did_you_mean, few_of
from adacap_bench.datasets import own
from adacap_bench.datasets.entry import make_task
from adacap_bench.datasets.tasks import DataFile, Task

__all__ = [
    "SUITES",
    "catalogue",
    "find_by_name",
    "find_suite",
    "find_task",
    "find_tasks",
    "mnist_files",
]

SUITES: dict[str, str] = {
    "paper": "the 44 tasks of the 2022 paper",
    "paper-regression": "its 26 regression tasks",
    "paper-regression-small": "the 15 regression tasks of its bagging table",
    "paper-classification": "its 18 classification tasks",
    "mlr2021": "the 32 tasks of the 2021 supplement",
    "builtin": "tasks that need no download",
    "builtin-quick": "a few small ones of them",
}


@cache
def catalogue() -> dict[str, Task]:
    """All tasks of the package by key, in the order of the papers' tables.

    Examples
    --------
    >>> catalogue()["paper-31"].name
    'Abalone'
    """
    tasks = [task for name in ("paper", "mlr2021", "builtin") for task in _read_entries(name)]
    return {task.key: task for task in tasks}


@cache
def mnist_files() -> dict[str, DataFile]:
    """The four files of MNIST: train-images, train-labels, test-images, test-labels."""
    files = _parse("mnist")["files"]
    return {name: DataFile(**_tuples(fields)) for name, fields in files.items()}


def find_task(key: str) -> Task:
    """Task of a key, or of a user's file.

    Parameters
    ----------
    key : str
        Key of the catalogue, or part of the name of one task alone; ``"mine.csv"``,
        ``"mine.csv:target"`` or ``"mine.csv:target:kind"``; or ``"mine.toml:key"`` for an entry of
        a user's file.

    Examples
    --------
    >>> find_task("paper-12").figures
    Figures(n=245, p=22, continuous=4, categorical=2)
    >>> find_task("paper-112")
    Traceback (most recent call last):
    adacap.exceptions.UsageError: Unknown task 'paper-112'. Did you mean 'paper-12'? See: ...
    """
    if own.is_table(key):
        return own.task_of_csv(key)
    if own.is_entries(key):
        return own.task_of_toml(key)
    if key in catalogue():
        return catalogue()[key]
    named = find_by_name(key)
    if len(named) == 1:
        return named[0]
    if named:
        keys = ", ".join(f"{task.key} ({task.name})" for task in named[:8])
        more = ", …" if len(named) > 8 else ""
        raise UsageError(
            f"{len(named)} tasks have {key!r} in their name: {keys}{more}. Name a key."
        )
    raise UsageError(f"Unknown task {key!r}.{did_you_mean(key, catalogue())} See: adacap data list")


def find_by_name(text: str) -> list[Task]:
    """Tasks whose name, file or key has every word of a text, whatever the case and the signs.

    Examples
    --------
    >>> [task.key for task in find_by_name("concrete-slump")][:1]
    ['paper-1']
    >>> find_by_name("?")
    []
    """
    words = re.findall(r"[a-z0-9]+", text.lower())

    def has_all(task: Task) -> bool:
        path = task.file.path if task.file is not None else ""
        known = " ".join(re.findall(r"[a-z0-9]+", f"{task.name} {path} {task.key}".lower()))
        return all(word in known for word in words)

    return [task for task in catalogue().values() if words and has_all(task)]


def find_suite(name: str) -> tuple[Task, ...]:
    """Tasks of a suite.

    Parameters
    ----------
    name : str
        A name of ``SUITES``, a user's TOML file of entries, or whatever
        :func:`find_task` finds, which is then a suite of one task.

    Examples
    --------
    >>> [task.paper_id for task in find_suite("paper-regression-small")][:5]
    [1, 2, 3, 8, 9]
    >>> len(find_suite("paper")), len(find_suite("mlr2021"))
    (44, 32)
    """
    if name in SUITES:
        return tuple(task for task in catalogue().values() if name in task.suites)
    if own.is_entries(name) and not own.names_entry(name):
        return own.suite_of_toml(name)
    is_file = own.is_table(name) or own.is_entries(name)
    if name in catalogue() or is_file or len(find_by_name(name)) == 1:
        return (find_task(name),)
    raise UsageError(
        f"Unknown suite or task {name!r}.{did_you_mean(name, [*SUITES, *catalogue()])} "
        f"{few_of(name, SUITES, 'See: adacap data list.')} A .toml file of entries or a .csv file "
        "will do too."
    )


def find_tasks(names: Iterable[str]) -> tuple[Task, ...]:
    """Tasks of several suites, keys and files, each once.

    Examples
    --------
    >>> [task.key for task in find_tasks(["builtin-quick", "builtin-iris"])]
    ['builtin-friedman1', 'builtin-noisy-linear', 'builtin-mixed-classes', 'builtin-iris']
    """
    return tuple({task.key: task for name in names for task in find_suite(name)}.values())


def _parse(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath("entries", f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def _read_entries(name: str) -> list[Task]:
    document = _parse(name)
    files = document.get("files", {})
    tasks = []
    for entry in document["tasks"]:
        shared = files[entry["file"]] if "file" in entry else {}
        fields = {**shared, **{field: entry[field] for field in entry if field != "file"}}
        tasks.append(make_task(fields, f"entries/{name}.toml"))
    return tasks


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
