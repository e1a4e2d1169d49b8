"""Ridge whose λ is chosen on the training rows alone."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from adacap._typing import Floats
from adacap.model_selection.labels import as_generator, draw_orders, merge
from adacap.model_selection.losses import one_of
from adacap.model_selection.signal import (
    Noise,
    announce,
    estimate_noise,
    estimated_risk,
    is_doubtful,
    selection_p_value,
)
from adacap.model_selection.spectrum import Spectrum, decompose, default_grid

__all__ = ["RidgeMLR"]

CRITERIA = ("squared", "rmse", "risk")
# Estimated loss, in units of the noise variance, from trusting the criterion beyond its band.
TOLERATED_EXCESS = 0.05
# Noise below this share of the variance of the labels counts as this share.
TRACE = 1e-3
# A grid ends too early if ridge there still keeps, or already loses, more than this share.
EDGE_SHARE = 0.05


class RidgeMLR(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Ridge regression with λ chosen by the MLR criterion, without a hold-out.

    λ minimises ``‖Y − Xβ_λ(Y)‖² − mean_t ‖Y_t − Xβ_λ(Y_t)‖²`` over a grid, where the Y_t are
    permutations of the labels: how well the truth is fitted, less how well noise is. One singular
    value decomposition of X serves the whole grid and all permutations.

    Parameters
    ----------
    alphas : "auto", None or array-like of shape (n_alphas,), default="auto"
        Values of λ to choose from, positive. "auto" and None take 100 values between "hardly any
        shrinkage" and "hardly any fit" for the X at hand.
    n_permutations : int, default=16
        T, the number of permuted label sets.
    fit_intercept : bool, default=True
        The intercept is not penalised.
    criterion : {"squared", "rmse", "risk"}, default="squared"
        "squared" is the criterion above, for which the theorem holds. "rmse" takes roots first; it
        is there to compare and chooses worse. "risk" is Mallows' estimate of the prediction error,
        from the same decomposition: the way out when the band below is violated.
    random_state : int, RandomState, Generator or None, default=None
        Source of the permutations.

    Attributes
    ----------
    alpha_ : float
        The chosen λ. Of equally good ones, the largest.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Equal to those of ``sklearn.linear_model.Ridge(alpha_)``.
    intercept_ : float or ndarray of shape (n_targets,)
    alphas_ : ndarray of shape (n_alphas,)
        The grid, ascending.
    criterion_path_ : ndarray of shape (n_alphas,)
        What was minimised, per row and target.
    fit_true_path_ : ndarray of shape (n_alphas,)
        In-sample error on the true labels.
    fit_permuted_path_ : ndarray of shape (n_alphas,)
        In-sample error on permuted labels, averaged over permutations.
    fit_true_, fit_permuted_ : float
        Both at ``alpha_``.
    best_score_ : float
        Minus the criterion at ``alpha_``, so that greater is better as elsewhere in scikit-learn.
    effective_dof_ : float
        ``tr H`` at ``alpha_``.
    p_value_ : float
        Permutation p-value of "the labels have a pattern", with the choice of λ taken into account.
        At least ``1 / (1 + n_permutations)``.
    snr_ : float
        Estimate of ``‖Xβ*‖²/(nσ²)``.
    excess_risk_ : float
        Estimated prediction error at ``alpha_`` above the best of the grid, as a share of σ² (or of
        a thousandth of the variance of y, if that is more).
    notes_ : tuple of str
        What speaks against the choice; the text of the warning.
    valid_ : bool
        Whether nothing does.

    Warns
    -----
    SignalWarning
        If some permuted labels are fitted as well as the true ones (``p_value_ > 0.1``), if the
        criterion costs more than 5 % of the noise (``excess_risk_``), or if the best λ is
        at an end of a given grid that stops too early.

    Notes
    -----
    The theorem asks for ``r σ² ≪ ‖Xβ*‖² ≪ n σ²``. Outside, the criterion keeps directions that hold
    only noise (signal too weak) or drops some that hold signal (signal too strong); the two cost
    little or much depending on the spectrum of X, hence ``excess_risk_`` rather than a bound on
    ``snr_``. With several targets their squared errors are averaged: give them like units.

    A sample weight of 2 is the row twice. Equal rows are merged, so neither the order of rows nor
    the way in which copies are given matters.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 60)) @ rng.normal(size=(60, 60))
    >>> y = X.sum(axis=1) / 60 + rng.normal(size=100)
    >>> model = RidgeMLR(random_state=0).fit(X, y)
    >>> model.valid_, model.p_value_ < 0.1
    (True, True)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    def __init__(
        self,
        alphas: npt.ArrayLike | Literal["auto"] | None = "auto",
        *,
        n_permutations: int = 16,
        fit_intercept: bool = True,
        criterion: Literal["squared", "rmse", "risk"] = "squared",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.alphas = alphas
        self.n_permutations = n_permutations
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose λ and solve.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            Counts; where they sum to less than n_samples, only their ratios matter.
        """
        one_of("criterion", self.criterion, CRITERIA)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        spectrum = self._decompose(X, y.reshape(len(y), -1).astype(np.float64), sample_weight)
        automatic = self.alphas is None or _is_auto(self.alphas)
        alphas = default_grid(spectrum.singular) if automatic else _checked(self.alphas)
        fits = spectrum.residual_squares(alphas).mean(-1) / spectrum.total  # (n_alphas, 1 + T)
        if self.criterion == "rmse":
            fits = np.sqrt(fits)
        noise = estimate_noise(spectrum)
        risk = estimated_risk(spectrum, alphas, noise)
        true, permuted = fits[:, 0], fits[:, 1:].mean(1)
        path = risk if self.criterion == "risk" else true - permuted
        best = len(path) - 1 - int(path[::-1].argmin())
        coef, intercept = spectrum.solve(float(alphas[best]))
        dof, rank = spectrum.kept(alphas).sum(1), len(spectrum.singular)

        self.alphas_, self.alpha_ = alphas, float(alphas[best])
        self.coef_ = coef[0] if y.ndim == 1 else coef
        self.intercept_ = float(intercept[0]) if y.ndim == 1 else intercept
        self.criterion_path_, self.best_score_ = path, -float(path[best])
        self.fit_true_path_, self.fit_permuted_path_ = true, permuted
        self.fit_true_, self.fit_permuted_ = float(true[best]), float(permuted[best])
        self.effective_dof_, self.p_value_ = float(dof[best]), selection_p_value(fits)
        self.snr_, self.excess_risk_ = noise.snr, _excess(risk, best, noise, spectrum)
        notes = self._signal_notes(rank / spectrum.count)
        if not automatic:
            notes += _edge_notes(alphas, best, dof, rank)
        self.notes_, self.valid_ = tuple(notes), not notes
        announce(notes, stacklevel=2)
        return self

    def _decompose(self, X: Floats, Y: Floats, sample_weight: Any) -> Spectrum:
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        rows = merge(X, Y, sample_weight)
        orders = draw_orders(len(rows.X), self.n_permutations, as_generator(self.random_state))
        return decompose(
            rows.X, rows.Y, orders, weight=rows.weight, fit_intercept=self.fit_intercept
        )

    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def _signal_notes(self, rank_share: float) -> list[str]:
        if is_doubtful(self.p_value_, self.n_permutations):
            return [
                f"Permuted labels are fitted about as well as the true ones (p = "
                f"{self.p_value_:.2g}, signal-to-noise ratio about {self.snr_:.2g}): there may be "
                "nothing to choose λ by. Compare with the mean prediction on new rows."
            ]
        if self.excess_risk_ <= TOLERATED_EXCESS:
            return []
        return [
            f"The MLR criterion seems outside the signal-to-noise band in which it is valid, "
            f"r/n = {rank_share:.2g} ≪ SNR ≪ 1: SNR is about {self.snr_:.2g}, and λ = "
            f"{self.alpha_:.3g} costs an estimated {self.excess_risk_:.0%} of the noise variance. "
            "Use criterion='risk', or RidgeCV."
        ]


