"""What the loop does when training fails, and about the memory of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from adacap.exceptions import DivergenceError, NumericalWarning, warn_caller

if TYPE_CHECKING:
    from adacap.training.loop import Trainer

__all__ = ["diverged", "keep_freed_memory"]


def diverged(error: ArithmeticError, trainer: Trainer) -> None:
    """Warn if there is an iteration to keep, else raise.

    Raises
    ------
    DivergenceError
        Also if there are several nets: the others must be trained without the one that failed.
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


def keep_freed_memory() -> None:
    """Have glibc keep what one step frees for the next, instead of fetching fresh pages each time.

    Freeing a block of this size raises its two thresholds to the most they reach by themselves.
    Elsewhere it does nothing.
    """
    torch.empty(31 << 20, dtype=torch.uint8)
