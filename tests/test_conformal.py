"""Conformal quantiles and CV+ against values counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacap.conformal import (
    conformal_quantile,
    conformal_set,
    cv_plus,
    cv_quantile,
    least_rows,
)


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


@given(
    n=st.integers(9, 60), n_folds=st.integers(1, 6), coverage=st.sampled_from([0.5, 0.8, 0.9]),
    draw=st.integers(0, 1000),
)  # fmt: skip
def test_what_is_outside_is_outside_for_half_of_the_folds(n, n_folds, coverage, draw):
    rng = np.random.default_rng(draw)
    predictions = rng.normal(size=(5, n_folds, 2)) * 10.0 ** rng.integers(-3, 3)
    errors, scale = np.abs(rng.normal(size=(n, 2))), rng.uniform(0.5, 2, (5, n_folds, 2))
    lower, upper = cv_plus(predictions, errors, coverage, scale=scale)
    q = np.sort(errors, axis=0)[int(np.ceil((n + 1) * coverage - 1e-9)) - 1]
    for y in (lower - 1e-9, upper + 1e-9):
        missed = (np.abs(y[:, None] - predictions) > scale * q).sum(1)
        assert (missed >= n_folds / 2).all()
    assert (lower <= upper).all()


def test_cv_plus_by_hand():
    lower, upper = cv_plus(np.array([[[0.0], [2.0], [10.0]]]), column(1, 3, 2, 4), 0.6)
    assert lower.item() == -1  # median of 0 - 3, 2 - 3 and 10 - 3
    assert upper.item() == 5
    lower, upper = cv_plus(np.array([[[0.0], [10.0]]]), column(1, 3, 2, 4), 0.6)
    assert (lower.item(), upper.item()) == (2, 8)  # with two folds, their mean


def test_cv_plus_with_weights_and_with_too_few_rows(seed):
    rng = np.random.default_rng(seed)
    predictions, errors = rng.normal(size=(4, 3, 1)), rng.random((12, 1))
    weight = rng.integers(1, 4, 12)
    once = cv_plus(predictions, errors, 0.8, weight.astype(float))
    twice = cv_plus(predictions, errors.repeat(weight, 0), 0.8)
    np.testing.assert_array_equal(once, twice)
    lower, upper = cv_plus(predictions, errors[:5], 0.9)
    assert np.isneginf(lower).all()
    assert np.isposinf(upper).all()


def test_split_quantile_covers_as_promised(seed):
    """Mean coverage over draws is rank / (n + 1), for errors of any distribution."""
    rng = np.random.default_rng(seed)
    errors = rng.standard_t(2, size=(4000, 20)) ** 2
    bound = conformal_quantile(errors[:, :19].T, 0.9)
    assert (errors[:, 19] <= bound).mean() == pytest.approx(18 / 20, abs=0.02)


# ------------------------------------------------------------------ scale, quantiles, sets


@pytest.mark.parametrize(("level", "rank"), [(0.1, 2), (0.3, 7), (0.5, 12), (0.7, 17), (0.9, 22)])
def test_a_quantile_is_the_median_of_those_of_the_folds(level, rank, seed):
    rng = np.random.default_rng(seed)
    predictions, errors = rng.normal(size=(5, 3, 2)), rng.normal(size=(23, 2))
    scale = rng.uniform(0.5, 2, (5, 3, 2))
    found = cv_quantile(predictions, errors, level, scale=scale)
    expected = np.median(predictions + scale * np.sort(errors, 0)[rank - 1], axis=1)
    np.testing.assert_array_equal(found, expected)


def test_quantiles_beyond_what_rows_tell_are_infinite():
    x, errors = np.zeros((1, 1, 1)), np.arange(8.0)[:, None]
    assert cv_quantile(x, errors, 0.95) == np.inf
    assert cv_quantile(x, errors, 0.05) == -np.inf


def test_a_set_holds_classes_that_enough_rows_fit_worse(seed):
    rng = np.random.default_rng(seed)
    scores, errors, fold = rng.random((6, 3, 4)), rng.random(20), np.arange(20) % 3
    found = conformal_set(scores, errors, fold, 0.7)
    for m in range(6):
        for c in range(4):
            below = sum(errors[i] < scores[m, fold[i], c] for i in range(20))
            assert found[m, c] == (below < 0.7 * 21)


def test_a_row_of_weight_two_counts_twice_in_a_set(seed):
    rng = np.random.default_rng(seed)
    scores, errors, weight = rng.random((6, 1, 4)), rng.random(15), rng.integers(1, 4, 15)
    fold = np.zeros(15, int)
    np.testing.assert_array_equal(
        conformal_set(scores, errors, fold, 0.8, weight.astype(float)),
        conformal_set(scores, np.repeat(errors, weight), np.repeat(fold, weight), 0.8),
    )
