"""Parameters of estimators by name: the paper's protocol, its supplement's nets, our settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adacap.architectures import Architecture
from adacap.estimators.settings import TUNED
from adacap.exceptions import did_you_mean, nearest
from adacap.nn.presets import PRESETS, Preset
from adacap.training.callbacks import StopAbove

__all__ = ["ADACAP", "ADACAP_CLASSES", "MLR_CLASS_NETS", "MLR_NETS", "refuse_unknown"]

_TEN_MINUTES = 600.0  # for each net


def _protocol(preset: Preset) -> dict[str, Any]:
    """All that the paper fixes; ``select_by`` is for classes."""
    spec = preset.architecture
    regular = {"dropout": 0.2, "batch_norm": True} if preset.scheme == "plain" else {}
    epochs = spec.max_epochs
    return {
        "quality": "nets",
        "architecture": Architecture(spec.backbone, **regular),
        "scheme": preset.scheme,
        "width": spec.width,
        "depth": spec.depth,
        "max_iter": spec.max_iter if epochs is None else f"{epochs} epochs",
        "batch_size": spec.batch_size,
        "max_lr": spec.max_lr,
        "time_limit": spec.time_limit,
        "optimizer": "adam",
        "weight_decay": 0.0,
        "fit_intercept": False,
        "refit": "net",
        "lambda_init": "max_sensitivity",
        "n_estimators": 1,
        "validation": 0.2,
        "preprocessing": "paper",
        "select_by": "auc",
    }


ADACAP: dict[str, dict[str, Any]] = {
    **{name: _protocol(preset) for name, preset in PRESETS.items()},
    **TUNED,
}
"""Presets of :class:`AdaCapRegressor`."""


def _of_classes(preset: dict[str, Any]) -> dict[str, Any]:
    """The same for classes, for which the rule of the best iteration is part of ``validation``."""
    rest = {name: value for name, value in preset.items() if name != "select_by"}
    if "select_by" not in preset:
        return rest
    return {**rest, "validation": (preset["validation"], preset["select_by"])}


ADACAP_CLASSES: dict[str, dict[str, Any]] = {
    name: _of_classes(preset) for name, preset in ADACAP.items()
}
"""Presets of :class:`AdaCapClassifier`."""


def _mlr_protocol(**parameters: Any) -> dict[str, Any]:
    time_limit = _TEN_MINUTES * parameters.get("n_estimators", 1)
    return {**parameters, "preprocessing": "paper", "time_limit": time_limit}


_BOTH_DEPTHS: dict[str, Any] = {"depth": (1, 2), "n_estimators": 20}
MLR_NETS: dict[str, dict[str, Any]] = {
    **{f"mlr-{depth}": _mlr_protocol(depth=depth) for depth in (1, 2, 3, 4)},
    **{f"bag-mlr-{depth}": _mlr_protocol(depth=depth, n_estimators=10) for depth in (1, 2)},
    "ens-mlr": _mlr_protocol(**_BOTH_DEPTHS),
    "best-mlr": _mlr_protocol(**_BOTH_DEPTHS, top=1),
    "top5-mlr": _mlr_protocol(**_BOTH_DEPTHS, top=5),
}
"""The nets and ensembles of the 2021 supplement, as departures from ``MLRNetRegressor()``."""

_PUBLISHED: dict[str, Any] = {
    "initialization": "glorot-relu",
    "lambda_init": "published",
    "batch_size": 4096,
    "refit": "none",
}
_PUBLISHED_PACE: dict[int, dict[str, Any]] = {3: {"max_lr": 1e-3 / 3}}
_REPLICAS: dict[str, dict[str, Any]] = {
    f"mlr-{depth}-2021": _mlr_protocol(depth=depth, **_PUBLISHED, **_PUBLISHED_PACE.get(depth, {}))
    for depth in (1, 2, 3, 4)
}
_NUMBERS: dict[str, Any] = {"scheme": "adacap-gap-mse", "callbacks": (StopAbove(1.0),)}
MLR_NETS |= {name: {**replica, **_NUMBERS} for name, replica in _REPLICAS.items()}
MLR_CLASS_NETS: dict[str, dict[str, Any]] = {**MLR_NETS, **_REPLICAS}
"""The same for classes, which have another loss and no limit to it."""

_ELSEWHERE = {
    "batch_norm": "architecture=Architecture('mlp', batch_norm=True)",
    "dropout": "architecture=Architecture('mlp', dropout=0.2)",
    "epochs": "max_iter='20 epochs'",
    "learning_rate": "max_lr",
    "lr": "max_lr",
    "max_epochs": "max_iter='20 epochs'",
    "n_jobs": "joblib.parallel_config(n_jobs=2)",
    "patience": "callbacks=[EarlyStopping(10)]",
    "scheduler": "optimizer=('adam', 'cosine')",
    "seed": "random_state",
    "select_by": "validation=(0.2, 'auc'), of a classifier",
    "validation_fraction": "validation",
}
"""What others call differently, and where it is here."""


def refuse_unknown(owner: str, overrides: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse parameters that an estimator does not have, with the nearest that it has.

    Examples
    --------
    >>> refuse_unknown("AdaCapRegressor", {"widht": 3}, ["width", "depth", "max_lr", "scheme"])
    Traceback (most recent call last):
    TypeError: AdaCapRegressor has no parameter 'widht'. Did you mean 'width'? Nearest: ...
    >>> refuse_unknown("AdaCapRegressor", {"learning_rate": 0.1}, ["max_lr", "width", "scheme"])
    Traceback (most recent call last):
    TypeError: AdaCapRegressor has no parameter 'learning_rate'. Use max_lr. Nearest: ...
    """
    known = list(known)
    for name in overrides:
        if name in known:
            continue
        near = nearest(name, known, n=3, cutoff=0.0)
        hint = did_you_mean(name, known)
        if name in _ELSEWHERE:
            hint = f" Use {_ELSEWHERE[name]}."
        raise TypeError(f"{owner} has no parameter {name!r}.{hint} Nearest: {', '.join(near)}.")
