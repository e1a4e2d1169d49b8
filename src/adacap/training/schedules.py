"""Learning-rate schedules with settings of their own."""

from __future__ import annotations

from dataclasses import dataclass

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, StepLR

__all__ = ["StepDecay"]


@dataclass(frozen=True)
class StepDecay:
    """The rate times ``gamma`` after each of some periods of equal length.

    Parameters
    ----------
    periods : int
        Parts of the training; its epochs, for a decay after every epoch.
    gamma : float, default=0.7

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
