"""Boosted trees and adaptive splines."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from adacap.comparison.factory import EVERY_KIND, Factory
from adacap.comparison.registry import Method

__all__ = ["METHODS"]

# The paper runs it on a GPU and names no type of bootstrap: ours takes each row with probability
# `subsample`, which the CPU has too.
_FAST_CATBOOST = {
    "iterations": 100,
    "max_bin": 32,
    "depth": 3,
    "bootstrap_type": "Bernoulli",
}
_SUBSAMPLES = (0.1, 0.2, 0.4, 0.8)  # the paper's, then for tables of less than a hundred rows


def _catboost(settings: Mapping[str, Any]) -> Factory:
    return Factory(
        "catboost",
        "CatBoostRegressor",
        "CatBoostClassifier",
        {**settings, "verbose": 0, "allow_writing_files": False},
        "random_seed",
        "thread_count",
    )


def _build_fast_catboost(kind: str, seed: int) -> Any:
    """On few rows some tree may draw none at all, which CatBoost refuses."""
    makers = [_catboost({**_FAST_CATBOOST, "subsample": share}) for share in _SUBSAMPLES]
    candidates = [maker(kind, seed) for maker in makers]
    from adacap.comparison.adapters import FirstFeasible

    return FirstFeasible(candidates, import_module("catboost").CatBoostError)


def _bench(name: str, build: Factory) -> Method:
    return Method(name, "GBDT", build.kinds, build, (build.module,), "bench")


METHODS: tuple[Method, ...] = (
    _bench("catboost", _catboost({})),
    Method(
        "fast-catboost",
        "GBDT",
        EVERY_KIND,
        _build_fast_catboost,
        ("catboost",),
        "bench",
        note="100 trees of depth 3 on a tenth of the rows each, 32 bins, as the paper sets it; "
        "on a larger share where that leaves a tree without rows",
    ),
    _bench(
        "xgboost",
        Factory(
            "xgboost", "XGBRegressor", "XGBClassifier", {"verbosity": 0}, "random_state", "n_jobs"
        ),
    ),
    _bench(
        "lightgbm",
        Factory(
            "lightgbm", "LGBMRegressor", "LGBMClassifier", {"verbose": -1},
            "random_state", "n_jobs",
        ),
    ),
    Method(
        "mars",
        "MARS",
        frozenset({"regression"}),
        Factory("pyearth", "Earth"),
        ("pyearth",),
        "bench",
        note="py-earth2, the paper's py-earth built for today's Python",
    ),
)  # fmt: skip
