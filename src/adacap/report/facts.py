"""What was trained on what, as tables and facts."""

from __future__ import annotations

import inspect
from typing import Any

from adacap._version import __version__

__all__ = ["columns_table", "facts", "in_seconds", "settings_table", "versions_table"]

_MOST_OUTPUTS = 6


def facts(estimator: Any, n_test: int) -> dict[str, object]:
    """The most important facts of a fitted model, by name.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier
    n_test : int
        Number of test rows.
    """
    made, blend = estimator.provenance_, estimator.blend_
    targets = estimator.codec_.n_targets
    found: dict[str, object] = {
        "rows to train on": made.n_rows,
        "rows to test on": n_test,
        "columns": estimator.n_features_in_,
        "columns after encoding": estimator.encoder_.n_features_out_,
        **({"members of the blend": len(blend)} if blend else {}),
        **_nets(estimator),
        "seconds to fit": in_seconds(made.fit_seconds),
        "trained": made.created.replace("T", " ").removesuffix("+00:00") + " UTC",
    }
    if estimator.settings_.split_by:
        found["held out"] = estimator.settings_.split_text
    if made.n_distinct < made.n_rows:
        found["different rows trained on"] = made.n_distinct
    if hasattr(estimator, "classes_"):
        found["classes"] = len(estimator.classes_)
    elif targets > 1:
        found["targets"] = targets
    return found


def _nets(estimator: Any) -> dict[str, object]:
    if not estimator.members_:
        were_trained = estimator.scheme_ is not None
        return {"nets": "none: those trained have no weight" if were_trained else "none"}
    specs = estimator.backbone_ if isinstance(estimator.backbone_, tuple) else [estimator.backbone_]
    backbones = [str(s.factory or f"{s.name}, {s.depth} × {s.width}") for s in specs]
    return {
        "scheme": estimator.scheme_,
        "backbone": "; ".join(dict.fromkeys(backbones)),
        "nets": len(estimator.members_),
        "iterations": estimator.n_iter_,
    }


def columns_table(estimator: Any) -> list[tuple[str, str, str, str]]:
    """Column, kind, treatment and what it became.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier

    Returns
    -------
    list of (column, kind, treatment, outputs)

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(max_iter=2).fit([[1.0, "a"], [2.0, "b"], [4.0, "b"]], [0, 1, 2])
    >>> columns_table(model)[1]
    ('x1', 'categorical', 'binary', 'x1=b')
    """
    found = []
    for row in estimator.encoder_.summary():
        names = [str(name) for name in row["outputs"]]
        more = f", … ({len(names)} in all)" if len(names) > _MOST_OUTPUTS else ""
        outputs = ", ".join(names[:_MOST_OUTPUTS]) + more
        found.append((str(row["column"]), str(row["kind"]), str(row["treatment"]), outputs))
    return found


def settings_table(estimator: Any) -> list[tuple[str, str, str]]:
    """Parameter, value and "changed" where it is not the default, or "auto" where the fit chose it.

    Parameters
    ----------
    estimator : fitted AdaCapRegressor or AdaCapClassifier

    Returns
    -------
    list of (name, value, state)

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(width=8, max_iter=2).fit([[1.0], [2.0], [4.0]], [0, 1, 2])
    >>> [row for row in settings_table(model) if row[0] in ("width", "max_lr")]
    [('width', '8', 'changed'), ('max_lr', '0.03', 'auto')]
    """
    signature = inspect.signature(type(estimator).__init__).parameters
    became = {name: text for name, text, auto in estimator.settings_.rows() if auto}
    found = []
    for name, value in estimator.get_params(deep=False).items():
        text = became.get(name) or getattr(value, "__name__", None) or repr(value)
        is_default = name in signature and repr(value) == repr(signature[name].default)
        state = "auto" if name in became else "" if is_default else "changed"
        found.append((name, text[:120], state))
    order = ("changed", "auto", "")
    return sorted(found, key=lambda row: (order.index(row[2]), row[0]))


def versions_table(estimator: Any) -> list[tuple[str, str]]:
    """Software the model was trained with, and the adacap that made the page."""
    made = estimator.provenance_
    names = {"python": "Python", "numpy": "NumPy", "torch": "PyTorch"}
    names["scikit_learn"] = "scikit-learn"
    rows = [(title, str(getattr(made, name))) for name, title in names.items()]
    return [*rows, ("adacap (this page)", __version__)]


def in_seconds(seconds: float) -> str:
    """Seconds in two digits, or in whole ones where there are more.

    Examples
    --------
    >>> in_seconds(0.1234), in_seconds(354.2)
    ('0.12', '354')
    """
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"
