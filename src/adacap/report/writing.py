"""The page about a fitted model: one HTML file that needs no network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from adacap.estimators.targets import ClassCodec
from adacap.explain.effects import effects
from adacap.explain.importance import permutation_importance
from adacap.files.atomic import check_writable
from adacap.page import Page
from adacap.report import prediction_sections, sections
from adacap.report.about import About
from adacap.report.facts import in_seconds
from adacap.report.prediction_figures import interval_coverage, predictions
from adacap.report.remarks import remarks
from adacap.report.scores import baseline_scores, model_scores
from adacap.report.summary import how_scored, summary

__all__ = ["build_report", "write_report"]

_MOST_SHUFFLES = 250  # of columns, for their importance: fewer each where there are many


def build_report(
    estimator: Any,
    X_test: Any,
    y_test: Any,
    *,
    X_train: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
    coverage: float = 0.9,
    random_state: int = 0,
    scored_by: Any = None,
    about: About | None = None,
) -> Page:
    """Page about a fitted model, in memory.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X_test, y_test : array-like or frame
        Rows that ``fit`` has not seen.
    X_train, y_train : optional
        What it was fitted on, to train a constant, a linear model and a forest for comparison.
    sample_weight : array-like of shape (n_train,), optional
        Weights of these rows; scores count every test row once.
    title : str, optional
    coverage : float, default=0.9
        Of the intervals drawn.
    random_state : int, default=0
        Of the baselines and shuffles.
    scored_by : fitted estimator of the same kind, optional
        Where ``estimator`` was fitted on all rows, test rows included: one of the same settings
        that was fitted without them. All scores, predictions and intervals of the page are from it.
    about : About, optional
        Names of the file and the target, and numbers of the rows in the file.

    Returns
    -------
    Page
        To be written with ``page.write(path)``.

    Raises
    ------
    ValueError
        If one of ``X_train`` and ``y_train`` is given alone, or there are no test rows.

    Examples
    --------
    >>> import numpy as np
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=20, random_state=0).fit(X[:60], X[:60, 0])
    >>> page = build_report(model, X[60:], X[60:, 0])
    >>> [section.name for section in page.sections][:3]
    ['summary', 'scores', 'predictions']
    """
    check_is_fitted(estimator)
    if (X_train is None) != (y_train is None):
        raise ValueError("X_train and y_train go together: give both or neither.")
    about, scorer = About.of(estimator, about), estimator if scored_by is None else scored_by
    codec = scorer.codec_
    y_test = codec.check(y_test)
    if not len(y_test):
        raise ValueError("A report needs at least one test row, got none.")
    about.check(estimator.provenance_.n_rows, len(y_test))
    codec.encode(y_test)  # refuses classes or targets that training did not have
    own = model_scores(scorer, X_test, y_test)
    baselines = []
    if X_train is not None:
        baselines = baseline_scores(
            scorer, X_train, y_train, X_test, y_test, random_state, sample_weight
        )
    is_classes = isinstance(codec, ClassCodec)
    covered = None if is_classes else interval_coverage(scorer, X_test, y_test)
    page = Page(title or _title(estimator, about), _subtitle(estimator))
    noticed = remarks(scorer, own, baselines, covered, estimator)
    told = summary(estimator, about, own, baselines, covered)
    unit = _unit(codec, about)
    scored = how_scored(estimator, scorer, about, len(y_test))
    sections.add_summary(page, told, scored, own, noticed, about)
    sections.add_scores(page, own, baselines, f", in {unit}" if unit else "")
    if is_classes:
        prediction_sections.add_class_predictions(page, scorer, X_test, y_test)
    else:
        numbers = predictions(scorer, X_test, y_test, coverage)
        prediction_sections.add_predictions(page, scorer, X_test, y_test, numbers, about)
        prediction_sections.add_intervals(page, covered, numbers.reason)
    n_repeats = int(np.clip(_MOST_SHUFFLES // estimator.n_features_in_, 2, 5))
    importance = permutation_importance(
        scorer, X_test, y_test, n_repeats=n_repeats, random_state=random_state
    )
    sections.add_importance(page, importance, unit)
    if importance is not None:
        found = effects(scorer, X_test, random_state=random_state)
        prediction_sections.add_effects(page, found, unit)
    sections.add_trained(page, estimator, len(y_test))
    sections.add_blend(page, estimator)
    sections.add_learning(page, estimator)
    sections.add_capacity(page, estimator, about)
    sections.add_memorisation(page, estimator)
    sections.add_clusters(page, estimator)
    sections.add_details(page, estimator)
    return page


def _unit(codec: Any, about: About) -> str:
    """Unit of errors; empty for several targets, which are standardised, and for classes."""
    if isinstance(codec, ClassCodec) or codec.n_targets > 1:
        return ""
    return f"units of {about.targets[0]}" if len(about.targets) == 1 else "units of the target"


def write_report(
    estimator: Any,
    X_test: Any,
    y_test: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    force: bool = False,
    **options: Any,
) -> Path:
    """Write a page about a fitted model and its predictions of test rows.

    One file of some 200 kB that opens from disk: scores beside simple methods, what became of each
    column, learning dynamics, λ and degrees of freedom, truth against noise, predictions with
    intervals or confusion matrix, ROC and reliability, importance, structure of the last layer.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    X_test, y_test : array-like or frame
        Rows that ``fit`` has not seen.
    path : str or path-like, default="report.html"
    force : bool, default=False
        Replace a file that exists.
    **options
        Of :func:`build_report`, such as ``X_train`` and ``y_train``.

    Returns
    -------
    Path
        The file written; it appears when it is complete.

    Raises
    ------
    OutputExistsError
        If the file exists and ``force`` is not set.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from adacap import AdaCapRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = AdaCapRegressor(max_iter=20, random_state=0).fit(X[:60], X[:60, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, X[60:], X[60:, 0], f"{folder}/report.html")
    ...     path.stat().st_size < 1_500_000
    True
    """
    check_writable(path, force)
    return build_report(estimator, X_test, y_test, **options).write(path, force=force)


def _title(estimator: Any, about: About) -> str:
    if about.targets:
        where = f" in {about.data}" if about.data else ""
        return f"Predicting {', '.join(about.targets)}{where}"
    where = f" of {about.data}" if about.data else ""
    return f"{type(estimator).__name__} on {estimator.provenance_.n_rows:,} rows{where}"


def _subtitle(estimator: Any) -> str:
    made = estimator.provenance_
    n = len(estimator.members_)
    nets = "one net" if n == 1 else f"{n} nets"
    if estimator.blend_:
        nets = f"blend of {', '.join(part.name for part in estimator.blend_)}"
    name = type(estimator).__name__
    return f"{name}, trained {made.created[:10]}, {nets}, {in_seconds(made.fit_seconds)} s"
