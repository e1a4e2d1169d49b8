"""Losses against torch's own; the MLR loss by hand, its two forms, its gradient."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from adacap.core.losses import best_constant
from adacap.core.mlr import (
    LOSSES,
    binary_cross_entropy,
    constant_fit,
    cross_entropy,
    loss_named,
    mlr_loss,
    mlr_of_fits,
    rmse,
)
from adacap.core.permutation import draw_permutations, stack_labels
from adacap.core.ridge import Ridge

N_SAMPLES, N_SETS = 7, 3
LONG, WIDE = (10, 4), (5, 9)
SHAPES = pytest.mark.parametrize("shape", [LONG, WIDE, (6, 6)], ids=["long", "wide", "square"])
EVERY_NAME = pytest.mark.parametrize("name", ["rmse", "bce", "ce", "mse"])
EVERY_LOSS = pytest.mark.parametrize("loss", ["rmse", "bce", "ce", "mse"])
FORMS = pytest.mark.parametrize("form", ["difference", "absolute_gap"])


def coded(name, normal, batch=()):
    """Targets of the coding that a loss expects, (..., n, sets, c)."""
    raw = normal(*batch, N_SAMPLES, N_SETS, 3)
    if name in ("rmse", "mse"):
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


@EVERY_NAME
def test_losses_keep_leading_dimensions(name, normal):
    targets = coded(name, normal, (2, 4))
    prediction = normal(*targets.shape)
    values = LOSSES[name](prediction, targets)
    assert values.shape == (2, 4, N_SETS)
    torch.testing.assert_close(values[1, 3], LOSSES[name](prediction[1, 3], targets[1, 3]))


@EVERY_NAME
def test_losses_take_integer_weights_as_repeated_rows(name, normal):
    times = torch.tensor([1, 0, 2, 3, 0, 1, 1])
    targets = coded(name, normal)
    prediction = normal(*targets.shape)
    repeated = [t.repeat_interleave(times, 0) for t in (prediction, targets)]
    torch.testing.assert_close(LOSSES[name](prediction, targets, times), LOSSES[name](*repeated))
    torch.testing.assert_close(constant_fit(name, targets, times), constant_fit(name, repeated[1]))


@EVERY_NAME
def test_gradients_of_the_losses(name, normal):
    targets, w = coded(name, normal), torch.linspace(0.5, 2, N_SAMPLES, dtype=torch.float64)
    prediction = normal(*targets.shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: LOSSES[name](p, targets, w), [prediction])


@pytest.mark.parametrize("weighted", [False, True])
def test_mse_is_the_square_of_the_rmse(weighted, normal):
    prediction, targets = normal(N_SAMPLES, N_SETS, 2), normal(N_SAMPLES, N_SETS, 2)
    w = torch.linspace(0.1, 2, N_SAMPLES, dtype=targets.dtype) if weighted else None
    torch.testing.assert_close(
        LOSSES["mse"](prediction, targets, w), rmse(prediction, targets, w).square()
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_of_an_exact_fit_is_finite(dtype):
    targets = torch.ones(4, 1, 1, dtype=dtype)
    prediction = targets.clone().requires_grad_()
    rmse(prediction, targets).sum().backward()
    assert torch.isfinite(prediction.grad).all()


@EVERY_NAME
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
    with pytest.raises(ValueError, match=r"Unknown loss 'mae'\. .*Known: bce, ce, mse, rmse\."):
        use("mae")


# ------------------------------------------------------------------------------ the MLR loss


def coded_labels(loss, n_samples, normal, n_permutations=3, seed=0):
    raw = normal(n_samples, 3)
    if loss in ("rmse", "mse"):
        targets = raw[:, :2]
    elif loss == "bce":
        targets = raw[:, :1].sign()
    else:
        targets = F.one_hot(raw.argmax(-1), 3).to(raw.dtype)
    generator = torch.Generator().manual_seed(seed)
    return stack_labels(targets, draw_permutations(n_samples, n_permutations, generator))


@SHAPES
@EVERY_LOSS
def test_value_is_true_fit_minus_mean_permuted_fit(shape, loss, normal):
    A, labels, lam = normal(*shape), coded_labels(loss, shape[0], normal), 0.7
    H = Ridge(A, lam).solve(torch.eye(shape[0], dtype=A.dtype)).fitted
    fits = []
    for t in range(4):
        Y = labels[:, t]
        fits.append(LOSSES[loss]((H @ Y).unsqueeze(1), Y.unsqueeze(1)).squeeze())
    result = mlr_loss(A, labels, lam, loss=loss)
    torch.testing.assert_close(result.fit_true, fits[0])
    torch.testing.assert_close(result.fit_permuted, torch.stack(fits[1:]).mean())
    torch.testing.assert_close(result.value, fits[0] - torch.stack(fits[1:]).mean())
    baseline = constant_fit(loss, labels[:, :1]).squeeze()
    gap = mlr_loss(A, labels, lam, loss=loss, form="absolute_gap")
    expected = fits[0] + (baseline - torch.stack(fits[1:])).abs().mean()
    torch.testing.assert_close(gap.value, expected)


@SHAPES
@EVERY_LOSS
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_identity_permutations_give_zero(shape, loss, fit_intercept, normal):
    targets = coded_labels(loss, shape[0], normal)[:, 0]
    labels = stack_labels(targets, torch.arange(shape[0]).expand(4, -1))
    result = mlr_loss(normal(*shape), labels, 0.7, loss=loss, fit_intercept=fit_intercept)
    assert abs(result.value) < 1e-12


@SHAPES
@EVERY_LOSS
@FORMS
def test_without_permutations_it_is_the_plain_fit(shape, loss, form, normal):
    A, labels = normal(*shape), coded_labels(loss, shape[0], normal, n_permutations=0)
    result = mlr_loss(A, labels, 0.7, loss=loss, form=form)
    fitted = Ridge(A, 0.7).solve(labels[:, 0]).fitted
    expected = LOSSES[loss](fitted.unsqueeze(1), labels).squeeze()
    torch.testing.assert_close(result.value, expected)
    torch.testing.assert_close(result.fit_true, expected)
    assert result.fit_permuted is None


def gradients(value, *inputs):
    """Value and gradients of a function at copies of its inputs."""
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    result = value(*leaves)
    return result.detach(), *torch.autograd.grad(result, leaves)


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_absolute_gap_has_the_gradient_of_the_difference(shape, fit_intercept, normal):
    """As long as no permuted fit is worse than the best constant."""
    labels = coded_labels("rmse", shape[0], normal)
    labels = labels - labels.mean(0)  # then no ridge fit is worse, with an intercept or without
    A, lam = normal(*shape), torch.tensor(0.7, dtype=torch.float64)
    options = {"fit_intercept": fit_intercept}
    gap = gradients(
        lambda A, lam: mlr_loss(A, labels, lam, form="absolute_gap", **options).value, A, lam
    )
    difference = gradients(lambda A, lam: mlr_loss(A, labels, lam, **options).value, A, lam)
    for ours, expected in zip(gap[1:], difference[1:], strict=True):
        torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(gap[0], difference[0] + constant_fit("rmse", labels)[0])


@SHAPES
def test_absolute_gap_pulls_back_fits_worse_than_the_constant(shape, normal):
    labels = coded_labels("rmse", shape[0], normal) + 100  # far off, and no intercept
    A, lam = normal(*shape), torch.tensor(50.0, dtype=torch.float64)

    def total(A, lam):
        result = mlr_loss(A, labels, lam)
        return result.fit_true + result.fit_permuted

    assert (mlr_loss(A, labels, lam).fit_permuted > constant_fit("rmse", labels)[0]).all()
    gap = gradients(lambda A, lam: mlr_loss(A, labels, lam, form="absolute_gap").value, A, lam)
    for ours, expected in zip(gap[1:], gradients(total, A, lam)[1:], strict=True):
        torch.testing.assert_close(ours, expected)


@EVERY_LOSS
@FORMS
@pytest.mark.parametrize("shape", [LONG, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize("extras", [False, True], ids=["bare", "weights and intercept"])
def test_gradients_end_to_end(shape, loss, form, extras, normal):
    labels = coded_labels(loss, shape[0], normal)
    w = torch.linspace(0.5, 2, shape[0], dtype=torch.float64) if extras else None

    def value(A, log_lambda):
        return mlr_loss(
            A, labels, log_lambda.exp(),
            loss=loss, form=form, sample_weight=w, fit_intercept=extras,
        ).value  # fmt: skip

    log_lambda = torch.tensor(-0.4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(value, [normal(*shape).requires_grad_(), log_lambda])


@SHAPES
@EVERY_LOSS
@FORMS
def test_batched_equals_one_by_one(shape, loss, form, normal):
    A, lam = normal(3, *shape), torch.tensor([0.1, 1.0, 10.0], dtype=torch.float64)
    labels = torch.stack([coded_labels(loss, shape[0], normal, seed=k) for k in range(3)])
    w = normal(3, shape[0]).abs()
    options = {"loss": loss, "form": form, "fit_intercept": True}
    many = mlr_loss(A, labels, lam, sample_weight=w, **options)
    assert many.value.shape == many.fit_true.shape == many.fit_permuted.shape == (3,)
    for k in range(3):
        one = mlr_loss(A[k], labels[k], lam[k], sample_weight=w[k], **options)
        torch.testing.assert_close(many.value[k], one.value)
        torch.testing.assert_close(many.layer.coef[k], one.layer.coef)
        torch.testing.assert_close(many.layer.intercept[k], one.layer.intercept)


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_layer_is_the_solution_for_the_true_labels(shape, fit_intercept, normal):
    A, labels, w = normal(*shape), coded_labels("rmse", shape[0], normal), normal(shape[0]).abs()
    options = {"sample_weight": w, "fit_intercept": fit_intercept}
    result = mlr_loss(A.requires_grad_(), labels, 0.7, **options)
    ridge = Ridge(A, 0.7, **options)
    for ours, alone in zip(result.layer, ridge.solve(labels[:, 0]), strict=True):
        torch.testing.assert_close(ours, alone.detach())
        assert not ours.requires_grad
    assert result.value.requires_grad
    assert result.ridge.dof() == ridge.dof()


@SHAPES
def test_one_factorisation_serves_all_label_sets(shape, normal, monkeypatch):
    calls = []
    original = torch.linalg.cholesky_ex
    monkeypatch.setattr(
        torch.linalg, "cholesky_ex", lambda *a, **k: calls.append(1) or original(*a, **k)
    )
    labels = coded_labels("rmse", shape[0], normal, n_permutations=16)
    A = normal(*shape).requires_grad_()
    mlr_loss(A, labels, 0.7, form="absolute_gap").value.backward()
    assert len(calls) == 1


def test_weight_zero_is_an_absent_row(normal):
    A, labels, keep = normal(8, 3), coded_labels("rmse", 8, normal), torch.arange(8) > 2
    weighted = mlr_loss(A, labels, 0.7, sample_weight=keep.double()).value
    torch.testing.assert_close(weighted, mlr_loss(A[keep], labels[keep], 0.7).value)


def test_the_loss_of_given_fits_by_hand():
    fits, labels = torch.tensor([0.25, 0.75, 0.5]), torch.tensor([[[0.4]], [[1.6]]])
    options = {"labels": labels, "loss": "rmse", "sample_weight": None}
    assert mlr_of_fits(fits, form="difference", **options).value == 0.25 - 0.625
    gap = mlr_of_fits(fits, form="absolute_gap", **options)  # the best constant misses by 0.6
    assert gap.value.item() == pytest.approx(0.25 + 0.125)
    assert gap.fit_permuted == 0.625
    assert mlr_of_fits(fits[:1], form="absolute_gap", **options).value == 0.25


def test_labels_that_need_a_gradient_get_one(normal):
    labels = normal(8, 3, 1).requires_grad_()
    mlr_loss(normal(8, 3), labels, 1.0).value.backward()
    assert labels.grad.abs().sum() > 0


def test_an_exact_fit_has_a_finite_gradient():
    labels = stack_labels(torch.zeros(4, 1), torch.arange(4).expand(2, 4))
    A = torch.eye(4, requires_grad=True)
    mlr_loss(A, labels, 1.0).value.backward()
    assert torch.isfinite(A.grad).all()


def test_errors(normal):
    labels = coded_labels("rmse", 5, normal)
    with pytest.raises(ValueError, match="Unknown loss 'mae'"):
        mlr_loss(normal(5, 2), labels, 1.0, loss="mae")
    with pytest.raises(ValueError, match="'difference' or 'absolute_gap', got 'ratio'"):
        mlr_loss(normal(5, 2), labels, 1.0, form="ratio")
    with pytest.raises(ValueError, match=r"as stack_labels makes them, got shape \(5, 2\)"):
        mlr_loss(normal(5, 2), labels[:, 0], 1.0)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_best_constant_for_one_class_alone_has_odds_of_two_million(side):
    found = best_constant("bce", torch.full((4, 1, 1), side, dtype=torch.float64))
    expected = side * math.log((2 - 1e-6) / 1e-6)
    torch.testing.assert_close(found, torch.full_like(found, expected))


def test_the_best_constant_for_a_class_that_never_comes_is_finite():
    labels = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(3, 1, 2)
    expected = torch.tensor([0.0, math.log(1e-12)], dtype=torch.float64).expand(3, 1, 2)
    torch.testing.assert_close(best_constant("ce", labels), expected)
