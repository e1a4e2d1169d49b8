"""Schedules with settings of their own."""

import pytest
import torch
from torch import nn

from adacap.training.schedules import StepDecay


def test_the_rate_falls_after_each_period():
    optimizer = torch.optim.Adadelta([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = StepDecay(14)(optimizer, 14 * 3)
    rates = []
    for _ in range(14 * 3):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert rates == pytest.approx([0.7**epoch for epoch in range(14) for _ in range(3)])


def test_more_periods_than_steps_are_one_step_each():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    assert StepDecay(14)(optimizer, 5).step_size == 1


def test_no_period_is_refused():
    with pytest.raises(ValueError, match="periods must be 1 or more, got 0"):
        StepDecay(0)
