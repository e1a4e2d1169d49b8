"""Losses with one value per label set, beside the root mean squared error in ``mlr``."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from adacap.exceptions import suggest

__all__ = ["best_constant", "binary_cross_entropy", "cross_entropy", "mse"]


def mse(prediction: Tensor, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """Mean squared error of each label set: the square of :func:`adacap.core.rmse`.

    Examples
    --------
    >>> mse(torch.zeros(2, 1, 1), torch.tensor([[[3.0]], [[4.0]]]))
    tensor([12.5000])
    """
    return _row_mean((prediction - targets).square().mean(-1), sample_weight)


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


_BEST: dict[str, Callable[[Tensor], Tensor]] = {
    "rmse": lambda mean: mean,
    "bce": lambda mean: 2 * torch.atanh(mean.clamp(-1 + 1e-6, 1 - 1e-6)),  # log-odds of (1+m)/2
    "ce": lambda mean: mean.clamp_min(1e-12).log(),
    "mse": lambda mean: mean,
}


def best_constant(loss: str, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
    """The constant prediction of lowest loss, in the shape of the targets.

    Examples
    --------
    >>> best_constant("rmse", torch.tensor([[[1.0]], [[3.0]]])).flatten()
    tensor([2., 2.])
    """
    if loss not in _BEST:
        raise ValueError(suggest(loss, _BEST, "loss"))
    if sample_weight is None:
        mean = targets.mean(-3, keepdim=True)
    else:
        w = sample_weight[..., None, None].to(targets.dtype)
        mean = (w * targets).sum(-3, keepdim=True) / w.sum(-3, keepdim=True)
    return _BEST[loss](mean).expand_as(targets)
