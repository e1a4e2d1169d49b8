"""Output layers: the trained closed form, and the ordinary linear one."""

import math

import torch
from torch import Tensor, nn

from adacap.core.mlr import MLRForm, MLRLoss, mlr_loss
from adacap.core.tikhonov import RidgeFit, ridge_fit

__all__ = ["LinearHead", "TikhonovHead", "linear_from"]


class TikhonovHead(nn.Module):
    """Output layer that is solved, not stepped: ridge regression with a trained λ.

    The only parameter is ``log_lambda``. While training, calling the head with the hidden layer
    and the targets gives the fitted values ``H·Y``; :meth:`mlr_loss` gives the loss; afterwards
    :meth:`freeze` gives an ordinary ``nn.Linear``.

    Parameters
    ----------
    lam : float, default=1.0
        Start of λ.
    fit_intercept : bool, default=False
        Unpenalised intercept; the paper has none.

    Examples
    --------
    >>> head = TikhonovHead(lam=1.0)
    >>> hidden, y = torch.eye(2), torch.tensor([[2.0], [4.0]])
    >>> head(hidden, y).flatten().tolist()
    [1.0, 2.0]
    >>> head.freeze(hidden, y)(hidden).flatten().tolist()
    [1.0, 2.0]
    """

    def __init__(self, lam: float = 1.0, *, fit_intercept: bool = False) -> None:
        if not lam > 0:
            raise ValueError(f"lam must be positive, got {lam}.")
        super().__init__()
        self.log_lambda = nn.Parameter(torch.tensor(math.log(lam)))
        self.fit_intercept = fit_intercept

    @property
    def lam(self) -> Tensor:
        """Current λ, differentiable."""
        return self.log_lambda.exp()

    def set_lambda(self, lam: float) -> None:
        """Set λ in place, for example to :func:`adacap.core.initial_lambda`."""
        with torch.no_grad():
            self.log_lambda.fill_(math.log(lam))

    def solve(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> RidgeFit:
        """Weights, intercept and fitted values for these rows."""
        return ridge_fit(
            hidden,
            targets,
            self.lam,
            sample_weight=sample_weight,
            fit_intercept=self.fit_intercept,
        )

    def forward(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Fitted values ``H·Y`` of shape (n, c)."""
        return self.solve(hidden, targets, sample_weight).fitted

    def mlr_loss(
        self,
        hidden: Tensor,
        labels: Tensor,
        *,
        loss: str = "rmse",
        form: MLRForm = "difference",
        sample_weight: Tensor | None = None,
    ) -> MLRLoss:
        """MLR loss on stacked labels; see :func:`adacap.core.mlr_loss`."""
        return mlr_loss(
            hidden,
            labels,
            self.lam,
            loss=loss,
            form=form,
            sample_weight=sample_weight,
            fit_intercept=self.fit_intercept,
        )

    @torch.no_grad()
    def freeze(
        self, hidden: Tensor, targets: Tensor, sample_weight: Tensor | None = None
    ) -> nn.Linear:
        """Solve once and return the solution as an ordinary linear layer."""
        fit = self.solve(hidden, targets, sample_weight)
        return linear_from(fit.coef, fit.intercept)

    def extra_repr(self) -> str:
        """Show λ in ``repr``."""
        return f"lam={float(self.lam.detach()):.4g}, fit_intercept={self.fit_intercept}"


def linear_from(coef: Tensor, intercept: Tensor) -> nn.Linear:
    """Linear layer with weights ``coef (J, c)`` and bias ``intercept (c,)``.

    Examples
    --------
    >>> linear_from(torch.ones(2, 1), torch.tensor([0.5]))(torch.tensor([[1.0, 2.0]])).tolist()
    [[3.5]]
    """
    with torch.no_grad(), torch.random.fork_rng(devices=[]):  # as if no start had been drawn
        layer = nn.Linear(1, 1)
        layer.in_features, layer.out_features = coef.shape
        layer.weight = nn.Parameter(coef.T.clone(memory_format=torch.contiguous_format))
        layer.bias = nn.Parameter(intercept.clone())
    return layer


class LinearHead(nn.Linear):
    """Ordinary output layer, trained by gradient: the head of the plain scheme.

    Examples
    --------
    >>> LinearHead(4, 2)(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """
