"""Methods of the studies: a preset with some parameters changed, and what is read off it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adacap_bench.methods import Method

__all__ = ["HoldOutFixed", "Variant", "training", "variant"]

Probe = Callable[[Any, Any], Mapping[str, Any]]
EVERY_KIND = frozenset({"regression", "binary", "multiclass"})


@dataclass(frozen=True)
class Variant:
    """``build`` of a preset with some parameters changed.

    Examples
    --------
    >>> build = Variant("adacap-fast-mlp", (("n_permutations", 1),))
    >>> build("regression", 3).n_permutations
    1
    """

    preset: str
    settings: tuple[tuple[str, Any], ...] = ()
    fixed_hold_out: bool = False

    def __call__(self, kind: str, seed: int) -> Any:
        """Fresh estimator; columns come encoded and standardised."""
        from adacap.estimators import make

        model = make(
            self.preset,
            "regression" if kind == "regression" else "classification",
            **{"preprocessing": "none", "random_state": seed, **dict(self.settings)},
        )
        return HoldOutFixed(model) if self.fixed_hold_out else model


def variant(
    name: str,
    preset: str,
    category: str = "AdaCap",
    *,
    probe: Probe | None = None,
    fixed_hold_out: bool = False,
    **settings: Any,
) -> Method:
    """Method that is a preset with some parameters changed.

    Examples
    --------
    >>> variant("one-permutation", "adacap-fast-mlp", n_permutations=1).name
    'one-permutation'
    """
    build = Variant(preset, tuple(sorted(settings.items())), fixed_hold_out)
    return Method(name, category, EVERY_KIND, build, ("torch",), probe=probe)


def training(estimator: Any, split: Any) -> dict[str, float]:
    """Probe of how training went: best iteration, its validation score, λ at both ends."""
    member = getattr(estimator, "model", estimator).members_[0]
    found = {"best_iter": float(member.best_iter), "valid_score": float(member.best_score)}
    if member.lam is not None:
        found["lambda_init"] = float(member.history["lambda"][0])
        found["lambda"] = float(member.lam)
    return {name: value for name, value in found.items() if value == value}  # NaN is absent


class HoldOutFixed:
    """An estimator that takes ``X_val``, given the same validation rows whatever its seed."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Those of the model, so that they enter the settings hash."""
        return {**self.model.get_params(deep=False), "hold_out": "fixed"}

    def fit(self, X: Any, y: Any) -> HoldOutFixed:
        """Fit on four fifths of the rows, the same for every seed; the rest validates."""
        import numpy as np

        order = np.random.default_rng(0).permutation(len(X))
        n_valid = int(0.2 * len(X))
        train, valid = order[n_valid:], order[:n_valid]
        self.model.fit(X[train], y[train], X_val=X[valid], y_val=y[valid])
        return self

    def predict(self, X: Any) -> Any:
        """Values of the model."""
        return self.model.predict(X)
