"""A small training problem, built whole or for one member at a time."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacap.nn import MLP, LinearHead, TikhonovHead
from adacap.training import (
    MemberRows,
    Members,
    MLRObjective,
    Net,
    PlainObjective,
    Trained,
    TrainingConfig,
    TrainingData,
    train,
)

CONFIG = TrainingConfig(max_iter=20, batch_size=32)


@dataclass
class Problem:
    """Data, nets and scheme of K members; every run starts from copies of the nets."""

    x: Tensor
    targets: Tensor
    weight: Tensor | None
    rows: Sequence[MemberRows]
    nets: Sequence[Net]
    scheme: str
    loss: str
    fit_intercept: bool

    @property
    def objective(self) -> MLRObjective | PlainObjective:
        if self.scheme == "plain":
            return PlainObjective(self.loss)
        return MLRObjective(self.loss, fit_intercept=self.fit_intercept)

    def data(self) -> TrainingData:
        n_permutations = 3 if self.scheme == "adacap" else 0
        return TrainingData(self.x, self.targets, self.weight, self.rows, n_permutations)

    def run(self, config: TrainingConfig = CONFIG, **options: Any) -> list[Trained]:
        members = Members([copy.deepcopy(net) for net in self.nets])
        return train(members, self.data(), self.objective, config, **options)

    def only(self, k: int) -> "Problem":
        return replace(self, rows=[self.rows[k]], nets=[self.nets[k]])


@pytest.fixture
def problem(seed: int) -> Callable[..., Problem]:
    """Maker of problems: by default one MLP of width 16 on 60 + 20 rows, scheme AdaCap."""

    def make(
        backbone: Callable[[], nn.Module] = lambda: MLP(4, width=16),
        *,
        n_members: int = 1,
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
        rows, nets = [], []
        for k in range(n_members):
            order = torch.randperm(n, generator=generator)
            rows.append(MemberRows(order[:n_train], order[n_train:], seed + k))
            torch.manual_seed(seed + k)
            net = backbone()
            width = net.eval()(x[:2].to(torch.get_default_dtype())).shape[1]
            head = LinearHead(width, targets.shape[1]) if scheme == "plain" else TikhonovHead(2.0)
            nets.append(Net(net, head).to(dtype).train())
        x, targets = x.to(dtype), targets.to(dtype)
        return Problem(x, targets, weight, rows, nets, scheme, loss, fit_intercept)

    return make
