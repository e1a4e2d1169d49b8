"""Nets before their first step: built from a recipe by seed, λ started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from adacap.core.lambda_init import initial_lambda
from adacap.core.permutation import draw_permutations, stack_labels
from adacap.exceptions import DivergenceError
from adacap.nn.heads import LinearHead, TikhonovHead
from adacap.training.data import MemberRows, TrainingData
from adacap.training.members import Members, Net

if TYPE_CHECKING:
    from adacap.estimators.fitting import Recipe, Rows

__all__ = ["build", "probe", "seeded", "start_lambda"]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's global generators set to ``seed`` inside, as they were outside."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        if any(kind.is_available() for kind in (torch.cuda, torch.backends.mps, torch.xpu)):
            torch.manual_seed(seed)
        else:  # without looking for devices, and writing down who asked for each that is not there
            torch.default_generator.manual_seed(seed)
        yield


def build(recipe: Recipe, rows: Rows, seed: int) -> Net:
    """A net that has not been trained, its weights drawn by ``seed``."""
    with seeded(seed):
        backbone = recipe.make_backbone().to(rows.x.device)
        width = probe(backbone, rows.x).shape[1]
        head: TikhonovHead | LinearHead
        if recipe.scheme == "plain":
            head = LinearHead(width, rows.targets.shape[1])
        else:
            head = TikhonovHead(fit_intercept=recipe.fit_intercept)
        net = Net(backbone, head.to(rows.x.device))
        if recipe.initialise is not None:
            recipe.initialise(net)
    return net


@torch.no_grad()
def probe(backbone: nn.Module, x: Tensor) -> Tensor:
    """Features of two rows, to learn J and to refuse a wrong shape before training."""
    was_training = backbone.training
    backbone.eval()
    sample = x[:2]
    hidden = backbone(sample)
    backbone.train(was_training)
    if not isinstance(hidden, Tensor) or hidden.ndim != 2 or len(hidden) != len(sample):
        got = tuple(hidden.shape) if isinstance(hidden, Tensor) else type(hidden).__name__
        raise ValueError(
            f"The backbone must map {len(sample)} rows to a tensor of shape ({len(sample)}, J), "
            f"got {got}. Flatten its output, for example with nn.Flatten()."
        )
    return hidden


@torch.no_grad()
def start_lambda(
    recipe: Recipe, stack: Members, data: TrainingData, group: Sequence[MemberRows]
) -> Tensor:
    """λ of every member on its first minibatch, by rule or as given."""
    x = data.x
    if not isinstance(recipe.lambda_init, str):
        return torch.full((len(group),), float(recipe.lambda_init), dtype=x.dtype, device=x.device)
    batch = next(data.batches(recipe.config.batch_size))
    stack.train(False)
    hidden = stack.hidden(batch.x)
    if n_bad := int((~hidden.isfinite()).sum()):
        raise DivergenceError(
            f"The backbone gives {n_bad} NaN or infinite features out of {hidden.numel()} before "
            "the first step. Check its layers and the scale of what it is given."
        )
    starts = []
    for k, member in enumerate(group):
        labels = batch.labels[k]
        if labels.shape[-2] == 1:  # the rule needs permuted labels even where training does not
            draws = torch.Generator().manual_seed(member.seed)
            index = draw_permutations(len(labels), max(recipe.n_permutations, 1), draws)
            labels = stack_labels(labels[:, 0], index.to(labels.device))
        starts.append(
            initial_lambda(
                hidden[k], labels, recipe.grid.to(hidden.device),
                loss=recipe.loss, form=recipe.mlr_form,
                sample_weight=None if batch.weight is None else batch.weight[k],
                fit_intercept=recipe.fit_intercept,
            )
        )  # fmt: skip
    return torch.stack(starts).to(x.dtype)
