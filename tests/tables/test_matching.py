"""New columns checked against the schema seen in ``fit``, without an encoder."""

import numpy as np
import pytest

from adacap.tables.columns import Column, read_column
from adacap.tables.matching import cells_by_plan, column_order
from adacap.tables.plan import ColumnPlan, OneHot

FITTED = ("size", "colour")


def order(names, n_columns, fitted=FITTED):
    return column_order(names, n_columns, fitted, 2, owner="Model")


def test_columns_are_found_by_name():
    assert order(("colour", "size"), 2) == [1, 0]


def test_without_names_they_stand_as_they_are():
    assert order(None, 2, fitted=None) == [0, 1]


@pytest.mark.parametrize(
    ("names", "fitted", "message"),
    [
        (None, FITTED, "X does not have valid feature names, but Model was fitted with"),
        (FITTED, None, "X has feature names, but Model was fitted without"),
    ],
)
def test_names_on_one_side_only_are_warned_of_at_the_caller(names, fitted, message):
    with pytest.warns(UserWarning, match=message) as caught:
        assert order(names, 2, fitted) == [0, 1]
    assert caught[0].filename == __file__


def test_a_misspelt_name_is_recognised():
    with pytest.raises(ValueError, match=r"now missing:\n- colour\n'color': did you mean 'colour'"):
        order(("size", "color"), 2)


def test_long_lists_of_names_are_cut():
    names = tuple(f"x{j}" for j in range(9))
    with pytest.raises(ValueError, match=r"unseen at fit time:\n(- x\d\n){5}- \.\.\.\n"):
        order(names, 9)


def test_another_number_of_columns():
    with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 2 features"):
        order(None, 3, fitted=None)


@pytest.mark.parametrize(
    ("values", "kind", "readable"),
    [
        (np.array([1, 0]), "boolean", True),
        (np.array([True, False]), "numeric", True),
        (np.array([None, None], dtype=object), "datetime", True),  # nothing to contradict
        (np.array(["a", "b"], dtype=object), "numeric", False),
        (np.array([0.0, 1.0]), "datetime", False),
        (np.array([1.0, 2.0]), "categorical", True),  # of mixed text and numbers
        (np.array([7.0, 8.0]), "categorical", False),
    ],
)
def test_kinds_that_can_be_read_as_another(values, kind, readable):
    column = read_column(values, "column 0")
    plan = ColumnPlan("x0", kind, (OneHot(("1", "red")),))
    if readable:
        assert cells_by_plan(column, "column 0", plan, "default").kind == kind
        return
    with pytest.raises(ValueError, match=f"Column 0 was {kind} at fit time but is {column.kind}"):
        cells_by_plan(column, "column 0", plan, "default")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (Column("categorical", np.zeros(2, dtype=np.int32), ("a",)), "is categorical"),
        (Column("numeric", np.array([1.0, np.nan])), "contains NaN in 1 of 2 rows"),
        (Column("numeric", np.array([1.0, -1e39])), "reaches 1e\\+39, which is infinity there"),
        (Column("numeric", np.array([0, np.iinfo(np.int64).min])), None),
    ],
)
def test_what_passes_unchanged_must_be_numbers(column, message):
    plan = ColumnPlan("x0", column.kind)
    if message is None:
        assert cells_by_plan(column, "column 0", plan, "none").values[1] == -(2.0**63)
        return
    with pytest.raises(ValueError, match=f"policy='none' .*column 0.*{message}"):
        cells_by_plan(column, "column 0", plan, "none")
