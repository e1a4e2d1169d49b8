"""Rows: merged by content, in an order of content; hold-outs and folds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacap.estimators.rows import fold_rows, hold_out, merge_rows
from adacap.tables.table import read_table

# ---------------------------------------------------------------------------- merging


def merged(X, y, weight=None):
    """What a fit would see: rows in canonical order with target and weight."""
    y = np.asarray(y, dtype=float).reshape(len(X), -1)
    rows = merge_rows(read_table(X), y, weight)
    ones = np.ones(len(rows.index))
    return (
        np.asarray(X, dtype=object)[rows.index].tolist(),
        y[rows.index].tolist(),
        (ones if rows.weight is None else rows.weight).tolist(),
    )


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(1, 3)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_weight_is_repetition_and_order_does_not_matter(rows, random):
    X = np.array([[a] for a, _, _ in rows])
    y = np.array([b for _, b, _ in rows], dtype=float)
    weight = np.array([w for _, _, w in rows], dtype=float)
    repeated = np.repeat(np.arange(len(rows)), weight.astype(int))
    random.shuffle(repeated)
    assert merged(X, y, weight) == merged(X[repeated], y[repeated])


def test_distinct_rows_carry_no_weight():
    rows = merge_rows(read_table([[1.0], [2.0]]), np.zeros((2, 1)), None)
    assert rows.weight is None
    assert sorted(rows.index.tolist()) == [0, 1]


def test_weights_of_equal_rows_add_up():
    _, _, weight = merged([[1.0], [1.0], [2.0]], [0, 0, 0], np.array([0.5, 2.0, 1.0]))
    assert sorted(weight) == pytest.approx([1 / 1.75, 2.5 / 1.75])  # of mean 1


def test_equal_features_with_another_target_stay_apart():
    assert len(merged([[1.0], [1.0]], [0, 1])[0]) == 2
    assert len(merged([[1.0], [1.0]], [[0, 0], [0, 1]])[0]) == 2


def test_zero_has_no_sign_and_missing_cells_are_equal():
    assert len(merged([[0.0], [-0.0]], [-0.0, 0.0])[0]) == 1
    assert len(merged([[np.nan], [np.nan]], [1, 1])[0]) == 1


@pytest.mark.parametrize("kind", [int, float, "float32", object])
def test_the_dtype_does_not_change_the_order(kind):
    X = np.arange(20).reshape(10, 2)
    expected = merge_rows(read_table(X), np.zeros((10, 1)), None).index
    found = merge_rows(read_table(X.astype(kind)), np.zeros((10, 1)), None).index
    np.testing.assert_array_equal(found, expected)


def test_text_is_compared_by_what_it_says():
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": pd.Categorical(["u", "v", "u"])})
    rows = merge_rows(read_table(frame), np.zeros((3, 1)), None)
    assert sorted(rows.weight.tolist()) == pytest.approx([1 / 1.5, 2 / 1.5])


def test_the_order_is_no_order_of_values(seed):
    """Neighbours in value are not neighbours in order: a slice of rows is a random sample."""
    x = np.arange(1000.0)
    index = merge_rows(read_table(x[:, None]), x[:, None] + seed, None).index
    assert abs(np.corrcoef(index, x)[0, 1]) < 0.2


# --------------------------------------------------------------------------- hold-out


@pytest.mark.parametrize(
    ("n_rows", "fraction", "most", "n_valid"),
    [
        (100, 0.2, 2048, 20),
        (103, 0.2, 2048, 20),
        (100, 0.2, 7, 7),
        (10, 0.0, 2048, 0),
        (4, 0.2, 2048, 0),  # less than one row
        (3, 0.34, 2048, 1),
        (3, 0.7, 2048, 0),  # would leave one row to train on
        (2, 0.5, 2048, 0),
    ],
)
def test_size_of_the_hold_out(n_rows, fraction, most, n_valid, seed):
    train, valid = hold_out(n_rows, fraction, most, None, np.random.default_rng(seed))
    assert len(valid) == n_valid
    assert sorted([*train, *valid]) == list(range(n_rows))


def test_the_hold_out_depends_on_the_generator_alone(seed):
    parts = [hold_out(50, 0.2, 99, None, np.random.default_rng(s)) for s in (seed, seed, seed + 1)]
    np.testing.assert_array_equal(parts[0][1], parts[1][1])
    assert parts[0][1].tolist() != parts[2][1].tolist()


def test_every_class_gives_its_share(seed):
    strata = np.repeat([0, 1, 2], [60, 30, 10])
    train, valid = hold_out(100, 0.2, 2048, strata, np.random.default_rng(seed))
    np.testing.assert_allclose(np.bincount(strata[valid]), [12, 6, 2], atol=1)
    assert set(strata[train]) == {0, 1, 2}


def test_a_class_of_one_row_stays_in_training(seed):
    strata = np.repeat([0, 1], [20, 1])
    train, _ = hold_out(21, 0.2, 2048, strata, np.random.default_rng(seed))
    assert set(strata[train]) == {0, 1}


# ------------------------------------------------------------------------------ folds


@given(st.integers(4, 40), st.integers(2, 10), st.booleans(), st.integers(0, 9))
def test_folds_are_disjoint_of_one_size_and_leave_out_a_remainder(n_rows, n_folds, stratify, seed):
    n_folds = min(n_folds, n_rows)
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 3, n_rows) if stratify else None
    folds = fold_rows(n_rows, n_folds, 2048, strata, rng)
    held = [row for _, valid in folds for row in valid]
    assert len(set(held)) == len(held) == n_rows - n_rows % n_folds
    assert {len(valid) for _, valid in folds} == {n_rows // n_folds}
    for train, valid in folds:
        assert sorted([*train, *valid]) == list(range(n_rows))


def test_folds_keep_the_shares_of_the_classes(seed):
    strata = np.repeat([0, 1], [40, 20])
    for _, valid in fold_rows(60, 5, 2048, strata, np.random.default_rng(seed)):
        assert np.bincount(strata[valid]).tolist() == [8, 4]


def test_folds_that_would_leave_one_row_hold_out_nothing():
    for train, valid in fold_rows(2, 2, 2048, None, np.random.default_rng(0)):
        assert (train.tolist(), valid.tolist()) == ([0, 1], [])


def test_more_folds_than_rows_are_refused():
    with pytest.raises(
        ValueError,
        match=r"n_estimators=5 needs at least 5 different rows, got 4. Use fewer nets",
    ):
        fold_rows(4, 5, 2048, None, np.random.default_rng(0))


def test_folds_of_many_rows_are_as_large_as_is_of_use():
    folds = fold_rows(100, 4, 10, None, np.random.default_rng(0))
    assert [(len(train), len(valid)) for train, valid in folds] == 4 * [(90, 10)]
    assert len({row for _, valid in folds for row in valid}) == 40
