"""Ready estimators by name: the paper's architectures under its protocol, and our own settings."""

from __future__ import annotations

from typing import Any, Literal

from adacap.estimators._base import AdaCapBase
from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.regressor import AdaCapRegressor
from adacap.nn.presets import PRESETS, Preset, suggest

__all__ = ["make"]

_ESTIMATORS: dict[str, type[AdaCapBase]] = {
    "regression": AdaCapRegressor,
    "classification": AdaCapClassifier,
}

_FOLDS = {"n_estimators": 5, "bagging": "folds", "max_iter": 100, "batch_size": 512}
TUNED: dict[str, dict[str, Any]] = {
    "fast": {**_FOLDS, "width": 64, "max_lr": 0.05, "lambda_init": 1.0},
    "balanced": {**_FOLDS, "width": 128, "max_lr": 0.03, "lambda_init": 1.0},
}
"""Settings by how long one is willing to wait; docs/SPEED.md has the figures behind them."""


def make(
    name: str, task: Literal["regression", "classification"] = "regression", **overrides: Any
) -> Any:
    """Estimator by name: a row of the paper's architecture table, or one of our own settings.

    Parameters
    ----------
    name : str
        An architecture, alone for the regular net or after ``adacap-`` or ``tikhonov-``: for
        example ``"snn"``, ``"adacap-snn"``, ``"tikhonov-fast-mlp"``. ``adacap.nn.PRESETS`` lists
        all. These are trained by the paper's protocol. ``"fast"`` and ``"balanced"`` are bags of
        five small nets, one per fold; see ``docs/SPEED.md``.
    task : {"regression", "classification"}, default="regression"
    **overrides
        Any parameter of the estimator, to depart from these settings.

    Returns
    -------
    AdaCapRegressor or AdaCapClassifier

    Examples
    --------
    >>> make("adacap-fast-snn", random_state=0).width
    256
    >>> make("adacap-snnn")
    Traceback (most recent call last):
    ValueError: Unknown preset 'adacap-snnn'. Did you mean 'adacap-snn'? Known: ...
    """
    if name not in PRESETS and name not in TUNED:
        raise ValueError(suggest(name, [*PRESETS, *TUNED], "preset"))
    if task not in _ESTIMATORS:
        raise ValueError(suggest(task, _ESTIMATORS, "task"))
    settings = TUNED[name] if name in TUNED else _protocol(PRESETS[name])
    return _ESTIMATORS[task](**{**settings, **overrides})


def _protocol(preset: Preset) -> dict[str, Any]:
    spec = preset.architecture
    return {
        "architecture": spec.backbone,
        "scheme": preset.scheme,
        "width": spec.width,
        "depth": spec.depth,
        "max_iter": spec.max_iter or 500,
        "max_epochs": spec.max_epochs,
        "batch_size": spec.batch_size,
        "max_lr": spec.max_lr,
        "time_limit": spec.time_limit,
        "optimizer": "adam",
        "weight_decay": 0.0,
        "fit_intercept": False,
        "refit_net": True,
        "preprocessing": "paper",
        "select_by": "auc",
    }
