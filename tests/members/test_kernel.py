"""The learned kernel: its gradient, its solution, and what it may see."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern

from adacap.core.ridge import Ridge
from adacap.exceptions import NonFiniteError
from adacap.members import kernel as kernel_module
from adacap.members.fold_data import FoldData
from adacap.members.kernel import (
    FittedKernel,
    KernelSettings,
    _gradient,
    _Logs,
    _solve,
    fit_kernel,
)
from adacap.nn.predictors import Frozen
from adacap.predictors import Kernel

SHORT = KernelSettings(n_steps=15)


def frozen(found):
    return Frozen(found.predictor, found.arrays)


# -------------------------------------------------------------------------------- training


def negative_log_likelihood(values, x, y, w):
    """Per row, of one fold, written out over pairs of rows."""
    n, d = x.shape
    scale, smooth, linear = values[:d].exp(), values[d].exp(), values[d + 1].exp()
    lam = values[d + 2].exp() + 1e-5
    is_same = torch.eye(n, dtype=torch.bool)
    squares = ((x[:, None] - x[None]) * scale).square().sum(2).masked_fill(is_same, 1.0)
    r = (5 * squares).sqrt()
    similar = ((1 + r + r**2 / 3) * torch.exp(-r)).masked_fill(is_same, 1.0)
    kernel = smooth * similar + linear * x @ x.T + torch.diag(lam / w)
    fit = (y * torch.linalg.solve(kernel, y)).sum()
    return (y.shape[1] * torch.logdet(kernel) + fit) / (2 * n)


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("n", [6, 30])
def test_the_gradient_is_that_of_the_marginal_likelihood(n, c, normal):
    k, d = 2, 4
    x, y, w = normal(k, n, d), normal(k, n, c), normal(k, n).exp()
    logs = _Logs(0.3 * normal(k, d + 3))
    values = logs.values.clone().requires_grad_()
    sum(negative_log_likelihood(*one) for one in zip(values, x, y, w, strict=True)).backward()
    found = _gradient(logs, x, y, w, x @ x.mT)
    torch.testing.assert_close(found, values.grad, rtol=1e-8, atol=1e-8)


def test_training_raises_the_likelihood(folds):
    data = folds(d=4)
    x, y = data.x.double(), data.targets.double()
    before, after = _Logs.start(3, 4), fit_kernel(data).logs
    for k in range(data.k):
        rows = data.train_rows(k)
        own = x[rows], y[rows] - y[rows].mean(0), torch.ones(len(rows))
        assert negative_log_likelihood(after.values[k], *own) < (
            negative_log_likelihood(before.values[k], *own) - 0.1
        )


def test_columns_without_influence_get_a_small_scale(folds):
    data = folds(n=120, d=4)  # the target is made of the first two columns
    scale = fit_kernel(data).logs.scale
    assert (scale[:, 0] > 5 * scale[:, 2:].amax(1)).all()


# -------------------------------------------------------------------------------- solution


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("c", [1, 2])
def test_predictions_are_the_posterior_mean(c, weighted, folds, normal):
    data = folds(c=c, weighted=weighted)
    found, new = fit_kernel(data, SHORT), normal(20, 3)
    outputs = frozen(found).each(new).numpy()
    x, y, w = (t.double().numpy() for t in (data.x, data.targets, data.weights()))
    for k in range(data.k):
        rows = data.train_rows(k).numpy()
        logs = found.logs
        kernel = ConstantKernel(float(logs.smooth[k])) * Matern(1 / logs.scale[k].numpy(), nu=2.5)
        kernel += ConstantKernel(float(logs.linear[k])) * DotProduct(0.0, "fixed")
        mean = np.average(y[rows], axis=0, weights=w[rows])
        noise = float(found.lam[k]) / w[rows]
        reference = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
        expected = reference.fit(x[rows], y[rows] - mean).predict(new.numpy())
        np.testing.assert_allclose(outputs[k], expected.reshape(-1, c) + mean, rtol=0, atol=1e-6)


def test_a_weight_of_two_is_the_row_twice_in_the_solution(normal):
    x, y, new = normal(20, 3), normal(20, 2), normal(5, 3)
    times = torch.arange(20) % 3 + 1
    logs = _Logs(0.3 * normal(1, 6))
    weights = _solve(logs, 0, x, y, times.double())
    again = torch.arange(20).repeat_interleave(times)
    repeated = _solve(logs, 0, x[again], y[again], torch.ones(len(again)))
    torch.testing.assert_close(kernel_of(logs, new, x) @ weights, (
        kernel_of(logs, new, x[again]) @ repeated
    ))  # fmt: skip


def kernel_of(logs, a, b):
    r = 5**0.5 * torch.cdist(a * logs.scale[0], b * logs.scale[0])
    return logs.smooth[0] * (1 + r + r**2 / 3) * torch.exp(-r) + logs.linear[0] * a @ b.T


def test_degrees_of_freedom_of_the_features_are_the_trace_of_the_smoother(normal):
    """What ``capacity()`` reads of a kernel."""
    x = normal(25, 3)
    logs = _Logs(0.3 * normal(1, 6))
    kernel = kernel_of(logs, x, x)
    smoother = kernel @ torch.linalg.inv(kernel + logs.lam[0] * torch.eye(25))
    features = FittedKernel(Kernel(1, 3, 25, 1), {}, logs).features(0, x)(x)
    torch.testing.assert_close(Ridge(features, logs.lam[0]).dof(), smoother.trace())


def test_rows_that_are_not_finite_are_refused_by_name(folds):
    data = folds()
    broken = replace(data, x=data.x.index_fill(0, torch.tensor([3]), float("nan")))
    with pytest.raises(NonFiniteError):
        fit_kernel(broken)


def test_features_stand_for_the_kernel(folds, normal):
    """Ridge regression on the features, with λ, is the kernel's solution."""
    data = folds()
    found, new = fit_kernel(data, SHORT), normal(7, 3)
    rows = data.train_rows(1)
    features = found.features(1, data.x[rows])
    A, y = features(data.x[rows]), data.targets[rows].double()
    mean = y.mean(0)
    gram = A.T @ A + found.lam[1] * torch.eye(len(rows))
    expected = features(new) @ torch.linalg.solve(gram, A.T @ (y - mean)) + mean
    torch.testing.assert_close(frozen(found).each(new)[1], expected, rtol=0, atol=1e-6)


