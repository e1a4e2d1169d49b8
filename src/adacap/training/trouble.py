"""What the loop does when training fails, and how it keeps memory between steps."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import torch

from adacap.exceptions import DivergenceError, NumericalWarning, warn_caller

if TYPE_CHECKING:
    from adacap.training.history import History, Trained
    from adacap.training.loop import Trainer

__all__ = ["diverged", "keep_freed_memory", "warn_of_rise"]

_RISE = 3.0  # times the first loss: a constant prediction is better by far
_LAST = 5  # steps whose median counts, since a single minibatch may be odd


def diverged(error: ArithmeticError, trainer: Trainer) -> None:
    """Warn if there is an iteration to keep, else raise a ``DivergenceError``.

    It is raised too if there are several nets: the others must be trained without the failed one.
    """
    step, max_lr, best = trainer.state.step, trainer.config.max_lr, trainer.best
    if not best.kept or trainer.nets.k > 1:
        raise DivergenceError(
            f"Training diverged at step {step} before a usable iteration: {error} "
            f"max_lr is now {max_lr:g}."
        ) from error
    warn_caller(
        f"Training diverged at step {step}; the best iteration before that, {best.step[0]}, is "
        f"kept. Try a smaller max_lr (now {max_lr:g}).",
        NumericalWarning,
    )


def warn_of_rise(trained: Trained, max_lr: float) -> None:
    """Warn of nets whose loss ended far above where it started, though it stayed finite.

    A solved head cannot diverge in this way: its fit is never worse than a constant. A plain net at
    too large a learning rate can, without a single number that is not finite.
    """
    rises = [rise for history in trained.histories if (rise := _rise(history)) > _RISE]
    if rises:
        warn_caller(
            f"Training diverged: the loss of {len(rises)} of {len(trained.histories)} nets ended "
            f"at up to {max(rises):.3g} times its start. Try a smaller max_lr (now {max_lr:g}).",
            NumericalWarning,
        )


def _rise(history: History) -> float:
    """Loss of the last steps over that of the first."""
    losses = [record["fit_true"] for record in history]
    return statistics.median(losses[-_LAST:]) / max(losses[0], 1e-3) if losses else 0.0


def keep_freed_memory() -> None:
    """Have glibc keep what one step frees for the next, instead of fetching fresh pages each time.

    Freeing a block of this size raises its two thresholds to the most they reach by themselves.
    Elsewhere it does nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
