"""Several trained nets as one: their mean, and what is said of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from adacap.estimators.fitting import FittedMember
from adacap.training.history import History

__all__ = ["Ensemble", "summary"]


class Ensemble(nn.Module):
    """Mean of the outputs of several networks.

    Examples
    --------
    >>> import torch
    >>> Ensemble([nn.Identity(), nn.Identity()])(torch.ones(1, 1))
    tensor([[1.]])
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, x: Tensor) -> Tensor:
        """Average over members."""
        total: Tensor = self.networks[0](x)
        for network in self.networks[1:]:
            total = total + network(x)
        return total / len(self.networks)


def summary(members: list[FittedMember], before: History) -> dict[str, Any]:
    """Fitted attributes that speak of the whole, from those of the members."""
    lams = [m.lam for m in members if m.lam is not None]
    dofs = [m.effective_dof for m in members if m.effective_dof is not None]
    networks = [m.network for m in members]
    return {
        "members_": tuple(members),
        "network_": networks[0] if len(networks) == 1 else Ensemble(networks).eval(),
        "lambda_": _geometric_mean(lams) if lams else None,
        "effective_dof_": float(np.mean(dofs)) if dofs else None,
        "history_": before + members[0].history,
        "n_iter_": len(before) + max(len(m.history) for m in members),
        "best_iter_": len(before) + members[0].best_iter,
    }


def _geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else 0.0
