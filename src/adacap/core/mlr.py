"""The MLR loss: fit of the true labels minus fit of permuted labels."""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from adacap.core.losses import constant_fit, loss_named
from adacap.core.residual import OutputLayer, ridge_rmse, ridge_rmse_pullback
from adacap.core.tikhonov import ridge_fit

__all__ = ["MLRForm", "MLRLoss", "combine", "mlr_loss", "mlr_loss_pullback", "mlr_of_fits"]

MLRForm = Literal["difference", "absolute_gap"]


class MLRLoss(NamedTuple):
    """The loss to minimise and what it is made of, one value per net in the batch."""

    value: Tensor
    fit_true: Tensor
    fit_permuted: Tensor
    ridge: OutputLayer


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
    loss : {"rmse", "bce", "ce"}, default="rmse"
        Targets are reals, ±1 and one-hot respectively.
    form : {"difference", "absolute_gap"}, default="difference"
    sample_weight : Tensor of shape (..., n_samples), optional
    fit_intercept : bool, default=False

    Returns
    -------
    MLRLoss
        ``value``, ``fit_true``, ``fit_permuted`` of shape (...), and ``ridge``, the output layer
        for the true labels, without gradient.

    Examples
    --------
    >>> hidden = torch.eye(4)
    >>> y = torch.tensor([[1.0], [-1.0], [2.0], [-2.0]])
    >>> labels = stack_labels(y, torch.arange(4).expand(1, 4))  # identity: nothing to tell apart
    >>> mlr_loss(hidden, labels, 1.0).value
    tensor(0.)
    """
    loss_named(loss)
    if labels.ndim < 3:
        raise ValueError(
            "labels must be (..., n_samples, 1 + T, n_targets), as stack_labels makes them, got "
            f"shape {tuple(labels.shape)}."
        )
    fits, layer = _fits(hidden, labels, lam, loss, sample_weight, fit_intercept)
    return mlr_of_fits(fits, layer, labels, loss=loss, form=form, sample_weight=sample_weight)


def mlr_loss_pullback(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor,
    *,
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> tuple[MLRLoss, Callable[[], tuple[Tensor, Tensor]]]:
    """As :func:`mlr_loss` of RMSE in the difference form, with the gradient as a function.

    What training takes, where the bookkeeping of a graph would cost more than the arithmetic.

    Parameters
    ----------
    hidden, labels, lam, sample_weight, fit_intercept
        As there; λ as a tensor of shape (...) without gradient.

    Returns
    -------
    MLRLoss
    callable
        Gives the gradients of the loss at ``hidden`` and at λ, the losses of a batch summed.

    Examples
    --------
    >>> from adacap.core import stack_labels
    >>> labels = stack_labels(torch.tensor([[1.0], [-1.0]]), torch.tensor([[1, 0]]))
    >>> loss, pull = mlr_loss_pullback(torch.eye(2), labels, torch.tensor(1.0))
    >>> loss.value, pull()[1]  # the permuted labels fit as well
    (tensor(0.), tensor(0.))
    """
    fits, layer, pull = ridge_rmse_pullback(
        hidden, labels, lam, sample_weight=sample_weight, fit_intercept=fit_intercept
    )
    loss = mlr_of_fits(
        fits, layer, labels, loss="rmse", form="difference", sample_weight=sample_weight
    )
    weights = _contrast(fits.shape[-1], fits.dtype, fits.device)
    return loss, lambda: pull(weights.expand_as(fits))


def mlr_of_fits(
    fits: Tensor,
    layer: OutputLayer,
    labels: Tensor,
    *,
    loss: str,
    form: MLRForm,
    sample_weight: Tensor | None,
) -> MLRLoss:
    """The MLR loss and its parts, from the fit of every label set ``(..., 1 + T)``."""
    baseline = None
    if form == "absolute_gap" and fits.shape[-1] > 1:
        baseline = constant_fit(loss, labels[..., :1, :], sample_weight)
    value, true = combine(fits, baseline, form), fits[..., 0]
    if form == "difference":  # of which the value is made; without permuted labels it is zero
        return MLRLoss(value, true, true - value, layer)
    permuted = fits[..., 1:].mean(-1) if fits.shape[-1] > 1 else torch.zeros_like(value)
    return MLRLoss(value, true, permuted, layer)


def _fits(
    hidden: Tensor,
    labels: Tensor,
    lam: Tensor | float,
    loss: str,
    sample_weight: Tensor | None,
    fit_intercept: bool,
) -> tuple[Tensor, OutputLayer]:
    """Loss of every label set under its own ridge solution; the layer of the first set."""
    if loss == "rmse" and not labels.requires_grad:
        return ridge_rmse(
            hidden, labels, lam, sample_weight=sample_weight, fit_intercept=fit_intercept
        )
    ridge = ridge_fit(
        hidden, labels.flatten(-2), lam, sample_weight=sample_weight, fit_intercept=fit_intercept
    )
    fitted = ridge.fitted.unflatten(-1, labels.shape[-2:])
    true = slice(0, labels.shape[-1])
    layer = OutputLayer(ridge.coef[..., true].detach(), ridge.intercept[..., true].detach())
    return loss_named(loss)(fitted, labels, sample_weight), layer


def combine(fits: Tensor, baseline: Tensor | None, form: MLRForm = "difference") -> Tensor:
    """Turn the fits of all label sets ``(..., 1 + T)`` into the MLR loss ``(...)``.

    Examples
    --------
    >>> combine(torch.tensor([0.25, 0.75, 0.5]), None)
    tensor(-0.3750)
    """
    if fits.shape[-1] == 1:
        return fits[..., 0]
    if form == "difference":
        return fits @ _contrast(fits.shape[-1], fits.dtype, fits.device)
    if form == "absolute_gap" and baseline is not None:
        return fits[..., 0] + (baseline - fits[..., 1:]).abs().mean(-1)
    raise ValueError(f"mlr_form must be 'difference' or 'absolute_gap', got {form!r}.")


@lru_cache(maxsize=32)
@torch.inference_mode(False)  # kept for callers who want a graph
def _contrast(n_sets: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``(1, −1/T, …, −1/T)``: the true fit minus the mean of the permuted ones, as one product."""
    weights = torch.full((n_sets,), -1.0 / max(n_sets - 1, 1), dtype=dtype, device=device)
    weights[0] = 1.0
    return weights
