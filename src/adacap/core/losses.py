"""Losses that give one value per label set, and the loss of the best constant.

Targets are *coded*: real numbers for regression, ±1 for two classes, one-hot for more.
All shapes are ``(..., n_samples, n_sets, n_targets)`` and the result is ``(..., n_sets)``.
"""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = [
    "LOSSES",
    "SetLoss",
    "binary_cross_entropy",
    "constant_fit",
    "cross_entropy",
    "loss_named",
    "rmse",
]


class SetLoss(Protocol):
    """Callable ``(prediction, targets, sample_weight) -> one loss per label set``."""

    def __call__(
        self, prediction: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Reduce rows and targets, keep label sets."""
        ...


def rmse(prediction: Tensor, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """Root mean squared error of each label set; output activation is the identity.

    Examples
    --------
    >>> rmse(torch.zeros(2, 1, 1), torch.tensor([[[3.0]], [[4.0]]]))
    tensor([3.5355])
    """
    squares = (prediction - targets).square()
    # The floor keeps the gradient of the root finite when a fit is exact.
    return _row_mean(squares.mean(-1), sample_weight).clamp_min(1e-24).sqrt()


def binary_cross_entropy(
    prediction: Tensor, targets: Tensor, sample_weight: Tensor | None = None
) -> Tensor:
    """Cross-entropy of a sigmoid output against targets coded −1 / +1.

    Examples
    --------
    >>> binary_cross_entropy(torch.zeros(2, 1, 1), torch.tensor([[[1.0]], [[-1.0]]]))
    tensor([0.6931])
    """
    return _row_mean(F.softplus(-targets * prediction).mean(-1), sample_weight)


def cross_entropy(
    prediction: Tensor, targets: Tensor, sample_weight: Tensor | None = None
) -> Tensor:
    """Cross-entropy of a softmax output against one-hot targets.

    Examples
    --------
    >>> cross_entropy(torch.zeros(1, 1, 2), torch.tensor([[[1.0, 0.0]]]))
    tensor([0.6931])
    """
    return _row_mean(-(targets * prediction.log_softmax(-1)).sum(-1), sample_weight)


def _row_mean(values: Tensor, sample_weight: Tensor | None) -> Tensor:
    """Weighted mean over rows of ``(..., n_samples, n_sets)``."""
    if sample_weight is None:
        return values.mean(-2)
    w = sample_weight.unsqueeze(-1).to(values.dtype)
    return (w * values).sum(-2) / w.sum(-2)


LOSSES: dict[str, SetLoss] = {
    "rmse": rmse,
    "bce": binary_cross_entropy,
    "ce": cross_entropy,
}

_BEST_CONSTANT: dict[str, Callable[[Tensor], Tensor]] = {
    "rmse": lambda mean: mean,
    "bce": lambda mean: 2 * torch.atanh(mean.clamp(-1 + 1e-6, 1 - 1e-6)),  # log-odds of (1+m)/2
    "ce": lambda mean: mean.clamp_min(1e-12).log(),
}


def loss_named(name: str) -> SetLoss:
    """Entry of ``LOSSES``, or an error that lists them.

    Examples
    --------
    >>> loss_named("mae")
    Traceback (most recent call last):
    ValueError: loss must be one of rmse, bce, ce, got 'mae'.
    """
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {name!r}.")
    return LOSSES[name]


def constant_fit(loss: str, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """Loss of the best constant prediction: the baseline of the absolute-gap form.

    Parameters
    ----------
    loss : {"rmse", "bce", "ce"}
    targets : Tensor of shape (..., n_samples, n_sets, n_targets)
    sample_weight : Tensor of shape (..., n_samples), optional

    Returns
    -------
    Tensor of shape (..., n_sets)

    Examples
    --------
    >>> constant_fit("rmse", torch.tensor([[[1.0]], [[3.0]]]))
    tensor([1.])
    """
    if sample_weight is None:
        mean = targets.mean(-3, keepdim=True)
    else:
        w = sample_weight[..., None, None].to(targets.dtype)
        mean = (w * targets).sum(-3, keepdim=True) / w.sum(-3, keepdim=True)
    set_loss = loss_named(loss)
    constant = _BEST_CONSTANT[loss](mean).expand_as(targets)
    return set_loss(constant, targets, sample_weight)
