"""Leave-one-out residuals of ridge regression at many λ, by one decomposition."""

import torch
from torch import Tensor

from adacap.core.ridge import Ridge, row_mean

__all__ = ["loo_path"]

_LEAST_SLACK = 1e-10  # smallest 1 - h: a row that determines its own fit


@torch.no_grad()
def loo_path(ridge: Ridge, targets: Tensor, lams: Tensor) -> Tensor:
    """Residual of each row under the fit without it, at every λ of a list.

    With ``A = USVᵀ`` and ``g = s²/(s² + λ)`` row i of the fit is ``Σⱼ uᵢⱼ gⱼ(Uᵀy)ⱼ`` and its
    leverage ``Σⱼ uᵢⱼ² gⱼ``; the intercept adds its share ``wᵢ/Σw``.

    Parameters
    ----------
    ridge : Ridge
        Of one net, with an intercept; its own λ is not used.
    targets : Tensor of shape (n, q)
    lams : Tensor of shape (l,)

    Returns
    -------
    Tensor of shape (l, n, q)
        Times the root of the weight of each row, so that their squares are weighted errors.

    Examples
    --------
    >>> ridge = Ridge(torch.tensor([[-1.0], [0.0], [1.0]]), 1.0, fit_intercept=True)
    >>> y = torch.tensor([[1.0], [2.0], [6.0]])
    >>> torch.allclose(loo_path(ridge, y, torch.tensor([1.0]))[0], ridge.loo(y)[0])
    True
    """
    U, S, _ = torch.linalg.svd(ridge.root_weighted(ridge.C), full_matrices=False)
    Y = ridge.root_weighted(targets - row_mean(targets, ridge.w))
    gains = S.square() / (S.square() + lams.to(S).unsqueeze(-1))
    fitted = torch.einsum("nr,lr,rq->lnq", U, gains, U.mT @ Y)
    w = torch.ones_like(U[:, :1]) if ridge.w is None else ridge.w
    leverage = U.square() @ gains.mT + w / w.sum()
    found: Tensor = (Y - fitted) / (1 - leverage.mT.unsqueeze(-1)).clamp(min=_LEAST_SLACK)
    return found
