"""Callbacks of scikit-learn (1.9 and later), told of every training step.

Older versions of scikit-learn have none: then the estimators have no ``set_callbacks``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from adacap.training.callbacks import Callback, TrainingState

__all__ = ["HAS_CALLBACKS", "CallbackSupport", "SklearnSteps", "steps_for", "tells_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False


class _NoSupport:
    """In place of scikit-learn's mixin where it has none."""


CallbackSupport: Any = CallbackSupportMixin if HAS_CALLBACKS else _NoSupport


def tells_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``fit``: its beginning and end are told to the callbacks that were set.

    Examples
    --------
    >>> tells_callbacks(len)([1, 2])
    2
    """
    if not HAS_CALLBACKS:
        return fit

    @wraps(fit)
    def told(estimator: Any, *args: Any, **options: Any) -> Any:
        if not getattr(estimator, "_skl_callbacks", None):
            return fit(estimator, *args, **options)
        X, y = _data(*args, **options)
        root = estimator._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        fitted = fit(estimator, *args, **options)
        root.call_on_fit_task_end(
            estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: _fitted(estimator)
        )
        return fitted

    managed: Callable[..., Any] = with_callbacks(told)
    return managed


def _data(X: Any, y: Any = None, *args: Any, **options: Any) -> tuple[Any, Any]:
    return X, y


def _fitted(estimator: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def steps_for(estimator: Any) -> list[Callback]:
    """What tells the estimator's callbacks of its steps, if it has any."""
    return [SklearnSteps(estimator)] if getattr(estimator, "_skl_callbacks", None) else []


class SklearnSteps(Callback):
    """Every training step is a task of scikit-learn's; a callback that returns True ends training.

    Parameters
    ----------
    estimator : estimator
        Whose ``fit`` is under way.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def on_step(self, state: TrainingState) -> None:
        """Tell of one step."""
        task = self.estimator._callback_fit_ctx.subcontext(task_name="training step")
        task.call_on_fit_task_begin(estimator=self.estimator)
        state.stop |= task.call_on_fit_task_end(estimator=self.estimator)
