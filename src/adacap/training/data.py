"""Rows for training and validation, member index first, and the order they are seen in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacap.core.permutation import draw_permutations, stack_labels

__all__ = ["Batch", "MemberRows", "TrainingData"]


@dataclass(frozen=True)
class Batch:
    """One minibatch of every member."""

    x: Tensor  # (K, b, ...)
    labels: Tensor  # (K, b, 1 + T, c)
    weight: Tensor | None  # (K, b)


@dataclass(frozen=True)
class MemberRows:
    """Which rows one member trains and validates on, and the seed of its draws."""

    train: Tensor  # (n_train,) int64
    valid: Tensor  # (n_valid,) int64, empty when there is no hold-out
    seed: int


class TrainingData:
    """A table shared by K members, each with rows, permutations and batch order of its own.

    Parameters
    ----------
    x : Tensor of shape (n, ...)
    targets : Tensor of shape (n, c)
        Coded targets.
    weight : Tensor of shape (n,), optional
    rows : sequence of MemberRows
        Equal sizes for all members.
    n_permutations : int
        T; 0 for schemes without permuted labels.
    external : tuple (x, targets, weight), optional
        Validation rows given by the caller, used by every member in place of a hold-out.
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
        self.n_members = len(rows)
        self._generators = [torch.Generator().manual_seed(member.seed) for member in rows]
        self._rows = torch.stack([member.train for member in rows])  # (K, n_train)
        self.labels = torch.stack(
            [
                self._stack(targets[member.train], n_permutations, generator)
                for member, generator in zip(rows, self._generators, strict=True)
            ]
        )
        self._weight = None if weight is None else weight[self._rows]
        self.valid: tuple[Tensor, Tensor, Tensor | None] | None = None
        if external is not None:
            self.valid = _broadcast(external, self.n_members)
        elif len(rows[0].valid):
            held = torch.stack([member.valid for member in rows])
            self.valid = (x[held], targets[held], None if weight is None else weight[held])

    @property
    def n_train(self) -> int:
        """Training rows of each member."""
        return self._rows.shape[1]

    @staticmethod
    def _stack(targets: Tensor, n_permutations: int, generator: torch.Generator) -> Tensor:
        draws = draw_permutations(len(targets), n_permutations, generator)
        return stack_labels(targets, draws.to(targets.device))

    def batches(self, batch_size: int) -> Iterator[Batch]:
        """Minibatches without end: each member goes through its rows in shuffled epochs.

        When a batch holds all rows it is built once and given again and again.
        """
        if batch_size >= self.n_train:
            everything = torch.arange(self.n_train).expand(self.n_members, -1)
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
        member = torch.arange(self.n_members).unsqueeze(1)
        return Batch(
            self.x[self._rows[member, positions]],
            self.labels[member, positions],
            None if self._weight is None else self._weight[member, positions],
        )


def _broadcast(
    external: tuple[Tensor, Tensor, Tensor | None], n_members: int
) -> tuple[Tensor, Tensor, Tensor | None]:
    x, targets, weight = external
    return (
        x.expand(n_members, *x.shape),
        targets.expand(n_members, *targets.shape),
        None if weight is None else weight.expand(n_members, *weight.shape),
    )
