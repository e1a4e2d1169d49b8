"""The catalogue: complete, consistent, and found by name."""

import re
from dataclasses import replace

import pytest

from adacap_bench.datasets import SUITES, catalogue, find_suite, find_task, find_tasks
from adacap_bench.datasets.catalogue import mnist_files
from adacap_bench.datasets.entry import make_task
from adacap_bench.datasets.errors import DataError

SMALL = [1, 2, 3, 8, 9, 12, 16, 17, 18, 19, 22, 23, 24, 31, 36]
KAGGLE = [7, 28, 32, 35, 38]
LOGS = {7: "log", 8: "log", 9: "log", 12: "log", 28: "log", 32: "log", 35: "log", 38: "log"}
TRANSFORMS = {**LOGS, 29: "log1p", 36: "double-log"}


@pytest.mark.parametrize(
    ("suite", "size"),
    [
        ("paper", 44),
        ("paper-regression", 26),
        ("paper-regression-small", 15),
        ("paper-classification", 18),
        ("mlr2021", 32),
    ],
)
def test_size_of_a_suite(suite, size):
    tasks = find_suite(suite)
    assert len(tasks) == len(set(tasks)) == size


def test_papers_suites_divide_the_tasks():
    assert [task.paper_id for task in find_suite("paper")] == list(range(44))
    assert [task.paper_id for task in find_suite("paper-regression-small")] == SMALL
    assert {task.kind for task in find_suite("paper-classification")} == {"binary"}
    assert {task.kind for task in find_suite("paper-regression")} == {"regression"}
    kinds = [task.kind for task in find_suite("mlr2021")]
    assert kinds.count("regression") == 16


def test_every_suite_is_described_and_filled():
    named = {suite for task in catalogue().values() for suite in task.suites}
    assert named == set(SUITES)


def test_figures_of_the_paper():
    """Sums of the columns of the paper's table, taken from its text."""
    figures = [task.figures for task in find_suite("paper")]
    assert sum(f.n for f in figures) == 191_150
    assert sum(f.p for f in figures) == 4_508
    assert sum(f.continuous for f in figures) == 2_193
    assert sum(f.categorical for f in figures) == 852
    assert sum(task.target_index for task in find_suite("paper")) == -16


def test_transforms_are_those_of_the_authors():
    found = {t.paper_id: t.transform for t in find_suite("paper") if t.transform != "none"}
    assert found == TRANSFORMS


def missing(task):
    """What an entry lacks."""
    n_classes, file = len(task.classes), task.file
    rules = {
        "rows": task.rows,
        "columns": task.columns,
        "a file or a maker": (file is None) == bool(task.maker),
        "classes": task.kind == "regression" or n_classes >= 2,
        "two classes": task.kind == "regression" or (task.kind == "binary") == (n_classes == 2),
    }
    if file is not None:
        rules |= {
            "checksums": all(re.fullmatch("[0-9a-f]{64}", each) for each in file.sha256),
            "https": all(url.startswith("https://") for url in file.urls),
            "an address": file.urls or file.page.startswith("https://www.kaggle.com/"),
            "a checksum or an origin": file.sha256 or (not file.exact and file.origin),
        }
    return [name for name, holds in rules.items() if not holds]


def test_entries_are_complete():
    tasks = catalogue().values()
    assert {task.key: lack for task in tasks if (lack := missing(task))} == {}
    assert [task.key for task in tasks if find_task(task.key) is not task] == []


def test_an_entry_that_lacks_something_is_seen():
    task = find_task("paper-0")
    assert missing(replace(task, rows=0, file=replace(task.file, urls=("http://a",)))) == [
        "rows", "https",
    ]  # fmt: skip
    assert "a file or a maker" in missing(replace(task, file=None))


def test_kaggle_tasks_have_no_address():
    without = [task.paper_id for task in find_suite("paper") if not task.file.urls]
    assert without == KAGGLE


def test_tasks_of_one_file_agree_on_it():
    files = {}
    for task in find_suite("paper"):
        assert files.setdefault(task.file.path, task.file) == task.file


def test_mnist_has_four_files():
    assert [*mnist_files()] == ["train-images", "train-labels", "test-images", "test-labels"]


def test_unknown_names_get_a_hint():
    with pytest.raises(ValueError, match=r"Unknown task 'boton'\. Did you mean 'boston'\?"):
        find_task("boton")
    with pytest.raises(ValueError, match="Did you mean 'paper-regression'"):
        find_suite("paper-regresion")
    with pytest.raises(ValueError, match=r"None of 7 is near\. See: adacap data list\. A"):
        find_suite("zzz")


def test_names_of_all_sorts_can_be_mixed():
    tasks = find_tasks(["paper-3", "paper-regression-small", "builtin-iris"])
    assert [task.key for task in tasks][:3] == ["paper-3", "paper-1", "paper-2"]
    assert tasks[-1].key == "builtin-iris"
    assert len(tasks) == 16


ENTRY = {"key": "a", "name": "A", "kind": "binary", "path": "a.csv"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "regresion"}, "kind must be one of regression, binary, multiclass, got 'regr"),
        ({"transform": "sqrt"}, "transform must be one of none, log, log1p, double-log, got 'sq"),
        ({"seperator": ";"}, "unknown field 'seperator'. Did you mean 'separator'?"),
        ({"name": ""}, "an entry needs a name"),
    ],
)
def test_wrong_entries_are_refused(change, message):
    with pytest.raises(DataError, match=re.escape(message)):
        make_task({**ENTRY, **change}, "here")


def test_an_entry_is_hashable_and_json_able():
    task = make_task({**ENTRY, "exclude": [0, "b"], "options": {"n": 3}}, "here")
    assert hash(task) == hash(make_task({**ENTRY, "exclude": [0, "b"], "options": {"n": 3}}, ""))
    assert task.to_dict()["reader"]["exclude"] == (0, "b")
    assert task.to_dict()["options"] == {"n": 3}
