"""Losses against torch's own, weights as repeats, the best constant as the best constant."""

import pytest
import torch
import torch.nn.functional as F

from adacap.core.losses import (
    LOSSES,
    binary_cross_entropy,
    constant_fit,
    cross_entropy,
    loss_named,
    rmse,
)

N_SAMPLES, N_SETS = 7, 3
EVERY_LOSS = pytest.mark.parametrize("name", ["rmse", "bce", "ce"])


def coded(name, normal, batch=()):
    """Targets of the coding that a loss expects, (..., n, sets, c)."""
    raw = normal(*batch, N_SAMPLES, N_SETS, 3)
    if name == "rmse":
        return raw
    if name == "bce":
        return raw[..., :1].sign()
    return F.one_hot(raw.argmax(-1), 3).to(raw.dtype)


def test_rmse_is_the_root_of_the_mean_square(normal):
    prediction, targets = normal(N_SAMPLES, N_SETS, 2), normal(N_SAMPLES, N_SETS, 2)
    for s in range(N_SETS):
        expected = F.mse_loss(prediction[:, s], targets[:, s]).sqrt()
        torch.testing.assert_close(rmse(prediction, targets)[s], expected)


def test_binary_cross_entropy_equals_torch(normal):
    prediction, targets = 5 * normal(N_SAMPLES, N_SETS, 1), coded("bce", normal)
    values = binary_cross_entropy(prediction, targets)
    for s in range(N_SETS):
        zero_one = (targets[:, s] + 1) / 2
        expected = F.binary_cross_entropy_with_logits(prediction[:, s], zero_one)
        torch.testing.assert_close(values[s], expected)


def test_cross_entropy_equals_torch(normal):
    prediction, targets = 5 * normal(N_SAMPLES, N_SETS, 3), coded("ce", normal)
    values = cross_entropy(prediction, targets)
    for s in range(N_SETS):
        expected = F.cross_entropy(prediction[:, s], targets[:, s].argmax(-1))
        torch.testing.assert_close(values[s], expected)


def test_large_scores_stay_finite():
    score = torch.tensor([[[1e4]], [[-1e4]]])
    assert binary_cross_entropy(score, score.sign()).item() == 0
    assert binary_cross_entropy(-score, score.sign()).item() == pytest.approx(1e4)


@EVERY_LOSS
def test_leading_dimensions_are_kept(name, normal):
    targets = coded(name, normal, (2, 4))
    prediction = normal(*targets.shape)
    values = LOSSES[name](prediction, targets)
    assert values.shape == (2, 4, N_SETS)
    torch.testing.assert_close(values[1, 3], LOSSES[name](prediction[1, 3], targets[1, 3]))


@EVERY_LOSS
def test_integer_weights_are_repeated_rows(name, normal):
    times = torch.tensor([1, 0, 2, 3, 0, 1, 1])
    targets = coded(name, normal)
    prediction = normal(*targets.shape)
    repeated = [t.repeat_interleave(times, 0) for t in (prediction, targets)]
    torch.testing.assert_close(LOSSES[name](prediction, targets, times), LOSSES[name](*repeated))
    torch.testing.assert_close(constant_fit(name, targets, times), constant_fit(name, repeated[1]))


@EVERY_LOSS
def test_gradients(name, normal):
    targets, w = coded(name, normal), torch.linspace(0.5, 2, N_SAMPLES, dtype=torch.float64)
    prediction = normal(*targets.shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: LOSSES[name](p, targets, w), [prediction])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_of_an_exact_fit_is_finite(dtype):
    targets = torch.ones(4, 1, 1, dtype=dtype)
    prediction = targets.clone().requires_grad_()
    rmse(prediction, targets).sum().backward()
    assert torch.isfinite(prediction.grad).all()


@EVERY_LOSS
@pytest.mark.parametrize("weighted", [False, True])
def test_no_constant_beats_the_constant_fit(name, weighted, normal):
    targets = coded(name, normal)
    w = torch.linspace(0.1, 2, N_SAMPLES, dtype=targets.dtype) if weighted else None
    best = constant_fit(name, targets, w)
    assert best.shape == (N_SETS,)
    found = torch.full_like(best, torch.inf)
    for _ in range(300):
        other = normal(1, N_SETS, targets.shape[-1]).expand_as(targets)
        found = torch.minimum(found, LOSSES[name](other, targets, w))
    assert (found >= best - 1e-12).all()
    assert (found - best).min() < 0.1  # and it is reached


def test_constant_fit_of_one_class_is_zero():
    assert constant_fit("bce", torch.ones(5, 1, 1)).item() == pytest.approx(0, abs=1e-5)
    one_hot = torch.tensor([[[1.0, 0.0]]]).expand(5, 1, 2)
    assert constant_fit("ce", one_hot).item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("use", [loss_named, lambda name: constant_fit(name, torch.ones(2, 1, 1))])
def test_unknown_loss_is_named(use):
    with pytest.raises(ValueError, match=r"loss must be one of rmse, bce, ce, got 'mae'\."):
        use("mae")
