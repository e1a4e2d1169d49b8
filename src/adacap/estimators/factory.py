"""Ready estimators by name: the paper's architectures under its protocol, and our own settings."""

from __future__ import annotations

from typing import Any, Literal

from adacap.estimators._base import AdaCapBase
from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.settings import TUNED
from adacap.nn.presets import PRESETS, Preset, suggest

__all__ = ["make"]

_ESTIMATORS: dict[str, type[AdaCapBase]] = {
    "regression": AdaCapRegressor,
    "classification": AdaCapClassifier,
}
_MLR_ESTIMATORS: dict[str, type[AdaCapBase]] = {
    "regression": MLRNetRegressor,
    "classification": MLRNetClassifier,
}

_TEN_MINUTES = 600.0  # for each net
_BOTH_DEPTHS = {"depth": (1, 2), "n_estimators": 20}
MLR_NETS: dict[str, dict[str, Any]] = {
    **{f"mlr-{depth}": {"depth": depth} for depth in (1, 2, 3, 4)},
    **{f"bag-mlr-{depth}": {"depth": depth, "n_estimators": 10} for depth in (1, 2)},
    "ens-mlr": _BOTH_DEPTHS,
    "best-mlr": {**_BOTH_DEPTHS, "top": 1},
    "top5-mlr": {**_BOTH_DEPTHS, "top": 5},
}
"""The nets and ensembles of the 2021 supplement, as departures from ``MLRNetRegressor()``."""


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
        five small nets, one per fold; see ``docs/SPEED.md``. ``"mlr-1"`` to ``"mlr-4"``,
        ``"bag-mlr-1"``, ``"bag-mlr-2"``, ``"ens-mlr"``, ``"best-mlr"`` and ``"top5-mlr"`` are the
        nets and ensembles of the 2021 supplement.
    task : {"regression", "classification"}, default="regression"
    **overrides
        Any parameter of the estimator, to depart from these settings.

    Returns
    -------
    AdaCapRegressor, AdaCapClassifier, MLRNetRegressor or MLRNetClassifier

    Examples
    --------
    >>> make("adacap-fast-snn", random_state=0).width
    256
    >>> make("top5-mlr", "classification")
    MLRNetClassifier(depth=(1, 2), n_estimators=20, preprocessing='paper',
                     time_limit=12000.0, top=5)
    >>> make("adacap-snnn")
    Traceback (most recent call last):
    ValueError: Unknown preset 'adacap-snnn'. Did you mean 'adacap-snn'? Known: ...
    """
    if name not in PRESETS and name not in TUNED and name not in MLR_NETS:
        raise ValueError(suggest(name, [*PRESETS, *TUNED, *MLR_NETS], "preset"))
    if task not in _ESTIMATORS:
        raise ValueError(suggest(task, _ESTIMATORS, "task"))
    if name in MLR_NETS:
        return _MLR_ESTIMATORS[task](**{**_mlr_protocol(name), **overrides})
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
        "lambda_init": "max_sensitivity",
        "n_estimators": 1,
        "bagging": "seeds",
        "preprocessing": "paper",
        "select_by": "auc",
    }


def _mlr_protocol(name: str) -> dict[str, Any]:
    settings = MLR_NETS[name]
    time_limit = _TEN_MINUTES * settings.get("n_estimators", 1)
    return {**settings, "preprocessing": "paper", "time_limit": time_limit}
