"""Targets in and out: every container, every shape, every refusal."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacap.estimators.targets import ClassCodec, RegressionCodec

VALUES = [3.0, -1.0, 4.0, 10.0]
NUMBERS = {
    "list": VALUES,
    "array": np.array(VALUES, dtype=np.float32),
    "integers": np.array(VALUES, dtype=np.int64),
    "objects": np.array(VALUES, dtype=object),
    "pandas": pd.Series(VALUES, index=[9, 8, 7, 6]),
    "pandas nullable": pd.Series(VALUES, dtype="Float64"),
    "pandas arrow": pd.Series(VALUES, dtype="float64[pyarrow]"),
    "polars": pl.Series(VALUES),
    "pyarrow": pa.chunked_array([VALUES]),
}
LABELS = {
    "list": ["b", "a", "b"],
    "array": np.array(["b", "a", "b"]),
    "objects": np.array(["b", "a", "b"], dtype=object),
    "pandas": pd.Series(["b", "a", "b"], index=[9, 8, 7]),
    "pandas string": pd.Series(["b", "a", "b"], dtype="string"),
    "pandas category": pd.Series(pd.Categorical(["b", "a", "b"], ["unused", "b", "a"])),
    "polars": pl.Series(["b", "a", "b"]),
    "pyarrow": pa.chunked_array([["b", "a", "b"]]),
}


# ------------------------------------------------------------------------- regression


@pytest.mark.parametrize("y", NUMBERS.values(), ids=NUMBERS)
def test_every_container_of_numbers_is_read_alike(y):
    codec = RegressionCodec.fit(y)
    np.testing.assert_array_equal(codec.encode(y), RegressionCodec.fit(VALUES).encode(VALUES))
    assert codec.is_1d


def test_codes_have_mean_0_and_deviation_1():
    y = np.array([[1.0, 1e6], [2.0, 3e6], [6.0, -1e6]])
    coded = RegressionCodec.fit(y).encode(y)
    np.testing.assert_allclose(coded.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(coded.std(0), 1)


def test_weights_count_as_repetitions():
    y, weight = np.array([1.0, 2.0, 6.0]), np.array([3.0, 1.0, 2.0])
    weighted = RegressionCodec.fit(y, weight)
    repeated = RegressionCodec.fit(np.repeat(y, [3, 1, 2]))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.scale, repeated.scale)


@given(
    st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=2, max_size=10),
    st.sampled_from([(-1,), (-1, 1), (2, -1)]),
)
def test_decoding_undoes_encoding(values, shape):
    y = np.array(values[: len(values) // 2 * 2]).reshape(shape)
    codec = RegressionCodec.fit(y)
    back = codec.decode(codec.encode(y))
    assert back.shape == y.shape
    np.testing.assert_allclose(back, y, rtol=1e-9, atol=1e-9 * np.abs(y).max())


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -1e-300])
def test_a_constant_target_decodes_to_itself_whatever_the_net_says(value):
    codec = RegressionCodec.fit(np.full(7, value))
    assert codec.encode(np.full(7, value)).max() < 1e-6
    np.testing.assert_allclose(codec.decode(np.array([[0.3], [-5.0]])), value, rtol=1e-15)


def test_one_constant_target_leaves_the_others_alone():
    y = np.column_stack([np.arange(4.0), np.full(4, 7.0)])
    codec = RegressionCodec.fit(y)
    np.testing.assert_allclose(codec.decode(codec.encode(y) + np.array([0, 1.0])), y)


def test_another_number_of_targets_is_refused():
    codec = RegressionCodec.fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"y has 1 targets, but there were 2 in training\. Give"):
        codec.encode(np.zeros(3))
    with pytest.raises(ValueError, match="y has 3 targets, but there were 2"):
        codec.encode(np.zeros((3, 3)))


@pytest.mark.parametrize(
    "y",
    [
        [1.0, np.nan, 2.0],
        [1.0, np.inf, 2.0],
        [[1.0, 2.0], [np.nan, np.nan], [1.0, 1.0]],
        [1.0, None, 2.0],
        np.array([1.0, None, 2.0], dtype=object),
        pd.Series([1.0, None, 2.0], dtype="Float64"),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
    ],
    ids=repr,
)
def test_a_missing_or_infinite_value_is_counted(y):
    with pytest.raises(ValueError, match=r"y contains NaN, None or infinity in 1 of 3 rows\. Rem"):
        RegressionCodec.check(y)


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None: give one value"),
        (["a", "b"], ValueError, "must hold numbers, got text such as 'a'. Convert it to numbers"),
        (pl.Series(["a", "b"]), ValueError, "or use AdaCapClassifier for classes"),
        (np.zeros((2, 2, 2)), ValueError, "array of shape"),
        (np.zeros((2, 0)), ValueError, "array of shape"),
        ([1j, 2j], ValueError, "Complex data not supported"),
        (1.0, ValueError, "y must hold one value per row, got 1.0"),
    ],
    ids=repr,
)
def test_what_is_no_regression_target_is_refused(y, error, match):
    with pytest.raises(error, match=match):
        RegressionCodec.fit(y)


def test_regression_is_not_stratified():
    codec = RegressionCodec.fit(np.zeros((4, 3)))
    assert codec.strata(np.zeros((4, 3))) is None
    assert (codec.n_targets, codec.loss, codec.score("loss")) == (3, "rmse", "r2")


# --------------------------------------------------------------------- classification


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_every_container_of_labels_is_read_alike(y):
    codec = ClassCodec.fit(y)
    assert codec.classes.tolist() == ["a", "b"]
    assert codec.encode(y).tolist() == [[1.0], [-1.0], [1.0]]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3, 1, 3], [1, 3]),
        ([True, False, True], [False, True]),
        ([2.0, -1.0, 2.0], [-1.0, 2.0]),
        (np.array([2, 1], dtype=np.uint8), [1, 2]),
    ],
)
def test_labels_of_any_kind_are_sorted(y, classes):
    assert ClassCodec.fit(y).classes.tolist() == classes


def test_three_classes_are_one_hot():
    codec = ClassCodec.fit(["c", "a", "b"])
    assert codec.encode(["b", "c"]).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert (codec.n_targets, codec.loss, codec.score("auc")) == (3, "ce", "auc_ce")


def test_two_classes_are_a_sign():
    codec = ClassCodec.fit([0, 1])
    assert (codec.n_targets, codec.loss, codec.score("loss")) == (1, "bce", "neg_bce")


@pytest.mark.parametrize("labels", [["a", "b", "b"], ["a", "b", "c"]])
def test_strata_number_the_classes(labels):
    codec = ClassCodec.fit(labels)
    assert codec.strata(codec.encode(labels)).tolist() == [
        sorted(set(labels)).index(label) for label in labels
    ]


def test_numbers_tell_labels_apart():
    assert ClassCodec.numbers(np.array(["b", "a", "b"])).tolist() == [[1.0], [0.0], [1.0]]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_shares_and_follow_the_outputs(n_classes):
    codec = ClassCodec(np.arange(n_classes))
    output = np.linspace(-3, 3, 12, dtype=np.float32).reshape(-1, 1 if n_classes == 2 else 3)
    shares = codec.probabilities(output)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert shares.dtype == np.float64
    assert (shares.argmax(1) == (output[:, 0] > 0 if n_classes == 2 else output.argmax(1))).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_extreme_outputs_do_not_overflow(n_classes):
    output = np.full((2, 1 if n_classes == 2 else 3), 1e30, dtype=np.float32)
    output[1] *= -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shares = ClassCodec(np.arange(n_classes)).probabilities(output)
    np.testing.assert_allclose(shares.sum(1), 1)


@pytest.mark.parametrize(
    "y",
    [
        [0.0, np.nan, 1.0],
        [0.0, np.inf, 1.0],
        np.array(["a", None, "b"], dtype=object),
        np.array(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series(["a", None, "b"]),
    ],
    ids=repr,
)
def test_a_missing_label_is_counted(y):
    with pytest.raises(ValueError, match=r"y contains NaN, None or infinity in 1 of 3 rows\. Rem"):
        ClassCodec.check(y)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "requires y to be passed, but the target y is None: give one label"),
        (["a", "a"], r"needs at least 2 classes, got one class: \['a'\]\. Check the target"),
        ([0.5, 1.5], "Unknown label type: continuous"),
        (np.zeros((3, 2)), r"1d array, got an array of shape \(3, 2\)"),
    ],
    ids=repr,
)
def test_what_is_no_column_of_labels_is_refused(y, match):
    with pytest.raises(ValueError, match=match):
        ClassCodec.fit(y)


def test_labels_of_two_types_are_refused_with_a_way_out():
    y = np.array([1, "a", 2, "b"], dtype=object)
    message = r"text such as 'a' \(2 rows\) beside int such as 1 \(2 rows\)\. Write all as text"
    with pytest.raises(TypeError, match=message):
        ClassCodec.fit(y)
    assert ClassCodec.fit(list(map(str, y))).classes.tolist() == ["1", "2", "a", "b"]


def test_a_class_that_training_never_saw_is_named():
    with pytest.raises(ValueError, match=r"classes unseen in training: \['z'\]"):
        ClassCodec.fit(["a", "b"]).encode(["a", "z"])
