"""What a blend is: members with their weights, and what they said out of fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from adacap.estimators.bag import Bag, FittedMember
from adacap.estimators.held_out import BLEND_CHUNK, LeftOut, Rows, solve_rows
from adacap.members.kernel import FittedKernel
from adacap.nn.predictors import Blend, Frozen
from adacap.training.data import MemberRows

__all__ = [
    "Blended", "FoldLayers", "KernelMember", "Part", "TrainedMember", "blend_module", "out_of_fold",
]  # fmt: skip

FoldLayers = tuple[tuple[Tensor, Tensor], ...]  # weights (J, c) and offsets (c,) of each member

_MOST_STUDIED = 1000  # rows that the capacity of a kernel is read on


class Part(NamedTuple):
    """A member of a blend, with how it did.

    Attributes
    ----------
    name : str
        Kind and encoding, such as ``"kernel:rank"``.
    weight : float
        Share in the blend.
    error : float
        Root mean squared out-of-fold error, in standard deviations of the target; the log-loss
        for classes.
    seconds : float
        Spent on its training.
    factor : float
        What its outputs are multiplied with: the weight, for classes over a temperature.
    nets : tuple of FittedMember
        A net per fold, for a member of nets.
    frozen : Frozen or None
        A predictor of all folds, for any other.
    """

    name: str
    weight: float
    error: float
    seconds: float
    factor: float = 0.0
    nets: tuple[FittedMember, ...] = ()
    frozen: Frozen | None = None

    def module(self, layers: FoldLayers | None = None) -> nn.Module:
        """What predicts; ``layers`` in place of the nets' own output layers."""
        return Bag(self.nets, layers) if self.frozen is None else self.frozen


class TrainedMember(NamedTuple):
    """A member that is not weighed yet."""

    part: Part
    outputs: Tensor  # (n, c), out of fold
    kernel: FittedKernel | None = None


@dataclass(frozen=True, eq=False)
class Blended:
    """A blend after training."""

    parts: tuple[Part, ...]  # members of positive weight, the heaviest first
    left_out: tuple[Part, ...]  # members without weight, without what they had learnt
    outputs: Tensor  # (n, c) out of fold, of the blend, in float64
    fold: Tensor  # (n,) that each row was held out in; -1 for none
    nets: tuple[FittedMember, ...]  # of the first member of nets, whether it has weight or not
    kernel: TrainedMember | None = None
    final: Tensor | None = None  # (n,) that the models which predict leave a row out of, if another

    @property
    def predicting_fold(self) -> Tensor:
        """The fold that each row is left out of by the models that predict; -1 for none."""
        return self.fold if self.final is None else self.final

    @property
    def members(self) -> tuple[FittedMember, ...]:
        """Nets of all parts."""
        return tuple(net for part in self.parts for net in part.nets)

    @property
    def module(self) -> Blend:
        """What predicts."""
        return blend_module(self.parts)

    def studied(self, rows: Rows, *, fit_intercept: bool = True) -> Sequence[Any]:
        """Whose capacity is read: the nets', or where there are none, the kernel's."""
        if self.nets or self.kernel is None:
            return self.nets
        return [_kernel_member(self.kernel, rows, self.predicting_fold, fit_intercept)]


@dataclass(frozen=True, eq=False)
class KernelMember:
    """The kernel of one fold, seen as a layer solved on features: what capacity is read from."""

    backbone: Callable[[Tensor], Tensor]
    lam: float
    effective_dof: float
    rows: MemberRows
    width: int
    left_out: LeftOut | None
    held_out: None = None


def _kernel_member(
    one: TrainedMember, rows: Rows, fold: Tensor, fit_intercept: bool
) -> KernelMember:
    kernel, frozen = one.kernel, one.part.frozen
    assert kernel is not None
    assert frozen is not None
    encode: Any = frozen.encoding or nn.Identity()
    train = (fold != 0).nonzero()[:, 0][:_MOST_STUDIED]
    own = kernel.features(0, encode(rows.x[train]))

    def features(x: Tensor) -> Tensor:
        return own(encode(x)).to(rows.targets.dtype)

    lam = float(kernel.lam[0])
    _, dof, left = solve_rows(
        features(rows.x[train]), rows, train, lam, fit_intercept=fit_intercept
    )
    member_rows = MemberRows(train, train[:0], 0)
    return KernelMember(features, lam, dof, member_rows, len(train), left)


def blend_module(parts: Sequence[Part], layers: FoldLayers | None = None) -> Blend:
    """The blend as a module; with output layers in place of the nets' own, in their order."""
    modules, taken = [], 0
    for part in parts:
        own = None if layers is None else layers[taken : taken + len(part.nets)]
        modules.append(part.module(own))
        taken += len(part.nets)
    return Blend(modules, [part.factor for part in parts]).eval()


@torch.inference_mode()
def out_of_fold(frozen: Frozen, x: Tensor, fold: Tensor, k: int) -> Tensor:
    """Output for each row by the model of its fold; 0 for rows in none."""
    found = torch.zeros(len(x), frozen.predictor.n_out, dtype=torch.float64)
    for i in range(k):
        own = frozen.fold(i)
        for rows in (fold == i).nonzero()[:, 0].split(BLEND_CHUNK):
            found[rows] = own.each(x[rows])[0].cpu().double()
    return found.clone()
