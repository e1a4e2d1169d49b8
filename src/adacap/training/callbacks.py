"""Optional behaviour around the training loop; the loop knows none of it."""

from dataclasses import dataclass, field
from typing import TextIO

from torch import Tensor

from adacap.core.tikhonov import dof_of_factor, effective_dof, weighted_mean
from adacap.progress import Steps
from adacap.training.data import Batch
from adacap.training.members import Members
from adacap.training.objectives import StepLoss

__all__ = ["Callback", "DofTrace", "ProgressBar", "TrainingState"]


@dataclass
class TrainingState:
    """What a callback may look at; setting ``stop`` ends training after the step.

    ``record`` maps a name to one value per member and becomes the history entry of the step.
    ``hidden`` and ``loss`` are to be read; a copy of them can take part in a graph of the caller's.
    """

    members: Members
    max_iter: int
    step: int = -1
    batch: Batch | None = None
    hidden: Tensor | None = None
    loss: StepLoss | None = None
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


class DofTrace(Callback):
    """Record the effective degrees of freedom of the Tikhonov layer every few steps.

    Each reading costs a triangular inverse of size min(n, J), hence the stride; the factorisation
    is that of the step, unless its loss went another way and kept none.
    """

    def __init__(self, every: int = 10, *, fit_intercept: bool = False) -> None:
        self.every = every
        self.fit_intercept = fit_intercept

    def on_step(self, state: TrainingState) -> None:
        """Add ``effective_dof`` to the record on every ``every``-th step."""
        if state.step % self.every or state.hidden is None or state.batch is None:
            return
        if (lam := state.record.get("lambda")) is None:  # the plain scheme: no Tikhonov layer
            return
        if state.loss is not None and (L := state.loss.factor) is not None:
            state.record["effective_dof"] = dof_of_factor(L, L.new_tensor(lam)).tolist()
            return
        hidden, weight = state.hidden.detach(), state.batch.weight
        if self.fit_intercept:
            w = None if weight is None else weight.unsqueeze(-1)
            hidden = hidden - weighted_mean(hidden, w)
        if weight is not None:
            hidden = weight.sqrt().unsqueeze(-1) * hidden
        state.record["effective_dof"] = effective_dof(hidden, hidden.new_tensor(lam)).tolist()


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
