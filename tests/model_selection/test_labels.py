from itertools import permutations

import numpy as np
import pytest

from adacap.model_selection.labels import as_generator, draw_orders, make_sets, merge


def all_orders(n: int) -> np.ndarray:
    return np.array(list(permutations(range(n))))


def test_orders_are_permutations_and_follow_the_generator(rng):
    orders = draw_orders(7, 5, rng)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(7), (5, 1)))
    again = draw_orders(7, 5, np.random.default_rng(3))
    np.testing.assert_array_equal(again, draw_orders(7, 5, np.random.default_rng(3)))


@pytest.mark.parametrize("bad", [0, -1, 2.5, "many", True])
def test_a_wrong_number_of_permutations_is_named(bad):
    with pytest.raises(ValueError, match=f"n_permutations must be an integer.*got {bad!r}"):
        draw_orders(7, bad, np.random.default_rng(0))


def test_one_row_cannot_be_permuted():
    with pytest.raises(ValueError, match="at least 2 different rows, got n_samples=1"):
        draw_orders(1, 4, np.random.default_rng(0))


@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_every_kind_of_seed_gives_the_same_numbers_twice(make):
    assert as_generator(make(5)).random() == as_generator(make(5)).random()


def test_merge_ignores_the_order_of_rows(rng):
    X, Y = rng.integers(3, size=(40, 2)).astype(float), rng.integers(2, size=(40, 2)).astype(float)
    w = rng.uniform(0.5, 2, size=40)
    shuffle = rng.permutation(40)
    one, other = merge(X, Y, w), merge(X[shuffle], Y[shuffle], w[shuffle])
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.Y, other.Y)
    np.testing.assert_allclose(one.weight, other.weight)
    assert one.weight.sum() == pytest.approx(w.sum())
    assert len(np.unique(np.c_[one.X, one.Y], axis=0)) == len(one.X) < 40


def test_merge_takes_a_weight_of_two_for_the_row_twice_and_zero_for_its_absence(rng):
    X, Y, counts = rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), np.array([2, 0, 1, 3, 1, 0])
    weighted = merge(X, Y, counts.astype(float))
    repeated = merge(X.repeat(counts, axis=0), Y.repeat(counts, axis=0), None)
    for name in ("X", "Y", "weight"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_merge_tells_rows_of_equal_target_apart():
    rows = merge(np.array([[2.0], [1.0], [2.0]]), np.ones((3, 1)), None)
    assert rows.X.ravel().tolist() == [1, 2]
    assert rows.weight.tolist() == [1, 2]


def test_merge_keeps_the_order_when_targets_are_shifted_and_scaled(rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
    np.testing.assert_array_equal(merge(X, Y, None).X, merge(X, 3 * Y + 7, None).X)


@pytest.mark.parametrize("centre", [True, False])
def test_without_weights_the_sets_are_permutations(rng, centre):
    Y, orders = rng.normal(size=(8, 2)), draw_orders(8, 3, rng)
    sets = make_sets(Y, orders, None, centre)
    shift = Y.mean(0) if centre else 0
    np.testing.assert_allclose(sets.values[:, 0], Y - shift)
    for t, order in enumerate(orders):
        np.testing.assert_allclose(sets.values[:, 1 + t], Y[order] - shift)
    np.testing.assert_allclose(sets.within, 0, atol=1e-12)


@pytest.mark.parametrize("centre", [True, False])
def test_weighted_sets_have_the_moments_of_permuting_single_rows(rng, centre):
    """Over all permutations: mean √w·ȳ and covariance s²(I − √w√wᵀ/Σw), as for repeated rows."""
    y, counts = rng.normal(size=(5, 1)), np.array([1, 2, 1, 1, 2])
    sets = make_sets(y, all_orders(5), counts.astype(float), centre)
    repeated = y.repeat(counts)
    group = np.arange(5).repeat(counts)
    sums = np.stack([np.bincount(group, repeated[o]) for o in all_orders(7)])
    if centre:
        sums = sums - counts * repeated.mean()
    expected = sums / np.sqrt(counts)
    drawn = sets.values[:, 1:, 0].T
    np.testing.assert_allclose(drawn.mean(0), expected.mean(0), atol=1e-10)
    np.testing.assert_allclose(
        np.cov(drawn.T, bias=True), np.cov(expected.T, bias=True), atol=1e-10
    )
    total = ((repeated - (repeated.mean() if centre else 0)) ** 2).sum()
    np.testing.assert_allclose((drawn**2).sum(1) + sets.within, total)


def test_weights_that_cannot_be_counts_matter_by_their_ratios(rng):
    y, w, orders = rng.normal(size=(6, 1)), rng.uniform(0.1, 0.5, size=6), draw_orders(6, 2, rng)
    small, smaller = (make_sets(y, orders, c * w, True).values for c in (1.0, 0.25))
    np.testing.assert_allclose(smaller, small / 2)
