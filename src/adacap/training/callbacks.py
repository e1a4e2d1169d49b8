"""Optional behaviour around the training loop; the loop does not depend on it."""

import math
from dataclasses import dataclass, field
from typing import Any, TextIO

from torch import Tensor

from adacap.core.mlr import MLRLoss
from adacap.nn.modules import Nets
from adacap.progress import Steps
from adacap.training.data import Batch

__all__ = [
    "Callback", "EarlyStopping", "ProgressBar", "StopAbove", "TrainingState", "keeps_state",
]  # fmt: skip


@dataclass
class TrainingState:
    """What a callback may look at; setting ``stop`` ends training after the step.

    ``record`` maps a name to one value per net and becomes the history entry of the step.
    ``hidden`` and ``loss`` are those of the step, ``nets`` has been moved by it already.
    ``active`` says which nets are still trained; one that is set to False keeps the best of its
    iterations so far.
    """

    nets: Nets
    max_iter: int
    step: int = -1
    batch: Batch | None = None
    hidden: Tensor | None = None
    loss: MLRLoss | None = None
    record: dict[str, list[float]] = field(default_factory=dict)
    stop: bool = False
    active: list[bool] = field(default_factory=list)


class Callback:
    """Base class: three hooks, each a no-op, and the state that a checkpoint keeps.

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

    def state_dict(self) -> dict[str, Any]:
        """What it has gathered since ``on_start``, in numbers, text, lists and tensors."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the output of :meth:`state_dict`; called after ``on_start`` on resuming."""


def keeps_state(callback: object) -> bool:
    """Whether a callback keeps state that the outcome of training may depend on.

    Examples
    --------
    >>> keeps_state(EarlyStopping()), keeps_state(ProgressBar())
    (True, False)
    """
    own = getattr(type(callback), "state_dict", Callback.state_dict)
    return own is not Callback.state_dict


class EarlyStopping(Callback):
    """Stops when no net of the bag has had a better validation score for a number of steps.

    Each net is kept at its best iteration all the same. Without validation rows nothing stops.

    Parameters
    ----------
    patience : int, default=10
        Steps to wait for a better score of any net.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(max_iter=500, callbacks=[EarlyStopping(20)])
    >>> EarlyStopping(0)
    Traceback (most recent call last):
    ValueError: patience must be an integer of at least 1, got 0.
    """

    def __init__(self, patience: int = 10) -> None:
        if not patience >= 1 or patience != int(patience):
            raise ValueError(f"patience must be an integer of at least 1, got {patience!r}.")
        self.patience = patience
        self._best: list[float] = []
        self._waited = 0

    def on_start(self, state: TrainingState) -> None:
        """Forget the nets trained before."""
        self._best, self._waited = [-math.inf] * state.nets.k, 0

    def on_step(self, state: TrainingState) -> None:
        """Compare the scores of the step with the best of each net; higher is better."""
        scores = state.record.get("valid_score")
        if scores is None:
            return
        pairs = list(zip(scores, self._best, strict=True))
        is_better = any(new > old for new, old in pairs)  # NaN beats nothing
        self._best = [new if new > old else old for new, old in pairs]
        self._waited = 0 if is_better else self._waited + 1
        state.stop = state.stop or self._waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        """Best score of each net, and the steps since one was better."""
        return {"best": self._best, "waited": self._waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue to wait from there."""
        self._best, self._waited = list(state["best"]), state["waited"]


class StopAbove(Callback):
    """Ends each net after the first step whose fit of the true labels is above a limit.

    The code of 2021 stops in this way once its mean squared error exceeds 1, the variance of a
    standardised target. The best iteration until then is kept, that step included.

    Parameters
    ----------
    limit : float, default=1.0
        In the unit of the loss.

    Examples
    --------
    >>> from adacap.estimators.mlr_net import MLRNetRegressor
    >>> model = MLRNetRegressor(structured_dither=3.0, callbacks=[StopAbove(1.0)])
    >>> StopAbove(0.0)
    Traceback (most recent call last):
    ValueError: limit must be positive, got 0.0.
    """

    def __init__(self, limit: float = 1.0) -> None:
        if not limit > 0:
            raise ValueError(f"limit must be positive, got {limit!r}.")
        self.limit = limit

    def __repr__(self) -> str:
        return f"StopAbove({self.limit!r})"

    def on_step(self, state: TrainingState) -> None:
        """Compare the fits of the step with the limit."""
        for k, fit in enumerate(state.record["fit_true"]):
            if fit > self.limit:
                state.active[k] = False


class ProgressBar(Callback):
    """Progress on a terminal; a line now and then where the output is not a terminal.

    Parameters
    ----------
    label : str
    stream : text stream, optional
        Standard error by default.
    every_seconds : float, default=5.0
        Pause between lines without a terminal.
    leave : bool, default=False
        Leave a line at the end, however short the training was.
    """

    def __init__(
        self,
        label: str = "Training",
        stream: TextIO | None = None,
        every_seconds: float = 5.0,
        leave: bool = False,
    ) -> None:
        self.label = label
        self.stream = stream
        self.every_seconds = every_seconds
        self.leave = leave
        self._steps: Steps | None = None

    def on_start(self, state: TrainingState) -> None:
        """Open the bar, if there is a terminal."""
        self._steps = Steps(
            self.label,
            unit="steps",
            total=state.max_iter,
            stream=self.stream,
            every_seconds=self.every_seconds,
            leave=self.leave,
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
