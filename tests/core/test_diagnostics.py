"""Capacity of the output layer: permutation fits, p-values, PRESS and influence by definition."""

import math

import pytest
import torch

from adacap.core.diagnostics import (
    cook_distance,
    label_fits,
    lowest_losses,
    permutation_p_value,
    press_r2,
)
from adacap.core.mlr import LOSSES
from adacap.core.permutation import draw_permutations
from adacap.core.ridge import Ridge


@pytest.mark.parametrize("loss", ["rmse", "bce", "ce"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [5, 40])
def test_every_label_set_is_fitted_as_if_alone(normal, seed, loss, weighted, d):
    A, w = normal(30, d), normal(30).abs() if weighted else None
    classes = torch.eye(3)[[0, 1, 2] * 10]
    Y = {"rmse": normal(30, 2), "bce": normal(30, 1).sign(), "ce": classes}[loss]
    draws = draw_permutations(30, 4, torch.Generator().manual_seed(seed))
    found = label_fits(A, Y, draws, 0.7, loss=loss, sample_weight=w)
    for k, index in enumerate([torch.arange(30), *draws]):
        labels = Y[index].double()
        fitted = Ridge(A, 0.7, sample_weight=w, fit_intercept=True).solve(labels).fitted
        alone = LOSSES[loss](fitted.unsqueeze(1), labels.unsqueeze(1), w)
        torch.testing.assert_close(found[k], alone[0])


def test_lowest_losses_choose_the_best_prediction_for_each_order(normal, seed):
    Y, other = normal(25, 2), normal(25, 2)
    draws = draw_permutations(25, 3, torch.Generator().manual_seed(seed))
    found = lowest_losses(torch.stack([Y, other]), Y, draws)
    assert found[0] == pytest.approx(0, abs=1e-10)
    expected = [
        min((guess - Y[index]).square().mean().sqrt() for guess in (Y, other)) for index in draws
    ]
    torch.testing.assert_close(found[1:], torch.stack(expected))


def test_a_prediction_that_diverged_is_chosen_by_no_order(normal, seed):
    Y = normal(25, 1)
    draws = draw_permutations(25, 3, torch.Generator().manual_seed(seed))
    broken = torch.stack([Y, torch.full_like(Y, torch.nan), torch.full_like(Y, torch.inf)])
    torch.testing.assert_close(lowest_losses(broken, Y, draws), lowest_losses(Y[None], Y, draws))
    assert permutation_p_value(lowest_losses(broken[1:], Y, draws)) == 1.0


def test_a_choice_by_the_labels_is_no_evidence(normal, seed):
    """Of many guesses the best is close to the labels, and to labels in any other order."""
    generator = torch.Generator().manual_seed(seed)
    guesses, Y = torch.randn(200, 20, 1, generator=generator), normal(20, 1)
    draws = draw_permutations(20, 199, generator)
    best = guesses[(guesses - Y).square().mean((1, 2)).argmin()]
    assert permutation_p_value(lowest_losses(best[None], Y, draws)) <= 0.05
    assert permutation_p_value(lowest_losses(guesses, Y, draws)) > 0.05


def test_p_value_counts_ties_and_never_is_zero():
    assert permutation_p_value(torch.tensor([1.0, 2.0, 3.0, 4.0])) == 0.25
    assert permutation_p_value(torch.tensor([1.0, 1.0, 3.0, 4.0])) == 0.5
    assert permutation_p_value(torch.tensor([5.0, 1.0, 3.0, 4.0])) == 1.0


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_equal_up_to_rounding_is_equal_in_any_unit(unit):
    losses = torch.tensor([1.0, 1.0 + 1e-10, 1.0 + 1e-7, 2.0], dtype=torch.float64)
    assert permutation_p_value(unit * losses) == 0.5


def test_p_value_is_uniform_without_a_signal(normal, seed):
    """Given features that know nothing of the labels the test keeps its level."""
    draws = draw_permutations(40, 19, torch.Generator().manual_seed(seed))
    values = [
        permutation_p_value(label_fits(normal(40, 6), normal(40, 1), draws, 1.0))
        for _ in range(300)
    ]
    found = torch.tensor(values)
    assert 0.45 < found.mean() < 0.6  # 0.525 for 19 permutations
    assert (found <= 0.05).double().mean() < 0.1


def test_press_is_the_error_of_refits(normal):
    A, Y = normal(20, 4), normal(20, 2)
    residuals, _ = Ridge(A, 0.5, fit_intercept=True).loo(Y)
    total = 0.0
    for i in range(20):
        keep = torch.arange(20) != i
        fit = Ridge(A[keep], 0.5, fit_intercept=True).solve(Y[keep])
        total += float((Y[i] - A[i] @ fit.coef - fit.intercept).square().sum())
    expected = 1 - total / float((Y - Y.mean(0)).square().sum())
    assert press_r2(residuals, Y) == pytest.approx(expected)


def test_press_of_a_constant_target_is_unknown():
    assert math.isnan(press_r2(torch.zeros(3, 1), torch.ones(3, 1)))


def test_cook_distance_is_exact_for_least_squares(normal):
    A, Y = normal(25, 3), normal(25, 1)
    residuals, leverage = Ridge(A, 1e-9, fit_intercept=True).loo(Y)
    X = torch.cat([torch.ones(25, 1, dtype=torch.float64), A], 1)
    full = X @ torch.linalg.lstsq(X, Y).solution
    variance = (Y - full).square().sum() / (25 - 4)
    for i in range(25):
        keep = torch.arange(25) != i
        without = X @ torch.linalg.lstsq(X[keep], Y[keep]).solution
        expected = (full - without).square().sum() / (4 * variance)
        assert cook_distance(residuals, leverage)[i] == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_press_of_the_mean_is_that_of_no_knowledge_wherever_targets_lie(normal, n_targets):
    Y = 5 + normal(30, n_targets)
    assert press_r2(Y - Y.mean(0), Y) == pytest.approx(0)
    assert press_r2(Y - Y.mean(0), Y, torch.full((30,), 3.0)) == pytest.approx(0)
