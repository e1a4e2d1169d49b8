"""The λ grid, the MLR loss along it, and the start of λ."""

import itertools

import pytest
import torch

from adacap.core.lambda_init import initial_lambda, lambda_grid, mlr_path
from adacap.core.mlr import mlr_loss
from adacap.core.permutation import draw_permutations, stack_labels

SHAPES = pytest.mark.parametrize("shape", [(12, 4), (5, 9), (6, 6)], ids=["long", "wide", "square"])


def coded_labels(loss, n_samples, normal, n_permutations=3):
    raw = normal(n_samples, 3)
    if loss == "rmse":
        targets = raw[:, :2]
    elif loss == "bce":
        targets = (raw[:, :1] - raw[:, :1].median()).sign()
        targets[targets == 0] = 1  # both classes are present
    else:
        targets = torch.nn.functional.one_hot(raw.argmax(-1), 3).to(raw.dtype)
    generator = torch.Generator().manual_seed(0)
    return stack_labels(targets, draw_permutations(n_samples, n_permutations, generator))


def test_default_grid_is_the_papers():
    expected = torch.tensor([10**-1 * 10 ** (5 * k / 11) for k in range(12)], dtype=torch.float64)
    torch.testing.assert_close(lambda_grid(), expected, rtol=1e-12, atol=0)


def test_grid_is_geometric_from_end_to_end():
    grid = lambda_grid(0.01, 1e6, 33)
    assert len(grid) == 33
    assert grid[0] == pytest.approx(0.01)
    assert grid[-1] == pytest.approx(1e6)
    ratios = grid[1:] / grid[:-1]
    torch.testing.assert_close(ratios, ratios[:1].expand_as(ratios))


@pytest.mark.parametrize("bad", [(0.0, 1.0, 3), (1.0, 1.0, 3), (2.0, 1.0, 3), (1.0, 2.0, 1)])
def test_bad_grid_is_refused(bad):
    low, high, n_points = bad
    text = f"0 < low < high and at least 2 points, got low={low}, high={high}, n_points={n_points}"
    with pytest.raises(ValueError, match=text):
        lambda_grid(*bad)


@SHAPES
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
@pytest.mark.parametrize("form", ["difference", "absolute_gap"])
@pytest.mark.parametrize("n_permutations", [0, 3])
def test_path_is_the_loss_at_each_lambda(
    shape, weighted, fit_intercept, loss, form, n_permutations, normal
):
    A, labels = normal(*shape), coded_labels(loss, shape[0], normal, n_permutations)
    w = torch.linspace(0, 2, shape[0], dtype=A.dtype) if weighted else None
    options = {"loss": loss, "form": form, "sample_weight": w, "fit_intercept": fit_intercept}
    path = mlr_path(A, labels, lambda_grid(), **options)
    expected = [mlr_loss(A, labels, lam, **options).value for lam in lambda_grid()]
    torch.testing.assert_close(path, torch.stack(expected), rtol=1e-8, atol=1e-8)


@SHAPES
def test_path_of_dependent_features(shape, normal):
    A, labels = normal(shape[0], 1) @ normal(1, shape[1]), coded_labels("rmse", shape[0], normal)
    expected = [mlr_loss(A, labels, lam).value for lam in lambda_grid()]
    torch.testing.assert_close(mlr_path(A, labels, lambda_grid()), torch.stack(expected))


@SHAPES
@pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_start_is_the_middle_of_the_steepest_step(shape, loss, scale, normal):
    A, labels = scale * normal(*shape), coded_labels(loss, shape[0], normal)
    grid = lambda_grid()
    steps = {
        float(mlr_loss(A, labels, b, loss=loss).value - mlr_loss(A, labels, a, loss=loss).value): (
            float(a * b) ** 0.5
        )
        for a, b in itertools.pairwise(grid)
    }
    start = initial_lambda(A, labels, grid, loss=loss)
    assert start.item() == pytest.approx(steps[max(steps)])
    assert grid[0] < start < grid[-1]


def test_options_reach_the_path(normal):
    A, labels, keep = normal(30, 4) + 20, coded_labels("rmse", 30, normal), torch.arange(30) < 8
    options = {"form": "absolute_gap", "fit_intercept": True}
    start = initial_lambda(A, labels, lambda_grid(), sample_weight=keep, **options)
    assert start == initial_lambda(A[keep], labels[keep], lambda_grid(), **options)


@pytest.mark.parametrize("function", [mlr_path, initial_lambda])
def test_no_graph_and_float64(function, normal):
    A = normal(8, 3, dtype=torch.float32).requires_grad_()
    labels = coded_labels("rmse", 8, normal).float()
    result = function(A, labels, lambda_grid())
    assert not result.requires_grad
    assert result.dtype == torch.float64


@SHAPES
def test_one_decomposition_of_the_smaller_side_serves_the_whole_grid(shape, normal, monkeypatch):
    sizes = []
    original = torch.linalg.eigh
    monkeypatch.setattr(
        torch.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or original(matrix)
    )
    initial_lambda(normal(*shape), coded_labels("rmse", shape[0], normal), lambda_grid())
    assert sizes == [min(shape)]


@pytest.mark.parametrize("function", [mlr_path, initial_lambda])
def test_unknown_loss_is_named(function, normal):
    with pytest.raises(ValueError, match="Unknown loss 'mae'"):
        function(normal(8, 3), coded_labels("rmse", 8, normal), lambda_grid(), loss="mae")
