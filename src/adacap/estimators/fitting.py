"""From encoded rows to trained members: train together or apart, freeze."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from joblib import Parallel, delayed, effective_n_jobs
from torch import Tensor, nn

from adacap.core.mlr import MLRForm
from adacap.estimators.building import build, probe, seeded, start_lambda
from adacap.estimators.held_out import HeldOut, LeftOut, held_out, solve_rows
from adacap.exceptions import DivergenceError
from adacap.nn.heads import TikhonovHead, linear_from
from adacap.training.callbacks import Callback, DofTrace, ProgressBar
from adacap.training.config import TrainingConfig
from adacap.training.data import MemberRows, TrainingData
from adacap.training.dithering import Dither, DitheredObjective
from adacap.training.history import History
from adacap.training.loop import Trained, train
from adacap.training.members import Members, Net, can_stack
from adacap.training.objectives import MLRObjective, Objective, PlainObjective
from adacap.training.refit import MOST_REFIT
from adacap.training.threads import in_threads, one_thread

__all__ = [
    "FittedMember",
    "Recipe",
    "Rows",
    "fit_members",
    "solved_share",
    "width_of",
]

_MOST_STACKED = 64_000_000  # hidden activations of one stacked step, in numbers
_LEAST_WORK = 16_000_000  # rows times weights of a net from which members divide among threads
_DIVERGED = "one of them diverged"


@dataclass(frozen=True)
class Rows:
    """Encoded rows on their device."""

    x: Tensor  # (n, ...)
    targets: Tensor  # (n, c)
    weight: Tensor | None  # (n,)


@dataclass(frozen=True)
class Recipe:
    """Everything that fixes how one member is trained, apart from its rows and seed."""

    make_backbone: Callable[[], nn.Module]
    scheme: str
    loss: str
    score: str
    mlr_form: MLRForm
    n_permutations: int
    lambda_init: float | str
    grid: Tensor
    fit_intercept: bool
    refit_head: bool
    refit_net: bool
    config: TrainingConfig
    dither: Dither | None = None
    initialise: Callable[[nn.Module], None] | None = None


@dataclass(frozen=True)
class FittedMember:
    """One trained net, its output layer frozen.

    ``trainable`` keeps the head as it was while training, so that training can go on.
    """

    network: nn.Sequential
    trainable: Net
    lam: float | None
    effective_dof: float | None
    history: History
    best_iter: int
    best_score: float
    rows: MemberRows
    held_out: HeldOut | None = None
    left_out: LeftOut | None = None


def fit_members(
    recipe: Recipe | Sequence[Recipe],
    rows: Rows,
    members: Sequence[MemberRows],
    *,
    valid: Rows | None = None,
    callbacks: Sequence[Callback] = (),
    n_jobs: int | None = None,
    start_from: Sequence[FittedMember] = (),
) -> list[FittedMember]:
    """Train one net per entry of ``members``.

    Members with equally many rows are trained as one computation. Where that is not possible they
    are trained one by one, each on one thread and in ``n_jobs`` processes, so that the result
    does not depend on ``n_jobs``; a warning tells why.

    With ``recipe.refit_net`` each net is then trained anew on all rows, up to the iteration that
    was best on its hold-out.

    Parameters
    ----------
    recipe : Recipe or sequence of Recipe
        Several are taken in turn: a bag of two recipes trains its odd members by one and its even
        members by the other.
    rows : Rows
    members : sequence of MemberRows
    valid : Rows, optional
        Validation rows to use in place of each member's hold-out.
    callbacks : sequence of Callback
    n_jobs : int, optional
    start_from : sequence of FittedMember
        Members to go on from instead of fresh nets.

    Returns
    -------
    list of FittedMember, in the order of ``members``
    """
    recipes = ([recipe] if isinstance(recipe, Recipe) else list(recipe))[: len(members)]
    found: dict[int, FittedMember] = {}
    for i, one in enumerate(recipes):
        turns = range(i, len(members), len(recipes))
        own = _share_of_time(one, len(recipes) - i)
        before = [start_from[k] for k in turns] if start_from else []
        chosen = [members[k] for k in turns]
        run = _Run(own, rows, valid, tuple(callbacks), n_jobs, tuple(before))
        found.update(zip(turns, _fit_alike(run, chosen), strict=True))
    return [found[k] for k in range(len(members))]


def _fit_alike(run: _Run, members: Sequence[MemberRows]) -> list[FittedMember]:
    """Train members of one recipe."""
    recipe = run.recipe
    anew = recipe.refit_net and run.valid is None and len(members[0].valid) > 0
    first = _share_of_time(recipe, 2) if anew else recipe
    fitted = replace(run, recipe=first).fit(members)
    return _train_anew(run, fitted) if anew else fitted


def _train_anew(run: _Run, fitted: list[FittedMember]) -> list[FittedMember]:
    """Train on all rows up to each member's best iteration; what was cut short is not used."""
    everything = torch.arange(len(run.rows.x))
    rows = [replace(old.rows, train=everything, valid=everything[:0]) for old in fitted]
    again = replace(run, keep_at=tuple(old.best_iter for old in fitted)).fit(rows)
    return [
        replace(
            new,
            history=old.history,
            best_score=old.best_score,
            rows=old.rows,
            held_out=None if old.held_out is None else replace(old.held_out, linear=None),
        )
        if len(new.history) > old.best_iter
        else old
        for new, old in zip(again, fitted, strict=True)
    ]


