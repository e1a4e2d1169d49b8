"""Training that ends where an earlier one was best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adacap.core.mlr import MLRLoss
from adacap.training.loop import Trainer

__all__ = ["UpTo"]


@dataclass
class UpTo(Trainer):
    """Keeps a given iteration of each net, whatever its score, and ends with the last of them.

    Parameters
    ----------
    last : sequence of int
        Iteration to keep of each net; the latest, if training ends before.
    """

    last: Sequence[int] = ()

    def validate(self, loss: MLRLoss) -> list[float]:
        """The step itself as a score, as long as it counts."""
        step = self.state.step
        self.best.active = [step <= last for last in self.last]
        return [float(step)] * self.nets.k

    def is_over(self, next_end: float) -> bool:
        """Also after the last of them."""
        return super().is_over(next_end) or self.state.step >= max(self.last)
