"""The same training as AdaCap's, written as the paper's formulas read: the yardstick for speed.

``P = (AᵀA + λI)⁻¹Aᵀ`` and ``H = A·P`` are formed with a matrix inverse, and autograd
differentiates through both. ``form_H=False`` is a milder reading that multiplies from the right,
``A·((AᵀA + λI)⁻¹(AᵀY))``, and never holds an n×n matrix.
"""

import copy

import torch
from torch import Tensor, nn


def fit(
    backbone: nn.Module,
    x: Tensor,
    labels: Tensor,  # (n, 1 + T), the true ones first
    x_valid: Tensor,
    y_valid: Tensor,
    *,
    max_iter: int,
    max_lr: float = 1e-2,
    lam: float = 10.0,
    form_H: bool = True,
) -> float:
    """Train, keep the best iteration on the validation rows, return its R²."""
    log_lambda = torch.tensor(lam).log().requires_grad_()
    optimizer = torch.optim.Adam([*backbone.parameters(), log_lambda], lr=max_lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr, total_steps=max_iter)
    best, kept = -float("inf"), None
    for _ in range(max_iter):
        A = backbone(x)
        inverse = torch.linalg.inv(A.T @ A + log_lambda.exp() * torch.eye(A.shape[1]))
        if form_H:
            P = inverse @ A.T
            H = A @ P
            fitted = H @ labels
            coef = (P @ labels[:, :1]).detach()
        else:
            weights = inverse @ (A.T @ labels)
            fitted = A @ weights
            coef = weights[:, :1].detach()
        fits = (fitted - labels).square().mean(0).sqrt()
        loss = fits[0] - fits[1:].mean()
        with torch.no_grad():
            error = (backbone(x_valid) @ coef - y_valid).square().mean()
            score = float(1 - error / y_valid.var(correction=0))
        if score > best:
            best, kept = score, copy.deepcopy(backbone.state_dict())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    assert kept is not None
    backbone.load_state_dict(kept)
    return best
