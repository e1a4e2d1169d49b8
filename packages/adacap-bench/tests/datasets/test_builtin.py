"""Built-in tasks: offline, seeded, of the declared shape."""

import numpy as np
import pytest

from adacap_bench.datasets import DataError, find_suite, load_table
from adacap_bench.datasets.builtin import make
from adacap_bench.datasets.tasks import Task


@pytest.mark.parametrize("task", find_suite("builtin"), ids=lambda task: task.key)
def test_table(task, no_data, global_state_untouched):
    table = load_table(task)
    assert table.X.shape == (task.rows, task.columns - 1)
    assert "target" not in table.X
    again = load_table(task)
    assert table.X.equals(again.X)
    np.testing.assert_array_equal(table.y, again.y)
    if task.kind == "regression":
        assert table.y.dtype == np.float64
        assert table.y.std() > 0
    else:
        assert table.classes == task.classes
        assert np.bincount(table.y).min() >= 20


def test_quick_is_a_small_part_with_all_kinds():
    quick = find_suite("builtin-quick")
    assert set(quick) < set(find_suite("builtin"))
    assert {task.kind for task in quick} == {"regression", "binary", "multiclass"}
    assert max(task.rows for task in quick) <= 250


def test_noise_of_the_linear_task_is_as_said():
    """A least-squares fit on all features leaves about the declared share of noise."""
    table = load_table("builtin-noisy-linear")
    X = np.column_stack([table.X.to_numpy(), np.ones(len(table.y))])
    _, (residual,), _, _ = np.linalg.lstsq(X, table.y)
    noise = residual / (len(table.y) - X.shape[1])
    assert 0.3 < noise / table.y.var() < 0.7  # signal and noise have one deviation each


def test_mixed_columns():
    X = load_table("builtin-mixed-classes").X
    assert 0 < X["x0"].isna().sum() < 20
    assert sorted(set(X["group"])) == ["north", "south", "west"]


def test_unknown_maker():
    with pytest.raises(DataError, match=r"'t' names the maker 'clay'\. Known: bundled, synthetic"):
        make(Task("t", "T", "regression", maker="clay"))
