"""Optional behaviour around the training loop; the loop knows none of it."""

from dataclasses import dataclass, field
from typing import TextIO

from torch import Tensor

from adacap.core.mlr import MLRLoss
from adacap.nn.modules import Nets
from adacap.progress import Steps
from adacap.training.data import Batch

__all__ = ["Callback", "ProgressBar", "TrainingState"]


@dataclass
class TrainingState:
    """What a callback may look at; setting ``stop`` ends training after the step.

    ``record`` maps a name to one value per net and becomes the history entry of the step.
    ``hidden`` and ``loss`` are those of the step, ``nets`` has been moved by it already.
    """

    nets: Nets
    max_iter: int
    step: int = -1
    batch: Batch | None = None
    hidden: Tensor | None = None
    loss: MLRLoss | None = None
    record: dict[str, list[float]] = field(default_factory=dict)
    stop: bool = False


class Callback:
    """Base class: three moments, each a no-op.

    Examples
    --------
    >>> class StopAtTen(Callback):
    ...     def on_step(self, state):
    ...         state.stop = state.step >= 9
    """

    def on_start(self, state: TrainingState) -> None:
        """Before the first step."""

    def on_step(self, state: TrainingState) -> None:
        """After each step; ``state.record`` can be extended here."""

    def on_end(self, state: TrainingState) -> None:
        """After the last step, also when training failed."""


class ProgressBar(Callback):
    """Progress on a terminal; a line now and then where the output is not a terminal.

    Parameters
    ----------
    label : str
    stream : text stream, optional
        Standard error by default.
    every_seconds : float, default=5.0
        Pause between lines without a terminal.
    ends_with_a_line : bool, default=False
        Leave a line at the end, however short the training was.
    """

    def __init__(
        self,
        label: str = "Training",
        stream: TextIO | None = None,
        every_seconds: float = 5.0,
        ends_with_a_line: bool = False,
    ) -> None:
        self.label = label
        self.stream = stream
        self.every_seconds = every_seconds
        self.ends_with_a_line = ends_with_a_line
        self._steps: Steps | None = None

    def on_start(self, state: TrainingState) -> None:
        """Open the bar, if there is a terminal."""
        self._steps = Steps(
            self.label,
            unit="steps",
            total=state.max_iter,
            stream=self.stream,
            every_seconds=self.every_seconds,
            ends_with_a_line=self.ends_with_a_line,
        ).__enter__()

    def on_step(self, state: TrainingState) -> None:
        """Advance, and show the newest score and λ."""
        if self._steps is not None:
            self._steps.update(state.step + 1, text=self._note(state))

    def on_end(self, state: TrainingState) -> None:
        """Close the bar."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    @staticmethod
    def _note(state: TrainingState) -> str:
        parts = []
        for key, text in (("valid_score", "valid"), ("lambda", "λ")):
            values = state.record.get(key)
            if values:
                parts.append(f"{text} {sum(values) / len(values):.4g}")
        return "  ".join(parts)
