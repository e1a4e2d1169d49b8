"""Boosted symmetric trees: every level asks one question of all rows, all folds at once.

The gain of every question in every leaf is one matrix product, ``(leaves × rows) @ (rows ×
questions)``, so the trees of all folds grow together without a loop over rows or columns. Questions
are scored as cosine of gradients and leaf values, with noise that fades, on rows with random
weights: what keeps symmetric trees from learning noise on small tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adacap.members.fold_data import FoldData
from adacap.predictors import SymmetricTrees

__all__ = ["BoostingSettings", "Questions", "fit_boosting"]

AnyFloats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class BoostingSettings:
    """How trees are grown."""

    n_trees: int = 300
    depth: int = 4  # levels of a tree
    rate: float = 0.1  # share of each tree's leaf values that is added
    l2: float = 3.0  # rows of value 0 that are added to every leaf
    most_questions: int = 32  # thresholds per column
    noise: float = 1.0  # of scores, in deviations of the residuals; it fades with the trees


class Questions(NamedTuple):
    """Column and threshold of every question, and the answers of the rows."""

    column: Tensor  # (s,)
    threshold: Tensor  # (s,)
    answers: Tensor  # (n, s), 0 or 1

    @classmethod
    def of(cls, x: Tensor, most: int) -> Questions:
        """Thresholds between the values of each column; of many values, between quantiles.

        Examples
        --------
        >>> Questions.of(torch.tensor([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), 32).threshold
        tensor([0.5000, 1.5000])
        """
        columns, thresholds = [], []
        for j, values in enumerate(x.cpu().numpy().T):
            found = _thresholds(values, most)
            columns.append(np.full(len(found), j))
            thresholds.append(found)
        if not any(map(len, thresholds)):  # every column is constant: ask what does not matter
            columns, thresholds = [np.zeros(1, int)], [np.zeros(1)]
        column = torch.from_numpy(np.concatenate(columns)).to(x.device)
        threshold = torch.from_numpy(np.concatenate(thresholds)).to(x)
        return cls(column, threshold, (x[:, column] > threshold).to(x.dtype))


def _thresholds(values: AnyFloats, most: int) -> AnyFloats:
    different = np.unique(values)
    between: AnyFloats = (different[1:] + different[:-1]) / 2
    if len(between) <= most:
        return between
    wanted = np.quantile(values, np.linspace(0, 1, most + 2)[1:-1], method="nearest")
    places = np.searchsorted(different, wanted).clip(0, len(between) - 1)
    found: AnyFloats = between[np.unique(places)]
    return found


def fit_boosting(
    data: FoldData, settings: BoostingSettings | None = None
) -> tuple[SymmetricTrees, dict[str, Tensor]]:
    """Grow trees for every fold on the rows outside it, fewer where time runs out.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 40)[:, None]
    >>> data = FoldData(x, x.sign(), None, torch.arange(40) % 2, k=2, seed=0)
    >>> fit_boosting(data, BoostingSettings(n_trees=5))[0]
    SymmetricTrees(k=2, d_in=1, n_trees=5, depth=4, n_out=1)
    """
    settings = settings or BoostingSettings()
    growth = _Growth(data, settings)
    trees: list[tuple[Tensor, Tensor, Tensor]] = []
    for t in range(settings.n_trees):
        if trees and data.seconds_left < 0:
            break
        trees.append(growth.tree(t))
    columns, thresholds, leaves = (torch.stack(parts, 1) for parts in zip(*trees, strict=True))
    arrays = {"column": columns, "threshold": thresholds, "leaf": leaves, "bias": growth.base}
    predictor = SymmetricTrees(
        data.k, data.x.shape[1], len(trees), settings.depth, data.targets.shape[1]
    )
    return predictor, arrays


def _start(loss: str, mean: Tensor) -> Tensor:
    """Output that every row starts with: the best constant."""
    if loss == "rmse":
        return mean
    share = mean.clamp(1e-3, 1 - 1e-3)
    return torch.logit(share) if loss == "bce" else share.log()


def _fitted(loss: str, outputs: Tensor) -> Tensor:
    """What outputs say of the targets."""
    if loss == "rmse":
        return outputs
    return torch.sigmoid(outputs) if loss == "bce" else torch.softmax(outputs, -1)


def _curvature(loss: str, fitted: Tensor) -> Tensor:
    """Second derivative of the loss by the output, the divisor of Newton's step."""
    return torch.ones_like(fitted) if loss == "rmse" else fitted * (1 - fitted)


