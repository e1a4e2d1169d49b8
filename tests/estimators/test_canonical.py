"""Canonical order: places of rows and columns that rest on content alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from adacap.estimators.canonical import arrange
from adacap.tables.table import read_table

CELLS = st.floats(-1e308, 1e308) | st.sampled_from([np.nan, 0.0, 1.0, 1e-310, 1.7e308, -1.7e308])
TABLES = hnp.arrays(float, st.tuples(st.integers(1, 20), st.integers(1, 4)), elements=CELLS)


def places(X, y):
    table, y = read_table(X), np.asarray(y, dtype=float).reshape(len(X), -1)
    return arrange(table, y, np.arange(len(X)), table.row_keys())


@given(TABLES, st.integers(0, 9))
def test_any_numbers_have_places_whatever_the_order_of_rows(X, seed):
    X = np.unique(X, axis=0)
    y = np.arange(len(X)) % 3
    rows = np.random.default_rng(seed).permutation(len(X))
    found, moved = places(X, y), places(X[rows], y[rows])
    assert sorted(found.rows) == list(range(len(X)))
    assert sorted(found.columns) == list(range(X.shape[1]))
    np.testing.assert_array_equal(X[found.rows], X[rows][moved.rows])


@given(st.integers(0, 99), st.integers(-20, 20), st.integers(-20, 20))
def test_units_that_are_powers_of_two_move_nothing(seed, c, a):
    X = np.random.default_rng(seed).normal(size=(40, 3)) ** [1, 2, 3]
    y = X[:, 0] + X[:, 1] ** 2
    found, other = places(X, y), places(X * 2.0**c, -y * 2.0**a)
    np.testing.assert_array_equal(found.rows, other.rows)
    assert found.columns == other.columns
    assert found.sign == -other.sign


def test_a_little_noise_moves_no_row(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4))
    y = X.sum(axis=1)
    noisy = X * (1 + 1e-13 * rng.uniform(-1, 1, X.shape))
    np.testing.assert_array_equal(places(X, y).rows, places(noisy, y).rows)


def test_rows_of_equal_cells_are_told_apart_by_their_target(seed):
    """And this whichever way round the target is, though it is symmetric for them."""
    X = np.repeat(np.random.default_rng(seed).normal(size=(10, 2)), 2, axis=0)
    y = np.tile([-1.0, 1.0], 10)
    y[:4] *= 3
    y[0] += 0.5
    one, other = places(X, y), places(X, -y)
    np.testing.assert_array_equal(one.rows, other.rows)


def test_a_slice_of_the_order_is_a_random_sample(seed):
    X = np.random.default_rng(seed).normal(size=(1000, 1))
    first = X[places(X, X[:, 0] ** 2).rows[:500]]
    assert abs(first.mean()) < 0.15
    assert 0.85 < first.std() < 1.15


@pytest.mark.parametrize("n_unused", [0, 3])
def test_levels_that_no_row_has_play_no_part(n_unused):
    levels = list("abc") + [f"u{i}" for i in range(n_unused)]
    frame = pd.DataFrame({"x": np.arange(9.0), "c": pd.Categorical(list("abc") * 3, levels)})
    expected = places(frame.astype({"c": str}), np.arange(9))
    found = places(frame, np.arange(9))
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert found.columns == expected.columns


def test_only_some_rows_of_a_table(seed):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    y, rows = X[:, :1] ** 2, np.arange(1, 30, 3)
    some, alone = (
        arrange(read_table(X), y, rows),
        arrange(read_table(X[rows]), y[rows], np.arange(10)),
    )
    np.testing.assert_array_equal(some.rows, alone.rows)
    assert some.columns == alone.columns
