"""Ridge regression at every λ of a list, by one eigen-decomposition."""

from __future__ import annotations

import torch
from torch import Tensor

from adacap.core.ridge import Ridge, RidgeFit, row_mean

__all__ = ["RidgePath"]


class RidgePath(Ridge):
    """A :class:`Ridge` with many λ: every answer has one more dimension in front, that of λ.

    With ``AᵀA = V diag(s²) Vᵀ`` the weights at λ are ``V diag(1/(s² + λ)) (AV)ᵀY``, and with
    ``AAᵀ = U diag(s²) Uᵀ``, the smaller matrix of few rows, ``AᵀU diag(1/(s² + λ)) UᵀY``.

    Parameters
    ----------
    hidden : Tensor of shape (n_samples, d_hidden)
        Of one net.
    lams : Tensor of shape (n_lams,)
    sample_weight : Tensor of shape (n_samples,), optional
    fit_intercept : bool, default=False

    Examples
    --------
    >>> x, y = torch.tensor([[-1.0], [0.0], [1.0]]), torch.tensor([[1.0], [2.0], [6.0]])
    >>> path = RidgePath(x, torch.tensor([1.0, 8.0]), fit_intercept=True)
    >>> path.solve(y).coef.flatten().round(decimals=3), path.dof()
    (tensor([1.6670, 0.5000]), tensor([0.6667, 0.2000]))
    >>> torch.allclose(path.loo(y)[0][1], Ridge(x, 8.0, fit_intercept=True).loo(y)[0])
    True
    """

    @torch.no_grad()
    def __init__(
        self,
        hidden: Tensor,
        lams: Tensor,
        *,
        sample_weight: Tensor | None = None,
        fit_intercept: bool = False,
    ) -> None:
        super().__init__(hidden, 1.0, sample_weight=sample_weight, fit_intercept=fit_intercept)
        self.lam = lams.to(self.C)
        A = self.root_weighted(self.C)
        if self.is_primal:
            squares, V = torch.linalg.eigh(A.mT @ A)
            self._basis, self._rows = V, A @ V
        else:
            squares, U = torch.linalg.eigh(A @ A.mT)
            self._basis, self._rows = A.mT @ U, U
        self._squares: Tensor = squares.clamp_min(0)
        self._gains = 1 / (self._squares + self.lam.unsqueeze(-1))  # (n_lams, r)

    @torch.no_grad()
    def solve(self, targets: Tensor) -> RidgeFit:
        """Output layers and fitted values; nothing here has a gradient.

        Parameters
        ----------
        targets : Tensor of shape (n_samples, n_columns)
        """
        offset = torch.zeros_like(targets[:1]) if self.mean is None else row_mean(targets, self.w)
        along = self._rows.mT @ self.root_weighted(targets - offset)
        coef = self._basis @ (self._gains.unsqueeze(-1) * along)
        mean = torch.zeros_like(self.C[:1]) if self.mean is None else self.mean
        return RidgeFit(coef, (offset - mean @ coef).squeeze(-2), self.C @ coef + offset)

    @torch.no_grad()
    def leverage(self) -> Tensor:
        """Diagonal of H at every λ, with the intercept's share."""
        rows = self._rows.square() * (1 if self.is_primal else self._squares)
        return self._with_intercept(self._gains @ rows.mT)

    @torch.no_grad()
    def dof(self) -> Tensor:
        """Effective degrees of freedom at every λ, without the intercept."""
        found: Tensor = self._gains @ self._squares
        return found
