"""Checks of constructor parameters, made when ``fit`` is called."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from adacap.estimators.encoder import POLICIES
from adacap.nn.presets import BACKBONES, SCHEMES, suggest

if TYPE_CHECKING:
    from adacap.estimators._base import AdaCapBase

__all__ = ["check_parameters"]


def check_parameters(estimator: AdaCapBase) -> None:
    """Refuse parameters that cannot work, naming the value received and what is expected."""
    _check_architecture(estimator.architecture)
    _one_of("scheme", estimator.scheme, ("auto", *SCHEMES))
    _one_of("mlr_form", estimator.mlr_form, ("difference", "absolute_gap"))
    _one_of("bagging", estimator.bagging, ("seeds", "folds"))
    _one_of("preprocessing", estimator.preprocessing, tuple(POLICIES))
    for name in ("width", "max_iter", "batch_size", "n_estimators"):
        _at_least(name, getattr(estimator, name), 1)
    _at_least("n_permutations", estimator.n_permutations, 0)
    for name in ("depth", "max_epochs", "patience"):
        if getattr(estimator, name) is not None:
            _at_least(name, getattr(estimator, name), 1)
    if not 0 <= estimator.validation_fraction < 1:
        raise ValueError(
            f"validation_fraction must be in [0, 1), got {estimator.validation_fraction}."
        )
    if estimator.dropout != "auto" and not 0 <= estimator.dropout < 1:
        raise ValueError(f"dropout must be 'auto' or in [0, 1), got {estimator.dropout}.")
    if estimator.time_limit is not None and not estimator.time_limit > 0:
        raise ValueError(f"time_limit must be positive seconds, got {estimator.time_limit}.")
    rule = estimator.lambda_init
    if rule != "max_sensitivity" and not (isinstance(rule, Real) and float(rule) > 0):
        raise ValueError(
            f"lambda_init must be a positive float or 'max_sensitivity', got {rule!r}."
        )


def _check_architecture(architecture: Any) -> None:
    if isinstance(architecture, str):
        if architecture not in ("auto", *BACKBONES):
            raise ValueError(suggest(architecture, ("auto", *BACKBONES), "architecture"))
    elif not callable(architecture):
        raise TypeError(
            "architecture must be a name or a function d_in -> nn.Module, got "
            f"{type(architecture).__name__}."
        )


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}.")


def _at_least(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
