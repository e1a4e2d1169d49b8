"""Callbacks of scikit-learn (1.9 and later), called at every training step.

Older versions of scikit-learn have none: then the estimators have no ``set_callbacks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from adacap.training.callbacks import Callback, TrainingState

__all__ = [
    "HAS_CALLBACKS", "CallbackSupport", "SklearnSteps", "steps_for", "takes_callbacks",
    "told_to_callbacks",
]  # fmt: skip

_Fit = TypeVar("_Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False


class _NoSupport:
    """Stand-in for scikit-learn's mixin in versions without it."""


CallbackSupport: Any = CallbackSupportMixin if HAS_CALLBACKS else _NoSupport


def takes_callbacks(fit: _Fit) -> _Fit:
    """Decorator of ``fit``: scikit-learn sets up and ends the callbacks that were set.

    Examples
    --------
    >>> takes_callbacks(lambda estimator: estimator)(2)
    2
    """
    return with_callbacks(fit) if HAS_CALLBACKS else fit


@contextmanager
def told_to_callbacks(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """Around a ``fit``: callbacks are called at its start, and at its end if it succeeds."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    yield
    root.call_on_fit_task_end(
        estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: _fitted(estimator)
    )


def _fitted(estimator: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def steps_for(estimator: Any) -> list[Callback]:
    """The callback that reports steps to scikit-learn's callbacks, if there are any."""
    return [SklearnSteps(estimator)] if getattr(estimator, "_skl_callbacks", None) else []


class SklearnSteps(Callback):
    """Each training step is a task of scikit-learn; a callback that returns True ends training."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def on_step(self, state: TrainingState) -> None:
        """Report one step."""
        task = self.estimator._callback_fit_ctx.subcontext(task_name="training step")
        task.call_on_fit_task_begin(estimator=self.estimator)
        state.stop |= task.call_on_fit_task_end(estimator=self.estimator)
