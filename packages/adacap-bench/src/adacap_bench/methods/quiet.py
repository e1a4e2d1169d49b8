"""An estimator without its output."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any, Self

__all__ = ["Quiet", "quietly"]


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Drop what is printed, logged below an error, or warned of to developers.

    Warnings about data and convergence pass.

    Examples
    --------
    >>> with quietly():
    ...     print("epoch 1 of 256")
    """
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    nowhere = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            warnings.catch_warnings(),
        ):
            for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            yield
    finally:
        logging.disable(before)


class Quiet:
    """An estimator that works under :func:`quietly`.

    It has ``predict_proba`` and ``decision_function`` if the estimator has.

    Parameters
    ----------
    estimator : estimator

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> Quiet(Ridge()).fit([[0.0], [1.0]], [0.0, 3.0]).predict([[0.5]])
    array([1.5])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the estimator, and its class."""
        return {"class": type(self.estimator).__name__, **self.estimator.get_params(deep=deep)}

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator."""
        with quietly():
            self.estimator.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        """Values or classes."""
        with quietly():
            return self.estimator.predict(X)

    def __getattr__(self, name: str) -> Any:
        if name == "estimator":  # not there yet, while it is being unpickled
            raise AttributeError(name)
        found = getattr(self.estimator, name)
        return self._quiet(found) if name in {"predict_proba", "decision_function"} else found

    @staticmethod
    def _quiet(function: Any) -> Any:
        def call(X: Any) -> Any:
            with quietly():
                return function(X)

        return call
