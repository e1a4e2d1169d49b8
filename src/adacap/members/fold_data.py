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
    """Encoded rows and the folds they are divided into."""

    x: Tensor  # (n, d)
    targets: Tensor  # (n, c): numbers, -1 and 1 of two classes, 0 and 1 in a column per class
    weight: Tensor | None  # (n,) of mean 1; None if all are equal
    fold: Tensor  # (n,); -1 for the few that are in none, and so are trained on by all
    k: int  # number of folds
    seed: int
    loss: str = "rmse"  # rmse, bce or ce, as targets are
    trains: Tensor | None = None  # (k, n): rows that each fold trains on; None: all but its own
    deadline: float | None = None  # of ``time.perf_counter``; slower members are made smaller

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
