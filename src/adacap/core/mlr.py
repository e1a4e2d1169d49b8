"""What training minimises: losses with one value per label set, and the MLR loss made of them.

Targets are *coded*: real numbers for regression, ±1 for two classes, one-hot for more. Label sets
are ``(..., n_samples, n_sets, n_targets)``, true labels first, and a loss is ``(..., n_sets)``.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from adacap.core.losses import best_constant, binary_cross_entropy, cross_entropy, mse
from adacap.core.ridge import Ridge, RidgeFit
from adacap.exceptions import suggest

__all__ = [
    "LOSSES", "MLRForm", "MLRLoss", "constant_fit", "loss_named", "mlr_loss",
    "mlr_of_fits", "rmse", "true_layer",
]  # fmt: skip

MLRForm = Literal["difference", "absolute_gap"]


def rmse(prediction: Tensor, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """Root mean squared error of each label set; output activation is the identity.

    Examples
    --------
    >>> rmse(torch.zeros(2, 1, 1), torch.tensor([[[3.0]], [[4.0]]]))
    tensor([3.5355])
    """
    residuals = prediction - targets
    if sample_weight is None:
        norms: Tensor = torch.linalg.vector_norm(residuals, dim=(-3, -1))  # gradient 0 at 0
        return norms / math.sqrt(targets.shape[-3] * targets.shape[-1])
    w = sample_weight[..., None, None].to(residuals.dtype)
    norms = torch.linalg.vector_norm(w.sqrt() * residuals, dim=(-3, -1))
    return norms / (w.sum(-3).squeeze(-1) * targets.shape[-1]).sqrt()


LOSSES: dict[str, Callable[..., Tensor]] = {
    "rmse": rmse, "bce": binary_cross_entropy, "ce": cross_entropy, "mse": mse,
}  # fmt: skip


def loss_named(name: str) -> Callable[..., Tensor]:
    """Entry of ``LOSSES``.

    Examples
    --------
    >>> loss_named("mae")
    Traceback (most recent call last):
    ValueError: Unknown loss 'mae'. Did you mean 'mse'? Known: bce, ce, mse, rmse.
    """
    if name not in LOSSES:
        raise ValueError(suggest(name, LOSSES, "loss"))
    return LOSSES[name]


def constant_fit(loss: str, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """Loss of the best constant prediction: the baseline of the absolute-gap form.

    Examples
    --------
    >>> constant_fit("rmse", torch.tensor([[[1.0]], [[3.0]]]))
    tensor([1.])
    """
    return loss_named(loss)(best_constant(loss, targets, sample_weight), targets, sample_weight)


# ------------------------------------------------------------------------------ the MLR loss


class MLRLoss(NamedTuple):
    """The loss to minimise and what it is made of, one value per net."""

    value: Tensor  # (...)
    fit_true: Tensor  # (...)
    fit_permuted: Tensor | None  # (...), None without permuted labels
    layer: RidgeFit = RidgeFit()  # output layer of the true labels, without gradient
    ridge: Ridge | None = None  # that solved it, None for an output layer that is trained


def mlr_loss(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor | float,
    *,
    loss: str = "rmse",
    form: MLRForm = "difference",
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> MLRLoss:
    """MLR loss of the Tikhonov layer (paper, eq. 7) with T permutations and one factorisation.

    ``L(Y, HY) − mean_t L(Y_t, HY_t)`` in the ``"difference"`` form; the ``"absolute_gap"`` form is
    ``L(Y, HY) + mean_t |baseline − L(Y_t, HY_t)|`` with the loss of the best constant as baseline.
    Without permuted sets (T = 0) the loss is the plain fit: the Tikhonov scheme alone.

    Parameters
    ----------
    hidden : Tensor of shape (..., n_samples, d_hidden)
        Output of the last hidden layer.
    labels : Tensor of shape (..., n_samples, 1 + T, n_targets)
        True labels first, then the permuted ones; see :func:`stack_labels`.
    lam : Tensor of shape (...) or float
        Regularisation ``λ > 0``, usually ``log_lambda.exp()``.
    loss : {"rmse", "bce", "ce", "mse"}, default="rmse"
        Targets are reals, ±1, one-hot and reals respectively.
    form : {"difference", "absolute_gap"}, default="difference"
    sample_weight : Tensor of shape (..., n_samples), optional
    fit_intercept : bool, default=False

    Returns
    -------
    MLRLoss
        ``value``, ``fit_true``, ``fit_permuted`` of shape (...), and ``layer``, the output layer
        for the true labels, without gradient.

    Examples
    --------
    >>> hidden = torch.eye(4)
    >>> y = torch.tensor([[1.0], [-1.0], [2.0], [-2.0]])
    >>> labels = stack_labels(y, torch.arange(4).expand(1, 4))  # identity: nothing to tell apart
    >>> mlr_loss(hidden, labels, 1.0).value
    tensor(0.)
    """
    if labels.ndim < 3:
        raise ValueError(
            "labels must be (..., n_samples, 1 + T, n_targets), as stack_labels makes them, got "
            f"shape {tuple(labels.shape)}."
        )
    ridge = Ridge(hidden, lam, sample_weight=sample_weight, fit_intercept=fit_intercept)
    fit = ridge.solve(labels.flatten(-2))
    fits = loss_named(loss)(fit.fitted.unflatten(-1, labels.shape[-2:]), labels, sample_weight)
    result = mlr_of_fits(fits, labels, loss=loss, form=form, sample_weight=sample_weight)
    return result._replace(layer=true_layer(fit, labels.shape[-1]), ridge=ridge)


def true_layer(fit: RidgeFit, n_targets: int) -> RidgeFit:
    """The output layer of the first label set, without gradient."""
    return RidgeFit(*(part.detach()[..., :n_targets] for part in fit))


def mlr_of_fits(
    fits: Tensor, labels: Tensor, *, loss: str, form: MLRForm, sample_weight: Tensor | None
) -> MLRLoss:
    """The MLR loss from the fit of every label set ``(..., 1 + T)``; no layer in it yet.

    Examples
    --------
    >>> fits = torch.tensor([0.25, 0.75, 0.5])
    >>> mlr_of_fits(fits, None, loss="rmse", form="difference", sample_weight=None).value
    tensor(-0.3750)
    """
    true, permuted = fits[..., 0], fits[..., 1:]
    if permuted.shape[-1] == 0:
        return MLRLoss(true, true, None)
    mean = permuted.mean(-1)
    if form == "difference":
        return MLRLoss(true - mean, true, mean)
    if form != "absolute_gap":
        raise ValueError(f"form must be 'difference' or 'absolute_gap', got {form!r}.")
    baseline = constant_fit(loss, labels[..., :1, :], sample_weight)
    return MLRLoss(true + (baseline - permuted).abs().mean(-1), true, mean)
