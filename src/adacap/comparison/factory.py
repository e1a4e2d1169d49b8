"""The usual ``build``: one class for regression, one for classes, and their settings."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from adacap.comparison.registry import KINDS, MethodError, threads
from adacap.exceptions import suggest

__all__ = ["CLASSES", "EVERY_KIND", "REGRESSION", "Factory", "check_kind"]

REGRESSION = frozenset({"regression"})
CLASSES = frozenset({"binary", "multiclass"})
EVERY_KIND = REGRESSION | CLASSES


def check_kind(kind: str, kinds: Set[str], what: str) -> None:
    """Refuse a kind that does not exist or that a method does not do.

    Examples
    --------
    >>> check_kind("binary", REGRESSION, "MARS")
    Traceback (most recent call last):
    adacap.comparison.registry.MethodError: MARS does regression, not 'binary'.
    """
    if kind not in KINDS:
        raise MethodError(suggest(kind, KINDS, "kind"))
    if kind not in kinds:
        raise MethodError(f"{what} does {' and '.join(sorted(kinds))}, not {kind!r}.")


@dataclass(frozen=True, eq=False)
class Factory:
    """Maker of estimators whose module is imported when the first one is made.

    Settings keep the estimator silent, or are the paper's.

    Examples
    --------
    >>> forest = Factory(
    ...     "sklearn.ensemble", "RandomForestRegressor", seed="random_state", n_threads="n_jobs"
    ... )
    >>> forest("regression", 3)
    RandomForestRegressor(n_jobs=1, random_state=3)
    """

    module: str
    regressor: str | None = None
    classifier: str | None = None  # class names; None if there is none for such tasks
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: str | None = None
    n_threads: str | None = None  # these two name arguments

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of tasks it has a class for."""
        for_values = REGRESSION if self.regressor else frozenset()
        return for_values | (CLASSES if self.classifier else frozenset())

    def __call__(self, kind: str, seed: int) -> Any:
        """Fresh estimator."""
        check_kind(kind, self.kinds, self.regressor or self.classifier or self.module)
        name = self.regressor if kind == "regression" else self.classifier
        arguments = dict(self.settings)
        if self.seed:
            arguments[self.seed] = seed
        if self.n_threads:
            arguments[self.n_threads] = threads()
        return getattr(import_module(self.module), str(name))(**arguments)
