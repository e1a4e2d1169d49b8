"""Splits: sizes, seeds, and statistics of the training part alone."""

import numpy as np
import pandas as pd
import pytest

from adacap_bench.datasets import Task, TaskTable, load_table
from adacap_bench.split import SplitError, make_split, split_rows


@pytest.mark.parametrize("n_rows", [5, 7, 103, 1000])
@pytest.mark.parametrize("index", [0, 1])
def test_parts_are_80_and_20_and_share_no_row(n_rows, index):
    train, test = split_rows(n_rows, index)
    assert len(train) == int(0.8 * n_rows)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n_rows))


def test_a_split_is_the_same_each_time_and_others_differ():
    first, again, other = (split_rows(100, index)[0] for index in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rows_of_a_split_do_not_change_between_versions():
    """Stored results are compared with later ones, so that the rows must stay."""
    assert split_rows(10, 3)[1].tolist() == [3, 8]


def test_too_few_rows():
    with pytest.raises(SplitError, match="at least 5 rows, got 4"):
        split_rows(4, 0)


def test_the_training_part_is_standardised(make_table):
    split = make_split(make_table(), 0)
    assert split.X_train.dtype == split.X_test.dtype == np.float32
    np.testing.assert_allclose(split.X_train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(split.X_train.std(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose([split.y_train.mean(), split.y_train.std()], [0, 1], atol=1e-12)
    assert split.X_train.shape == (40, 2)  # the constant column is gone, the text is one column


def test_test_rows_teach_nothing(make_table):
    """Other test rows change neither the training arrays nor how test rows are coded."""
    table = make_table()
    _, test = split_rows(50, 0)
    X, y = table.X.copy(), table.y.copy()
    X.loc[test[1:], "size"] += 1e6
    X.loc[test[1:], "colour"] = "green"
    y[test[1:]] *= -100
    one, other = make_split(table, 0), make_split(TaskTable(table.task, X, y), 0)
    np.testing.assert_array_equal(one.X_train, other.X_train)
    np.testing.assert_array_equal(one.y_train, other.y_train)
    np.testing.assert_array_equal(one.X_test[0], other.X_test[0])
    assert one.y_test[0] == other.y_test[0]


def test_the_target_keeps_its_scale_between_parts(make_table):
    table = make_table()
    split = make_split(table, 2)
    train, test = split_rows(50, 2)
    mean, scale = table.y[train].mean(), table.y[train].std()
    np.testing.assert_allclose(split.y_test * scale + mean, table.y[test])


def test_a_constant_target_is_centred(make_table):
    table = make_table()
    split = make_split(TaskTable(table.task, table.X, np.full(50, 7.0)), 0)
    assert not split.y_train.any()


@pytest.mark.parametrize(("kind", "n_classes"), [("binary", 2), ("multiclass", 3)])
def test_classes_stay_codes(make_table, kind, n_classes):
    table = make_table(kind=kind)
    split = make_split(table, 1)
    assert (split.n_classes, split.kind) == (n_classes, kind)
    train, test = split_rows(50, 1)
    np.testing.assert_array_equal(split.y_train, table.y[train])
    np.testing.assert_array_equal(split.y_test, table.y[test])


def test_a_table_without_usable_column_is_named():
    X = pd.DataFrame({"constant": np.ones(20), "name": [f"person {k}" for k in range(20)]})
    table = TaskTable(Task("empty", "Empty", "regression"), X, np.arange(20.0))
    with pytest.raises(SplitError, match="no column of task 'empty': all 2 are constant"):
        make_split(table, 0)


def test_an_encoded_matrix_is_standardised_and_nothing_else(data_folder):
    table = load_table("mlr-regression12")
    split = make_split(table, 0)
    assert split.X_train.shape[1] == table.X.shape[1]
    np.testing.assert_allclose(split.X_train.mean(0), 0.0, atol=1e-5)
    assert set(np.round(split.X_train.std(0), 4)) <= {0.0, 1.0}
