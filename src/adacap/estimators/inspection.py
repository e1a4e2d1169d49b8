"""What a fitted estimator tells about itself: its capacity, and a page about it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from adacap.estimators._notebook import fitted_html
from adacap.estimators.capacity import Capacity

__all__ = ["Inspection"]


class Inspection:
    """Methods of both estimators that explain a fitted model."""

    capacity_: Capacity

    def capacity(self) -> Capacity:
        """How much the net can learn by heart, and how much of that it used.

        Read at the end of ``fit`` and kept in the model file: nothing is computed here.

        Returns
        -------
        Capacity
            Effective degrees of freedom, λ, fit of true and permuted labels with p-values,
            leave-one-out residuals, leverage and the most influential rows. It prints.
        """
        check_is_fitted(self)
        return self.capacity_

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """In a notebook: the parameters, and if it is fitted the scores and settings."""
        return self._as_html

    def _as_html(self) -> str:
        of_base: Callable[[], str] = super()._repr_html_  # type: ignore[misc]
        fitted = fitted_html(self) if hasattr(self, "provenance_") else ""
        return f"{of_base()}{fitted}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._as_html()}

    def report(
        self, X_test: Any, y_test: Any, path: str | os.PathLike[str] = "report.html", **options: Any
    ) -> Path:
        """Write a page about the fitted model and its predictions: one HTML file.

        Parameters
        ----------
        X_test, y_test : array-like or frame
            Rows that ``fit`` has not seen.
        path : str or path-like, default="report.html"
        **options
            ``X_train`` and ``y_train`` for baselines, ``title``, ``force`` and others of
            :func:`adacap.report.write_report`.

        Returns
        -------
        Path
            The file written.
        """
        check_is_fitted(self)
        # By name: the report knows the estimators, not the other way round.
        report = importlib.import_module("adacap.report")
        written: Path = report.write_report(self, X_test, y_test, path, **options)
        return written
