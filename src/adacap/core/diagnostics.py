"""What the output layer shows about its own capacity: permutation tests, PRESS, influence.

All label sets of a test share one factorisation; nothing here is differentiated.
"""

import torch
from torch import Tensor

from adacap.core.mlr import loss_named
from adacap.core.permutation import stack_labels
from adacap.core.ridge import Ridge

__all__ = ["cook_distance", "label_fits", "lowest_losses", "permutation_p_value", "press_r2"]

_MOST_AT_ONCE = 2_000_000  # numbers compared at once


@torch.no_grad()
def label_fits(
    hidden: Tensor,
    targets: Tensor,
    permutations: Tensor,
    lam: float,
    *,
    loss: str = "rmse",
    sample_weight: Tensor | None = None,
    fit_intercept: bool = True,
) -> Tensor:
    """Loss of the output layer solved for the true labels, then for each permutation of them.

    From features (n, J), coded targets (n, c) and permutations (T, n) to (1 + T,) in float64. A
    weight stays with the row while its label moves.

    Examples
    --------
    A layer with as many features as rows fits labels in any order equally well.

    >>> y = torch.tensor([[1.0], [-1.0], [2.0], [-2.0]])
    >>> draws = torch.tensor([[1, 0, 3, 2], [3, 2, 1, 0]])
    >>> label_fits(torch.eye(4), y, draws, 1.0, fit_intercept=False)
    tensor([0.7906, 0.7906, 0.7906], dtype=torch.float64)
    """
    labels = stack_labels(targets.double(), permutations)
    weight = None if sample_weight is None else sample_weight.double()
    ridge = Ridge(hidden.double(), lam, sample_weight=weight, fit_intercept=fit_intercept)
    fitted = ridge.solve(labels.flatten(-2)).fitted.unflatten(-1, labels.shape[-2:])
    return loss_named(loss)(fitted, labels, weight)


@torch.no_grad()
def lowest_losses(
    predictions: Tensor,
    targets: Tensor,
    permutations: Tensor,
    *,
    loss: str = "rmse",
    sample_weight: Tensor | None = None,
) -> Tensor:
    """Lowest loss of several predictions against the true labels, then against each permutation.

    Choosing the best of several predictions by the labels must be compared with the same choice for
    labels in random order. A prediction with NaN is never chosen.

    From predictions (S, n, c), targets (n, c) and permutations (T, n) to (1 + T,) in float64.

    Examples
    --------
    >>> y = torch.tensor([[1.0], [3.0]])
    >>> lowest_losses(torch.stack([y, y.flip(0)]), y, torch.tensor([[1, 0]])).round().tolist()
    [0.0, 0.0]
    >>> lowest_losses(y[None], y, torch.tensor([[1, 0]])).round().tolist()
    [0.0, 2.0]
    """
    labels = stack_labels(targets.double(), permutations)
    set_loss = loss_named(loss)
    at_once = max(1, _MOST_AT_ONCE // max(1, labels.numel()))
    each = [
        set_loss(
            some.double().unsqueeze(2).expand(-1, *labels.shape),
            labels.expand(len(some), *labels.shape),
            None if sample_weight is None else sample_weight.expand(len(some), -1),
        )
        for some in predictions.split(at_once)
    ]
    return torch.cat(each).nan_to_num(nan=torch.inf, posinf=torch.inf).amin(0)


def permutation_p_value(losses: Tensor) -> float:
    """Probability of a loss as low as the first one if labels were unrelated to the rows.

    ``(1 + #{t : loss_t ≤ loss_true}) / (1 + T)``, valid for any T. Equal up to rounding counts as
    equal.

    Examples
    --------
    >>> permutation_p_value(torch.tensor([0.5, 0.9, 0.8, 1.0]))
    0.25
    """
    true, permuted = losses[0], losses[1:]
    as_low = int((permuted <= true + 1e-9 * true.abs()).sum())
    return (1 + as_low) / (1 + len(permuted))


def press_r2(residuals: Tensor, targets: Tensor, sample_weight: Tensor | None = None) -> float:
    """R² of leave-one-out predictions, ``1 − Σ w e₍₋ᵢ₎² / Σ w (y − ȳ)²`` over all targets.

    Residuals are those of leave-one-out, (n, c) as the targets. NaN where the targets are constant.

    Examples
    --------
    >>> press_r2(torch.tensor([[0.5], [0.0], [-0.5]]), torch.tensor([[1.0], [2.0], [3.0]]))
    0.75
    """
    Y = targets.double()
    w = torch.ones(len(Y), 1).to(Y) if sample_weight is None else sample_weight.unsqueeze(-1).to(Y)
    mean = (w * Y).sum(0) / w.sum()
    total = float((w * (Y - mean).square()).sum())
    return 1 - float((w * residuals.square()).sum()) / total if total > 0 else float("nan")


def cook_distance(residuals: Tensor, leverage: Tensor) -> Tensor:
    """Cook's distance of each row: how far the fit moves when the row is left out.

    ``e₍₋ᵢ₎² hᵢ / (s² Σh)`` with the leave-one-out residual, the leverage and the residual variance
    ``s²``; the mean over targets. It is exact for least squares; under a ridge penalty it ranks
    rows by the same two things: being unusual, and disagreeing with the other rows.

    From leave-one-out residuals (n, c) and leverage (n,) to (n,).

    Examples
    --------
    >>> cook_distance(torch.tensor([[1.0], [-1.0], [4.0]]), torch.tensor([0.2, 0.2, 0.6])).argmax()
    tensor(2)
    """
    h = leverage.unsqueeze(-1)
    dof = float(leverage.sum())
    within = ((1 - h) * residuals).square().sum(0)  # of the fit with all rows
    variance = within / max(len(residuals) - dof, 1.0)
    share = residuals.square() * h / (variance * dof).clamp_min(torch.finfo(h.dtype).tiny)
    return share.mean(-1)
