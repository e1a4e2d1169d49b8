"""The MLR loss: its definition by hand, its two forms, its gradient."""

import pytest
import torch
from torch.autograd import gradcheck

from adacap.core.losses import LOSSES, constant_fit
from adacap.core.mlr import combine, mlr_loss
from adacap.core.permutation import draw_permutations, stack_labels
from adacap.core.tikhonov import ridge_fit, smoother_matrix

LONG, WIDE = (10, 4), (5, 9)
SHAPES = pytest.mark.parametrize("shape", [LONG, WIDE, (6, 6)], ids=["long", "wide", "square"])
EVERY_LOSS = pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
FORMS = pytest.mark.parametrize("form", ["difference", "absolute_gap"])


def coded_labels(loss, n_samples, normal, n_permutations=3, seed=0):
    raw = normal(n_samples, 3)
    if loss == "rmse":
        targets = raw[:, :2]
    elif loss == "bce":
        targets = raw[:, :1].sign()
    else:
        targets = torch.nn.functional.one_hot(raw.argmax(-1), 3).to(raw.dtype)
    generator = torch.Generator().manual_seed(seed)
    return stack_labels(targets, draw_permutations(n_samples, n_permutations, generator))


@SHAPES
@EVERY_LOSS
def test_value_is_true_fit_minus_mean_permuted_fit(shape, loss, normal):
    A, labels, lam = normal(*shape), coded_labels(loss, shape[0], normal), 0.7
    H = smoother_matrix(A, lam)
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
    fitted = ridge_fit(A, labels[:, 0], 0.7).fitted
    expected = LOSSES[loss](fitted.unsqueeze(1), labels).squeeze()
    torch.testing.assert_close(result.value, expected)
    torch.testing.assert_close(result.fit_true, expected)
    assert result.fit_permuted == 0


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
        torch.testing.assert_close(many.ridge.coef[k], one.ridge.coef)
        torch.testing.assert_close(many.ridge.intercept[k], one.ridge.intercept)


@SHAPES
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridge_is_the_solution_for_the_true_labels(shape, fit_intercept, normal):
    A, labels, w = normal(*shape), coded_labels("rmse", shape[0], normal), normal(shape[0]).abs()
    result = mlr_loss(A, labels, 0.7, sample_weight=w, fit_intercept=fit_intercept).ridge
    alone = ridge_fit(A, labels[:, 0], 0.7, sample_weight=w, fit_intercept=fit_intercept)
    torch.testing.assert_close(result.coef, alone.coef)
    torch.testing.assert_close(result.intercept, alone.intercept)


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


def test_combine_by_hand():
    fits = torch.tensor([0.25, 0.75, 0.5])
    assert combine(fits, None) == 0.25 - 0.625
    assert combine(fits, torch.tensor([0.6]), "absolute_gap").item() == pytest.approx(0.25 + 0.125)
    assert combine(fits[:1], None, "absolute_gap") == 0.25


def test_errors(normal):
    labels = coded_labels("rmse", 5, normal)
    with pytest.raises(ValueError, match="loss must be one of rmse, bce, ce, got 'mse'"):
        mlr_loss(normal(5, 2), labels, 1.0, loss="mse")
    with pytest.raises(ValueError, match="'difference' or 'absolute_gap', got 'ratio'"):
        mlr_loss(normal(5, 2), labels, 1.0, form="ratio")
    with pytest.raises(ValueError, match=r"as stack_labels makes them, got shape \(5, 2\)"):
        mlr_loss(normal(5, 2), labels[:, 0], 1.0)
