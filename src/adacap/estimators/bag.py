"""Trained nets: in groups that share their tensors, one by one, and as the bag that predicts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from adacap.estimators.held_out import HeldOut, LeftOut
from adacap.nn.adapter import Stacked
from adacap.nn.linear import LinearHead, linear_from
from adacap.nn.modules import Backbone, Nets
from adacap.nn.predictors import EncodingModule
from adacap.training.data import MemberRows
from adacap.training.history import History

__all__ = [
    "Bag", "FittedMember", "Group", "encoded", "gather", "groups_of", "regroup", "summary",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Group:
    """Nets of one shape: as they were trained, and the output layers they predict with."""

    nets: Nets
    output: LinearHead  # (K, J, c)
    encoding: EncodingModule | None = None  # applied to rows first


@dataclass(frozen=True, eq=False)
class FittedMember:
    """One net of a bag, and the results of its training."""

    group: Group
    index: int  # in the group
    lam: float | None
    effective_dof: float | None
    history: History
    best_iter: int
    best_score: float
    rows: MemberRows
    held_out: HeldOut | None = None
    left_out: LeftOut | None = None

    @property
    def backbone(self) -> nn.Module:
        """The net without its output layer; it shares the tensors of its group."""
        alone: nn.Module = self.group.nets.backbone.member(self.index)
        if self.group.encoding is not None:
            alone = nn.Sequential(self.group.encoding, alone)
        return alone.eval()

    @property
    def network(self) -> nn.Sequential:
        """The net with its output layer, on its own."""
        output = self.group.output
        linear = linear_from(output.weight[self.index], output.bias[self.index])
        return nn.Sequential(self.backbone, linear).eval()

    @property
    def last_weights(self) -> Tensor | None:
        """Weights ``(units, inputs)`` of the last dense layer; None for a net without one."""
        own = self.group.nets.backbone.member(self.index)
        if isinstance(own, Backbone):
            dense = [tensor.mT for tensor in own.parameters() if tensor.ndim == 2]
        else:
            dense = [layer.weight for layer in own.modules() if isinstance(layer, nn.Linear)]
        return dense[-1].detach() if dense else None

    @property
    def width(self) -> int:
        """Size J of the last hidden layer."""
        return self.group.output.weight.shape[1]


class Bag(nn.Module):
    """Mean output of trained nets, by ``layers`` in place of their own output layers if given."""

    def __init__(
        self,
        members: Sequence[FittedMember],
        layers: Sequence[tuple[Tensor, Tensor]] | None = None,
    ) -> None:
        super().__init__()
        groups = groups_of(members)
        self.encodings = nn.ModuleList(group.encoding or nn.Identity() for group in groups)
        self.backbones = nn.ModuleList(group.nets.backbone for group in groups)
        self.outputs = nn.ModuleList(
            group.output if layers is None else _head(group, members, layers) for group in groups
        )
        starts = np.cumsum([0, *(group.nets.k for group in groups)])
        first = {id(group): int(start) for group, start in zip(groups, starts, strict=False)}
        self.order = [first[id(member.group)] + member.index for member in members]

    def each(self, x: Tensor) -> Tensor:
        """Outputs ``(K, n, c)`` of the nets, in the order of the members."""
        groups: Any = zip(self.encodings, self.backbones, self.outputs, strict=True)
        parts = [
            output(body((rows := encoding(x)).expand(body.k, *rows.shape)))
            for encoding, body, output in groups
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)[self.order]

    def forward(self, x: Tensor) -> Tensor:
        """Mean over the nets, ``(n, c)``, summed one by one: every row rounds the same way."""
        total: Tensor = sum(self.each(x).unbind(0))  # type: ignore[assignment]
        return total / len(self.order)


def _head(
    group: Group, members: Sequence[FittedMember], layers: Sequence[tuple[Tensor, Tensor]]
) -> LinearHead:
    """Output layers of the members of a group, in the order of the group."""
    own = {m.index: layer for m, layer in zip(members, layers, strict=True) if m.group is group}
    weights, offsets = zip(*(own[i] for i in sorted(own)), strict=True)
    return LinearHead.of(torch.stack(weights), torch.stack(offsets))


def groups_of(members: Sequence[FittedMember]) -> list[Group]:
    """The groups that members belong to, each once."""
    return list({id(member.group): member.group for member in members}.values())


@torch.no_grad()
def gather(members: Sequence[FittedMember]) -> Nets:
    """Copies of some nets of one shape, to continue training."""
    first = members[0].group.nets
    if isinstance(first.backbone, Backbone):
        with torch.device("meta"):
            backbone: Any = Backbone(first.backbone.layers, k=len(members))
        backbone.to_empty(device=next(first.parameters()).device)
    else:
        backbone = Stacked([copy.deepcopy(m.group.nets.backbone.member(m.index)) for m in members])
    head = copy.deepcopy(first.head)
    for name, _ in head.named_parameters():
        parts = [getattr(m.group.nets.head, name)[m.index] for m in members]
        setattr(head, name, nn.Parameter(torch.stack(parts).detach()))
    nets = Nets(backbone, head)
    states = [member.group.nets.state() for member in members]
    for name, tensor in nets.state().items():
        for k, (member, state) in enumerate(zip(members, states, strict=True)):
            tensor[k].copy_(state[name][member.index])
    return nets.eval()


def encoded(members: Sequence[FittedMember], encoding: EncodingModule) -> list[FittedMember]:
    """The same members, with an encoding applied to rows first."""
    same = {id(group): replace(group, encoding=encoding) for group in groups_of(members)}
    return [replace(member, group=same[id(member.group)]) for member in members]


def regroup(members: Sequence[FittedMember]) -> list[FittedMember]:
    """The same members in groups that hold no other nets."""
    found: list[FittedMember | None] = [None] * len(members)
    for group in groups_of(members):
        own = [k for k, member in enumerate(members) if member.group is group]
        chosen = [members[k] for k in own]
        index = [member.index for member in chosen]
        output = LinearHead.of(group.output.weight[index], group.output.bias[index])
        smaller = Group(gather(chosen), output, group.encoding)
        for i, k in enumerate(own):
            found[k] = replace(members[k], group=smaller, index=i)
    return [member for member in found if member is not None]


def summary(members: Sequence[FittedMember], before: History) -> dict[str, Any]:
    """Fitted attributes of the whole bag."""
    if not members:
        return {"lambda_": None, "effective_dof_": None, "history_": before, "n_iter_": 1,
                "best_iter_": 0}  # fmt: skip
    lams = [m.lam for m in members if m.lam is not None]
    dofs = [m.effective_dof for m in members if m.effective_dof is not None]
    return {
        "members_": tuple(members),
        "network_": Bag(members).eval(),
        "lambda_": _geometric_mean(lams) if lams else None,
        "effective_dof_": float(np.mean(dofs)) if dofs else None,
        "history_": before + members[0].history,
        "n_iter_": len(before) + max(len(m.history) for m in members),
        "best_iter_": len(before) + members[0].best_iter,
    }


def _geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values)))) if min(values) > 0 else 0.0
