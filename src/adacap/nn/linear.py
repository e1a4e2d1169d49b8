"""The ordinary output layer, trained by gradient or filled with a solution."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn

from adacap.core.mlr import LOSSES, MLRForm, MLRLoss
from adacap.core.ridge import RidgeFit
from adacap.nn.modules import TorchOperations
from adacap.nn.weights import Generators, fill, uniform

__all__ = ["LinearHead", "linear_from"]


class LinearHead(nn.Module):
    """Ordinary output layer, trained by gradient: the head of the plain scheme.

    Parameters
    ----------
    d_hidden, n_targets : int
    k : int, optional
        Number of nets.
    generators : sequence of k Generator, or one Generator, optional
        Where the weights come from; torch's default generator if not given.

    Examples
    --------
    >>> LinearHead(4, 2)(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        d_hidden: int,
        n_targets: int,
        *,
        k: int | None = None,
        generators: Generators = None,
    ) -> None:
        super().__init__()
        lead = () if k is None else (k,)
        self.weight = nn.Parameter(torch.empty(*lead, d_hidden, n_targets))
        self.bias = nn.Parameter(torch.empty(*lead, n_targets))
        for tensor in (self.weight, self.bias):
            fill(tensor.data, generators, uniform(d_hidden**-0.5))

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor) -> Self:
        """Output layer with weights ``(..., J, c)`` and offsets ``(..., c)``; nothing is drawn."""
        with torch.device("meta"):
            head = cls(*weight.shape[-2:])
        # A row-major copy: products must round the same, whichever solver made the layer.
        in_rows = {"memory_format": torch.contiguous_format}
        head.weight = nn.Parameter(weight.detach().clone(**in_rows))
        head.bias = nn.Parameter(bias.detach().clone(**in_rows))
        return head

    def forward(self, hidden: Tensor) -> Tensor:
        """Outputs for hidden features."""
        return TorchOperations(self.training).affine(hidden, self.weight, self.bias)

    def mlr_loss(
        self,
        hidden: Tensor,
        labels: Tensor,
        *,
        loss: str = "rmse",
        form: MLRForm = "difference",
        sample_weight: Tensor | None = None,
    ) -> MLRLoss:
        """Loss of the true labels: there is nothing to solve, so nothing to permute."""
        out = self(hidden)
        true = labels[..., :1, :]
        fit = LOSSES[loss](out.unsqueeze(-2), true, sample_weight)[..., 0]
        layer = RidgeFit(self.weight.detach(), self.bias.detach(), out.detach())
        return MLRLoss(fit, fit, None, layer)


def linear_from(coef: Tensor, intercept: Tensor) -> nn.Linear:
    """Linear layer with weights ``coef (J, c)`` and bias ``intercept (c,)``.

    Examples
    --------
    >>> linear_from(torch.ones(2, 1), torch.tensor([0.5]))(torch.tensor([[1.0, 2.0]])).tolist()
    [[3.5]]
    """
    layer: nn.Linear = nn.utils.skip_init(
        nn.Linear, *coef.shape, device=coef.device, dtype=coef.dtype
    )
    with torch.no_grad():
        layer.weight.copy_(coef.T)
        layer.bias.copy_(intercept)
    return layer
