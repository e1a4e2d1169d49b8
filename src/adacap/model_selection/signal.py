"""Whether there is a signal to select by, and whether it lies in the band of the paper's theorem.

Theorem 1: if ``r σ² ≪ ‖Xβ*‖² ≪ n σ²``, the MLR criterion follows the prediction risk. Nobody knows
σ or β*, so the band is judged from what the same decomposition gives.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adacap._typing import Floats
from adacap.model_selection.spectrum import Spectrum

__all__ = [
    "Noise", "SignalWarning", "announce", "estimate_noise", "estimated_risk", "is_doubtful",
    "selection_p_value",
]  # fmt: skip

# One permuted set of sixteen that does as well as the truth gives 2/17 = 0.12.
_DOUBTFUL_P = 0.1


class SignalWarning(UserWarning):
    """The signal-to-noise band in which the MLR criterion is valid seems violated."""


def announce(notes: Sequence[str], stacklevel: int) -> None:
    """Warn once with all notes, if there are any."""
    if notes:
        warnings.warn(" ".join(notes), SignalWarning, stacklevel=stacklevel + 1)


def selection_p_value(fits: Floats) -> float:
    """Permutation p-value of "the labels have a pattern", corrected for having picked the best.

    Each label set, true or permuted, is given its own best candidate: the one at which it
    stands out most from the average set, in standard deviations. Without a pattern the true set
    is one of 1 + T alike, so its rank is uniform.

    ``fits`` (n_candidates, 1 + T) are in-sample losses, those of the true labels first.

    Examples
    --------
    >>> selection_p_value(np.array([[0.1, 0.8, 0.9, 1.0]]))
    0.25
    >>> selection_p_value(np.ones((3, 4)))
    1.0
    """
    spread = fits.std(axis=1, keepdims=True)
    size = np.abs(fits).max(axis=1, keepdims=True)
    flat = spread <= 1e-12 * size  # equal up to rounding: no set stands out
    standing = np.where(flat, 0.0, (fits - fits.mean(1, keepdims=True)) / np.where(flat, 1, spread))
    best = standing.min(axis=0)
    return float((best <= best[0]).sum() / len(best))


def is_doubtful(p_value: float, n_permutations: int) -> bool:
    """Whether enough permuted sets do as well as the truth: more than a tenth, and at least one.

    Examples
    --------
    >>> is_doubtful(1 / 17, 16), is_doubtful(2 / 17, 16), is_doubtful(1 / 2, 1)
    (False, True, False)
    """
    return p_value > max(_DOUBTFUL_P, 1.5 / (1 + n_permutations))


@dataclass(frozen=True)
class Noise:
    """Estimated σ² and ``‖Xβ*‖²/(nσ²)``, both averaged over targets."""

    variances: Floats
    snr: float


def estimate_noise(spectrum: Spectrum) -> Noise:
    """Noise and signal-to-noise ratio by restricted maximum likelihood, in any shape of X.

    Under ``β ~ N(0, τ²I)`` the coordinates of Y have variance ``σ² + τ²s_j²`` and the rest of Y has
    σ². The ratio σ²/τ² is searched on a grid, σ² follows in closed form.

    Examples
    --------
    >>> from adacap.model_selection.spectrum import decompose
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> y = X[:, :1] + rng.normal(size=(2000, 1))
    >>> round(estimate_noise(decompose(X, y, np.arange(2000)[None])).snr, 1)
    1.0
    """
    s2 = spectrum.singular**2
    squares, outside = spectrum.coordinates[:, 0] ** 2, spectrum.outside[0]
    top = float(s2.max(initial=1.0))
    ratios = np.concatenate([[0.0], np.geomspace(1e-6 / top, 1e12 / top, 181)])  # τ²/σ²
    inflation = 1 + ratios[:, None] * s2
    tiny = np.finfo(float).tiny
    variance = np.maximum(((1 / inflation) @ squares + outside) / spectrum.free, tiny)
    likelihood = -np.log(inflation).sum(1)[:, None] - spectrum.free * np.log(variance)
    variances = np.take_along_axis(variance, likelihood.argmax(0)[None], axis=0)[0]
    signal = np.maximum(squares.sum(0) - len(s2) * variances, 0)
    return Noise(variances, float(np.mean(signal / (spectrum.count * variances))))


def estimated_risk(spectrum: Spectrum, alphas: Floats, noise: Noise) -> Floats:
    """Estimated mean squared error on new labels at the same rows, (n_alphas,).

    Mallows' ``‖Y − HY‖² + 2σ² tr H``, per row and target. Unbiased at any signal-to-noise ratio
    if σ² is right.
    """
    optimism = 2 * spectrum.kept(alphas).sum(1)[:, None] * noise.variances
    squares = spectrum.residual_squares(alphas)[:, 0]
    return np.asarray((squares + optimism).mean(1) / spectrum.total)