def _is_auto(alphas: Any) -> bool:
    if not isinstance(alphas, str):
        return False
    one_of("alphas", alphas, ("auto",), more=", None or an array of positive numbers")
    return True


def _checked(alphas: Any) -> Floats:
    """Ascending grid without repetitions."""
    grid = np.unique(np.asarray(alphas, dtype=np.float64))
    if grid.size == 0 or not (np.isfinite(grid).all() and grid[0] > 0):
        raise ValueError(f"alphas must hold positive finite numbers, got {alphas!r}.")
    return grid


def _excess(risk: Floats, best: int, noise: Noise, spectrum: Spectrum) -> float:
    """Estimated loss by the choice in units of the noise, or of a trace if there is none."""
    squares = (spectrum.coordinates[:, 0] ** 2).sum() + spectrum.outside[0].sum()
    label_variance = squares / (spectrum.total * len(noise.variances))
    unit = max(float(noise.variances.mean()), TRACE * label_variance, np.finfo(float).tiny)
    return float((risk[best] - risk.min()) / unit)


def _edge_notes(alphas: Floats, best: int, dof: Floats, rank: int) -> list[str]:
    """Say so if the optimum may lie past an end of the grid."""
    if best == 0 and dof[0] < (1 - EDGE_SHARE) * rank:
        end, way = "smallest", "smaller"
    elif best == len(alphas) - 1 and dof[-1] > EDGE_SHARE * rank:
        end, way = "largest", "larger"
    else:
        return []
    return [
        f"The chosen λ = {alphas[best]:.3g} is the {end} of alphas: add {way} values, or use "
        "alphas='auto'."
    ]
