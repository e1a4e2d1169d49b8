"""A fitted estimator as a notebook shows it: what it was fitted on, its scores and settings."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

from adacap.estimators._capacity_text import lines_of

__all__ = ["facts_of", "fitted_html"]

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
    n_nets = len(estimator.members_)
    return [
        ("fitted on", f"{made.n_rows:,} rows, {columns}"),
        ("nets", f"{n_nets}, in {made.fit_seconds:.2g} s"),
        *_score(estimator),
        *((name, value) for name, value, _ in lines_of(estimator.capacity())),
    ]


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
