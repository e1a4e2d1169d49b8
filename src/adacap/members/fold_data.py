"""What every member is trained on: rows, targets, weights, folds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["ABSENT", "FoldData"]

ABSENT = -10.0
"""Output for a class that no row outside the fold has."""


@dataclass(frozen=True, eq=False)
class FoldData:
    """Encoded rows and the folds they are divided into.

    Attributes
    ----------
    x : Tensor of shape (n, d)
    targets : Tensor of shape (n, c)
    weight : Tensor of shape (n,) or None
        Of mean 1; None if all are equal.
    fold : Tensor of shape (n,)
        The fold of each row; -1 for the few that are in none, and so are trained on by all.
    k : int
        Number of folds.
    seed : int
    loss : {"rmse", "bce", "ce"}
        ``"rmse"`` for numbers, ``"bce"`` for two classes coded -1 and 1, ``"ce"`` for one column
        per class coded 0 and 1.
    trains : Tensor of shape (k, n) or None
        Whether each fold trains on the row; None for all rows but those of the fold.
    deadline : float or None
        Of ``time.perf_counter``; members that would take longer are made smaller.
    """

    x: Tensor
    targets: Tensor
    weight: Tensor | None
    fold: Tensor
    k: int
    seed: int
    loss: str = "rmse"
    trains: Tensor | None = None
    deadline: float | None = None

    @property
    def shares(self) -> Tensor:
        """Targets of classes as shares: 0 or 1."""
        return (self.targets + 1) / 2 if self.loss == "bce" else self.targets

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.x)

    @property
    def seconds_left(self) -> float:
        """Time until the deadline."""
        return math.inf if self.deadline is None else self.deadline - time.perf_counter()

    def inside(self) -> Tensor:
        """``(k, n)``: 1 where fold k trains on the row, 0 where it is held out."""
        if self.trains is not None:
            return self.trains.to(self.x.dtype)
        folds = torch.arange(self.k, device=self.fold.device)
        return (self.fold != folds[:, None]).to(self.x.dtype)

    def weights(self) -> Tensor:
        """``(n,)`` weights of the rows."""
        return torch.ones_like(self.x[:, 0]) if self.weight is None else self.weight

    def train_rows(self, k: int) -> Tensor:
        """Rows that fold k trains on."""
        own = self.fold != k if self.trains is None else self.trains[k]
        return own.nonzero()[:, 0]
