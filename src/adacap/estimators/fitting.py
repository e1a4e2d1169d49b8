"""From encoded rows to trained members: build, train in groups, freeze."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
from joblib import Parallel, delayed, effective_n_jobs
from torch import Tensor

from adacap.checkpoint import Checkpoint
from adacap.core.lambda_init import initial_lambda
from adacap.core.mlr import MLRForm
from adacap.core.permutation import draw_permutations, stack_labels
from adacap.estimators.backbone import BackboneSpec, ModuleFactory
from adacap.estimators.bag import FittedMember, Group, encoded, gather, regroup
from adacap.estimators.held_out import MOST_REFIT, Rows, held_out, outputs_of, solve_rows
from adacap.estimators.inputs import grids_of
from adacap.estimators.starts import Initialise
from adacap.exceptions import DivergenceError, warn_caller
from adacap.nn.adapter import Stacked, why_not_stacked
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Backbone, Nets, TikhonovHead
from adacap.nn.predictors import EncodingModule
from adacap.training.callbacks import Callback
from adacap.training.config import TrainingConfig
from adacap.training.data import MemberRows, TrainingData
from adacap.training.dithering import Dither, DitheredObjective
from adacap.training.history import Trained
from adacap.training.loop import MLRObjective, Objective, Trainer
from adacap.training.resuming import UpTo, resumed
from adacap.training.threads import one_thread
from adacap.training.trouble import warn_of_rise

__all__ = ["BagTraining", "Recipe", "probe", "solved_share"]

_MOST_TOGETHER = 64_000_000  # hidden activations of one step, in numbers
_MOST_ALONE = 100_000  # of those, up to which two threads wait more than they compute
_DIVERGED = "one of them diverged"


@dataclass(frozen=True)
class Recipe:
    """Everything that fixes how one member is trained, apart from its rows and seed."""

    backbone: BackboneSpec
    factory: ModuleFactory | None
    scheme: str
    loss: str  # of the targets, in which fits are reported
    score: str
    mlr_form: MLRForm
    n_permutations: int
    lambda_init: float | str | tuple[float, ...]
    fit_intercept: bool
    refit_head: bool
    refit_net: bool
    config: TrainingConfig
    dither: Dither | None = None
    initialise: Initialise | None = None
    objective: str | None = None  # loss that training minimises, where it is another

    @property
    def trained_loss(self) -> str:
        """The loss that training minimises."""
        return self.objective or self.loss


@dataclass(frozen=True, eq=False)
class BagTraining:
    """Everything needed to train one net per entry of ``members``.

    Nets with equally many rows are trained as one computation. Where that is not possible they are
    trained one by one, each on one thread, so that the result does not depend on how many
    processes joblib uses for it; a warning says why.

    With ``refit_net`` of a recipe each net is then trained again on all rows, up to the iteration
    that was best on its hold-out.
    """

    recipes: tuple[Recipe, ...]  # taken in turn: of two, odd members are trained by the second
    rows: Rows
    members: tuple[MemberRows, ...]
    valid: Rows | None  # to validate on in place of each member's hold-out
    callbacks: tuple[Callback, ...]
    start_from: tuple[FittedMember, ...] = ()  # to continue from instead of fresh nets
    checkpoint: Checkpoint | None = None  # of nets trained in this process
    encoding: EncodingModule | None = None  # of ``rows``; the nets then take rows as they were
    keep_at: tuple[int, ...] = ()  # iteration to keep of each net, if not the best

    def fit(self) -> list[FittedMember]:
        """The bag, in the order of ``members``."""
        if len(self.recipes[: len(self.members)]) > 1:
            return self._encoded(self._in_turn())
        if self._is_refitted():
            return self._encoded(self._twice())
        reason = self._why_apart() if len(self.members) > 1 else None
        if reason is None:
            found: dict[int, FittedMember] = {}
            try:
                for recipe, group in self._groups():
                    own = self.checkpoint
                    with self._threads(recipe, group):
                        trainer = self._trainer(recipe, group)
                        trained = trainer.run() if own is None else resumed(trainer, own)
                        frozen = self._frozen(recipe, trained, group)
                    found.update(zip(group, frozen, strict=True))
                return self._encoded([found[k] for k in range(len(self.members))])
            except DivergenceError:
                if len(self.members) == 1:
                    raise
                reason = _DIVERGED
        if not self.keep_at or reason == _DIVERGED:  # the first pass warned of any other
            text = f"The {len(self.members)} nets are trained one by one, since {reason}."
            warn_caller(text)
        return self._encoded(self._apart())

    def _encoded(self, bag: list[FittedMember]) -> list[FittedMember]:
        return bag if self.encoding is None else encoded(bag, self.encoding)

    def _part(self, turns: Sequence[int], recipe: Recipe) -> BagTraining:
        """Training of some members by one recipe, on rows as they are."""
        return replace(
            self,
            recipes=(recipe,),
            members=tuple(self.members[k] for k in turns),
            start_from=tuple(self.start_from[k] for k in turns) if self.start_from else (),
            keep_at=tuple(self.keep_at[k] for k in turns) if self.keep_at else (),
            encoding=None,
        )

    def _in_turn(self) -> list[FittedMember]:
        """Members by several recipes."""
        n = len(self.recipes[: len(self.members)])
        found: dict[int, FittedMember] = {}
        for i, recipe in enumerate(self.recipes[:n]):
            turns = range(i, len(self.members), n)
            fitted = self._part(turns, _share_of_time(recipe, n - i)).fit()
            found.update(zip(turns, fitted, strict=True))
        return [found[k] for k in range(len(self.members))]

    def _is_refitted(self) -> bool:
        """Whether each net is to be trained again on all rows."""
        has_hold_out = self.valid is None and len(self.members[0].valid) > 0
        return self.recipes[0].refit_net and has_hold_out

    def _twice(self) -> list[FittedMember]:
        """Members trained on all rows, each up to the iteration that was best on its hold-out."""
        every, recipe = range(len(self.members)), replace(self.recipes[0], refit_net=False)
        fitted = self._part(every, _share_of_time(recipe, 2)).fit()
        everything = torch.arange(len(self.rows.x))
        rows = [replace(old.rows, train=everything, valid=everything[:0]) for old in fitted]
        last = tuple(old.best_iter for old in fitted)
        again = replace(self._part(every, recipe), members=tuple(rows), keep_at=last).fit()
        kept = [
            replace(
                new,
                history=old.history,
                best_score=old.best_score,
                rows=old.rows,
                held_out=None if old.held_out is None else replace(old.held_out, layer=None),
            )
            if len(new.history) > old.best_iter  # what was cut short is not used
            else old
            for new, old in zip(again, fitted, strict=True)
        ]
        is_mixed = any(one is old for one, old in zip(kept, fitted, strict=True))
        return regroup(kept) if is_mixed else kept

    def _why_apart(self) -> str | None:
        recipe = self.recipes[0]
        if not recipe.config.is_elementwise:
            return f"optimizer={recipe.config.optimizer!r} may mix their weights"
        if recipe.backbone.architecture is not None:
            return None
        shape = tuple(self.rows.x.shape[1:])
        own = [recipe.backbone.build(shape, [m.seed], recipe.factory) for m in self.members]
        return why_not_stacked([net.member(0).to(self.rows.x.device) for net in own], self.rows.x)

    def _groups(self) -> Iterator[tuple[Recipe, list[int]]]:
        """Members of equal sizes, in groups whose activations fit in memory, with their time."""
        recipe = self.recipes[0]
        width = recipe.backbone.width or 512
        sizes: dict[tuple[int, int], list[int]] = {}
        for k, member in enumerate(self.members):
            sizes.setdefault((len(member.train), len(member.valid)), []).append(k)
        groups: list[list[int]] = []
        for (n_train, _), group in sizes.items():
            most = max(1, _MOST_TOGETHER // (width * min(n_train, recipe.config.batch_size)))
            groups += [group[start : start + most] for start in range(0, len(group), most)]
        for i, group in enumerate(groups):
            yield _share_of_time(recipe, len(groups) - i), group

    def _apart(self) -> list[FittedMember]:
        n, recipe = len(self.members), replace(self.recipes[0], refit_net=False)

        def alone(k: int) -> FittedMember:
            n_left = n - k if effective_n_jobs() == 1 else 1
            own = self._part([k], _share_of_time(recipe, n_left))
            with one_thread():
                return own.fit()[0]

        results: list[FittedMember] = Parallel()(delayed(alone)(k) for k in range(n))
        return results

    def _threads(self, recipe: Recipe, group: list[int]) -> AbstractContextManager[None]:
        """Small nets are trained on one thread: two would mostly wait for each other."""
        n_rows = min(len(self.members[group[0]].train), recipe.config.batch_size)
        n_numbers = len(group) * n_rows * (recipe.backbone.width or 512)
        return one_thread() if n_numbers <= _MOST_ALONE else nullcontext()

    def _trainer(self, recipe: Recipe, group: list[int]) -> Trainer:
        """What trains some members as one computation."""
        chosen = [self.members[k] for k in group]
        seen = [_seen_by(recipe.config, member) for member in chosen]
        n_permutations = recipe.n_permutations if recipe.scheme == "adacap" else 0
        valid = self.valid
        external = None if valid is None else (valid.x, valid.targets, valid.weight)
        rows = self.rows
        data = TrainingData(rows.x, rows.targets, rows.weight, seen, n_permutations, external)
        if self.start_from:
            nets = gather([self.start_from[k] for k in group])
        else:
            nets = build(recipe, rows, [member.seed for member in chosen])
            if isinstance(nets.head, TikhonovHead):
                nets.head.set_lambda(start_lambda(recipe, nets, data))
        objective, config = _objective(recipe, data.seeds), recipe.config
        trainer = Trainer(nets, data, objective, config, recipe.score, self.callbacks)
        if self.keep_at:
            last = [self.keep_at[k] for k in group]
            trainer = UpTo(nets, data, objective, config, callbacks=self.callbacks, last=last)
        return trainer

    @torch.no_grad()
    def _frozen(self, recipe: Recipe, trained: Trained, group: list[int]) -> list[FittedMember]:
        """Turn solved heads into ordinary output layers, on all rows if asked to."""
        is_new = not self.start_from
        if recipe.scheme == "plain" and is_new:  # a solved head fits no worse than a constant
            warn_of_rise(trained, recipe.config.max_lr)
        nets, rows = trained.nets.eval(), self.rows
        own = Group(nets, LinearHead.of(trained.coef, trained.intercept).eval())
        found = []
        for k, member in enumerate(self.members[turn] for turn in group):
            lam = dof = left = None
            backbone = nets.backbone.member(k)
            if isinstance(nets.head, TikhonovHead):
                lam = float(nets.head.lam[k])
                index = torch.cat([member.valid, member.train])[:MOST_REFIT]
                if not recipe.refit_head:  # one minibatch, enough to read the capacity
                    index = member.train[: recipe.config.batch_size]
                hidden = outputs_of(backbone, rows.x[index])
                fit, dof, left = solve_rows(
                    hidden, rows, index, lam, fit_intercept=recipe.fit_intercept
                )
            held = held_out(recipe, rows, trained, k, member, self.valid, left, backbone)
            if lam is not None and recipe.refit_head:
                own.output.weight[k], own.output.bias[k] = fit.coef, fit.intercept
            best = trained.best_step[k], trained.best_score[k]
            history = trained.histories[k]
            found.append(FittedMember(own, k, lam, dof, history, *best, member, held, left))
        return found


def build(recipe: Recipe, rows: Rows, seeds: Sequence[int]) -> Nets:
    """Nets that have not been trained, the weights of each drawn by its seed."""
    device, n_targets = rows.x.device, rows.targets.shape[1]
    backbone = recipe.backbone.build(tuple(rows.x.shape[1:]), seeds, recipe.factory).to(device)
    width = probe(backbone, rows.x).shape[-1]
    generators = [torch.Generator().manual_seed(seed + 1) for seed in seeds]
    head: TikhonovHead | LinearHead
    if recipe.scheme == "plain":
        head = LinearHead(width, n_targets, k=len(seeds), generators=generators)
    else:
        head = TikhonovHead(fit_intercept=recipe.fit_intercept, k=len(seeds))
    nets = Nets(backbone, head.to(device, torch.float32))
    if recipe.initialise is not None:
        recipe.initialise(nets, [torch.Generator().manual_seed(seed) for seed in seeds])
    return nets


@torch.no_grad()
def probe(backbone: Backbone | Stacked, x: Tensor) -> Tensor:
    """Features ``(K, 2, J)`` of two rows, to learn J and refuse a wrong shape before training."""
    was_training = backbone.training
    backbone.eval()
    sample = x[:2]
    try:
        hidden = backbone(sample.expand(backbone.k or 1, *sample.shape))
    finally:
        backbone.train(was_training)
    if not isinstance(hidden, Tensor) or hidden.ndim != 3 or hidden.shape[1] != len(sample):
        got = tuple(hidden.shape[1:]) if isinstance(hidden, Tensor) else type(hidden).__name__
        raise ValueError(
            f"The backbone must map {len(sample)} rows to a tensor of shape ({len(sample)}, J), "
            f"got {got}. Flatten its output, for example with nn.Flatten()."
        )
    return hidden


@torch.no_grad()
def start_lambda(recipe: Recipe, nets: Nets, data: TrainingData) -> float | Tensor:
    """λ of every net on its first minibatch, by rule or as given."""
    if not isinstance(recipe.lambda_init, str | tuple):
        return float(recipe.lambda_init)
    grid, values = grids_of(recipe.lambda_init)
    batch = next(data.batches(recipe.config.batch_size))
    hidden = nets.eval().backbone(batch.x)
    if n_bad := int((~hidden.isfinite()).sum()):
        raise DivergenceError(
            f"The backbone gives {n_bad} NaN or infinite features out of {hidden.numel()} before "
            "the first step. Check its layers and the scale of what it is given."
        )
    starts = []
    for k, seed in enumerate(data.seeds):
        labels = batch.labels[k]
        if labels.shape[-2] == 1:  # the rule needs permuted labels even where training does not
            draws = torch.Generator().manual_seed(seed)
            index = draw_permutations(len(labels), max(recipe.n_permutations, 1), draws)
            labels = stack_labels(labels[:, 0], index.to(labels.device))
        starts.append(
            initial_lambda(
                hidden[k], labels, grid.to(hidden.device),
                loss=recipe.trained_loss, form=recipe.mlr_form,
                sample_weight=None if batch.weight is None else batch.weight[k],
                fit_intercept=recipe.fit_intercept,
                values=values,
            )
        )  # fmt: skip
    return torch.stack(starts)


def _seen_by(config: TrainingConfig, member: MemberRows) -> MemberRows:
    """A member with the rows that its steps can reach; the rest need not be prepared."""
    most = config.max_iter * config.batch_size
    if len(member.train) <= most:
        return member
    draw = torch.randperm(len(member.train), generator=torch.Generator().manual_seed(member.seed))
    return replace(member, train=member.train[draw[:most].sort().values])


def _objective(recipe: Recipe, seeds: Sequence[int]) -> Objective:
    if recipe.dither is None:
        return MLRObjective(recipe.trained_loss, recipe.mlr_form)
    return DitheredObjective(recipe.trained_loss, recipe.mlr_form, recipe.dither, seeds)


def _share_of_time(recipe: Recipe, n_left: int) -> Recipe:
    deadline = recipe.config.deadline
    if deadline is None:
        return recipe
    now = time.perf_counter()
    fair = now + max(deadline - now, 0.0) / n_left
    return replace(recipe, config=replace(recipe.config, deadline=fair))


def solved_share(recipe: Recipe, member: FittedMember, n_rows: int) -> float:
    """Share of all rows that the output layer of a member is solved on."""
    train_rows, valid = len(member.rows.train), len(member.rows.valid)
    n_solved = min(train_rows + valid, MOST_REFIT)
    if not recipe.refit_head:
        n_solved = train_rows + valid if recipe.refit_net else train_rows
        n_solved = min(n_solved, recipe.config.batch_size)
    return n_solved / n_rows
