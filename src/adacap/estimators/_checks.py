"""Checks of constructor parameters, made when ``fit`` is called."""

from __future__ import annotations

from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from torch import nn

from adacap.estimators.encoder import POLICIES
from adacap.nn.presets import BACKBONES, SCHEMES, suggest
from adacap.tables.dates import has_date_parts

if TYPE_CHECKING:
    from adacap.estimators._base import AdaCapBase

__all__ = ["check_parameters"]

_RULES = ("auto", "max_sensitivity")  # for the start of λ


def check_parameters(estimator: AdaCapBase) -> None:
    """Refuse parameters that cannot work, naming the value received and what is expected."""
    _check_architecture(estimator.architecture)
    _one_of("scheme", estimator.scheme, ("auto", *SCHEMES))
    _one_of("mlr_form", estimator.mlr_form, ("difference", "absolute_gap"))
    _one_of("select_by", estimator.select_by, ("loss", "auc", "r2"))
    _one_of("bagging", estimator.bagging, ("auto", "seeds", "folds"))
    _one_of("preprocessing", estimator.preprocessing, tuple(POLICIES))
    _check_read_text(estimator.read_text)
    for name in ("width", "max_iter", "batch_size", "n_estimators"):
        if not _is_by_rule(estimator, name):
            _at_least(name, getattr(estimator, name), 1)
    _at_least("n_permutations", estimator.n_permutations, 0)
    _check_depth(estimator.depth)
    for name in ("max_epochs", "patience"):
        if getattr(estimator, name) is not None:
            _at_least(name, getattr(estimator, name), 1)
    fraction, dropout = estimator.validation_fraction, estimator.dropout
    if not (_is_real(fraction) and 0 <= fraction < 1):
        raise ValueError(f"validation_fraction must be in [0, 1), got {fraction!r}.")
    aside, heat = estimator.calibration_fraction, estimator.temperature
    if not (_is_real(aside) and 0 <= aside < 1):
        raise ValueError(f"calibration_fraction must be in [0, 1), got {aside!r}.")
    if heat != "auto" and not (_is_real(heat) and 0 < float(heat) < inf):
        raise ValueError(f"temperature must be 'auto' or a positive float, got {heat!r}.")
    if dropout != "auto" and not (_is_real(dropout) and 0 <= dropout < 1):
        raise ValueError(f"dropout must be 'auto' or in [0, 1), got {dropout!r}.")
    limit, rule = estimator.time_limit, estimator.lambda_init
    if limit is not None and not (_is_real(limit) and limit > 0):
        raise ValueError(f"time_limit must be positive seconds, got {limit!r}.")
    if rule not in _RULES and not (_is_real(rule) and 0 < float(rule) < inf):
        raise ValueError(
            f"lambda_init must be a positive float, 'auto' or 'max_sensitivity', got {rule!r}."
        )
    rate, decay = estimator.max_lr, estimator.weight_decay
    if not _is_real(rate) and not _is_by_rule(estimator, "max_lr"):
        raise ValueError(f"max_lr must be positive, got {rate!r}.")
    if decay != "auto" and not (_is_real(decay) and decay >= 0):
        raise ValueError(f"weight_decay must be 'auto', or 0 or more, got {decay!r}.")
    for name in ("refit_net", "batch_norm"):
        if getattr(estimator, name) not in ("auto", True, False):
            raise ValueError(
                f"{name} must be True, False or 'auto', got {getattr(estimator, name)!r}."
            )
    estimator._check_more()


def _check_read_text(value: Any) -> None:
    if isinstance(value, bool) or (isinstance(value, str) and has_date_parts(value)):
        return
    raise ValueError(
        "read_text must be True, False or a date format with a year such as '%d/%m/%Y', got "
        f"{value!r}."
    )


def _is_by_rule(estimator: AdaCapBase, name: str) -> bool:
    """Whether a parameter is "auto" where the estimator has a rule for it."""
    return name in estimator._auto and getattr(estimator, name) == "auto"


def _check_depth(depth: Any) -> None:
    if isinstance(depth, list | tuple) and not depth:
        raise ValueError("depth must be an integer or a list of integers, got an empty list.")
    for one in depth if isinstance(depth, list | tuple) else [depth]:
        if one is not None or isinstance(depth, list | tuple):
            _at_least("depth", one, 1)


def _check_architecture(architecture: Any) -> None:
    if isinstance(architecture, list | tuple):
        if not architecture or not all(isinstance(name, str) for name in architecture):
            raise TypeError(
                "architecture as a list must hold names, which the members take in turn, got "
                f"{architecture!r}."
            )
        for name in architecture:
            _check_architecture(name)
    elif isinstance(architecture, str):
        if architecture not in ("auto", *BACKBONES):
            raise ValueError(suggest(architecture, ("auto", *BACKBONES), "architecture"))
    elif isinstance(architecture, nn.Module) or not callable(architecture):
        raise TypeError(
            "architecture must be a name or a function d_in -> nn.Module, so that each net starts "
            f"fresh, got {type(architecture).__name__}."
        )


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}.")


def _at_least(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
