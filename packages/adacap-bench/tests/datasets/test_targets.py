"""Targets: transforms by hand, classes in order, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.targets import code_classes, is_missing, transform_target
from adacap_bench.datasets.tasks import Task


def task(kind="regression", **fields):
    return Task("t", "T", kind, **fields)


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("none", [1.0, 3.0]),
        ("log", [0.0, np.log(3.0)]),
        ("log1p", [np.log(2.0), np.log(4.0)]),
        # z = −log 2 and −log 4, min z = −log 4
        ("double-log", [np.log(np.log(2.0) + 2.0), np.log(2.0)]),
    ],
)
def test_transforms(transform, expected):
    column = pd.Series([1, 3])
    y = transform_target(column, task(transform=transform), raw=False)
    np.testing.assert_allclose(y, expected, rtol=1e-15)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(transform_target(column, task(transform=transform), True), [1, 3])


def test_a_transform_refuses_what_it_cannot_take():
    with pytest.raises(DataError, match=r"'log' of 't' needs targets above 0, got -2.*raw_target"):
        transform_target(pd.Series([1.0, -2.0]), task(transform="log"), raw=False)


def test_text_is_no_number():
    with pytest.raises(DataError, match=r"column 'price', is to be predicted as a number.*'cheap'"):
        transform_target(pd.Series(["1", "cheap"], name="price"), task(), raw=False)


def test_missing_targets():
    found = is_missing(pd.Series(["a", " ? ", "", None, "NA", "nan", "none"]))
    assert found.tolist() == [False, True, True, True, True, True, False]
    assert is_missing(pd.Series([1.0, np.nan])).tolist() == [False, True]


def test_classes_keep_the_order_of_the_task():
    column = pd.Series(["fire ", "not fire", "fire"])
    codes, classes = code_classes(column, task("binary", classes=("not fire", "fire")))
    assert codes.tolist() == [1, 0, 1]
    assert codes.dtype == np.int64
    assert classes == ("not fire", "fire")


def test_learnt_classes_are_sorted_numbers_first():
    codes, classes = code_classes(pd.Series([10.0, 2.0, 2.0, 1.0]), task("multiclass"))
    assert classes == ("1", "2", "10")
    assert codes.tolist() == [2, 1, 1, 0]


@pytest.mark.parametrize(
    ("values", "fields", "message"),
    [
        (["a", "b"], {"classes": ("a", "c")}, "holds the class 'b', which its entry does not list"),
        (["a", "b", "c"], {}, "needs two classes, got 3: a, b, c"),
        (["a", "a"], {}, "needs two classes, got 1: a"),
    ],
)
def test_wrong_classes_are_refused(values, fields, message):
    with pytest.raises(DataError, match=message):
        code_classes(pd.Series(values), task("binary", **fields))
