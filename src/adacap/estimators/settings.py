"""Settings that were found by measurement, and what ``"auto"`` stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adacap.estimators._base import AdaCapBase

__all__ = ["ONE_NET", "TUNED", "has_folds", "members_of", "setting_of"]

_LEAST_FOLD = 2  # rows of a fold, where their number is ours to choose

_FOLDS = {"n_estimators": 5, "bagging": "folds", "batch_size": 512}
TUNED: dict[str, dict[str, Any]] = {
    "fast": {**_FOLDS, "width": 64, "max_iter": 80, "max_lr": 0.05, "lambda_init": 1.0},
    "balanced": {**_FOLDS, "width": 128, "max_iter": 130, "max_lr": 0.03, "lambda_init": 3.0},
}
"""Settings by how long one is willing to wait; docs/SPEED.md has the figures behind them."""

ONE_NET: dict[str, Any] = {
    "n_estimators": 1,
    "bagging": "seeds",
    "batch_size": 2048,
    "max_iter": 200,
    "max_lr": 0.01,
    "lambda_init": "max_sensitivity",
}
"""Settings that are safe for any net: for classes, plain nets and nets of the user's own."""


def setting_of(estimator: AdaCapBase, name: str) -> Any:
    """A parameter of an estimator, with ``"auto"`` replaced by what it stands for.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> [setting_of(AdaCapRegressor(max_iter=value), "max_iter") for value in ("auto", 7)]
    [130, 7]
    """
    value = getattr(estimator, name)
    return estimator._auto.get(name) if isinstance(value, str) and value == "auto" else value


def members_of(estimator: AdaCapBase, n_rows: int) -> int:
    """How many nets an estimator trains on so many different rows.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> members_of(AdaCapRegressor(), 200), members_of(AdaCapRegressor(), 6)
    (5, 3)
    """
    n_members: int = setting_of(estimator, "n_estimators")
    if estimator.n_estimators == "auto":
        return max(1, min(n_members, n_rows // _LEAST_FOLD))
    return n_members


def has_folds(estimator: AdaCapBase, n_members: int) -> bool:
    """Whether each of so many nets holds out another fold; by default only if anything is held out.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> has_folds(AdaCapRegressor(), 5), has_folds(AdaCapRegressor(validation_fraction=0), 5)
    (True, False)
    """
    if estimator.bagging == "auto" and estimator.validation_fraction == 0:
        return False
    return n_members > 1 and setting_of(estimator, "bagging") == "folds"
