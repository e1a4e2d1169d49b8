"""From the names of members to a blend: each is trained within its budget, then all are weighed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from adacap.encodings import fit_encoding
from adacap.estimators import quality
from adacap.estimators.blending.nets import NetMembers, NetTraining
from adacap.estimators.blending.parts import Blended, Part, TrainedMember, out_of_fold
from adacap.estimators.blending.weighing import weigh
from adacap.estimators.quality import is_of_nets
from adacap.estimators.resuming import kept_member, kept_seconds
from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.members.forest import fit_extra_trees, fit_hist_boosting
from adacap.members.kernel import FittedKernel, KernelSettings, fit_kernel
from adacap.members.linear import fit_linear
from adacap.nn.predictors import EncodingModule, Frozen
from adacap.progress import Steps
from adacap.training.data import MemberRows
from adacap.training.threads import one_thread

__all__ = ["BUDGETS", "Budget", "fit_blend"]

_VERY_MANY_ROWS = 10_000  # that larger trees can be grown on
_MOST_ALONE = 1000  # rows up to which a second thread waits as long as it computes
_MOST_OF_TIME = 0.6  # that is left, for one member


@dataclass(frozen=True)
class Budget:
    """Cost limits of members other than nets."""

    kernel: KernelSettings
    boosting: BoostingSettings
    n_trees: int  # of a forest, per fold
    boosted: int = 200  # trees on histograms, per fold
    nets_within: float = float("inf")  # of many rows: error of nets over the least so far
    cycles: int = 1  # of many rows: nets go on so often at most, each time twice as long


BUDGETS = {
    "fast": Budget(KernelSettings(n_steps=60, most_trained=120, most_solved=1000),
                   BoostingSettings(n_trees=100, rate=0.2), 20, 100),
    "balanced": Budget(KernelSettings(), BoostingSettings(), 40, nets_within=1.2, cycles=2),
    "best": Budget(KernelSettings(most_trained=400, most_solved=3000),
                   BoostingSettings(n_trees=600, rate=0.06), 100, 400, cycles=2),
    quality.OWN_LIST: Budget(KernelSettings(), BoostingSettings(), 40),
}  # fmt: skip


def fit_blend(
    names: Sequence[str],
    training: NetTraining,
    *,
    loss: str = "rmse",
    quality: str = "balanced",
    seed: int = 0,
    deadline: float | None = None,
    progress: Steps | None = None,
    final: Tensor | None = None,
) -> Blended:
    """Train members in the same folds, and weigh them by their out-of-fold error.

    With ``final``, the folds weigh members and nothing else: those of positive weight are trained
    once more in folds of all rows. Nets are expected to see to it themselves.

    Members are in order of value: when time runs out, the last ones are left out, ridge never.
    ``training`` also has the rows, those of each fold and the checkpoint of all members;
    ``quality`` says how much members may cost.
    """
    fold = torch.full((len(training.rows.x),), -1, dtype=torch.long)
    for k, member in enumerate(training.members):
        fold[member.valid] = k
    trains = None if final is None else _trained_on(training.members, len(fold))
    shop = _Workshop(training, fold, seed, loss, BUDGETS[quality], trains, deadline)
    trained: list[TrainedMember] = []
    if deadline is not None:  # ridge regression takes next to no time: there is always a model
        names = sorted(names, key=lambda name: not name.startswith("ridge"))
    for i, name in enumerate(names):
        if trained and _is_late(deadline, trained):
            break
        if progress is not None:
            progress.update(i, text=name)
        began, found = time.perf_counter(), None
        if is_of_nets(name):
            own = shop.encoding_of(name)
            nets = shop.nets.train(name, own, i, [one.outputs for one in trained])
            if nets is not None:
                part = Part(name, 0.0, 0.0, 0.0, nets=tuple(nets))
                found = TrainedMember(part, shop.nets.outputs(nets))
        else:
            found = shop.frozen(name, i)
        if found is not None:
            trained.append(shop.timed(found, i, began))
    if progress is not None:
        progress.update(len(names), text="")
    blended = weigh(trained, training.rows, fold, loss)
    return blended if final is None else shop.again(blended, final)


def _trained_on(members: Sequence[MemberRows], n_rows: int) -> Tensor:
    """``(k, n)``: whether each fold trains on the row."""
    found = torch.zeros(len(members), n_rows, dtype=torch.bool)
    for k, member in enumerate(members):
        found[k, member.train] = True
    return found


def _is_late(deadline: float | None, trained: Sequence[TrainedMember]) -> bool:
    """Whether another member as slow as the slowest would be too late."""
    if deadline is None:
        return False
    return time.perf_counter() + max(one.part.seconds for one in trained) > deadline


class _Workshop:
    """What trains members; rows are encoded once per encoding."""

    def __init__(
        self,
        training: NetTraining,
        fold: Tensor,
        seed: int,
        loss: str,
        budget: Budget,
        trains: Tensor | None,
        deadline: float | None,
    ) -> None:
        self.rows, self.k = training.rows, len(training.members)
        self.checkpoint, self.turn = training.checkpoint, ""  # what tells members of one name apart
        self.fold, self.seed, self.loss, self.trains = fold, seed, loss, trains
        self.budget, self.deadline = budget, deadline
        self.nets = NetMembers(training, loss, budget.nets_within, budget.cycles, deadline)
        self.encodings: dict[str, EncodingModule] = {}

    def timed(self, found: TrainedMember, turn: int, began: float) -> TrainedMember:
        """A member with the seconds that it took."""
        key = self._key(found.part.name, turn)
        seconds = kept_seconds(self.checkpoint, key, time.perf_counter() - began)
        return found._replace(part=found.part._replace(seconds=seconds))

    def again(self, blended: Blended, final: Tensor) -> Blended:
        """The blend, its members other than nets trained again in folds of all rows."""
        self.fold, self.trains, self.turn = final, None, "again "
        parts, kernel = [], None
        for part in blended.parts:
            if part.frozen is not None:
                began = time.perf_counter()
                own = self.timed(self.frozen(part.name, 0), 0, began)
                seconds = part.seconds + own.part.seconds
                part = part._replace(frozen=own.part.frozen, seconds=seconds)
                kernel = kernel or (own._replace(part=part) if own.kernel else None)
            parts.append(part)
        kernel = kernel or blended.kernel
        return replace(blended, parts=tuple(parts), kernel=kernel, final=final)

    def encoding_of(self, member: str) -> EncodingModule | None:
        """The encoding that a member sees rows in, fitted when it is first asked for."""
        _, _, name = member.partition(":")
        if not name:
            return None
        if name not in self.encodings:
            weight = None if self.rows.weight is None else self.rows.weight.cpu().numpy()
            fitted = fit_encoding(name, self.rows.x.cpu().numpy(), weight)
            self.encodings[name] = EncodingModule(fitted).to(self.rows.x.device)
        return self.encodings[name]

    def frozen(self, name: str, turn: int) -> TrainedMember:
        """A member that is not made of nets."""
        encoding = self.encoding_of(name)
        x = self.rows.x if encoding is None else encoding(self.rows.x)
        rows, fold = self.rows, self.fold.to(x.device)
        trains = None if self.trains is None else self.trains.to(x.device)
        data = FoldData(
            x, rows.targets, rows.weight, fold, self.k, self.seed, self.loss, trains,
            self._own_deadline(),
        )  # fmt: skip
        with one_thread() if len(x) <= _MOST_ALONE else nullcontext():
            sizes = {"k": self.k, "d_in": x.shape[1], "n_out": rows.targets.shape[1]}
            key = self._key(name, turn)
            found = kept_member(
                self.checkpoint, key, lambda: self._fit(name, data), sizes, x.device
            )
            kernel = found if isinstance(found, FittedKernel) else None
            predictor, arrays = found[:2]
            frozen = Frozen(predictor, arrays, encoding).to(x.device).eval()
            outputs = out_of_fold(frozen, self.rows.x, self.fold, self.k)
        return TrainedMember(Part(name, 0.0, 0.0, 0.0, frozen=frozen), outputs, kernel)

    def _key(self, name: str, turn: int) -> str:
        """Of a member in a checkpoint."""
        return f"{self.turn}{turn} {name}"

    def _own_deadline(self) -> float | None:
        """Of one member: others, and what is left to do after them, need time too."""
        if self.deadline is None:
            return None
        now = time.perf_counter()
        return now + _MOST_OF_TIME * (self.deadline - now)

    def _fit(self, name: str, data: FoldData) -> Any:
        kind, _, _ = name.partition(":")
        if kind == "kernel":
            return fit_kernel(data, self.budget.kernel)
        if kind == "ridge":
            return fit_linear(data)
        if kind == "trees":
            if data.n_rows <= quality.MANY_ROWS:
                return fit_extra_trees(data, n_trees=self.budget.n_trees)
            return fit_extra_trees(
                data, n_trees=self.budget.n_trees // 2 + 10, max_features=0.7, min_samples_leaf=3
            )
        if data.n_rows > quality.MANY_ROWS:
            many = data.n_rows > _VERY_MANY_ROWS
            options: Any = {"rate": 0.1, "max_leaf_nodes": 63} if many else {}
            return fit_hist_boosting(data, n_trees=self.budget.boosted * (1 + many), **options)
        return fit_boosting(data, self.budget.boosting)
