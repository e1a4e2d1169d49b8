"""What a fitted estimator reports about itself: its capacity, what drives it, and a page."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from adacap._typing import Floats
from adacap.estimators._capacity_text import lines_of, source_of
from adacap.estimators.background import Background
from adacap.estimators.capacity import Capacity

__all__ = ["Explaining", "Inspection"]


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
        from adacap.report import write_report

        return write_report(self, X_test, y_test, path, **options)


Line = tuple[str, str]


def facts_of(estimator: Any) -> list[Line]:
    """Name and value of what a reader asks first about a fitted estimator.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(max_iter=5, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> facts_of(model)[0]
    ('fitted on', '3 rows, 1 column')
    """
    made, n_columns = estimator.provenance_, estimator.n_features_in_
    columns = f"{n_columns:,} column{'' if n_columns == 1 else 's'}"
    what = ("nets", str(len(estimator.members_)))
    if estimator.blend_:
        what = ("blend of", ", ".join(f"{p.name} {p.weight:.0%}" for p in estimator.blend_))
    return [
        ("fitted on", f"{made.n_rows:,} rows, {columns}"),
        (what[0], f"{what[1]}, in {made.fit_seconds:.2g} s"),
        *_score(estimator),
        *_source(estimator.capacity()),
        *((name, value) for name, value, _ in lines_of(estimator.capacity())),
    ]


def _source(capacity: Capacity) -> Iterator[Line]:
    """The member of a blend that the following readings are about."""
    if capacity.read_from is not None:
        yield "capacity read from", source_of(capacity.read_from)


def _score(estimator: Any) -> Iterator[Line]:
    """Mean score of the rows held out to choose the iteration, which flatters a little."""
    scores = [m.best_score for m in estimator.members_ if math.isfinite(m.best_score)]
    if not scores:
        return
    mean = sum(scores) / len(scores)
    if not hasattr(estimator, "classes_"):
        yield "R² of the rows held out", f"{mean:.4g}"
    elif mean <= 0:
        yield "cross-entropy of the rows held out", f"{-mean:.4g}"
    else:
        yield "AUC of the rows held out", f"{mean:.4g}"


def _settings(estimator: Any) -> list[Line]:
    """Settings as they were used; the parameters where the estimator keeps no others."""
    used = getattr(estimator, "settings_", None)
    found = asdict(used) if is_dataclass(used) else estimator.get_params(deep=False)  # type: ignore[arg-type]
    shown = {name: value for name, value in found.items() if value is not None and name != "auto"}
    return [(name, str(getattr(value, "__name__", value))[:80]) for name, value in shown.items()]


def fitted_html(estimator: Any) -> str:
    """Two tables, of facts and, folded, of settings; everything is escaped."""
    facts, settings = _table(facts_of(estimator)), _table(_settings(estimator))
    return (
        f"<div><b>{html.escape(type(estimator).__name__)}, fitted</b>{facts}"
        f"<details><summary>settings</summary>{settings}</details></div>"
    )


def _table(lines: list[Line]) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in lines
    )
    return f"<table><tbody>{rows}</tbody></table>"


# ------------------------------------------------------------------------ what drives it


class Explaining:
    """Methods of both estimators that say why; the work is done in :mod:`adacap.explain`."""

    background_: Background

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the variation of predictions, ``(n_features_in_,)``; sum 1.

        How far predictions move, squared, when the column is taken from another training row: it
        needs no labels, and shows what drives predictions, not how good they are
        (:meth:`importance` does, on test rows). Found when first asked for, and saved with the
        model. Zeros where no column moves anything.
        """
        check_is_fitted(self)
        from adacap.explain.sensitivity import shares_of

        if self.background_.shares is None:
            self.background_ = self.background_.with_shares(shares_of(self))
        shares = self.background_.shares
        return np.array(shares)

    def importance(self, X: Any, y: Any, **options: Any) -> Any:
        """How much worse predictions get when a column is shuffled.

        Parameters
        ----------
        X, y : array-like or frame
            Rows that ``fit`` has not seen: on those it has, columns learnt by heart look important.
        **options
            ``n_repeats``, ``max_rows``, ``groups`` and others of
            :func:`adacap.explain.permutation_importance`.

        Returns
        -------
        Importance
            Increase of the loss by column with its standard error. It prints.
        """
        from adacap.explain.importance import permutation_importance

        return permutation_importance(self, X, y, **options)

    def effects(self, X: Any, columns: Any = None, **options: Any) -> Any:
        """How predictions change along columns, and which columns act together.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to average over, which need no labels.
        columns : sequence of str or int, optional
            Columns to follow; None is the six that drive predictions most.
        **options
            Of :func:`adacap.explain.effects`.

        Returns
        -------
        Effects
            Partial dependence with the spread of the folds, and interactions of the strongest
            pairs.
        """
        from adacap.explain.effects import effects

        return effects(self, X, columns, **options)

    def explain(self, X: Any, background: Any = None, **options: Any) -> Any:
        """What each column adds to each prediction: Shapley values.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        background : array-like or frame, optional
            Rows that predictions are compared with. None is a sample of the training rows that
            ``fit`` keeps in memory; a loaded model has none, and takes the rows of ``X``.
        **options
            ``method``, ``n_permutations``, ``link`` and others of :func:`adacap.explain.explain`.

        Returns
        -------
        Explanation
            ``values``, ``base_values``, ``data`` and ``feature_names`` in the shapes that SHAP's
            plots take, one contribution per column of ``X``; they add up to the prediction.
        """
        from adacap.explain.contributions import explain

        return explain(self, X, background, **options)

    def influence(
        self,
        X: Any,
        X_train: Any,
        y_train: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
    ) -> Any:
        """Which training rows a prediction leans on, and by how much.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to predict.
        X_train, y_train, sample_weight, groups, time : array-like or frame
            What ``fit`` was given; a model does not keep it. Rows go by the index of a frame.

        Returns
        -------
        Influence
            For each prediction and training row, the change on leaving the row out of all that is
            solved in closed form.
        """
        from adacap.explain.influence import influence

        return influence(self, X, X_train, y_train, sample_weight, groups=groups, time=time)