# ----------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("weighted", [False, True])
def test_a_fold_never_sees_its_targets(weighted, folds, other_targets):
    data = folds(weighted=weighted)
    before, after = fit_kernel(data, SHORT), fit_kernel(other_targets(data, 1), SHORT)
    one, other = (frozen(found).each(data.x) for found in (before, after))
    torch.testing.assert_close(one[1], other[1], rtol=0, atol=0)
    assert (one[0] - other[0]).abs().max() > 0.1


def test_a_row_in_no_fold_is_trained_on_by_all(folds):
    data = folds()
    fold = data.fold.clone()
    fold[0] = -1
    outside = replace(data, fold=fold)
    changed = replace(outside, targets=data.targets.clone().index_fill_(0, torch.tensor([0]), 9.0))
    one, other = (frozen(fit_kernel(d, SHORT)).each(data.x) for d in (outside, changed))
    assert ((one - other).abs().amax((1, 2)) > 1e-3).all()


def test_large_tables_are_solved_on_some_rows(folds):
    settings = KernelSettings(n_steps=3, most_trained=20, most_solved=40)
    found, again = (fit_kernel(folds(n=90), settings) for _ in range(2))
    assert found.predictor.n_rows == 40
    assert len(found.arrays["rows"]) == 40
    assert all(torch.equal(found.arrays[name], again.arrays[name]) for name in found.arrays)


# ------------------------------------------------------------------------------- robustness


@pytest.mark.parametrize("times", [1.0, 1e-7])
def test_rows_that_are_almost_alike_do_not_fail(times, folds):
    data = folds(n=30)
    x = torch.cat([data.x, data.x + times * 1e-7])
    twice = FoldData(x, data.targets.repeat(2, 1), None, data.fold.repeat(2), 3, 0)
    found = fit_kernel(twice)
    outputs = frozen(found).each(x)
    assert torch.isfinite(outputs).all()
    assert (outputs.mean(0) - twice.targets).square().mean() < 0.1


def test_a_target_without_noise_is_learnt_to_the_last_digits():
    x = torch.linspace(-1, 1, 60)[:, None]
    data = FoldData(x, torch.sin(3 * x), None, torch.arange(60) % 3, k=3, seed=0)
    found = fit_kernel(data)
    assert (frozen(found).each(x) - torch.sin(3 * x)).abs().max() < 0.02


def test_a_constant_target_is_predicted(folds):
    data = folds()
    flat = replace(data, targets=torch.full_like(data.targets, 2.5))
    outputs = frozen(fit_kernel(flat)).each(data.x)
    torch.testing.assert_close(outputs, torch.full_like(outputs, 2.5))


def test_a_late_kernel_is_one_all_the_same(folds):
    late = replace(folds(), deadline=0.0)
    found = fit_kernel(late)
    assert torch.isfinite(found.arrays["weight"]).all()
    assert torch.equal(found.logs.values, kernel_module._Logs.start(3, 3).values.double())


def test_what_float32_cannot_factorise_is_trained_in_float64(monkeypatch):
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    data = FoldData(x, torch.sin(2 * x[:, :1]), None, torch.arange(60) % 3, k=3, seed=0)
    plain, kinds = kernel_module._gradient, []

    def fails_in_float32(logs, x, *others):
        kinds.append(x.dtype)
        return None if x.dtype == torch.float32 and len(kinds) > 5 else plain(logs, x, *others)

    monkeypatch.setattr(kernel_module, "_gradient", fails_in_float32)
    settings = KernelSettings(n_steps=20, most_trained=30)
    found = fit_kernel(data, settings)
    assert kinds == [torch.float32] * 6 + [torch.float64] * 15
    monkeypatch.undo()
    alike = fit_kernel(data, settings)
    torch.testing.assert_close(found.logs.values, alike.logs.values, atol=0.02, rtol=0)