class _Growth:
    """Trees of all folds while they grow; tensors are ``(k, n)`` or ``(k, n, c)``."""

    def __init__(self, data: FoldData, settings: BoostingSettings) -> None:
        self.settings = settings
        self.generator = torch.Generator().manual_seed(data.seed)
        self.questions = Questions.of(data.x, settings.most_questions)
        self.weight = data.inside() * data.weights()
        self.total = self.weight.sum(1)
        self.loss = data.loss
        self.targets = data.targets if data.loss == "rmse" else data.shares
        mean = torch.einsum("kn,nc->kc", self.weight, self.targets) / self.total[:, None]
        self.base = _start(data.loss, mean)
        self.outputs = self.base[:, None].repeat(1, data.n_rows, 1)

    def tree(self, t: int) -> tuple[Tensor, Tensor, Tensor]:
        """One tree per fold: columns and thresholds ``(k, depth)``, leaves ``(k, 2^depth, c)``."""
        k, n = self.weight.shape
        fitted = _fitted(self.loss, self.outputs)
        residuals = self.targets - fitted
        drawn = self._draw(k, n).log().neg() * self.weight  # exponential: rows of random weight
        spread = (drawn[..., None] * residuals).square().sum((1, 2)) / self.total
        noise = self.settings.noise * spread.sqrt() * (1 - t / self.settings.n_trees)
        leaf = torch.zeros(k, n, dtype=torch.long, device=self.weight.device)
        asked = []
        for level in range(self.settings.depth):
            scores = self._scores(leaf, 2**level, drawn, residuals)
            scores += self._draw(*scores.shape, normal=True) * noise[:, None]
            best = scores.argmax(1)
            asked.append(best)
            leaf = 2 * leaf + self.questions.answers[:, best].T.long()
        values = self._values(leaf, residuals, _curvature(self.loss, fitted))
        self.outputs += values.gather(1, leaf[..., None].expand(-1, -1, values.shape[2]))
        chosen = torch.stack(asked, 1)
        return self.questions.column[chosen], self.questions.threshold[chosen], values

    def _scores(self, leaf: Tensor, n_leaves: int, weight: Tensor, residuals: Tensor) -> Tensor:
        """Score ``(k, s)`` of every question: cosine of residuals and leaf values."""
        k, n = leaf.shape
        own = self.weight.new_zeros(k, n_leaves, n).scatter_(1, leaf[:, None], 1.0)
        own *= weight[:, None]
        sums = own[:, None] * residuals.permute(0, 2, 1)[:, :, None]  # (k, c, leaves, n)
        parts = torch.cat([own[:, None], sums], 1)  # weights first
        above = (parts.reshape(-1, n) @ self.questions.answers).view(*parts.shape[:3], -1)
        sides = torch.cat([above, parts.sum(3, keepdim=True) - above], 2)
        weights, totals = sides[:, :1], sides[:, 1:]
        values = totals / (weights + self.settings.l2)
        along = (totals * values).sum((1, 2))
        size = (weights * values.square_()).sum((1, 2))
        return along / (size + 1e-12).sqrt()

    def _values(self, leaf: Tensor, residuals: Tensor, curvature: Tensor) -> Tensor:
        """Value ``(k, 2^depth, c)`` that each leaf adds: a Newton step."""
        k, c = len(leaf), residuals.shape[2]
        n_leaves = 2**self.settings.depth
        sums = residuals.new_zeros(k, n_leaves, c)
        weighed = self.weight[..., None] * residuals
        sums.scatter_add_(1, leaf[..., None].expand(-1, -1, c), weighed)
        counts = torch.zeros_like(sums)
        counts.scatter_add_(
            1, leaf[..., None].expand(-1, -1, c), self.weight[..., None] * curvature
        )
        return self.settings.rate * sums / (counts + self.settings.l2)

    def _draw(self, *shape: int, normal: bool = False) -> Tensor:
        make = torch.randn if normal else torch.rand
        found = make(shape, generator=self.generator, dtype=torch.float32).to(self.weight)
        return found if normal else found.clamp_min_(1e-9)
