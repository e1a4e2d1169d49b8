"""Settings of one training run, checked once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    LinearLR,
    LRScheduler,
    OneCycleLR,
    StepLR,
)

from adacap.exceptions import suggest

__all__ = [
    "OPTIMIZERS", "SCHEDULERS", "OptimizerLike", "SchedulerLike", "StepDecay", "TrainingConfig",
]  # fmt: skip

OptimizerLike = str | Callable[..., Optimizer]
SchedulerLike = str | Callable[[Optimizer, int], LRScheduler] | None

# These need a closure, sparse gradients, or matrices only.
_NOT_BY_STEP = {"LBFGS", "SparseAdam", "Muon", "Optimizer"}

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    name.lower(): cls
    for name, cls in vars(torch.optim).items()
    if isinstance(cls, type) and issubclass(cls, Optimizer) and name not in _NOT_BY_STEP
}

ELEMENTWISE = {
    "adam", "adamw", "adamax", "nadam", "radam", "adagrad", "adadelta", "asgd", "rmsprop", "rprop",
    "sgd",
}  # fmt: skip
"""Optimisers that update each entry independently: safe for stacked members."""

SCHEDULERS: dict[str, Callable[[Optimizer, float, int], LRScheduler]] = {
    "onecycle": lambda opt, lr, n: OneCycleLR(
        opt, max_lr=lr, total_steps=max(n, 2), cycle_momentum=_has_momentum(opt)
    ),
    "constant": lambda opt, lr, n: ConstantLR(opt, factor=1.0, total_iters=1),
    "cosine": lambda opt, lr, n: CosineAnnealingLR(opt, T_max=max(n, 1)),
    "linear": lambda opt, lr, n: LinearLR(opt, start_factor=1.0, end_factor=0.0, total_iters=n),
}


def _has_momentum(optimizer: Optimizer) -> bool:
    return "betas" in optimizer.defaults or bool(optimizer.defaults.get("momentum"))


@dataclass(frozen=True)
class StepDecay:
    """The rate times ``gamma`` after each of some periods of equal length.

    One period per epoch is a decay after every epoch.

    Examples
    --------
    >>> from adacap import AdaCapClassifier
    >>> every_epoch = ("adadelta", StepDecay(14))
    >>> AdaCapClassifier(optimizer=every_epoch, max_iter="14 epochs").optimizer[1]
    StepDecay(periods=14, gamma=0.7)
    """

    periods: int
    gamma: float = 0.7

    def __post_init__(self) -> None:
        if self.periods < 1:
            raise ValueError(f"periods must be 1 or more, got {self.periods}.")

    def __call__(self, optimizer: Optimizer, n_steps: int) -> LRScheduler:
        """Scheduler of a training of ``n_steps``."""
        return StepLR(optimizer, max(1, n_steps // self.periods), self.gamma)


@dataclass(frozen=True)
class TrainingConfig:
    """How weights move: optimiser, schedule, budget.

    Parameters
    ----------
    max_iter : int
        Number of optimiser steps, not epochs.
    max_lr : float
    batch_size : int
    optimizer : str or callable ``(param_groups, lr=...) -> Optimizer``
    scheduler : str, None or callable ``(optimizer, n_steps) -> LRScheduler``
    weight_decay : float
        On the backbone only; λ is never decayed.
    deadline : float, optional
        Value of ``time.perf_counter`` after which no further step starts.

    Examples
    --------
    >>> TrainingConfig(max_iter=0)
    Traceback (most recent call last):
    ValueError: max_iter must be 1 or more, got 0.
    """

    max_iter: int = 500
    max_lr: float = 1e-2
    batch_size: int = 2048
    optimizer: OptimizerLike = "adam"
    scheduler: SchedulerLike = "onecycle"
    weight_decay: float = 0.0
    deadline: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_iter", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, got {getattr(self, name)}.")
        if not self.max_lr > 0:
            raise ValueError(f"max_lr must be positive, got {self.max_lr}.")
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay must be 0 or more, got {self.weight_decay}.")
        if isinstance(self.optimizer, str) and self.optimizer.lower() not in OPTIMIZERS:
            raise ValueError(suggest(self.optimizer, OPTIMIZERS, "optimizer"))
        if isinstance(self.scheduler, str) and self.scheduler.lower() not in SCHEDULERS:
            raise ValueError(
                suggest(self.scheduler, SCHEDULERS, "scheduler")
                + " For another one pass a factory (optimizer, n_steps) -> LRScheduler."
            )

    @property
    def is_elementwise(self) -> bool:
        """Whether the optimiser treats stacked members independently."""
        return isinstance(self.optimizer, str) and self.optimizer.lower() in ELEMENTWISE

    def make_optimizer(self, backbone: Iterable[Tensor], head: Iterable[Tensor]) -> Optimizer:
        """Build the optimiser over backbone and head parameters."""
        groups: list[dict[str, Any]] = [
            {"params": list(backbone), "weight_decay": self.weight_decay},
            {"params": list(head), "weight_decay": 0.0},
        ]
        if not isinstance(self.optimizer, str) and not self.weight_decay:
            del groups[0]["weight_decay"]  # the factory may bring its own
        groups = [group for group in groups if group["params"]]
        if isinstance(self.optimizer, str) and not self.weight_decay:  # one group, one kernel call
            everything = [p for group in groups for p in group["params"]]
            groups = [{"params": everything, "weight_decay": 0.0}]
        if not isinstance(self.optimizer, str):
            return self.optimizer(groups, lr=self.max_lr)
        cls = OPTIMIZERS[self.optimizer.lower()]
        # One kernel per step instead of a dozen, where torch offers it.
        extra = {"fused": True} if cls in (torch.optim.Adam, torch.optim.AdamW) else {}
        optimizer = cls(groups, lr=self.max_lr, **extra)
        if self.weight_decay and "weight_decay" not in optimizer.defaults:
            raise ValueError(
                f"optimizer={self.optimizer!r} does not support weight decay, got "
                f"weight_decay={self.weight_decay}. Set it to 0 or use another optimizer."
            )
        return optimizer

    def make_scheduler(self, optimizer: Optimizer) -> LRScheduler | None:
        """Build the learning-rate schedule, if there is one."""
        if self.scheduler is None:
            return None
        if isinstance(self.scheduler, str):
            return SCHEDULERS[self.scheduler.lower()](optimizer, self.max_lr, self.max_iter)
        return self.scheduler(optimizer, self.max_iter)
