"""Conformal quantiles and CV+ against values counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacap.core.conformal import conformal_quantile, cv_plus, least_rows


def column(*values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("n", "coverage", "rank"),
    [(9, 0.9, 9), (10, 0.9, 10), (19, 0.9, 18), (99, 0.9, 90), (100, 0.9, 91), (4, 0.5, 3)],
)
def test_the_rank_of_the_finite_sample(n, coverage, rank):
    errors = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    assert conformal_quantile(errors[:, None], coverage) == rank


def test_too_few_rows_give_an_infinite_quantile():
    assert conformal_quantile(column(*range(8)), 0.9) == np.inf
    assert np.isfinite(conformal_quantile(column(*range(9)), 0.9)).all()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_least_rows_is_where_the_quantile_becomes_finite(coverage):
    n = least_rows(coverage)
    assert np.isfinite(conformal_quantile(np.zeros((n, 1)), coverage)).all()
    assert np.isinf(conformal_quantile(np.zeros((n - 1, 1)), coverage)).all()


def test_columns_are_independent():
    errors = np.column_stack([np.arange(9.0), np.arange(9.0)[::-1] * 2])
    np.testing.assert_array_equal(conformal_quantile(errors, 0.8), [7.0, 14.0])


def test_a_weight_of_two_is_the_row_twice(seed):
    rng = np.random.default_rng(seed)
    errors, weight = rng.random((12, 2)), rng.integers(1, 4, 12)
    repeated = np.repeat(errors, weight, axis=0)
    for coverage in (0.3, 0.5, 0.8, 0.9):
        np.testing.assert_array_equal(
            conformal_quantile(errors, coverage, weight.astype(float)),
            conformal_quantile(repeated, coverage),
        )


def by_sorting(predictions, errors, fold, coverage):
    """The definition: order statistics of all sums."""
    n = len(errors)
    up = int(np.ceil((n + 1) * coverage - 1e-9))
    centres = predictions[:, fold]  # (m, n, c)
    upper = np.sort(centres + errors, axis=1)[:, up - 1] if up <= n else np.inf
    lower = np.sort(centres - errors, axis=1)[:, n - up] if up <= n else -np.inf
    return lower, upper


@given(
    n=st.integers(9, 60), n_folds=st.integers(1, 6), coverage=st.sampled_from([0.5, 0.8, 0.9]),
    draw=st.integers(0, 1000),
)  # fmt: skip
def test_bisection_finds_the_order_statistics(n, n_folds, coverage, draw):
    rng = np.random.default_rng(draw)
    predictions = rng.normal(size=(5, n_folds, 2)) * 10.0 ** rng.integers(-3, 3)
    errors, fold = np.abs(rng.normal(size=(n, 2))), rng.integers(0, n_folds, n)
    lower, upper = cv_plus(predictions, errors, fold, coverage)
    expected = by_sorting(predictions, errors, fold, coverage)
    np.testing.assert_allclose(lower, expected[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(upper, expected[1], rtol=1e-9, atol=1e-9)


def test_cv_plus_by_hand():
    lower, upper = cv_plus(
        np.array([[[0.0], [10.0]]]), column(1, 3, 2, 4), np.array([0, 0, 1, 1]), 0.6
    )
    assert lower.item() == pytest.approx(-1)  # second of -3, -1, 6, 8
    assert upper.item() == pytest.approx(12)  # third of 1, 3, 12, 14


def test_cv_plus_with_weights_and_with_too_few_rows(seed):
    rng = np.random.default_rng(seed)
    predictions, errors = rng.normal(size=(4, 3, 1)), rng.random((12, 1))
    fold, weight = np.arange(12) % 3, rng.integers(1, 4, 12)
    once = cv_plus(predictions, errors, fold, 0.8, weight.astype(float))
    twice = cv_plus(predictions, errors.repeat(weight, 0), fold.repeat(weight), 0.8)
    np.testing.assert_allclose(once, twice, rtol=1e-12)
    lower, upper = cv_plus(predictions, errors[:5], fold[:5], 0.9)
    assert np.isneginf(lower).all()
    assert np.isposinf(upper).all()


def test_split_quantile_covers_as_promised(seed):
    """Mean coverage over draws is rank / (n + 1), for errors of any distribution."""
    rng = np.random.default_rng(seed)
    errors = rng.standard_t(2, size=(4000, 20)) ** 2
    bound = conformal_quantile(errors[:, :19].T, 0.9)
    assert (errors[:, 19] <= bound).mean() == pytest.approx(18 / 20, abs=0.02)
