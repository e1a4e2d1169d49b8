"""Parameters of estimators by name: the paper's protocol, its supplement's nets, our settings."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from adacap.architectures import Architecture
from adacap.estimators.settings import TUNED
from adacap.nn.presets import PRESETS, Preset

__all__ = ["ADACAP", "MLR_NETS", "refuse_unknown"]

_TEN_MINUTES = 600.0  # for each net


def _protocol(preset: Preset) -> dict[str, Any]:
    """All that the paper fixes; ``select_by`` is for classes."""
    spec = preset.architecture
    regular = {"dropout": 0.2, "batch_norm": True} if preset.scheme == "plain" else {}
    epochs = spec.max_epochs
    return {
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
"""Presets of :class:`AdaCapRegressor` and :class:`AdaCapClassifier`."""


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

_ELSEWHERE = {
    "batch_norm": "architecture=Architecture('mlp', batch_norm=True)",
    "dropout": "architecture=Architecture('mlp', dropout=0.2)",
    "epochs": "max_iter='20 epochs'",
    "learning_rate": "max_lr",
    "lr": "max_lr",
    "max_epochs": "max_iter='20 epochs'",
    "n_jobs": "joblib.parallel_config(n_jobs=2)",
    "scheduler": "optimizer=('adam', 'cosine')",
    "seed": "random_state",
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
    >>> refuse_unknown("AdaCapRegressor", {"learning_rate": 0.1}, ["max_lr", "width", "patience"])
    Traceback (most recent call last):
    TypeError: AdaCapRegressor has no parameter 'learning_rate'. Use max_lr. Nearest: ...
    """
    known = list(known)
    for name in overrides:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.0)
        hint = ""
        if name in _ELSEWHERE:
            hint = f" Use {_ELSEWHERE[name]}."
        elif difflib.get_close_matches(name, near[:1]):
            hint = f" Did you mean {near[0]!r}?"
        raise TypeError(f"{owner} has no parameter {name!r}.{hint} Nearest: {', '.join(near)}.")
