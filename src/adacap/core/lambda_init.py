"""Where training of λ starts: the point of a grid at which the MLR loss reacts most."""

import torch
from torch import Tensor

from adacap.core.mlr import MLRForm, loss_named, mlr_of_fits
from adacap.core.ridge_path import RidgePath

__all__ = ["initial_lambda", "lambda_grid", "mlr_path"]


def lambda_grid(low: float = 1e-1, high: float = 1e4, n_points: int = 12) -> Tensor:
    """Geometric grid of candidate λ; the defaults are the paper's ``10⁻¹·10^(5k/11)``.

    Examples
    --------
    >>> lambda_grid(1.0, 100.0, 3)
    tensor([  1.,  10., 100.], dtype=torch.float64)
    """
    if not 0 < low < high or n_points < 2:
        raise ValueError(
            "A λ grid needs 0 < low < high and at least 2 points, got "
            f"low={low}, high={high}, n_points={n_points}."
        )
    exponents = torch.linspace(0, 1, n_points, dtype=torch.float64)
    return low * (high / low) ** exponents


@torch.no_grad()
def mlr_path(
    hidden: Tensor,
    labels: Tensor,
    grid: Tensor,
    *,
    loss: str = "rmse",
    form: MLRForm = "difference",
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
) -> Tensor:
    """MLR loss at every λ of a grid, from a single eigen-decomposition in float64.

    Parameters
    ----------
    hidden : Tensor of shape (n_samples, d_hidden)
    labels : Tensor of shape (n_samples, 1 + T, n_targets)
    grid : Tensor of shape (n_points,)
    loss, form, sample_weight, fit_intercept
        As in :func:`mlr_loss`.

    Returns
    -------
    Tensor of shape (n_points,), float64

    Examples
    --------
    >>> y = torch.tensor([[1.0], [-1.0], [2.0], [-2.0]])
    >>> labels = stack_labels(y, torch.tensor([[1, 2, 3, 0]]))
    >>> mlr_path(y, labels, lambda_grid(1.0, 100.0, 3)).round(decimals=3)
    tensor([-0.5570, -0.2000, -0.0280], dtype=torch.float64)
    """
    Y, w = labels.double(), None if sample_weight is None else sample_weight.double()
    path = RidgePath(hidden.double(), grid, sample_weight=w, fit_intercept=fit_intercept)
    fitted = path.solve(Y.flatten(-2)).fitted.unflatten(-1, Y.shape[-2:])
    many = None if w is None else w.expand(len(grid), -1)
    labels_at_each = Y.expand(len(grid), *Y.shape)
    fits = loss_named(loss)(fitted, labels_at_each, many)
    return mlr_of_fits(fits, labels_at_each, loss=loss, form=form, sample_weight=many).value


def initial_lambda(
    hidden: Tensor,
    labels: Tensor,
    grid: Tensor,
    *,
    loss: str = "rmse",
    form: MLRForm = "difference",
    sample_weight: Tensor | None = None,
    fit_intercept: bool = False,
    values: Tensor | None = None,
) -> Tensor:
    """Start of λ: geometric middle of the grid step over which the MLR loss rises most.

    Paper, appendix: ``k̂ = argmax MLR(λ_{k+1}) − MLR(λ_k)``, ``λ_init = √(λ_k̂ λ_{k̂+1})``.

    Parameters
    ----------
    hidden, labels, grid, loss, form, sample_weight, fit_intercept
        As in :func:`mlr_path`.
    values : Tensor of shape (n_points - 1,), optional
        The value to return for each step of the grid, in place of its geometric middle. The code
        published in 2021 has a geometric grid of 10 values here, beside the 11 of its ``grid``.

    Returns
    -------
    Tensor of shape (), float64

    Examples
    --------
    >>> y = torch.tensor([[1.0], [-1.0], [2.0], [-2.0]])
    >>> labels = stack_labels(y, torch.tensor([[1, 2, 3, 0]]))
    >>> initial_lambda(y, labels, lambda_grid(1.0, 100.0, 3)).round(decimals=2)
    tensor(3.1600, dtype=torch.float64)
    >>> initial_lambda(y, labels, lambda_grid(1.0, 100.0, 3), values=torch.tensor([1.0, 50.0]))
    tensor(1.)
    """
    path = mlr_path(
        hidden, labels, grid,
        loss=loss, form=form, sample_weight=sample_weight, fit_intercept=fit_intercept,
    )  # fmt: skip
    k = int(path.diff().argmax())
    if values is not None:
        return values[k]
    return (grid[k] * grid[k + 1]).sqrt()
