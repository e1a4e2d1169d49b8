"""The dithered MLR loss against the supplement's formulas, written out with dense matrices."""

import numpy as np
import pytest
import torch

from adacap.core import Ridge, dithered_mlr_loss, mlr_loss, stack_labels
from adacap.core.permutation import draw_permutations

T = 3
SHAPES = {"long": (12, 4), "wide": (6, 9)}


@pytest.fixture(params=SHAPES, ids=str)
def case(request, normal, seed):
    """Hidden features, labels of one target with T permutations, ξ and ε."""
    n, d = SHAPES[request.param]
    draws = draw_permutations(n, T, torch.Generator().manual_seed(seed))
    labels = stack_labels(normal(n, 1), draws)
    return normal(n, d), labels, normal(n, 1 + T, 1), 0.3 * normal(n, 1 + T, 1)


def hat(A, lam):
    return A @ np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1])) @ A.T


def rmse(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


def as_numpy(*tensors):
    return (
        tensor.numpy().squeeze(-1) if tensor.ndim == 3 else tensor.numpy() for tensor in tensors
    )


def literal_regression(A, Y, xi, eps, lam, H=None, halved=False):
    """RMSE(Y_ε + (I−H)ξ ; HY_ε) + mean_t |RMSE(Y;Ȳ) − RMSE(π_t(Y)_ε + (I−H)ξ_t ; Hπ_t(Y)_ε)|."""
    H = hat(A, lam) if H is None else H
    rest = np.eye(len(A)) - H
    fits = []
    for s in range(Y.shape[1]):
        noisy = Y[:, s] + eps[:, s]
        if halved:  # prediction averaged with the label, as the authors' code has it
            fits.append(rmse(noisy, (H @ noisy + noisy - rest @ xi[:, s]) / 2))
        else:
            fits.append(rmse(noisy + rest @ xi[:, s], H @ noisy))
    baseline = rmse(Y[:, 0], Y[:, 0].mean())
    return fits[0] + np.mean([abs(baseline - fit) for fit in fits[1:]]) if fits[1:] else fits[0]


def bce(labels, logits):
    """Cross-entropy of labels 0 / 1 and a sigmoid, as the supplement writes it."""
    p = 1 / (1 + np.exp(-logits))
    return -np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p))


def literal_classes(A, Y_star, xi, lam, form="fitted"):
    H = hat(A, lam)
    rest = np.eye(len(A)) - H
    Y = (Y_star + 1) / 2
    share = Y[:, 0].mean()
    baseline = bce(Y[:, 0], np.log(share / (1 - share)))
    leak, scale = {"fitted": (0, 1), "printed": (1, 1), "halved": (1, 0.5)}[form]
    fits = [
        bce(Y[:, s], scale * (H @ Y_star[:, s] + rest @ xi[:, s] + leak * Y_star[:, s]))
        for s in range(Y.shape[1])
    ]
    return fits[0] + np.mean([abs(baseline - fit) for fit in fits[1:]])


@pytest.mark.parametrize("n_permutations", [0, T])
@pytest.mark.parametrize("lam", [0.1, 3.0])
def test_regression_is_the_formula(case, lam, n_permutations):
    hidden, labels, xi, eps = case
    keep = slice(0, 1 + n_permutations)
    labels, xi, eps = labels[:, keep], xi[:, keep], eps[:, keep]
    result = dithered_mlr_loss(hidden, labels, lam, structured=xi, target=eps)
    expected = literal_regression(*as_numpy(hidden, labels, xi, eps), lam)
    assert result.value.item() == pytest.approx(expected, rel=1e-10)
    if not n_permutations:
        assert torch.equal(result.value, result.fit_true)


def test_regression_with_an_intercept(case):
    hidden, labels, xi, eps = case
    A, Y, noise, small = as_numpy(hidden, labels, xi, eps)
    n = len(A)
    H = np.full((n, n), 1 / n) + hat(A - A.mean(0), 0.5)
    result = dithered_mlr_loss(hidden, labels, 0.5, structured=xi, target=eps, fit_intercept=True)
    expected = literal_regression(A, Y, noise, small, 0.5, H)
    assert result.value.item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("noise", ["structured", "target"])
def test_one_noise_alone(case, noise):
    hidden, labels, xi, _ = case
    zero = torch.zeros_like(xi)
    both = {"structured": zero, "target": zero} | {noise: xi}
    alone = dithered_mlr_loss(hidden, labels, 0.5, **{noise: xi})
    expected = literal_regression(
        *as_numpy(hidden, labels, both["structured"], both["target"]), 0.5
    )
    assert alone.value.item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("form", ["fitted", "printed", "halved"])
def test_two_classes_are_the_formula(case, form):
    hidden, labels, xi, _ = case
    labels = torch.where(labels > labels[:, :1].median(), 1.0, -1.0).double()
    result = dithered_mlr_loss(hidden, labels, 0.5, structured=xi, loss="bce", dither_form=form)
    expected = literal_classes(*as_numpy(hidden, labels, xi), 0.5, form)
    assert result.value.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_permutations", [0, T])
def test_the_halved_form_averages_prediction_and_label(case, n_permutations):
    hidden, labels, xi, eps = (
        part if part.ndim == 2 else part[:, : 1 + n_permutations] for part in case
    )
    result = dithered_mlr_loss(hidden, labels, 0.5, structured=xi, target=eps, dither_form="halved")
    expected = literal_regression(*as_numpy(hidden, labels, xi, eps), 0.5, halved=True)
    assert result.value.item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("form", ["fitted", "halved"])
