"""The Tikhonov operator in a learned kernel: H = K (K + λ/w)⁻¹.

K is a Matérn-5/2 kernel with a scale per column, plus a linear one. Scales, amplitudes and λ are
trained by Adam on the marginal likelihood, all folds at once, with the gradient in closed form;
then the output is solved, as the Tikhonov head solves its layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from adacap.core.linalg import safe_cholesky
from adacap.core.matern import matern, matern_and_slope
from adacap.members.fold_data import FoldData
from adacap.predictors import Kernel

__all__ = ["FittedKernel", "KernelSettings", "fit_kernel"]

_LEAST_NOISE = 1e-5  # of λ, in units of the variance of the target
_LONGER = 2.5  # steps on few rows over those on many


@dataclass(frozen=True)
class KernelSettings:
    """How a kernel is trained."""

    n_steps: int = 80  # on more rows than ``most_trained``; 2.5 times as many on fewer
    max_lr: float = 0.1  # of Adam on logarithms; it falls to almost 0 over the last half
    most_trained: int = 200  # rows of a fold that scales and λ are trained on
    most_solved: int = 2000  # rows that the output is solved on


class _Logs(NamedTuple):
    """What is trained, as logarithms: scale of each column, amplitudes, λ; one row per fold."""

    values: Tensor  # (k, d + 3)

    @classmethod
    def start(cls, k: int, d: int) -> _Logs:
        values = torch.zeros(k, d + 3, dtype=torch.float32)
        values[:, :d] = -math.log(d) / 2  # so that rows are about 1 apart
        values[:, d + 1] = math.log(0.1 / d)
        values[:, d + 2] = math.log(0.1)
        return cls(values)

    @property
    def scale(self) -> Tensor:
        return self.values[:, :-3].exp()

    @property
    def smooth(self) -> Tensor:
        return self.values[:, -3].exp()

    @property
    def linear(self) -> Tensor:
        return self.values[:, -2].exp()

    @property
    def lam(self) -> Tensor:
        return self.values[:, -1].exp() + _LEAST_NOISE


class FittedKernel(NamedTuple):
    """A kernel per fold."""

    predictor: Kernel
    arrays: dict[str, Tensor]
    logs: _Logs

    @classmethod
    def of(cls, predictor: Kernel, arrays: dict[str, Tensor], values: Tensor) -> FittedKernel:
        """From its parts, ``values`` being those of ``logs``."""
        return cls(predictor, arrays, _Logs(values))

    @property
    def lam(self) -> Tensor:
        """λ of each fold."""
        return self.logs.lam

    def features(self, k: int, rows: Tensor) -> Callable[[Tensor], Tensor]:
        """Features ``(n, m)`` whose ridge regression is the kernel's, solved on ``rows`` (m, d)."""
        rows = rows.double()
        squares, vectors = torch.linalg.eigh(_kernel(self.logs, k, rows, rows))
        root = vectors / squares.clamp_min(1e-12 * squares.max()).sqrt()
        return lambda x: _kernel(self.logs, k, x.double(), rows) @ root


def fit_kernel(data: FoldData, settings: KernelSettings | None = None) -> FittedKernel:
    """Train a kernel per fold and solve its output.

    Examples
    --------
    >>> x = torch.linspace(-1, 1, 40)[:, None]
    >>> data = FoldData(x, torch.sin(4 * x), None, torch.arange(40) % 2, k=2, seed=0)
    >>> found = fit_kernel(data)
    >>> found.predictor
    Kernel(k=2, d_in=1, n_rows=40, n_out=1)
    >>> bool((found.lam < 0.01).all())
    True
    """
    settings = settings or KernelSettings()
    kept = _some(torch.arange(data.n_rows), settings.most_solved, data.seed)
    x, y = data.x[kept].double(), data.targets[kept].double()
    w, inside = data.weights()[kept].double(), data.inside()[:, kept]
    parts = [own.nonzero()[:, 0] for own in inside]
    means = torch.stack([w[rows] @ y[rows] / w[rows].sum() for rows in parts])  # (k, c)
    size = min(settings.most_trained, *map(len, parts))
    chosen = torch.stack([_some(rows, size, data.seed + k) for k, rows in enumerate(parts)])
    centred = y[chosen] - means[:, None]
    logs = _train(x[chosen].float(), centred.float(), w[chosen].float(), settings, data)
    weight = x.new_zeros(data.k, len(x), y.shape[1])
    for k, rows in enumerate(parts):
        weight[k, rows] = _solve(logs, k, x[rows], y[rows] - means[k], w[rows])
    slopes = logs.linear[:, None, None] * (x.T @ weight)
    arrays = {
        "rows": x,
        "scale": logs.scale,
        "weight": torch.cat([logs.smooth[:, None, None] * weight, slopes], 1),
        "bias": means,
    }
    predictor = Kernel(data.k, x.shape[1], len(x), y.shape[1])
    return FittedKernel(predictor, arrays, logs)