@dataclass(frozen=True)
class _Run:
    """One pass over all members: what they share while they are trained."""

    recipe: Recipe
    rows: Rows
    valid: Rows | None
    callbacks: tuple[Callback, ...]
    n_jobs: int | None
    start_from: tuple[FittedMember, ...] = ()
    keep_at: tuple[int, ...] | None = None

    def fit(self, members: Sequence[MemberRows]) -> list[FittedMember]:
        nets = [self._net(k, member) for k, member in enumerate(members)]
        reason = self._why_apart(nets)
        if reason is None:
            try:
                trained = self._stacked(nets, members)
            except DivergenceError:
                if len(nets) == 1:
                    raise
                reason = _DIVERGED
                nets = [self._net(k, member) for k, member in enumerate(members)]
        if reason is not None:
            text = f"The {len(nets)} members are trained one by one, since {reason}."
            if self.keep_at is None:
                warnings.warn(text, stacklevel=6)  # at the caller of the estimator's fit
            elif reason == _DIVERGED:  # news; any other reason was told by the first pass
                warnings.warn(text, stacklevel=7)
            trained = self._apart(nets, members)
        pairs = zip(trained, members, strict=True)
        return [
            _freeze(self.recipe, self.rows, result, member, self.valid) for result, member in pairs
        ]

    def _net(self, k: int, member: MemberRows) -> Net:
        if self.start_from:
            return copy.deepcopy(self.start_from[k].trainable)
        return build(self.recipe, self.rows, member.seed)

    def _why_apart(self, nets: list[Net]) -> str | None:
        if len(nets) == 1:
            return None
        if not self.recipe.config.is_elementwise:
            return f"the optimizer {self.recipe.config.optimizer!r} may mix their weights"
        return can_stack(nets[0], self.rows.x, *nets[1:])

    def _stacked(self, nets: list[Net], members: Sequence[MemberRows]) -> list[Trained]:
        results: dict[int, Trained] = {}
        groups = list(self._groups(nets, members))
        for i, group in enumerate(groups):
            recipe = _share_of_time(self.recipe, len(groups) - i)
            parts = self._parts(nets, members, group)
            train_part = partial(self._train, recipe, nets, members)
            with seeded(members[group[0]].seed):
                if len(parts) == 1:
                    trained = [train_part(group, self.callbacks)]
                else:  # one bar speaks for all
                    tasks = [partial(train_part, part, ()) for part in parts]
                    tasks[0] = partial(train_part, parts[0], self.callbacks)
                    trained = in_threads(tasks)
            for part, found in zip(parts, trained, strict=True):
                results.update(zip(part, found, strict=True))
        return [results[k] for k in range(len(nets))]

    def _parts(
        self, nets: list[Net], members: Sequence[MemberRows], group: list[int]
    ) -> list[list[int]]:
        """Members for each thread; all together where a thread of its own would not pay.

        It pays where arithmetic is most of a step. Then threads that wait for each other after
        every product lose to threads that do whole steps.
        """
        n_threads, net = torch.get_num_threads(), nets[group[0]]
        n_rows = min(len(members[group[0]].train), self.recipe.config.batch_size)
        work = n_rows * sum(weight.numel() for weight in net.parameters())
        own = all(isinstance(callback, ProgressBar) for callback in self.callbacks)
        pays = own and n_threads > 1 and self.rows.x.device.type == "cpu" and work >= _LEAST_WORK
        if not pays or len(group) % n_threads:
            return [group]
        size = len(group) // n_threads
        return [group[start : start + size] for start in range(0, len(group), size)]

    def _groups(self, nets: list[Net], members: Sequence[MemberRows]) -> Iterator[list[int]]:
        """Members of equal sizes, in groups whose activations fit in memory."""
        width = probe(nets[0].backbone, self.rows.x).shape[1]
        sizes: dict[tuple[int, int], list[int]] = {}
        for k, member in enumerate(members):
            sizes.setdefault((len(member.train), len(member.valid)), []).append(k)
        for (n_train, _), group in sizes.items():
            step = width * min(n_train, self.recipe.config.batch_size)
            most = max(1, _MOST_STACKED // step)
            for start in range(0, len(group), most):
                yield group[start : start + most]

    def _apart(self, nets: list[Net], members: Sequence[MemberRows]) -> list[Trained]:
        def alone(k: int) -> Trained:
            in_turn = effective_n_jobs(self.n_jobs) == 1
            recipe = _share_of_time(self.recipe, len(nets) - k if in_turn else 1)
            with one_thread(), seeded(members[k].seed):
                return self._train(recipe, nets, members, [k], self.callbacks)[0]

        every = range(len(nets))
        results: list[Trained] = Parallel(n_jobs=self.n_jobs)(delayed(alone)(k) for k in every)
        return results

    def _train(
        self,
        recipe: Recipe,
        nets: list[Net],
        members: Sequence[MemberRows],
        group: list[int],
        callbacks: tuple[Callback, ...],
    ) -> list[Trained]:
        """Train the members of one group as one computation."""
        chosen = [_seen_by(recipe.config, members[k]) for k in group]
        valid = self.valid
        data = TrainingData(
            self.rows.x,
            self.rows.targets,
            self.rows.weight,
            chosen,
            recipe.n_permutations if recipe.scheme == "adacap" else 0,
            None if valid is None else (valid.x, valid.targets, valid.weight),
        )
        stack = Members([nets[k] for k in group])
        extra: tuple[Callback, ...] = ()
        if recipe.scheme != "plain":
            extra = (DofTrace(fit_intercept=recipe.fit_intercept),)
            if not self.start_from:
                stack.set_lambda(start_lambda(recipe, stack, data, chosen))
        return train(
            stack,
            data,
            _objective(recipe, chosen),
            recipe.config,
            score=recipe.score,
            callbacks=(*extra, *callbacks),
            keep_at=None if self.keep_at is None else [self.keep_at[k] for k in group],
        )


def _seen_by(config: TrainingConfig, member: MemberRows) -> MemberRows:
    """A member with the rows that its steps can reach; of the rest nothing need be prepared."""
    most = config.max_iter * config.batch_size
    if len(member.train) <= most:
        return member
    draw = torch.randperm(len(member.train), generator=torch.Generator().manual_seed(member.seed))
    return replace(member, train=member.train[draw[:most].sort().values])


def _objective(recipe: Recipe, members: Sequence[MemberRows]) -> Objective:
    objective: MLRObjective | PlainObjective = PlainObjective(recipe.loss)
    if recipe.scheme != "plain":
        objective = MLRObjective(recipe.loss, recipe.mlr_form, recipe.fit_intercept)
    if recipe.dither is None:
        return objective
    return DitheredObjective(objective, recipe.dither, [member.seed for member in members])


def _share_of_time(recipe: Recipe, n_left: int) -> Recipe:
    deadline = recipe.config.deadline
    if deadline is None:
        return recipe
    now = time.perf_counter()
    fair = now + max(deadline - now, 0.0) / n_left
    return replace(recipe, config=replace(recipe.config, deadline=fair))


def _rows_to_solve(recipe: Recipe, member: MemberRows) -> Tensor:
    """All rows for a refit, up to a limit; else one minibatch, enough to read the capacity."""
    if recipe.refit_head:
        return torch.cat([member.valid, member.train])[:MOST_REFIT]
    return member.train[: recipe.config.batch_size]


def width_of(member: FittedMember) -> int:
    """Size J of the last hidden layer."""
    linear = member.network[-1]
    assert isinstance(linear, nn.Linear)
    return linear.in_features


def solved_share(recipe: Recipe, member: FittedMember, n_rows: int) -> float:
    """Share of all rows that the output layer of a member is solved on."""
    train, valid = len(member.rows.train), len(member.rows.valid)
    n_solved = min(train + valid, MOST_REFIT)
    if not recipe.refit_head:
        n_solved = min(train + valid if recipe.refit_net else train, recipe.config.batch_size)
    return n_solved / n_rows


@torch.no_grad()
def _freeze(
    recipe: Recipe, rows: Rows, result: Trained, member: MemberRows, valid: Rows | None = None
) -> FittedMember:
    """Turn the solved head into an ordinary linear layer, on all rows if asked to."""
    net = result.net.eval()
    lam = dof = left = None
    coef, intercept = result.coef, result.intercept
    if isinstance(net.head, TikhonovHead):
        lam = float(net.head.lam)
        fit, dof, left = solve_rows(
            net.backbone, rows, _rows_to_solve(recipe, member), lam,
            fit_intercept=recipe.fit_intercept,
        )  # fmt: skip
        if recipe.refit_head:
            coef, intercept = fit.coef, fit.intercept
    network = nn.Sequential(net.backbone, linear_from(coef, intercept)).eval()
    return FittedMember(
        network, net, lam, dof, result.history, result.best_step, result.best_score, member,
        held_out=held_out(recipe, rows, result, member, valid, left), left_out=left,
    )  # fmt: skip
