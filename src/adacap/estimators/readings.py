"""What the sources leave open, as options with names: one name for each reading of a sentence.

docs/PAPER_MAP.md says which sentence has which readings, and which of them each study uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adacap.architectures import Architecture
from adacap.exceptions import suggest
from adacap.training.callbacks import StopAbove

__all__ = ["READINGS", "spelled_out"]

READINGS: dict[str, dict[str, Any]] = {
    # Which rows train the net, and which solve its output layer.
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

``"frozen-head"``
    A hold-out chooses the iteration, whose output layer is kept as it was solved on its minibatch:
    "set once and for all using the minibatch" (eq. 6).
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

    Parameters
    ----------
    overrides : mapping
        Parameters, ``reading`` (a name or several), ``loss`` and ``initialization``.
    preset : mapping
        Parameters that hold where nothing else is said.
    known : container of str
        Names of the parameters.
    autos : mapping
        What ``"auto"`` resolves to.

    Returns
    -------
    dict

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
