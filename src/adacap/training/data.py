"""Rows for training and validation, nets first, and the order they are seen in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacap.core.permutation import draw_permutations, stack_labels
from adacap.training.scores import LOSS_SCORES

__all__ = ["SCORES", "Batch", "MemberRows", "TrainingData", "Validation", "r2"]


@dataclass(frozen=True)
class Batch:
    """One minibatch of every net."""

    x: Tensor  # (K, b, ...)
    labels: Tensor  # (K, b, 1 + T, c)
    weight: Tensor | None  # (K, b)


@dataclass(frozen=True)
class Validation:
    """Rows on which each net is scored."""

    x: Tensor  # (K, m, ...)
    targets: Tensor  # (K, m, c)
    weight: Tensor | None  # (K, m)

    def score(self, prediction: Tensor, name: str = "r2") -> Tensor:
        """Score ``(K,)`` of predictions ``(K, m, c)``, an entry of ``SCORES``; higher is better."""
        return SCORES[name](prediction, self.targets, self.weight)


def r2(prediction: Tensor, targets: Tensor, weight: Tensor | None = None) -> Tensor:
    """Coefficient of determination (K,) over all targets (K, n, c).

    Examples
    --------
    >>> y = torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> r2(y, y).item(), r2(torch.full_like(y, 2.0), y).item()
    (1.0, 0.0)
    """
    w = torch.ones_like(targets[..., :1]) if weight is None else weight.unsqueeze(-1)
    mean = (w * targets).sum(-2, keepdim=True) / w.sum(-2, keepdim=True)
    spread = (w * (targets - mean).square()).sum((-2, -1)).clamp_min(1e-12)
    return 1 - (w * (targets - prediction).square()).sum((-2, -1)) / spread


SCORES = {"r2": r2, **LOSS_SCORES}


@dataclass(frozen=True)
class MemberRows:
    """Which rows one net trains and validates on, and the seed of its draws."""

    train: Tensor  # (n_train,) int64
    valid: Tensor  # (n_valid,) int64, empty when there is no hold-out
    seed: int


class TrainingData:
    """A table shared by K nets, each with its own rows, permutations and batch order.

    Parameters
    ----------
    x : Tensor of shape (n, ...)
    targets : Tensor of shape (n, c)
        Coded targets.
    weight : Tensor of shape (n,), optional
    rows : sequence of MemberRows
        Equal sizes for all nets.
    n_permutations : int
        T; 0 for schemes without permuted labels.
    external : tuple (x, targets, weight), optional
        Validation rows given by the caller, used by every net in place of a hold-out.
    """

    def __init__(
        self,
        x: Tensor,
        targets: Tensor,
        weight: Tensor | None,
        rows: Sequence[MemberRows],
        n_permutations: int,
        external: tuple[Tensor, Tensor, Tensor | None] | None = None,
    ) -> None:
        self.x = x
        self.seeds = [member.seed for member in rows]
        self._generators = [torch.Generator().manual_seed(seed) for seed in self.seeds]
        self._rows = torch.stack([member.train for member in rows])  # (K, n_train)
        self.n_train = self._rows.shape[1]
        pairs = zip(rows, self._generators, strict=True)
        draws = [draw_permutations(len(m.train), n_permutations, g) for m, g in pairs]
        each = zip(rows, draws, strict=True)
        labels = [stack_labels(targets[m.train], d.to(targets.device)) for m, d in each]
        self.labels = torch.stack(labels)
        self._weight = None if weight is None else weight[self._rows]
        self.valid: Validation | None = None
        if external is not None:
            parts = (None if t is None else t.expand(len(rows), *t.shape) for t in external)
            self.valid = Validation(*parts)  # type: ignore[arg-type]
        elif len(rows[0].valid):
            held = torch.stack([member.valid for member in rows])
            self.valid = Validation(
                x[held], targets[held], None if weight is None else weight[held]
            )

    def batches(self, batch_size: int) -> Iterator[Batch]:
        """Endless minibatches: each net goes through its rows in shuffled epochs.

        When a batch holds all rows it is built once and reused.
        """
        if batch_size >= self.n_train:
            everything = torch.arange(self.n_train).expand(len(self.seeds), -1)
            batch = self._take(everything)
            while True:
                yield batch
        while True:
            order = torch.stack(
                [torch.randperm(self.n_train, generator=g) for g in self._generators]
            )
            for start in range(0, self.n_train - batch_size + 1, batch_size):
                yield self._take(order[:, start : start + batch_size])

    def _take(self, positions: Tensor) -> Batch:
        member = torch.arange(len(self.seeds)).unsqueeze(1)
        return Batch(
            self.x[self._rows[member, positions]],
            self.labels[member, positions],
            None if self._weight is None else self._weight[member, positions],
        )
