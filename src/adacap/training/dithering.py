"""Noise that is drawn anew at each step, around an objective that knows nothing of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacap.core.dither import DitherForm, dithered_mlr_loss
from adacap.training.members import Members
from adacap.training.objectives import MLRObjective, PlainObjective, StepLoss

__all__ = ["Dither", "DitheredObjective"]

_STREAM = 0x2D3F8A51  # keeps the noise apart from the permutations, drawn from the same seed


@dataclass(frozen=True)
class Dither:
    """Standard deviations of the noise, on the scale of coded targets.

    Parameters
    ----------
    structured : float
        σ of ``(I − H)ξ``; without effect on the plain scheme, which has no H.
    target : float
        σ̃ of the noise on the targets; for the squared error only.
    form : {"fitted", "printed", "halved"}
        See ``dither_form`` of :func:`adacap.core.dithered_mlr_loss`.

    Examples
    --------
    >>> Dither(structured=-1.0)
    Traceback (most recent call last):
    ValueError: structured dither must be 0 or more, got -1.0.
    """

    structured: float = 1.0
    target: float = 0.0
    form: DitherForm = "fitted"

    def __post_init__(self) -> None:
        for name in ("structured", "target"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} dither must be 0 or more, got {getattr(self, name)}.")


class DitheredObjective:
    """An objective on muddled labels; each member draws from a generator of its own.

    So the noise of a member is the same whether it is trained alone or in a stack.

    Parameters
    ----------
    objective : MLRObjective or PlainObjective
    dither : Dither
    seeds : sequence of int
        One per member, in the order of the stack.
    """

    def __init__(
        self, objective: MLRObjective | PlainObjective, dither: Dither, seeds: Sequence[int]
    ) -> None:
        self.objective = objective
        self.dither = dither
        self._generators = [torch.Generator().manual_seed(seed ^ _STREAM) for seed in seeds]

    def __call__(
        self, members: Members, hidden: Tensor, labels: Tensor, weight: Tensor | None
    ) -> StepLoss:
        """Draw noise and evaluate; the output layer comes from the labels without noise."""
        target = self._draw(labels, self.dither.target if self.objective.loss == "rmse" else 0.0)
        if isinstance(self.objective, PlainObjective):
            return self.objective(
                members, hidden, labels if target is None else labels + target, weight
            )
        result = dithered_mlr_loss(
            hidden,
            labels,
            members.head("log_lambda").exp(),
            structured=self._draw(labels, self.dither.structured),
            target=target,
            loss=self.objective.loss,
            form=self.objective.form,
            dither_form=self.dither.form,
            sample_weight=weight,
            fit_intercept=self.objective.fit_intercept,
        )
        permuted = result.fit_permuted if labels.shape[-2] > 1 else None
        return StepLoss(result.value, result.fit_true, permuted, *result.ridge)

    def _draw(self, labels: Tensor, scale: float) -> Tensor | None:
        """Normal noise of the shape of the labels; nothing is drawn for a scale of 0."""
        if not scale:
            return None
        draws = [
            torch.randn(labels.shape[1:], generator=generator, dtype=labels.dtype)
            for generator in self._generators
        ]
        return scale * torch.stack(draws).to(labels.device)
