"""Settings: checked when made, optimisers and schedules by name or factory."""

from dataclasses import FrozenInstanceError
from functools import partial

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR, StepLR

from adacap.training.config import (
    ELEMENTWISE,
    OPTIMIZERS,
    SCHEDULERS,
    StepDecay,
    TrainingConfig,
)


def parts():
    """Stand-ins for the parameters of a backbone and of a head."""
    return [torch.zeros(3, 2, requires_grad=True)], [torch.zeros(1, requires_grad=True)]


def rates(config):
    """Learning rate of each step."""
    optimizer = config.make_optimizer(*parts())
    scheduler = config.make_scheduler(optimizer)
    found = []
    for _ in range(config.max_iter):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return found


def test_defaults_are_the_papers():
    config = TrainingConfig()
    assert (config.max_iter, config.max_lr, config.batch_size) == (500, 1e-2, 2048)
    assert (config.optimizer, config.scheduler, config.weight_decay) == ("adam", "onecycle", 0.0)
    assert config.deadline is None
    with pytest.raises(FrozenInstanceError):
        config.max_iter = 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_iter": 0}, r"max_iter must be 1 or more, got 0\."),
        ({"batch_size": -1}, r"batch_size must be 1 or more, got -1\."),
        ({"max_lr": 0.0}, r"max_lr must be positive, got 0\.0\."),
        ({"max_lr": float("nan")}, r"max_lr must be positive, got nan\."),
        ({"weight_decay": -0.1}, r"weight_decay must be 0 or more, got -0\.1\."),
        (
            {"optimizer": "adm"},
            r"Unknown optimizer 'adm'\. Did you mean 'adam'\? Nearest of 12: adam, ",
        ),
        ({"scheduler": "onecycl"}, r"Unknown scheduler 'onecycl'\. Did you mean 'onecycle'\?"),
        ({"scheduler": "step"}, r"pass a factory \(optimizer, n_steps\) -> LRScheduler"),
    ],
)
def test_bad_values_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        TrainingConfig(**options)


def test_elementwise_names_are_known():
    assert set(OPTIMIZERS) >= ELEMENTWISE
    assert {"lbfgs", "sparseadam", "muon", "optimizer"}.isdisjoint(OPTIMIZERS)
    assert TrainingConfig(optimizer="AdamW").is_elementwise
    assert not TrainingConfig(optimizer="adafactor").is_elementwise
    assert not TrainingConfig(optimizer=torch.optim.Adam).is_elementwise


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_moves_by_name(name):
    config = TrainingConfig(optimizer=name, max_lr=0.05, max_iter=5)
    backbone, head = parts()
    optimizer = config.make_optimizer(backbone, head)
    scheduler = config.make_scheduler(optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        (backbone[0].sum() + head[0].sum()).backward()
        optimizer.step()
        scheduler.step()
    assert (backbone[0] < 0).all()
    assert (head[0] < 0).all()
    assert type(optimizer).__name__.lower() == name


@pytest.mark.parametrize("name", sorted(ELEMENTWISE - {"rprop"}))
def test_weight_decay_spares_the_head(name):
    config = TrainingConfig(optimizer=name, weight_decay=0.3)
    groups = config.make_optimizer(*parts()).param_groups
    assert [group["weight_decay"] for group in groups] == [0.3, 0.0]
    assert [p.shape for group in groups for p in group["params"]] == [(3, 2), (1,)]


def test_weight_decay_that_would_be_ignored_is_refused():
    config = TrainingConfig(optimizer="rprop", weight_decay=0.3)
    message = r"optimizer='rprop' does not support weight decay, got weight_decay=0\.3"
    with pytest.raises(ValueError, match=message):
        config.make_optimizer(*parts())


def test_no_decay_by_default_even_where_torch_has_one():
    groups = TrainingConfig(optimizer="adamw").make_optimizer(*parts()).param_groups
    assert [group["weight_decay"] for group in groups] == [0.0]


def test_optimizer_by_factory():
    factory = partial(torch.optim.SGD, momentum=0.7, weight_decay=0.2)
    optimizer = TrainingConfig(optimizer=factory, max_lr=0.3).make_optimizer(*parts())
    assert isinstance(optimizer, torch.optim.SGD)
    assert optimizer.defaults["momentum"] == 0.7
    assert optimizer.param_groups[0]["lr"] == 0.3
    # Its own decay holds for the backbone, never for λ; ours replaces it.
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.2, 0.0]
    config = TrainingConfig(optimizer=factory, weight_decay=0.5)
    groups = config.make_optimizer(*parts()).param_groups
    assert [group["weight_decay"] for group in groups] == [0.5, 0.0]


def test_a_backbone_without_parameters():
    groups = TrainingConfig().make_optimizer([], parts()[1]).param_groups
    assert [len(group["params"]) for group in groups] == [1]


def test_onecycle_rises_to_max_lr_and_falls():
    found = rates(TrainingConfig(max_iter=100, max_lr=0.02))
    assert max(found) == pytest.approx(0.02, rel=1e-3)
    assert found.index(max(found)) == pytest.approx(29, abs=1)
    assert found[0] == pytest.approx(0.02 / 25)
    assert found[-1] < 1e-6


@pytest.mark.parametrize(("name", "last"), [("constant", 0.02), ("cosine", 0.0), ("linear", 0.0)])
def test_other_schedules(name, last):
    found = rates(TrainingConfig(max_iter=100, max_lr=0.02, scheduler=name))
    assert found[0] == pytest.approx(0.02)
    assert found[-1] == pytest.approx(last, abs=0.02 / 99)
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("max_iter", [1, 2, 3, 7])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rmsprop"])
def test_short_runs_have_a_schedule(scheduler, max_iter, optimizer):
    config = TrainingConfig(max_iter=max_iter, scheduler=scheduler, optimizer=optimizer)
    found = rates(config)
    assert len(found) == max_iter
    assert all(0 < rate <= 0.01 * (1 + 1e-9) for rate in found)


def test_no_scheduler():
    assert rates(TrainingConfig(max_iter=5, max_lr=0.3, scheduler=None)) == [0.3] * 5


def test_scheduler_by_factory():
    given = []

    def factory(optimizer, n_steps):
        given.append(n_steps)
        return StepLR(optimizer, step_size=2, gamma=0.1)

    found = rates(TrainingConfig(max_iter=5, max_lr=1.0, scheduler=factory))
    assert given == [5]
    assert found == pytest.approx([1, 1, 0.1, 0.1, 0.01])


def test_names_ignore_case():
    config = TrainingConfig(optimizer="SGD", scheduler="Cosine")
    optimizer = config.make_optimizer(*parts())
    assert isinstance(optimizer, torch.optim.SGD)
    assert isinstance(config.make_scheduler(optimizer), CosineAnnealingLR)
    config = TrainingConfig(scheduler="OneCycle")
    assert isinstance(config.make_scheduler(config.make_optimizer(*parts())), OneCycleLR)


# ------------------------------------------------ a schedule with settings of its own


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
