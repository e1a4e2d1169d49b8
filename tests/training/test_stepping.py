"""Steps by the kernel are the optimiser's own steps."""

import pytest
import torch
from adacap.training.stepping import Stepper
from torch.optim import SGD, Adam, AdamW
from torch.optim.lr_scheduler import OneCycleLR


def weights():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(size, generator=generator).requires_grad_() for size in (7, 3, 1)]


def walk(make, step_of, *, without=()):
    """Weights after ten steps of a schedule; ``without``: steps in which the last has no grad."""
    params = weights()
    optimizer = make(params)
    schedule = OneCycleLR(optimizer, 0.1, total_steps=20)
    step = step_of(optimizer)
    for i in range(10):
        for k, param in enumerate(params):
            param.grad = None if i in without and k == 2 else (param.detach() - k).sin()
        step()
        schedule.step()
    return params


def two_groups(params):
    return AdamW(
        [{"params": params[:2], "weight_decay": 0.3}, {"params": params[2:], "weight_decay": 0.0}],
        lr=0.1, fused=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda params: Adam(params, lr=0.1, fused=True),
        lambda params: Adam(params, lr=0.1, weight_decay=0.2, fused=True),
        lambda params: AdamW(params, lr=0.1, fused=True),
        lambda params: Adam(params, lr=0.1),
        lambda params: Adam(params, lr=0.1, amsgrad=True, fused=True),
        lambda params: SGD(params, lr=0.1, momentum=0.9),
        two_groups,
    ],
    ids=["adam", "decay", "adamw", "not fused", "amsgrad", "sgd", "groups"],
)
@pytest.mark.parametrize("without", [(), (0,), (4, 5)], ids=["all", "first", "some"])
def test_steps_are_those_of_the_optimiser(make, without):
    expected = walk(make, lambda optimizer: optimizer.step, without=without)
    found = walk(make, Stepper, without=without)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)


@pytest.mark.parametrize("make", [lambda p: Adam(p, lr=0.1, fused=True), two_groups])
def test_the_kernel_is_used_from_the_second_step_on(make, monkeypatch):
    params = weights()
    optimizer = make(params)
    step, calls = Stepper(optimizer), []
    monkeypatch.setattr(optimizer, "step", lambda: calls.append(type(optimizer).step(optimizer)))
    for _ in range(4):
        for param in params:
            param.grad = torch.ones_like(param)
        step()
    assert len(calls) == 1
