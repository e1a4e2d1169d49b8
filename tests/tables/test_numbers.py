"""Columns of numbers encoded as one block: the same bits as column by column."""

import numpy as np
import pytest

from adacap.estimators.encoder import TableEncoder
from adacap.tables.encoder import _LENGTH, _ROWS, NumberBlock
from adacap.tables.plan import ColumnPlan, Number, OneHot
from adacap.tables.table import Table, read_table


def matrix(seed, n, d, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d) + rng.integers(-5, 5, d)
    return X.astype(dtype)


def both_ways(encoder, X):
    """Encoded as a matrix, and column by column."""
    columns = Table(read_table(X).columns)
    assert columns.matrix is None
    return encoder.transform(X), encoder.transform(columns)


@pytest.mark.parametrize("policy", ["default", "paper"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("d", [1, 2, 20, _LENGTH + 1])
def test_same_bits_as_column_by_column(seed, policy, dtype, d):
    X = matrix(seed, 60, d) * 100
    encoder = TableEncoder(policy).fit(X.astype(dtype))
    block, columns = both_ways(encoder, matrix(seed + 1, 131, d).astype(dtype))
    np.testing.assert_array_equal(block, columns)


@pytest.mark.parametrize("n", [1, 3, _ROWS - 1, _ROWS, 2 * _ROWS + 77])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_number_of_rows_in_any_order_of_memory(seed, n, order):
    encoder = TableEncoder().fit(matrix(seed, 100, 7))
    X = np.asarray(matrix(seed + 1, n, 7), order=order)
    before = X.copy()
    block, columns = both_ways(encoder, X)
    np.testing.assert_array_equal(block, columns)
    np.testing.assert_array_equal(X, before)


def test_missing_and_far_values(seed):
    X = matrix(seed, 80, 6)
    X[3, 2], X[:, 4] = np.nan, np.arange(80) % 2
    encoder = TableEncoder().fit(X)
    new = matrix(seed + 1, 300, 6)
    new[5], new[7, 1], new[8, 1], new[::3, 2] = np.nan, 1e300, -1e300, np.nan
    block, columns = both_ways(encoder, new)
    np.testing.assert_array_equal(block, columns)
    assert np.isfinite(block).all()


def test_other_columns_keep_their_places(seed):
    """Constant columns are dropped, few values are one-hot too, the rest is one block."""
    X = matrix(seed, 90, 6)
    X[:, 1], X[:, 3] = 2.0, np.arange(90) % 4
    encoder = TableEncoder().fit(X)
    numbers = NumberBlock.of(encoder.columns_, [0, 1, 1, 2, 7, 8])
    assert numbers.inputs.tolist() == [0, 2, 4, 5]
    names = encoder.get_feature_names_out()[numbers.outputs]
    assert names.tolist() == ["x0", "x2", "x4", "x5"]
    block, columns = both_ways(encoder, X)
    np.testing.assert_array_equal(block, columns)


def test_only_what_is_alike_makes_a_block():
    def plan(*parts, kind="numeric"):
        n_outputs = sum(len(part.suffixes()) for part in parts)
        return ColumnPlan("x", kind, parts, center=(0.0,) * n_outputs, scale=(1.0,) * n_outputs)

    number, clipped = Number(0.0), Number(0.0, clip=8.0)
    assert NumberBlock.of([plan(number)], [0]) is None
    assert NumberBlock.of([plan(number), plan(clipped)], [0, 1]) is None
    assert NumberBlock.of([plan(number), plan(number, kind="datetime")], [0, 1]) is None
    assert NumberBlock.of([plan(number), plan(number, OneHot((1.0,)))], [0, 1]) is None
    found = NumberBlock.of([plan(clipped), plan(OneHot((1.0, 2.0))), plan(clipped)], [0, 1, 3])
    assert found.outputs.tolist() == [0, 3]


@pytest.mark.parametrize("n_values", [4, 90])
def test_columns_stand_where_the_layout_puts_them(seed, n_values):
    X = matrix(seed, 90, 5)
    X[:, 2] = np.arange(90) % n_values  # one-hot beside the number, or a number like the others
    layout, y = [3, 0, 2, 4, 1], np.zeros(90)
    encoder, plain = TableEncoder(), TableEncoder().fit(X)
    trained = encoder.fit_encode(read_table(X), y, None, layout=layout, owner="Mine")
    names = [name for j in layout for name in plain.columns_[j].outputs]
    assert encoder.get_feature_names_out().tolist() == names
    place = [plain.get_feature_names_out().tolist().index(name) for name in names]
    np.testing.assert_array_equal(trained, plain.transform(X)[:, place])
    for found in both_ways(encoder, X):
        np.testing.assert_array_equal(found, trained)
