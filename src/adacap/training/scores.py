"""Validation scores beside R², one per net; higher is better."""

from collections.abc import Callable

import torch
from torch import Tensor

from adacap.core.mlr import LOSSES

__all__ = ["LOSS_SCORES", "auc"]


def auc(prediction: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """Area under the ROC curve; one class against the rest, averaged, for one-hot targets.

    Ties count one half. Rows of weight 0 are left out; other weights are not used. A class that is
    absent, or alone, says nothing and is skipped; when all are, the score is 0. A NaN prediction
    makes the score NaN.

    Examples
    --------
    >>> auc(torch.tensor([[[0.1], [0.4], [0.35]]]), torch.tensor([[[-1.0], [1.0], [-1.0]]]))
    tensor([1.], dtype=torch.float64)
    """
    keep = (
        torch.ones_like(targets)
        if weight is None
        else (weight > 0).unsqueeze(-1).expand_as(targets)
    )
    keep = keep.to(torch.bool)
    scores = prediction.masked_fill(~keep, -torch.inf).mT.contiguous()  # (K, c, n)
    positive = ((targets > 0) & keep).mT
    ordered = scores.sort(-1).values
    below = torch.searchsorted(ordered, scores, right=False)
    upto = torch.searchsorted(ordered, scores, right=True)
    n_dropped = (~keep).mT.sum(-1, keepdim=True)
    rank = (below + upto + 1) / 2 - n_dropped
    n_pos = positive.sum(-1).double()
    n_neg = keep.mT.sum(-1) - n_pos
    pairs = n_pos * n_neg
    wins = (rank * positive).sum(-1) - n_pos * (n_pos + 1) / 2
    defined = pairs > 0
    area = torch.where(defined, wins / pairs.clamp_min(1), torch.zeros_like(wins))
    mean = area.sum(-1) / defined.sum(-1).clamp_min(1)
    return mean.masked_fill((prediction.isnan() & keep).flatten(1).any(1), torch.nan)


def _negative(loss: str) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
    def score(prediction: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
        return -LOSSES[loss](prediction.unsqueeze(-2), targets.unsqueeze(-2), weight)[..., 0]

    return score


def _auc_then(loss: str) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
    """AUC, with the loss to decide between iterations that rank the rows equally well."""
    negative = _negative(loss)

    def score(prediction: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
        area = auc(prediction, targets, weight).double()
        return area + 1e-9 * negative(prediction, targets, weight).double()

    return score


LOSS_SCORES: dict[str, Callable[[Tensor, Tensor, Tensor | None], Tensor]] = {
    "auc_bce": _auc_then("bce"),
    "auc_ce": _auc_then("ce"),
    "neg_rmse": _negative("rmse"),
    "neg_bce": _negative("bce"),
    "neg_ce": _negative("ce"),
}
