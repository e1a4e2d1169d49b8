"""Structured and target noise of the 2021 nets, drawn at each step."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacap.core.dither import SQUARED, DitherForm, dithered_mlr_loss
from adacap.core.mlr import MLRForm, MLRLoss
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Nets
from adacap.training.data import Batch

__all__ = ["Dither", "DitheredObjective"]

_STREAM = 0x2D3F8A51  # keeps the noise apart from the permutations, drawn from the same seed


@dataclass(frozen=True)
class Dither:
    """Standard deviations of the noise, on the scale of coded targets.

    Examples
    --------
    >>> Dither(structured=-1.0)
    Traceback (most recent call last):
    ValueError: structured dither must be 0 or more, got -1.0.
    """

    structured: float = 1.0  # σ of ``(I − H)ξ``; the plain scheme has no H
    target: float = 0.0  # σ̃ of the noise on the targets; for the squared error only
    form: DitherForm = "fitted"  # ``dither_form`` of :func:`adacap.core.dithered_mlr_loss`

    def __post_init__(self) -> None:
        for name in ("structured", "target"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} dither must be 0 or more, got {getattr(self, name)}.")


class DitheredObjective:
    """Adds noise to the labels; each net has its own generator.

    So the noise of a net is the same whether it is trained alone or in a bag.
    """

    def __init__(self, loss: str, form: MLRForm, dither: Dither, seeds: Sequence[int]) -> None:
        self.loss = loss
        self.form = form
        self.dither = dither
        self.generators = [torch.Generator().manual_seed(seed ^ _STREAM) for seed in seeds]

    def __call__(self, nets: Nets, hidden: Tensor, batch: Batch) -> MLRLoss:
        """Draw noise and evaluate; the output layer comes from the labels without noise."""
        labels, head = batch.labels, nets.head
        target = self._draw(labels, self.dither.target if self.loss in SQUARED else 0.0)
        if isinstance(head, LinearHead):
            noisy = labels if target is None else labels + target
            return head.mlr_loss(hidden, noisy, loss=self.loss, sample_weight=batch.weight)
        return dithered_mlr_loss(
            hidden, labels, head.lam,
            structured=self._draw(labels, self.dither.structured), target=target, loss=self.loss,
            form=self.form, dither_form=self.dither.form, sample_weight=batch.weight,
            fit_intercept=head.fit_intercept,
        )  # fmt: skip

    def _draw(self, labels: Tensor, scale: float) -> Tensor | None:
        """Normal noise of the shape of the labels; nothing is drawn for a scale of 0."""
        if not scale:
            return None
        draws = [
            torch.randn(labels.shape[1:], generator=generator, dtype=labels.dtype)
            for generator in self.generators
        ]
        return scale * torch.stack(draws).to(labels.device)
