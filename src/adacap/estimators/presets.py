"""Parameters of estimators by name: the paper's protocol, its supplement's nets, our settings.

What the sources leave open has names too, one for each reading of a sentence: docs/PAPER_MAP.md
says which sentence has which readings, and which of them each study uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adacap.architectures import Architecture
from adacap.estimators.settings import TUNED
from adacap.exceptions import did_you_mean, few_of, suggest
from adacap.nn.presets import PRESETS, Preset
from adacap.training.callbacks import StopAbove

__all__ = [
    "ADACAP", "ADACAP_CLASSES", "MLR_CLASS_NETS", "MLR_NETS", "READINGS", "refuse_unknown",
    "spelled_out",
]  # fmt: skip

LIST = "help(adacap.make) says which there are."
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
    """Refuse parameters that an estimator does not have, with those it has that are near.

    Examples
    --------
    >>> refuse_unknown("AdaCapRegressor", {"widht": 3}, ["width", "depth", "max_lr", "scheme"])
    Traceback (most recent call last):
    TypeError: AdaCapRegressor has no parameter 'widht'. Did you mean 'width'? Known: ...
    >>> refuse_unknown("AdaCapRegressor", {"learning_rate": 0.1}, ["max_lr", "width", "scheme"])
    Traceback (most recent call last):
    TypeError: AdaCapRegressor has no parameter 'learning_rate'. Use max_lr.
    """
    known = list(known)
    for name in overrides:
        if name in known:
            continue
        if name in _ELSEWHERE:
            hint = f"Use {_ELSEWHERE[name]}."
        else:
            few = few_of(name, known, "get_params() lists them.")
            hint = f"{did_you_mean(name, known)} {few}".strip()
        raise TypeError(f"{owner} has no parameter {name!r}. {hint}")


# ------------------------------------------------------------------ what the sources leave open

READINGS: dict[str, dict[str, Any]] = {
    # Which rows train the net, and which solve its output layer.
    "hold-out": {"refit": "none"},
    "frozen-head": {"refit": "none"},
    "solved-head": {"refit": "head"},
    "refit": {"refit": "net"},
    "no-hold-out": {"validation": 0.0, "refit": "none"},
    # What is minimised, and where it starts.
    "rmse": {"loss": "rmse"},
    "mse": {"loss": "mse"},
    "he": {"initialization": "he"},
    "published-lambda": {"lambda_init": "published"},
    # When training ends early.
    "divergence-stop": {"callbacks": (StopAbove(1.0),)},
}
"""Readings by name, as overrides of :func:`adacap.make`.

``"hold-out"``, ``"frozen-head"``
    The text to the letter: a fifth of the rows is held out and trains nothing. It chooses the
    iteration, whose output layer is kept as it was solved on its minibatch: "set once and for all
    using the minibatch" (eq. 6).
``"solved-head"``
    The same net, with its output layer solved again on all rows.
``"refit"``
    The net trained again on all rows up to that iteration: what the presets do.
``"no-hold-out"``
    All rows train, and the last iteration is kept: "without using a hold-out validation set".
``"rmse"``, ``"mse"``
    L in section 4.1, and in section 2. For regression.
``"he"``
    Kaiming initialisation with He's variance 2/fan-in, where torch has 1/(3 fan-in).
``"published-lambda"``
    The start of λ by the rule of the code of 2021.
``"divergence-stop"``
    A net ends once its fit of the true labels is above 1, the deviation of a standardised target,
    and keeps the best iteration until then, as in the code of 2021. For regression.
"""


def spelled_out(
    overrides: Mapping[str, Any], preset: Mapping[str, Any], known: Any, autos: Mapping[str, Any]
) -> dict[str, Any]:
    """Overrides in parameters of the estimator alone: readings, loss and start are put into them.

    ``preset`` holds where nothing else is said, ``known`` has the names of the parameters,
    ``autos`` what ``"auto"`` resolves to.

    Examples
    --------
    >>> preset = {"scheme": "tikhonov", "architecture": Architecture("mlp"), "refit": "net"}
    >>> spelled_out({"reading": ["mse", "frozen-head"]}, preset, preset, {})
    {'refit': 'none', 'scheme': 'tikhonov-mse'}
    >>> spelled_out({"initialization": "he"}, preset, preset, {})
    {'architecture': Architecture('mlp', initialization='he')}
    """
    own = {name: value for name, value in overrides.items() if name != "reading"}
    told = {**_read(overrides.get("reading", ())), **own}
    now = {**autos, **{name: v for name, v in {**preset, **told}.items() if v != "auto"}}
    if "loss" in told and "loss" not in known:
        told["scheme"] = _with_loss(now["scheme"], told.pop("loss"))
    if "initialization" in told and "initialization" not in known:
        told["architecture"] = _started(now["architecture"], told.pop("initialization"))
    return told


def _read(names: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in [names] if isinstance(names, str) else names:
        if name not in READINGS:
            raise ValueError(suggest(str(name), READINGS, "reading"))
        found |= READINGS[name]
    return found


def _with_loss(scheme: str, loss: str) -> str:
    if loss not in ("rmse", "mse"):
        raise ValueError(f"loss must be 'rmse' or 'mse', got {loss!r}.")
    root = scheme.removesuffix("-mse")
    return f"{root}-mse" if loss == "mse" else root


def _started(architecture: Any, start: str) -> Architecture:
    if isinstance(architecture, str):
        architecture = Architecture(architecture)
    if not isinstance(architecture, Architecture):
        raise ValueError(
            f"initialization={start!r} is for one named architecture, got {architecture!r}."
        )
    return Architecture(
        architecture.name, **{**dict(architecture.options), "initialization": start}
    )
