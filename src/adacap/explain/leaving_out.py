"""What leaving a training row out does to a prediction, for all that is solved in closed form.

Features, λ, scales of a kernel, questions of trees and the weights of a blend stay as they are; the
layer on top is solved again without the row. For a ridge regression that is exact and costs no
solve: with ``g(x)`` the weights by which a prediction sums up the targets, ``e`` the residuals and
``h`` the leverage, a prediction moves by ``gᵢ(x)·eᵢ / (1 − hᵢ)``.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from adacap.core.linalg import safe_cholesky
from adacap.core.matern import matern
from adacap.core.ridge import Ridge
from adacap.explain.training_rows import TrainingRows
from adacap.members.boosting import BoostingSettings
from adacap.nn.predictors import Frozen

__all__ = ["boosting_moves", "kernel_moves", "linear_moves", "net_moves", "ridge_moves"]

_LEAST_SLACK = 1e-10
_CLOSE = 1e-3  # tolerance for a layer or a tree that is solved again


@torch.no_grad()
def ridge_moves(
    hidden: Tensor,
    new: Tensor,
    targets: Tensor,
    lam: float,
    weight: Tensor,
    *,
    fit_intercept: bool = True,
) -> Tensor:
    """Prediction with each row less that without it, by ridge regression on features.

    From features (n, J) and those of the rows to predict (m, J), targets (n, c) and weights (n,) to
    (m, n, c).

    Examples
    --------
    >>> x = torch.tensor([[-1.0], [0.0], [1.0], [2.0]]).double()
    >>> moves = ridge_moves(x, x[:1], x.square(), 1.0, torch.ones(4).double())
    >>> without = Ridge(x[1:], 1.0, fit_intercept=True).solve(x[1:].square())
    >>> with_it = Ridge(x, 1.0, fit_intercept=True).solve(x.square()).fitted[0, 0]
    >>> bool(torch.isclose(moves[0, 0, 0], with_it - (x[0] @ without.coef + without.intercept)[0]))
    True
    """
    ridge = Ridge(hidden, lam, sample_weight=weight, fit_intercept=fit_intercept)
    residuals, _ = ridge.loo(targets)
    centre = 0.0 if ridge.mean is None else ridge.mean
    sums = _smoother(ridge, new - centre) * weight
    if fit_intercept:
        sums = sums + weight / weight.sum()
    return sums[..., None] * residuals


def _smoother(ridge: Ridge, new: Tensor) -> Tensor:
    """``a(x)ᵀ (AᵀA + λI)⁻¹ aᵢ`` of new rows with those of the ridge, ``(m, n)``."""
    if ridge.is_primal:
        found: Tensor = new @ torch.cholesky_solve(ridge.C.mT, ridge.factor)
        return found
    # with A = √w·C: (AᵀA + λI)⁻¹Aᵀ = Aᵀ(AAᵀ + λI)⁻¹, and its columns are √w times what is wanted
    A = ridge.root_weighted(ridge.C)
    found = (new @ A.mT) @ torch.cholesky_inverse(ridge.factor)
    return found if ridge.w is None else found / ridge.w.sqrt().mT


@torch.no_grad()
def net_moves(member: Any, x: Tensor, rows: TrainingRows, *, fit_intercept: bool) -> Tensor:
    """Of one net: its output layer is solved on its features of all rows."""
    hidden, new = (member.backbone(part).double() for part in (rows.x, x))
    return ridge_moves(
        hidden, new, rows.targets, member.lam, rows.weight, fit_intercept=fit_intercept
    )


@torch.no_grad()
def linear_moves(frozen: Frozen, x: Tensor, rows: TrainingRows) -> Tensor | None:
    """Of a ridge regression per fold; None where these are not the rows of the folds."""
    if rows.fold is None:
        return None
    encode: Any = frozen.encoding or nn.Identity()
    own, new = encode(rows.x).double(), encode(x).double()
    fold = torch.from_numpy(rows.fold)
    total = x.new_zeros(len(x), len(own), rows.targets.shape[1], dtype=torch.float64)
    k = frozen.predictor.k
    for i in range(k):
        inside = (fold != i).nonzero()[:, 0]
        y, w, coef = rows.targets[inside], rows.weight[inside], frozen.arrays["weight"][i].double()
        lam = _penalty(own[inside], y, w, coef)
        if lam is None:
            return None
        total[:, inside] += ridge_moves(own[inside], new, y, lam, w) / k
    return total


def _penalty(a: Tensor, y: Tensor, w: Tensor, coef: Tensor) -> float | None:
    """The λ that gives these coefficients, ``Aᵀ(y − Aβ) = λβ``; None if none does."""
    share = (w / w.sum())[:, None]
    a, y = a - (share * a).sum(0), y - (share * y).sum(0)
    left = a.mT @ (w[:, None] * (y - a @ coef))
    lam = float((left * coef).sum() / coef.square().sum().clamp_min(1e-300))
    size = float((lam * coef).norm())
    fits = lam > 0 and float((left - lam * coef).norm()) <= _CLOSE * max(size, 1e-12)
    return lam if fits else None


@torch.no_grad()
def kernel_moves(frozen: Frozen, x: Tensor, rows: TrainingRows) -> Tensor | None:
    """Of a kernel per fold; None where these are not the rows that it was solved on."""
    encode: Any = frozen.encoding or nn.Identity()
    own, new = encode(rows.x).double(), encode(x).double()
    kept = _places(own, frozen.arrays["rows"].double())
    if kept is None:
        return None
    total = x.new_zeros(len(x), len(own), rows.targets.shape[1], dtype=torch.float64)
    k = frozen.predictor.k
    for i in range(k):
        solved = _Kernel.read(frozen, i, own[kept], rows.targets[kept], rows.weight[kept])
        if solved is None:
            return None
        total[:, kept[solved.inside]] += solved.moves(new) / k
    return total


def _places(own: Tensor, stored: Tensor) -> Tensor | None:
    """Which of the rows a kernel was solved on, in its order; None where one is not among them."""
    if len(own) == len(stored):
        return torch.arange(len(own)) if torch.allclose(own, stored, atol=1e-5) else None
    found, at, n = [], 0, len(own)
    for row in stored:  # both stand in the same order
        while at < n and not torch.allclose(own[at], row, atol=1e-5):
            at += 1
        if at == n:
            return None
        found.append(at)
        at += 1
    return torch.tensor(found)


class _Kernel:
    """The kernel of one fold, with the settings that its dual weights reveal.

    They solve ``(K + λ/w)α = y − mean``, with K a Matérn kernel plus r times a linear one: slopes
    give r, and the rest of the targets gives λ.
    """

    def __init__(
        self, x: Tensor, y: Tensor, w: Tensor, scale: Tensor, r: float, lam: float
    ) -> None:
        self.x, self.y, self.w, self.scale, self.r = x, y, w, scale, r
        self.kernel = self.beside(x)
        inverse = self.kernel.clone()
        inverse.diagonal().add_(lam / w)
        self.inverse = torch.cholesky_inverse(safe_cholesky(inverse))
        self.inside = torch.empty(0)

    @classmethod
    def read(cls, frozen: Frozen, i: int, x: Tensor, y: Tensor, w: Tensor) -> _Kernel | None:
        arrays = frozen.arrays
        weight, scale = arrays["weight"][i].double(), arrays["scale"][i : i + 1].double()
        alpha, slopes = weight[: len(x)], weight[len(x) :]
        inside = alpha.abs().sum(1).nonzero()[:, 0]
        alpha, y, w, x = alpha[inside], y[inside] - arrays["bias"][i], w[inside], x[inside]
        along = x.mT @ alpha
        r = float((slopes * along).sum() / along.square().sum().clamp_min(1e-300))
        kernel = matern(x, x, scale)[0] + r * (x @ x.mT)
        left = w[:, None] * (y - kernel @ alpha)
        lam = float((left * alpha).sum() / alpha.square().sum().clamp_min(1e-300))
        if lam <= 0 or float((left - lam * alpha).norm()) > 0.01 * float((lam * alpha).norm()):
            return None
        found = cls(x, y, w, scale, r, lam)
        found.inside = inside
        return found

    def beside(self, new: Tensor) -> Tensor:
        """Kernel of rows with those of training."""
        found: Tensor = matern(new, self.x, self.scale)[0] + self.r * (new @ self.x.mT)
        return found

    def moves(self, new: Tensor) -> Tensor:
        """Prediction with each row less that without it, ``(m, n, c)``.

        The mean of the targets is computed again too: it moves by δ, and the kernel predicts the
        targets less the new mean.
        """
        sums = self.beside(new) @ self.inverse  # g(x), (m, n)
        hat = self.kernel @ self.inverse
        slack = (1 - hat.diagonal()).clamp_min(_LEAST_SLACK)
        delta = self.y * (self.w / (self.w.sum() - self.w))[:, None]  # (n, c); y is of mean 0
        left = self.y - hat @ self.y + (1 - hat.sum(1))[:, None] * delta
        by_mean = (1 - sums.sum(1))[:, None, None] * delta
        return by_mean + sums[..., None] * (left / slack[:, None])


# ------------------------------------------------------------------------- boosted trees

MOST_ROWS = 1000
"""Rows beyond which trees are not evaluated once per row."""


@torch.no_grad()
def boosting_moves(
    frozen: Frozen, x: Tensor, rows: TrainingRows, settings: BoostingSettings
) -> Tensor | None:
    """Prediction with each row less that without it, ``(m, n, c)``; None where it cannot be found.

    The values of all leaves are found again without the row, tree after tree, from the residuals of
    the trees before. All rows are left out at once, a column for each, and the last column leaves
    out none: its leaves must be those of the model.
    """
    n, c = rows.targets.shape
    if rows.fold is None or n > MOST_ROWS:
        return None
    fold = torch.from_numpy(rows.fold)
    total = torch.zeros(len(x), n, c, dtype=torch.float64)
    k = frozen.predictor.k
    for i in range(k):
        inside = (fold != i).nonzero()[:, 0]
        leaves = _leaves(frozen, i, torch.cat([rows.x[inside], x]))  # (trees, n + m)
        for j in range(c):
            own = rows.targets[inside, j], rows.weight[inside]
            found = _grow(leaves, *own, frozen.arrays["leaf"][i, :, :, j].double(), settings)
            if found is None:
                return None
            total[:, inside, j] += found / k
    return total


def _leaves(frozen: Frozen, i: int, x: Tensor) -> Tensor:
    """Leaf of every row in every tree of a fold."""
    column, threshold = frozen.arrays["column"][i], frozen.arrays["threshold"][i]
    n_trees, depth = column.shape
    answers = x[:, column.flatten()].view(-1, n_trees, depth) > threshold
    powers = 2 ** torch.arange(depth - 1, -1, -1)
    return (answers * powers).sum(2).mT.contiguous()


def _grow(
    leaves: Tensor, y: Tensor, w: Tensor, stored: Tensor, settings: BoostingSettings
) -> Tensor | None:
    """Moves ``(m, n)`` of the rows after the first n, which are trained on."""
    n = len(y)
    kept = w[:, None].repeat(1, n + 1)  # weight of each row, by what is left out
    kept.diagonal().zero_()  # of the first n columns
    base = (kept * y[:, None]).sum(0) / kept.sum(0)
    left, predicted = y[:, None] - base, base.repeat(leaves.shape[1] - n, 1)
    for leaf, told in zip(leaves, stored, strict=True):
        place = leaf[:n]
        sums = torch.zeros(len(told), n + 1, dtype=y.dtype).index_add_(0, place, kept * left)
        counts = torch.zeros(len(told), dtype=y.dtype).index_add_(0, place, w)[:, None]
        counts = counts.repeat(1, n + 1)
        counts[place, torch.arange(n)] -= w
        values = settings.rate * sums / (counts + settings.l2)
        left = left - values[place]
        predicted = predicted + values[leaf[n:]]
        if float((values[:, n] - told).abs().max()) > _CLOSE:
            return None
    return predicted[:, n:] - predicted[:, :n]
