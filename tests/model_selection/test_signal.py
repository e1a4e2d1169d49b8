import numpy as np
import pytest

from adacap.model_selection import SignalWarning
from adacap.model_selection.labels import draw_orders
from adacap.model_selection.signal import (
    announce,
    estimate_noise,
    estimated_risk,
    selection_p_value,
)
from adacap.model_selection.spectrum import decompose, default_grid


def draw(seed, n, d, snr):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X -= X.mean(0)
    f = X @ rng.normal(size=(d, 1))
    f *= np.sqrt(snr * n / (f**2).sum())
    return X, f, 2 * (f + rng.normal(size=(n, 1)))


@pytest.mark.parametrize(("n", "d"), [(80, 10), (60, 100)])
def test_the_p_value_is_uniform_without_a_signal(n, d):
    """Also after picking the best of a grid: P(p ≤ k/(T+1)) = k/(T+1)."""
    n_tables, T = 400, 19
    p_values = []
    for seed in range(n_tables):
        X, _, y = draw(seed, n, d, 0.0)
        spectrum = decompose(X, y, draw_orders(n, T, np.random.default_rng(seed)))
        fits = spectrum.residual_squares(default_grid(spectrum.singular, 20))[..., 0]
        p_values.append(selection_p_value(fits))
    for level in (0.1, 0.25, 0.5, 0.75):
        error = 3.5 * np.sqrt(level * (1 - level) / n_tables)
        assert np.mean(np.array(p_values) <= level + 1e-9) == pytest.approx(level, abs=error)


def test_the_p_value_is_small_with_a_signal():
    X, _, y = draw(0, 100, 10, 1.0)
    spectrum = decompose(X, y, draw_orders(100, 99, np.random.default_rng(0)))
    fits = spectrum.residual_squares(default_grid(spectrum.singular))[..., 0]
    assert selection_p_value(fits) == pytest.approx(0.01)


def test_sets_equal_up_to_rounding_do_not_stand_out():
    fits = 0.7 + 1e-16 * np.arange(8)[None]
    assert selection_p_value(fits) == 1.0


@pytest.mark.parametrize(("n", "d"), [(200, 20), (200, 150), (200, 600)])
@pytest.mark.parametrize("snr", [0.0, 0.5, 5.0])
def test_signal_to_noise_is_estimated_in_any_shape(n, d, snr):
    found = [
        estimate_noise(decompose(X, y, np.arange(n)[None]))
        for X, _, y in (draw(seed, n, d, snr) for seed in range(20))
    ]
    assert np.median([noise.snr for noise in found]) == pytest.approx(snr, rel=0.25, abs=0.15)
    assert np.median([noise.variances[0] for noise in found]) == pytest.approx(4, rel=0.25)


def test_constant_and_noiseless_labels_are_no_accident():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert estimate_noise(decompose(X, np.ones((30, 1)), np.arange(30)[None])).snr == 0
    assert estimate_noise(decompose(X, X[:, :1], np.arange(30)[None])).snr > 1e6


def test_the_estimated_risk_is_the_error_on_new_labels():
    """Average over tables of the estimate and of the error on fresh noise at the same rows."""
    alphas = np.array([0.1, 30.0, 300.0])
    estimated, actual = [], []
    for seed in range(200):
        X, f, y = draw(seed, 60, 20, 1.0)
        spectrum = decompose(X, y, np.arange(60)[None])
        estimated.append(estimated_risk(spectrum, alphas, estimate_noise(spectrum)))
        fitted = [X @ spectrum.solve(a)[0].T + spectrum.y_mean for a in alphas]
        actual.append([((2 * f - each) ** 2).mean() + 4 for each in fitted])
    # The intercept's own optimism, 2σ²/n, is the same for every λ and left out.
    expected = np.mean(actual, 0) - 2 * 4 / 60
    np.testing.assert_allclose(np.mean(estimated, 0), expected, rtol=0.03)


def test_notes_become_one_warning():
    with pytest.warns(SignalWarning, match=r"^First\. Second\.$"):
        announce(["First.", "Second."], stacklevel=1)
    announce([], stacklevel=1)
