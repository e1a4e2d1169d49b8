"""Fastai's tabular learner as an estimator."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from adacap_bench.methods.quiet import quietly

__all__ = ["FastaiClassifier", "FastaiRegressor", "load_fastai"]

_BATCH_SIZE = 64  # fastai's default


def load_fastai() -> Any:
    """The module ``fastai.tabular.all``, which needs no torchvision, although the package does."""
    with quietly():
        return import_module("fastai.tabular.all")


class _Fastai(BaseEstimator):
    """What both share: fastai's own settings, and a number of epochs, which has no default.

    Parameters
    ----------
    seed : int, default=0
        The global generators are set to it during a fit and restored after.
    n_epochs : int, default=50
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
