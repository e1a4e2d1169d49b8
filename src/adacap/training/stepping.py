"""The optimiser's step, without what torch looks up anew each time.

``torch.optim.Adam`` makes the lists of tensors for its fused kernel in every step, which counts for
small nets. Here they are made once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim import Adam, AdamW, Optimizer

__all__ = ["Stepper"]

_KERNELS: dict[type[Optimizer], Callable[..., None]] = {
    Adam: torch._fused_adam_,
    AdamW: torch._fused_adamw_,
}


class _Group(NamedTuple):
    """Tensors of one parameter group, in the order the kernel wants them."""

    settings: dict[str, Any]  # the optimiser's own, which a schedule changes
    params: list[Tensor]
    means: list[Tensor]
    squares: list[Tensor]
    counts: list[Tensor]
    all_counts: Tensor  # in one piece


class Stepper:
    """One call is one step of the optimiser.

    The first step is the optimiser's own, which makes its state; so is every step of an optimiser
    other than fused Adam or AdamW, and every step in which a parameter has no gradient.

    Parameters
    ----------
    optimizer : Optimizer

    Examples
    --------
    >>> weight = torch.ones(3, requires_grad=True)
    >>> step = Stepper(Adam([weight], lr=0.1, fused=True))
    >>> for _ in range(2):
    ...     weight.grad = torch.ones(3)
    ...     step()
    >>> weight.detach().round(decimals=2)
    tensor([0.8000, 0.8000, 0.8000])
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self._kernel = _KERNELS.get(type(optimizer))
        self._groups: list[_Group] | None = None

    @torch.no_grad()
    def __call__(self) -> None:
        """Move the parameters by their gradients."""
        if self._groups is None:
            self.optimizer.step()
            if self._kernel is not None:
                self._groups = _groups(self.optimizer)
                self._kernel = None if self._groups is None else self._kernel
            return
        grads = [[param.grad for param in group.params] for group in self._groups]
        if any(grad is None for each in grads for grad in each):
            self.optimizer.step()
            return
        assert self._kernel is not None
        for group, each in zip(self._groups, grads, strict=True):
            settings = group.settings
            group.all_counts.add_(1)
            self._kernel(
                group.params, each, group.means, group.squares, [], group.counts,
                lr=settings["lr"], beta1=settings["betas"][0], beta2=settings["betas"][1],
                weight_decay=settings["weight_decay"], eps=settings["eps"],
                amsgrad=False, maximize=False,
            )  # fmt: skip


def _groups(optimizer: Optimizer) -> list[_Group] | None:
    """Tensors of all groups; None where the kernel alone is not all that a step does."""
    found = []
    for settings in optimizer.param_groups:
        params = settings["params"]
        states = [optimizer.state[param] for param in params]
        plain = settings["fused"] and not settings["amsgrad"] and not settings["maximize"]
        if not plain or not all(states) or len({param.device for param in params}) > 1:
            return None
        count = torch.stack([state["step"] for state in states])
        for state, one in zip(states, count.unbind(), strict=True):
            state["step"] = one
        found.append(
            _Group(
                settings,
                params,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["step"] for state in states],
                count,
            )
        )
    return found
