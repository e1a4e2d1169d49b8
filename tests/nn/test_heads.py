"""Heads: the closed form with a trained λ, and what it freezes into."""

import math

import pytest
import torch
from torch import nn

from adacap.core import mlr_loss, ridge_fit, stack_labels
from adacap.nn.heads import LinearHead, TikhonovHead, linear_from

SHAPES = pytest.mark.parametrize("shape", [(12, 5), (5, 12)], ids=["long", "wide"])
INTERCEPT = pytest.mark.parametrize("fit_intercept", [False, True])


@SHAPES
@INTERCEPT
@pytest.mark.parametrize("weighted", [False, True])
def test_head_is_ridge_with_its_lambda(shape, fit_intercept, weighted, normal):
    hidden, targets = normal(*shape), normal(shape[0], 2)
    w = normal(shape[0]).abs() if weighted else None
    head = TikhonovHead(0.3, fit_intercept=fit_intercept).double()
    expected = ridge_fit(hidden, targets, head.lam, sample_weight=w, fit_intercept=fit_intercept)
    torch.testing.assert_close(head(hidden, targets, w), expected.fitted)
    for ours, theirs in zip(head.solve(hidden, targets, w), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@SHAPES
@INTERCEPT
@pytest.mark.parametrize("weighted", [False, True])
def test_frozen_head_reproduces_the_fit(shape, fit_intercept, weighted, normal):
    hidden, targets = normal(*shape) + 1, normal(shape[0], 2) + 2
    w = normal(shape[0]).abs() if weighted else None
    head = TikhonovHead(0.3, fit_intercept=fit_intercept)
    layer = head.freeze(hidden, targets, w)
    assert type(layer) is nn.Linear
    assert layer.weight.dtype == torch.float64
    torch.testing.assert_close(layer(hidden), head(hidden, targets, w))
    if not fit_intercept:
        assert torch.equal(layer.bias, torch.zeros_like(layer.bias))


def test_lambda_is_the_only_parameter():
    head = TikhonovHead(2.5)
    assert list(head.state_dict()) == ["log_lambda"]
    assert head.log_lambda.shape == ()
    assert head.lam.item() == pytest.approx(2.5)
    head.set_lambda(40.0)
    assert head.log_lambda.item() == pytest.approx(math.log(40))
    assert head.log_lambda.requires_grad


def test_lambda_gets_a_gradient(normal):
    head = TikhonovHead(0.3).double()
    head(normal(9, 4), normal(9, 1)).square().sum().backward()
    assert head.log_lambda.grad < 0  # more λ, smaller fitted values


@pytest.mark.parametrize("form", ["difference", "absolute_gap"])
@INTERCEPT
def test_loss_is_the_functions(form, fit_intercept, normal):
    head = TikhonovHead(0.3, fit_intercept=fit_intercept).double()
    hidden, w = normal(9, 4), normal(9).abs()
    labels = stack_labels(normal(9, 1).sign(), torch.arange(9).roll(2).unsqueeze(0))
    options = {"loss": "bce", "form": form, "sample_weight": w}
    expected = mlr_loss(hidden, labels, head.lam, fit_intercept=fit_intercept, **options)
    assert head.mlr_loss(hidden, labels, **options).value == expected.value


@pytest.mark.parametrize("lam", [0.0, -3.0, math.nan])
def test_lambda_must_be_positive(lam):
    with pytest.raises(ValueError, match=f"lam must be positive, got {lam}"):
        TikhonovHead(lam)


def test_repr_shows_lambda():
    assert repr(TikhonovHead(2.0)) == "TikhonovHead(lam=2, fit_intercept=False)"


def test_linear_from_copies(normal):
    coef, intercept = normal(4, 2), normal(2)
    layer = linear_from(coef, intercept)
    x = normal(3, 4)
    torch.testing.assert_close(layer(x), x @ coef + intercept)
    coef.zero_()
    assert layer.weight.abs().max() > 0


@pytest.mark.usefixtures("global_state_untouched")
def test_freezing_draws_no_random_numbers(normal):
    TikhonovHead().freeze(normal(9, 4), normal(9, 1))


def test_linear_head_is_an_ordinary_layer():
    head = LinearHead(4, 2)
    assert isinstance(head, nn.Linear)
    assert head(torch.zeros(3, 4)).shape == (3, 2)
