"""Linear members: ridge regression by its leave-one-out error, logistic regression for classes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from adacap.core.ridge import Ridge
from adacap.core.ridge_path import RidgePath
from adacap.members.fold_data import ABSENT, FoldData
from adacap.predictors import Linear

__all__ = ["fit_linear"]

_STRENGTH = 0.3  # inverse of the penalty of logistic regression, on standardised columns
_GRID = torch.logspace(-2, 4, 13, dtype=torch.float64)


def fit_linear(data: FoldData) -> tuple[Linear, dict[str, Tensor]]:
    """Ridge or logistic regression for every fold on the rows outside it.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 40)[:, None]
    >>> data = FoldData(x, 3 * x, None, torch.arange(40) % 2, k=2, seed=0)
    >>> fit_linear(data)[1]["weight"].flatten().round(decimals=1)
    tensor([3., 3.], dtype=torch.float64)
    """
    fit = _ridge if data.loss == "rmse" else _logistic
    weights, offsets = zip(*(fit(data, k) for k in range(data.k)), strict=True)
    predictor = Linear(data.k, data.x.shape[1], data.targets.shape[1])
    return predictor, {"weight": torch.stack(weights), "bias": torch.stack(offsets)}


def _logistic(data: FoldData, k: int) -> tuple[Tensor, Tensor]:
    from sklearn.linear_model import LogisticRegression

    rows = data.train_rows(k)
    x, shares = data.x[rows].double().cpu().numpy(), data.shares[rows].cpu().numpy()
    w = None if data.weight is None else data.weight[rows].cpu().numpy()
    c = shares.shape[1]
    labels = shares[:, 0] > 0.5 if c == 1 else shares.argmax(1)
    weight, bias = np.zeros((x.shape[1], c)), np.full(c, ABSENT)
    if len(np.unique(labels)) < 2:  # the only rows of another class are held out
        bias[shares[0] > 0] = -ABSENT if c == 1 else 0.0
        return torch.from_numpy(weight), torch.from_numpy(bias)
    model = LogisticRegression(C=_STRENGTH, max_iter=200, tol=1e-3).fit(x, labels, w)
    seen = [0] if c == 1 else model.classes_
    if c > 1 and len(seen) == 2:
        weight[:, seen] = np.column_stack([-model.coef_[0], model.coef_[0]]) / 2
        bias[seen] = np.array([-1, 1]) * model.intercept_[0] / 2
    else:
        weight[:, seen], bias[seen] = model.coef_.T, model.intercept_
    return torch.from_numpy(weight), torch.from_numpy(bias)


def _ridge(data: FoldData, k: int) -> tuple[Tensor, Tensor]:
    """Ridge regression with the lowest leave-one-out error."""
    rows = data.train_rows(k)
    x, y = data.x[rows].double(), data.targets[rows].double()
    w = None if data.weight is None else data.weight[rows].double()
    squares = RidgePath(x, _GRID, sample_weight=w, fit_intercept=True).loo(y)[0].square()
    errors = (squares if w is None else w[:, None] * squares).sum((1, 2))
    lam = float(_GRID[int(errors.argmin())])
    fit = Ridge(x, lam, sample_weight=w, fit_intercept=True).solve(y)
    return fit.coef, fit.intercept
