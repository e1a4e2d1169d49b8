"""The MLR loss of 2021: labels, permuted labels and noise that the Tikhonov layer shapes.

Structured dithering adds ``(I − H)ξ``. No n×n matrix is needed for it, nor a second solve:

- squared error, noise on the target: ``Y + (I−H)ξ − HY = (I−H)(Y + ξ)``, the ridge residual of the
  labels ``Y + ξ``;
- cross-entropy, noise on the prediction: ``HY + (I−H)ξ = ξ + H(Y − ξ)``, the ridge fit of the
  labels ``Y − ξ``, moved by ``ξ``.

So the noise goes into the right-hand sides, next to one more column set for the labels as they are,
from which the output layer is taken.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from adacap.core.mlr import MLRForm, MLRLoss, loss_named, mlr_loss, mlr_of_fits, true_layer
from adacap.core.ridge import Ridge

__all__ = ["SQUARED", "DitherForm", "dithered_mlr_loss"]

DitherForm = Literal["fitted", "printed", "halved"]
SQUARED = {"rmse": 2, "mse": 4}
"""Regression losses, and the factor by which halving the residuals divides each of them."""


def dithered_mlr_loss(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor | float,
    *,
    structured: Tensor | None = None,
    target: Tensor | None = None,
    loss: str = "rmse",
    form: MLRForm = "absolute_gap",
    dither_form: DitherForm = "fitted",
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> MLRLoss:
    """MLR loss under structured dithering ξ and target dither ε, with one factorisation.

    For the squared error, with ``Y_ε = Y + ε`` and π_t the permutations (supplement, section
    "Training a FFNN with MLR")::

        RMSE(Y_ε + (I−H)ξ ; HY_ε) + mean_t |RMSE(Y ; Ȳ) − RMSE(π_t(Y)_ε + (I−H)ξ_t ; Hπ_t(Y)_ε)|

    and for cross-entropies the loss of the prediction ``HY + (I−H)ξ`` against ``Y``, compared in
    the same way with that of the permuted labels and of the best constant.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
    labels : Tensor of shape (..., n_samples, 1 + T, n_targets)
        True labels first, then the permuted ones, all without noise; see :func:`stack_labels`.
    lam : Tensor of shape (...) or float
    structured : Tensor of the shape of ``labels``, optional
        ``ξ`` for every label set, scaled by σ.
    target : Tensor of the shape of ``labels``, optional
        ``ε`` for every label set; for the losses ``"rmse"`` and ``"mse"``, since noise cannot be
        added to classes.
    loss : {"rmse", "bce", "ce", "mse"}, default="rmse"
    form : {"absolute_gap", "difference"}, default="absolute_gap"
    dither_form : {"fitted", "printed", "halved"}, default="fitted"
        What is compared with the labels under structured noise. ``"fitted"``: the formulas
        above. ``"printed"``: for cross-entropies ``Y + HY + (I−H)ξ``, as the supplement's
        definition is printed. ``"halved"``: half of that, ``(Y + HY ± (I−H)ξ) / 2``, for every
        loss, as the authors' code averages prediction and label; the RMSE is then half of the
        one above and the MSE a quarter, while the baseline stays.
    sample_weight : Tensor of shape (..., n_samples), optional
    fit_intercept : bool, default=False

    Returns
    -------
    MLRLoss
        The output layer is that of the true labels without noise.

    Examples
    --------
    >>> hidden, y = torch.eye(2), torch.tensor([[[1.0]], [[-1.0]]])
    >>> noise = torch.tensor([[[1.0]], [[1.0]]])
    >>> result = dithered_mlr_loss(hidden, y, 1.0, structured=noise)
    >>> result.value, result.layer.coef.flatten()
    (tensor(0.7071), tensor([ 0.5000, -0.5000]))
    """
    loss_named(loss)
    is_squared = loss in SQUARED
    if target is not None and not is_squared:
        raise ValueError(
            f"target dither is for the losses 'rmse' and 'mse', got loss={loss!r}. Leave it out."
        )
    if dither_form not in ("fitted", "printed", "halved"):
        raise ValueError(
            f"dither_form must be one of fitted, printed, halved, got {dither_form!r}."
        )
    if structured is None and target is None:
        return mlr_loss(
            hidden, labels, lam,
            loss=loss, form=form, sample_weight=sample_weight, fit_intercept=fit_intercept,
        )  # fmt: skip
    # The labels as they are come first, for the output layer; then every set with its noise.
    noise: Any = sum(part for part in (structured, target) if part is not None)
    if not is_squared:
        noise = -noise
    sets = torch.cat([labels[..., :1, :], labels + noise], -2)
    ridge = Ridge(hidden, lam, sample_weight=sample_weight, fit_intercept=fit_intercept)
    fit = ridge.solve(sets.flatten(-2))
    fitted = fit.fitted.unflatten(-1, sets.shape[-2:])[..., 1:, :]
    if is_squared:
        fits = loss_named(loss)(fitted, sets[..., 1:, :], sample_weight)
        is_halved = dither_form == "halved" and structured is not None
        fits = fits / SQUARED[loss] if is_halved else fits
    else:  # ξ + H(Y − ξ)
        prediction = fitted - noise
        if dither_form != "fitted":
            prediction = prediction + labels
        prediction = prediction / 2 if dither_form == "halved" else prediction
        fits = loss_named(loss)(prediction, labels, sample_weight)
    result = mlr_of_fits(fits, labels, loss=loss, form=form, sample_weight=sample_weight)
    return result._replace(layer=true_layer(fit, labels.shape[-1]), ridge=ridge)
