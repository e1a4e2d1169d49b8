"""Estimators around packages that need help: those that print, and fastai's tabular learner."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["FastaiClassifier", "FastaiRegressor", "Quiet", "load_fastai", "quietly"]

_BATCH_SIZE = 64  # fastai's default


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


# ------------------------------------------------------------------------------------- fastai


def load_fastai() -> Any:
    """The module ``fastai.tabular.all``, which needs no torchvision, although the package does."""
    with quietly():
        return import_module("fastai.tabular.all")


class _Fastai(BaseEstimator):
    """What both share: fastai's own settings, and a number of epochs, for which it has no default.

    The global generators are set to the seed during a fit and restored after.
    """

    _block: str

    def __init__(self, seed: int = 0, n_epochs: int = 50) -> None:
        self.seed = seed
        self.n_epochs = n_epochs

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows: fastai would only print the scores of a hold-out."""
        fastai = load_fastai()
        rows = self._frame(X)
        columns, n = list(rows.columns), len(rows)
        with quietly(), fastai.no_random(self.seed):
            table = fastai.TabularPandas(
                rows.assign(target=y),
                procs=[],
                cat_names=[],
                cont_names=columns,
                y_names="target",
                y_block=getattr(fastai, self._block)(),
                splits=[list(range(n)), []],
            )
            loaders = table.dataloaders(bs=min(_BATCH_SIZE, n), device="cpu")
            self.learner_ = fastai.tabular_learner(loaders)
            with self.learner_.no_bar(), self.learner_.no_logging():
                self.learner_.fit_one_cycle(self.n_epochs)
        return self

    def _outputs(self, X: Any) -> Any:
        """Array of shape (n_rows, 1) or (n_rows, n_classes)."""
        learner = self.learner_
        with quietly(), learner.no_bar(), learner.no_logging():
            outputs, _ = learner.get_preds(dl=learner.dls.test_dl(self._frame(X)))
        return outputs.numpy()

    def _frame(self, X: Any) -> Any:
        import pandas as pd

        X = np.array(X, dtype=np.float32)  # a copy: fastai normalises in place
        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


class FastaiRegressor(RegressorMixin, _Fastai):
    """Tabular learner for a number."""

    _block = "RegressionBlock"

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows."""
        return super().fit(X, np.asarray(y, dtype=np.float32))

    def predict(self, X: Any) -> Any:
        """Values, shape (n_rows,)."""
        return self._outputs(X)[:, 0]


class FastaiClassifier(ClassifierMixin, _Fastai):
    """Tabular learner for classes."""

    _block = "CategoryBlock"

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        return super().fit(X, codes)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities, shape (n_rows, n_classes)."""
        return self._outputs(X)

    def predict(self, X: Any) -> Any:
        """Most probable classes."""
        return self.classes_[self._outputs(X).argmax(axis=1)]