def _some(rows: Tensor, most: int, seed: int) -> Tensor:
    """At most ``most`` of the rows, drawn by the seed, in their order."""
    if len(rows) <= most:
        return rows
    draw = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    return rows[draw[:most].sort().values]


def _train(x: Tensor, y: Tensor, w: Tensor, settings: KernelSettings, data: FoldData) -> _Logs:
    """Adam on the negative log marginal likelihood per row, of ``(k, n)`` rows, in float32.

    Where there is so little noise that the kernel has no Cholesky factor in float32, training
    continues in float64. It ends early if there is none in float64 either, or when time runs out.
    """
    logs = _Logs.start(len(x), x.shape[2])
    p, steps = logs.values, settings.n_steps
    if x.shape[1] < settings.most_trained:
        steps = round(_LONGER * steps)
    mean, square = torch.zeros_like(p), torch.zeros_like(p)
    products = x @ x.mT
    for t in range(1, steps + 1):
        gradient = _gradient(logs, x, y, w, products)
        if gradient is None and x.dtype == torch.float32:
            x, y, w, products = (part.double() for part in (x, y, w, products))
            p, mean, square = (part.double() for part in (p, mean, square))
            logs = _Logs(p)
            gradient = _gradient(logs, x, y, w, products)
        if gradient is None or data.seconds_left < 0:
            break
        mean.lerp_(gradient, 0.1)
        square.lerp_(gradient.square(), 0.01)
        rate = settings.max_lr * min(1.0, 2 * (1 - t / steps) + 0.02)
        move = mean / (1 - 0.9**t) / ((square / (1 - 0.99**t)).sqrt() + 1e-8)
        p -= rate * move
    return _Logs(p.double())


def _gradient(logs: _Logs, x: Tensor, y: Tensor, w: Tensor, products: Tensor) -> Tensor | None:
    """Gradient of the negative log marginal likelihood per row; None where K has no factor.

    With α = K⁻¹y it is ``½ tr((c·K⁻¹ - αα') ∂K)``. The sum over pairs of rows of a scale's
    derivative is a matrix product, since ``(x - x')²`` is one.
    """
    scale, smooth, linear = logs.scale, logs.smooth, logs.linear
    similar, fall = matern_and_slope(x, x, scale)
    kernel = smooth[:, None, None] * similar + linear[:, None, None] * products
    kernel.diagonal(dim1=1, dim2=2).add_(logs.lam[:, None] / w)
    factor = _factor(kernel)
    if factor is None:
        return None
    inverse = torch.cholesky_inverse(factor)
    alpha = inverse @ y
    slope = (y.shape[2] * inverse - alpha @ alpha.mT) / (2 * x.shape[1])
    found = torch.empty_like(logs.values)
    found[:, -3] = smooth * (slope * similar).sum((1, 2))
    found[:, -2] = linear * (slope * products).sum((1, 2))
    on_noise = (slope.diagonal(dim1=1, dim2=2) / w).sum(1)
    found[:, -1] = (logs.lam - _LEAST_NOISE) * on_noise
    pairs = slope * fall * smooth[:, None, None]
    sums = (pairs.sum(2)[..., None] * x.square()).sum(1) - (x * (pairs @ x)).sum(1)
    found[:, :-3] = 4 * scale.square() * sums
    return found.clamp_(-1e3, 1e3)


def _factor(kernel: Tensor) -> Tensor | None:
    """Cholesky factor, in float64 where float32 fails; None where both fail."""
    factor, info = torch.linalg.cholesky_ex(kernel)
    if info.any():
        wide, info = torch.linalg.cholesky_ex(kernel.double())
        factor = wide.to(kernel.dtype)
    return None if info.any() else factor


def _kernel(logs: _Logs, k: int, a: Tensor, b: Tensor) -> Tensor:
    """Kernel of fold k between rows."""
    similar = matern(a, b, logs.scale[k : k + 1])[0]
    found: Tensor = logs.smooth[k] * similar + logs.linear[k] * (a @ b.T)
    return found


def _solve(logs: _Logs, k: int, x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """Dual weights of fold k."""
    kernel = _kernel(logs, k, x, x)
    kernel.diagonal().add_(logs.lam[k] / w)
    return torch.cholesky_solve(y, safe_cholesky(kernel))
