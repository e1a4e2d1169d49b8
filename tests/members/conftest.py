"""Rows in folds, for members that are no nets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from adacap.members.fold_data import FoldData

FoldMaker = Callable[..., FoldData]


@pytest.fixture
def folds(seed: int) -> FoldMaker:
    """Maker of rows in folds: a wavy target of the first column plus the second."""

    def make(
        n: int = 60, d: int = 3, c: int = 1, *, k: int = 3, weighted: bool = False
    ) -> FoldData:
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(n, d, generator=generator)
        shared = torch.sin(2 * x[:, :1]) + 0.5 * x[:, 1:2]
        targets = torch.cat([shared * (-0.5) ** j + 0.3 * j * x[:, -1:] for j in range(c)], 1)
        targets += 0.05 * torch.randn(n, c, generator=generator)
        weight = torch.rand(n, generator=generator) + 0.5 if weighted else None
        return FoldData(x, targets, weight, torch.arange(n) % k, k, seed)

    return make


@pytest.fixture
def classes(folds: FoldMaker) -> FoldMaker:
    """Maker of rows of two classes, coded -1 and 1, or of more, one column each."""

    def make(n_classes: int = 2, **options: Any) -> FoldData:
        data = folds(**options)
        place = data.targets[:, 0].argsort().argsort() * n_classes // len(data.targets)
        if n_classes == 2:
            return replace(data, targets=2.0 * place[:, None] - 1, loss="bce")
        return replace(data, targets=torch.eye(n_classes)[place], loss="ce")

    return make


@pytest.fixture
def other_targets() -> Callable[[FoldData, int], FoldData]:
    """The same rows with other targets in one fold."""

    def change(data: FoldData, k: int) -> FoldData:
        own = (data.fold == k)[:, None]
        return replace(data, targets=torch.where(own, 7.0 - 3 * data.targets, data.targets))

    return change
