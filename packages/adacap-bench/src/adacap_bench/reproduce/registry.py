"""All items by name."""

from __future__ import annotations

from functools import cache

from adacap.exceptions import UsageError, suggest
from adacap_bench.reproduce.item import Item

__all__ = ["UnknownItemError", "find_items", "items"]


class UnknownItemError(UsageError):
    """No item of the ledger has that name."""


@cache
def items() -> dict[str, Item]:
    """Items of the ledger in its order.

    Examples
    --------
    >>> items()["c8"].title
    'Dropout and batch norm with AdaCap'
    """
    from adacap_bench.reproduce.studies import (
        abalone,
        ablation,
        backbones,
        bagging,
        benchmark,
        classes,
        few_shot,
        mlr_ablation,
        mlr_net,
        ridge,
        schemes,
        slump,
        ten_best,
        weights,
    )

    every = [
        weights.WEIGHTS,
        abalone.DYNAMICS,
        few_shot.FEW_SHOT,
        ridge.SELECTION,
        benchmark.TOP_ONE,
        classes.TOP_CLASSES,
        ten_best.TEN_BEST,
        bagging.BAGGING,
        slump.DROPOUT,
        abalone.BATCH_SIZE,
        slump.SEEDS,
        ridge.THEOREM,
        benchmark.OVERCOST,
        mlr_ablation.SINGLE,
        mlr_ablation.BAGGED,
        *mlr_net.STUDIES,
        schemes.SCHEME_GAINS,
        ablation.LABEL_NOISE,
        ablation.LAMBDA_MOVES,
        backbones.BACKBONES,
    ]
    return {item.key: item for item in every}


def find_items(names: list[str]) -> list[Item]:
    """Items of some names; "all" means every one.

    Examples
    --------
    >>> [item.key for item in find_items(["c8"])]
    ['c8']
    >>> find_items(["c88"])
    Traceback (most recent call last):
    adacap_bench.reproduce.registry.UnknownItemError: Unknown item 'c88'. Did you mean 'c8'? ...
    """
    known = items()
    for name in names:
        if name not in known and name != "all":
            raise UnknownItemError(suggest(name, ["all", *known], "item"))
    return [item for item in known.values() if "all" in names or item.key in names]
