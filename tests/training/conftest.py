"""A small training problem, built whole or for one net at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacap.architectures import mlp
from adacap.layers import Layer
from adacap.nn import Backbone, LinearHead, TikhonovHead
from adacap.nn.adapter import Stacked, built_from
from adacap.nn.modules import Nets
from adacap.training import MemberRows, MLRObjective, Trained, TrainingConfig, TrainingData, train

CONFIG = TrainingConfig(max_iter=20, batch_size=32)
DEFAULT = mlp(4, width=16)


@dataclass
class Problem:
    """Data, architecture and scheme of K nets; every run starts from the same weights."""

    x: Tensor
    targets: Tensor
    weight: Tensor | None
    rows: Sequence[MemberRows]
    backbone: tuple[Layer, ...] | Callable[[], nn.Module]
    scheme: str
    loss: str
    fit_intercept: bool

    @property
    def objective(self) -> MLRObjective:
        return MLRObjective(self.loss)

    def data(self) -> TrainingData:
        n_permutations = 3 if self.scheme == "adacap" else 0
        return TrainingData(self.x, self.targets, self.weight, self.rows, n_permutations)

    def nets(self) -> Nets:
        """The nets before training, each drawn from the seed of its rows."""
        seeds, k = [row.seed for row in self.rows], len(self.rows)
        draws = [torch.Generator().manual_seed(seed) for seed in seeds]
        if isinstance(self.backbone, tuple):
            backbone: Any = Backbone(self.backbone, k=k, generators=draws)
        else:
            rows = self.x[:2].float()
            made = [built_from(self.backbone, seed, rows).to(self.x.dtype) for seed in seeds]
            backbone = Stacked(made)
        backbone.to(self.x.dtype)
        if self.scheme != "plain":
            head: Any = TikhonovHead(2.0, fit_intercept=self.fit_intercept, k=k)
        else:
            sample = self.x[:2].expand(k, 2, *self.x.shape[1:])
            width = backbone.eval()(sample).shape[-1]
            head = LinearHead(width, self.targets.shape[1], k=k, generators=draws)
        return Nets(backbone, head.to(self.x.dtype)).train()

    def run(
        self, config: TrainingConfig = CONFIG, *, nets: Nets | None = None, **options: Any
    ) -> Trained:
        return train(nets or self.nets(), self.data(), self.objective, config, **options)

    def only(self, k: int) -> "Problem":
        return replace(self, rows=[self.rows[k]])


@pytest.fixture
def problem(seed: int) -> Callable[..., Problem]:
    """Maker of problems: by default one MLP of width 16 on 60 + 20 rows, scheme AdaCap."""

    def make(
        backbone: tuple[Layer, ...] | Callable[[], nn.Module] = DEFAULT,
        *,
        k: int = 1,
        n_train: int = 60,
        n_valid: int = 20,
        d_in: int = 4,
        scheme: str = "adacap",
        loss: str = "rmse",
        weighted: bool = False,
        fit_intercept: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Problem:
        generator = torch.Generator().manual_seed(seed)
        n = n_train + n_valid
        x = torch.randn(n, d_in, generator=generator, dtype=torch.float64)
        score = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
        score = score + 0.1 * torch.randn(n, generator=generator, dtype=torch.float64)
        targets = {
            "rmse": lambda: ((score - score.mean()) / score.std()).unsqueeze(1),
            "bce": lambda: torch.where(score > score.median(), 1.0, -1.0).double().unsqueeze(1),
            "ce": lambda: torch.nn.functional.one_hot(score.round().clamp(-1, 1).long() + 1, 3),
        }[loss]()
        weight = torch.rand(n, generator=generator, dtype=dtype) + 0.5 if weighted else None
        rows = []
        for i in range(k):
            order = torch.randperm(n, generator=generator)
            rows.append(MemberRows(order[:n_train], order[n_train:], seed + i))
        x, targets = x.to(dtype), targets.to(dtype)
        return Problem(x, targets, weight, rows, backbone, scheme, loss, fit_intercept)

    return make