def test_the_mean_squared_error_is_the_square_in_every_form(case, form):
    hidden, labels, xi, eps = case
    noise = {"structured": xi, "target": eps, "dither_form": form}
    root, square = (
        dithered_mlr_loss(hidden, labels[:, :2], 0.5, loss=loss, form="difference",
                          **{k: v if k == "dither_form" else v[:, :2] for k, v in noise.items()})
        for loss in ("rmse", "mse")
    )  # fmt: skip
    torch.testing.assert_close(square.fit_true, root.fit_true.square())
    torch.testing.assert_close(square.fit_permuted, root.fit_permuted.square())  # one set


def test_the_form_matters_under_structured_noise_only(case):
    hidden, labels, _, eps = case
    for noise in ({}, {"target": eps}):
        values = [
            dithered_mlr_loss(hidden, labels, 0.5, dither_form=form, **noise).value
            for form in ("fitted", "printed", "halved")
        ]
        assert values[0] == values[1] == values[2]
    with pytest.raises(ValueError, match="one of fitted, printed, halved, got 'half'"):
        dithered_mlr_loss(hidden, labels, 0.5, dither_form="half")


def test_several_classes_are_dithered_in_every_column(normal, seed):
    n, c = 10, 3
    one_hot = torch.eye(c, dtype=torch.float64)[torch.arange(n) % c]
    labels = stack_labels(one_hot, draw_permutations(n, T, torch.Generator().manual_seed(seed)))
    hidden, xi = normal(n, 5), normal(n, 1 + T, c)
    result = dithered_mlr_loss(hidden, labels, 0.7, structured=xi, loss="ce")
    H = hat(hidden.numpy(), 0.7)
    fits = []
    for s in range(1 + T):
        Y, noise = labels[:, s].numpy(), xi[:, s].numpy()
        logits = H @ Y + (np.eye(n) - H) @ noise
        log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        fits.append(-(Y * log_p).sum(1).mean())
    shares = one_hot.numpy().mean(0)
    baseline = -(one_hot.numpy() * np.log(shares)).sum(1).mean()
    expected = fits[0] + np.mean([abs(baseline - fit) for fit in fits[1:]])
    assert result.value.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("loss", ["rmse", "bce", "mse"])
@pytest.mark.parametrize("form", ["absolute_gap", "difference"])
def test_gradients_by_finite_differences(case, loss, form):
    hidden, labels, xi, eps = case
    if loss == "bce":
        labels = torch.where(labels > labels[:, :1].median(), 1.0, -1.0).double()

    def value(A, log_lambda):
        return dithered_mlr_loss(
            A, labels, log_lambda.exp(), loss=loss, form=form,
            structured=xi, target=eps if loss != "bce" else None,
        ).value  # fmt: skip

    start = (hidden.requires_grad_(), torch.tensor(0.4, dtype=torch.float64, requires_grad=True))
    assert torch.autograd.gradcheck(value, start)


def test_without_noise_it_is_the_mlr_loss(case):
    hidden, labels, _, _ = case
    plain = mlr_loss(hidden, labels, 0.5, form="absolute_gap")
    assert torch.equal(dithered_mlr_loss(hidden, labels, 0.5).value, plain.value)


@pytest.mark.parametrize("loss", ["rmse", "bce", "mse"])
def test_the_output_layer_is_that_of_the_labels_without_noise(case, loss):
    hidden, labels, xi, _ = case
    result = dithered_mlr_loss(hidden.requires_grad_(), labels, 0.5, structured=xi, loss=loss)
    expected = Ridge(hidden.detach(), 0.5).solve(labels[:, 0])
    for ours, theirs in zip(result.layer, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
        assert not ours.requires_grad
    assert result.ridge.dof() == Ridge(hidden, 0.5).dof()


def test_a_weight_of_two_is_the_row_twice(case):
    hidden, labels, xi, eps = case
    twice = torch.cat([torch.arange(len(hidden)), torch.tensor([0])])
    weight = torch.ones(len(hidden), dtype=torch.float64)
    weight[0] = 2.0
    a = dithered_mlr_loss(
        hidden, labels, 0.5, structured=xi, target=eps, sample_weight=weight
    ).value
    b = dithered_mlr_loss(
        hidden[twice], labels[twice], 0.5, structured=xi[twice], target=eps[twice]
    ).value
    torch.testing.assert_close(a, b)


@pytest.mark.parametrize("loss", ["rmse", "bce", "mse"])
def test_nets_do_not_mix(case, loss):
    hidden, labels, xi, _ = case
    labels = labels if loss != "bce" else labels.sign()
    lam = torch.tensor([0.2, 3.0], dtype=torch.float64)
    both = [torch.stack([part, part.flip(0)]) for part in (hidden, labels, xi)]
    together = dithered_mlr_loss(both[0], both[1], lam, structured=both[2], loss=loss)
    for k in range(2):
        alone = dithered_mlr_loss(both[0][k], both[1][k], lam[k], structured=both[2][k], loss=loss)
        torch.testing.assert_close(together.value[k], alone.value)
        torch.testing.assert_close(together.layer.coef[k], alone.layer.coef)


def test_target_dither_of_classes_is_refused(case):
    hidden, labels, _, eps = case
    with pytest.raises(ValueError, match=r"target dither is for .* got loss='bce'"):
        dithered_mlr_loss(hidden, labels.sign(), 0.5, target=eps, loss="bce")
