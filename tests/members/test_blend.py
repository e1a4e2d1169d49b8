"""Weights of the members of a blend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn import metrics

from adacap.members.blend import SHRINKAGE, blend_weights, class_weights, log_loss


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@given(m=st.integers(1, 6), n=st.integers(1, 40), spread=st.floats(0, 6), draw=st.integers(0, 999))
def test_weights_are_shares(m, n, spread, draw):
    rng = np.random.default_rng(draw)
    sizes = 10.0 ** rng.uniform(-spread, spread, size=(m, 1))
    weights = blend_weights(sizes * rng.normal(size=(m, n)))
    assert weights.shape == (m,)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)


def test_weights_minimise_the_shrunken_error(rng):
    shared = rng.normal(size=200)
    residuals = np.stack([shared + s * rng.normal(size=200) for s in (0.5, 0.7, 0.9)])
    products = residuals @ residuals.T / 200
    pull = SHRINKAGE * products.diagonal().min()
    found = minimize(
        lambda w: w @ products @ w + pull * ((w - 1 / 3) ** 2).sum(),
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-14,
    )
    np.testing.assert_allclose(blend_weights(residuals), found.x, atol=1e-5)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_equal_members_count_equally(m, rng):
    same = np.tile(rng.normal(size=30), (m, 1))
    np.testing.assert_allclose(blend_weights(same), np.full(m, 1 / m), atol=1e-6)


def test_bad_members_are_dropped(rng):
    residuals = np.stack([rng.normal(size=100), 10 + rng.normal(size=100), rng.normal(size=100)])
    weights = blend_weights(residuals)
    assert weights[1] == 0
    assert (weights[[0, 2]] > 0.3).all()


def test_members_that_err_in_opposite_ways_are_mixed(rng):
    r = rng.normal(size=50)
    np.testing.assert_allclose(blend_weights(np.stack([r, -r])), [0.5, 0.5], atol=1e-6)


def test_a_member_that_hardly_counts_is_left_out(rng):
    residuals = rng.normal(size=(2, 4000)) * [[1.0], [9.0]]
    assert blend_weights(residuals).tolist() == [1.0, 0.0]  # 1/81 would be best


def test_members_without_error_share_the_blend():
    residuals = np.array([[0.0, 0.0], [1.0, -1.0], [0.0, 0.0]])
    assert blend_weights(residuals).tolist() == [0.5, 0.0, 0.5]


def test_a_weight_of_two_is_the_row_twice(rng):
    residuals, times = rng.normal(size=(3, 30)), rng.integers(1, 4, size=30)
    repeated = blend_weights(np.repeat(residuals, times, axis=1))
    np.testing.assert_allclose(blend_weights(residuals, times.astype(float)), repeated, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_the_target_plays_no_part(unit, rng):
    residuals = rng.normal(size=(3, 30)) + rng.normal(size=30)
    found = blend_weights(unit * residuals), blend_weights(residuals)
    np.testing.assert_allclose(*found, atol=1e-8)


# --------------------------------------------------------------------------------- classes


def logits(rng, n=200, noise=1.0, c=1):
    """Outputs of a member that knows the classes up to noise, and the classes as shares."""
    truth = rng.normal(size=(n, c))
    shares = (truth > 0).astype(float) if c == 1 else np.eye(c)[truth.argmax(1)]
    return truth + noise * rng.normal(size=(n, c)), shares


@pytest.mark.parametrize("c", [1, 3])
def test_factors_of_classes_beat_every_member(c, rng):
    truth, shares = logits(rng, noise=0.0, c=c)
    outputs = np.stack([truth + s * rng.normal(size=truth.shape) for s in (0.5, 0.8, 3.0)])
    factors = class_weights(outputs, shares)
    assert (factors >= 0).all()
    best = min(log_loss(scale * one, shares) for one in outputs for scale in (0.3, 0.5, 1, 2, 3))
    assert log_loss(np.tensordot(factors, outputs, 1), shares) < best


@pytest.mark.parametrize("c", [1, 3])
def test_the_log_loss_is_that_of_scikit_learn(c, rng):
    outputs, shares = logits(rng, c=c)
    weight = rng.random(200)
    labels = shares[:, 0] if c == 1 else shares.argmax(1)
    found = expit(outputs[:, 0]) if c == 1 else softmax(outputs, axis=1)
    expected = metrics.log_loss(labels, found, sample_weight=weight)
    assert log_loss(outputs, shares, weight) == pytest.approx(expected)


def test_factors_are_a_temperature_too(rng):
    """A member that is ten times too sure is taken down to what it knows."""
    outputs, shares = logits(rng, noise=0.5)
    (factor,) = class_weights(10 * outputs[None], shares)
    best = min(log_loss(scale * outputs, shares) for scale in np.geomspace(0.1, 10, 200))
    assert log_loss(factor * 10 * outputs, shares) == pytest.approx(best, rel=0.01)
    assert log_loss(10 * outputs, shares) > 1.5 * best


def test_a_member_that_guesses_is_dropped(rng):
    outputs, shares = logits(rng, n=500, noise=0.3)
    factors = class_weights(np.stack([outputs, -outputs]), shares)
    assert factors[1] == 0


def test_a_class_weight_of_two_is_the_row_twice(rng):
    outputs, shares = logits(rng, n=60, c=3)
    both = np.stack([outputs, rng.normal(size=outputs.shape) + shares])
    times = rng.integers(1, 4, size=60)
    found = class_weights(both, shares, times.astype(float), shrinkage=0.0)
    rows = np.repeat(np.arange(60), times)
    expected = class_weights(both[:, rows], shares[rows], shrinkage=0.0)
    np.testing.assert_allclose(found, expected, rtol=0.02)
