"""The Matérn-5/2 kernel against scikit-learn's, its slope against autograd."""

import torch
from sklearn.gaussian_process.kernels import Matern

from adacap.core.matern import matern, matern_and_slope


def rows(n, seed):
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_kernel_of_each_scale_is_that_of_scikit_learn():
    a, b = rows(5, 0), rows(7, 1)
    scales = torch.tensor([[1.0, 1.0, 1.0], [0.5, 2.0, 0.1]], dtype=torch.float64)
    for found, scale in zip(matern(a, b, scales), scales, strict=True):
        known = Matern(length_scale=1.0, nu=2.5)((a * scale).numpy(), (b * scale).numpy())
        torch.testing.assert_close(found, torch.from_numpy(known))


def test_the_slope_is_the_derivative_by_the_squared_distance():
    squared = torch.tensor([0.01, 0.5, 4.0], dtype=torch.float64, requires_grad=True)
    r = (5 * squared).sqrt()
    (expected,) = torch.autograd.grad(((1 + r + r**2 / 3) * torch.exp(-r)).sum(), squared)
    a = torch.zeros(1, 1, dtype=torch.float64)
    value, slope = matern_and_slope(a, squared.detach().sqrt()[:, None], torch.ones_like(a))
    torch.testing.assert_close(slope[0, 0], expected)
    torch.testing.assert_close(
        value, matern(a, squared.detach().sqrt()[:, None], torch.ones_like(a))
    )
