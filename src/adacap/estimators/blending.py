"""A blend: members of several kinds and encodings, trained in the same folds and weighed.

Every member is a model per fold that never saw the fold, so that its predictions there are honest:

- kernel, ridge and trees are trained on the rows outside the fold and nothing else;
- a net's weights too, and its output layer is solved without the fold; only its iteration is chosen
  on it. This flatters nets a little, so their errors count ``NET_OPTIMISM`` times when weights are
  found; on many rows, where a fold is large, hardly more than once, which was not measured.
  docs/DEFAULTS.md has the optimism of each kind as measured on small tables.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from adacap.checkpoint import Checkpoint
from adacap.encodings import fit_encoding
from adacap.estimators.backbone import BackboneSpec
from adacap.estimators.bag import Bag, FittedMember, encoded, regroup
from adacap.estimators.fitting import BagTraining, Recipe
from adacap.estimators.held_out import LeftOut, Rows, solve_rows
from adacap.estimators.quality import FOURIER, KINDS_OF_NETS, MANY_ROWS, OWN_LIST
from adacap.estimators.resuming import kept_member, kept_seconds
from adacap.members.blend import Floats, blend_weights, class_weights, log_loss
from adacap.members.boosting import BoostingSettings, fit_boosting
from adacap.members.fold_data import FoldData
from adacap.members.forest import fit_extra_trees, fit_hist_boosting
from adacap.members.kernel import FittedKernel, KernelSettings, fit_kernel
from adacap.members.linear import fit_linear
from adacap.nn.predictors import Blend, Encoded, Frozen
from adacap.progress import Steps
from adacap.training.data import MemberRows
from adacap.training.threads import one_thread

__all__ = [
    "Blended", "FitNets", "NetTraining", "Part", "blend_module", "fit_blend",
    "out_of_fold",
]  # fmt: skip


class FitNets(Protocol):
    """Trains a net per fold."""

    def __call__(
        self,
        kind: str,
        encoding: Encoded | None,
        turn: int,
        *,
        before: Sequence[FittedMember] = (),
        cycle: int = 0,
        folds: int | None = None,
    ) -> Sequence[FittedMember]:
        """Nets of a kind, on encoded rows, with a number that tells equal nets apart.

        ``before`` are nets to go on with, in one more cycle of the schedule; with ``folds`` there
        are nets of the first folds alone.
        """


FoldLayers = Sequence[tuple[Tensor, Tensor]]

NET_OPTIMISM = 1.08
_FLATTERED_ROWS = 40  # of many rows: share of nets' errors that is flattery, times rows; a guess
_LEAST_FACTOR = 0.01  # of the outputs of a model of classes
_VERY_MANY_ROWS = 10_000  # that larger trees can be grown on
_MOST_STUDIED = 1000  # rows that the capacity of a kernel is read on
_MOST_ALONE = 1000  # rows up to which a second thread waits as long as it computes
_MOST_OF_TIME = 0.6  # that is left, for one member
_GO_ON_WITHIN = 1.1  # error of nets that go on, over the least of the other members
_STILL_FALLS = 0.98  # error after a cycle over that before, of nets that go on
_LATE = 0.8  # share of a cycle after which a best iteration is one that still falls


@dataclass(frozen=True, eq=False)
class NetTraining(BagTraining):
    """Training of a bag of nets, alone or as members of a blend."""

    def encoded(
        self,
        kind: str,
        encoding: Encoded | None,
        turn: int,
        *,
        before: Sequence[FittedMember] = (),
        cycle: int = 0,
        folds: int | None = None,
    ) -> list[FittedMember]:
        """A bag of a kind on encoded rows, with seeds of its own; see :class:`FitNets`."""
        shift = 7919 * turn + 104729 * cycle
        members = tuple(replace(m, seed=(m.seed + shift) % 2**31) for m in self.members[:folds])
        recipes = self.recipes if kind == "nets" else (_waves(self.recipes[0]),)
        recipes = tuple(_longer(recipe, cycle) for recipe in recipes)
        own = replace(self, members=members, recipes=recipes, start_from=tuple(before))
        if encoding is None:
            return own.fit()
        rows = Rows(encoding(self.rows.x), self.rows.targets, self.rows.weight)
        return encoded(replace(own, rows=rows).fit(), encoding)


def _longer(recipe: Recipe, cycle: int) -> Recipe:
    """The recipe of a later cycle: twice as many steps as the one before, at half its rate."""
    config = recipe.config
    steps, rate = config.max_iter * 2**cycle, config.max_lr / 2**cycle
    return replace(recipe, config=replace(config, max_iter=steps, max_lr=rate))


def _waves(recipe: Recipe) -> Recipe:
    """The recipe of a bag of Fourier features, which the MLR loss keeps from memorising."""
    config = replace(recipe.config, max_iter=130, max_lr=0.2, weight_decay=0.0)
    backbone = BackboneSpec.resolve("fourier", **FOURIER)
    return replace(recipe, backbone=backbone, factory=None, lambda_init=0.3, config=config)


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


class _Trained(NamedTuple):
    part: Part
    outputs: Tensor  # (n, c), out of fold
    kernel: FittedKernel | None = None


@dataclass(frozen=True, eq=False)
class Blended:
    """A blend after training.

    Attributes
    ----------
    parts : tuple of Part
        Members of positive weight, the heaviest first.
    left_out : tuple of Part
        Members without weight, without what they had learnt.
    outputs : Tensor of shape (n, c)
        Out-of-fold outputs of the blend, float64.
    fold : Tensor of shape (n,)
        The fold that each row was held out in; -1 for none.
    nets : tuple of FittedMember
        Nets of the first member of nets, whether it has weight or not.
    final : Tensor of shape (n,) or None
        The fold that each row is left out of by the models that predict, where it is not ``fold``.
    """

    parts: tuple[Part, ...]
    left_out: tuple[Part, ...]
    outputs: Tensor
    fold: Tensor
    nets: tuple[FittedMember, ...]
    kernel: _Trained | None = None
    final: Tensor | None = None

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


def _kernel_member(one: _Trained, rows: Rows, fold: Tensor, fit_intercept: bool) -> KernelMember:
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


@dataclass(frozen=True)
class Budget:
    """How much members that are no nets may cost, by quality."""

    kernel: KernelSettings
    boosting: BoostingSettings
    n_trees: int  # of a forest, per fold
    boosted: int = 200  # trees on histograms, per fold
    nets_within: float = float("inf")  # of many rows: error of nets over the least so far
    cycles: int = 1  # of many rows: nets go on so often at most, each time twice as long


BUDGETS = {
    "fast": Budget(KernelSettings(n_steps=60, most_trained=120, most_solved=1000),
                   BoostingSettings(n_trees=100, rate=0.2), 20, 100),
    "balanced": Budget(KernelSettings(), BoostingSettings(), 40, nets_within=1.2, cycles=2),
    "best": Budget(KernelSettings(most_trained=400, most_solved=3000),
                   BoostingSettings(n_trees=600, rate=0.06), 100, 400, cycles=2),
    OWN_LIST: Budget(KernelSettings(), BoostingSettings(), 40),
}  # fmt: skip


def fit_blend(
    names: Sequence[str],
    rows: Rows,
    members: Sequence[MemberRows],
    fit_nets: FitNets,
    *,
    loss: str = "rmse",
    quality: str = "balanced",
    seed: int = 0,
    deadline: float | None = None,
    progress: Steps | None = None,
    final: Tensor | None = None,
    checkpoint: Checkpoint | None = None,
) -> Blended:
    """Train members in the same folds, and weigh them by their out-of-fold error.

    With ``final``, the folds weigh members and nothing else: those of positive weight are trained
    once more in folds of all rows. Nets are expected to see to it themselves.

    Parameters
    ----------
    names : sequence of str
        Members in order of value. When time runs out, the last ones are left out, ridge never.
    rows : Rows
    members : sequence of MemberRows
        Rows of each fold.
    fit_nets : callable
    loss : {"rmse", "bce", "ce"}
    quality : {"fast", "balanced", "best", "own"}
        How much the members may cost.
    seed : int
    deadline : float, optional
        Of ``time.perf_counter``.
    progress : Steps, optional
    final : Tensor of shape (n,), optional
        Folds of the models that predict, where those of ``members`` do not train on all rows.
    checkpoint : Checkpoint, optional
        Where members are looked for, and kept when they are done.

    Returns
    -------
    Blended
    """
    fold = torch.full((len(rows.x),), -1, dtype=torch.long)
    for k, member in enumerate(members):
        fold[member.valid] = k
    trains = None if final is None else _trained_on(members, len(fold))
    budget, k = BUDGETS[quality], len(members)
    shop = _Workshop(rows, fold, k, seed, loss, budget, fit_nets, trains, checkpoint, deadline)
    trained: list[_Trained] = []
    if deadline is not None:  # ridge regression takes next to no time: there is always a model
        names = sorted(names, key=lambda name: not name.startswith("ridge"))
    for i, name in enumerate(names):
        if trained and _is_late(deadline, trained):
            break
        if progress is not None:
            progress.update(i, text=name)
        found = shop.train(name, i, trained)
        trained += [] if found is None else [found]
    if progress is not None:
        progress.update(len(names), text="")
    blended = _weigh(trained, rows, fold, loss)
    return blended if final is None else shop.again(blended, final)


def _trained_on(members: Sequence[MemberRows], n_rows: int) -> Tensor:
    """``(k, n)``: whether each fold trains on the row."""
    found = torch.zeros(len(members), n_rows, dtype=torch.bool)
    for k, member in enumerate(members):
        found[k, member.train] = True
    return found


def _is_late(deadline: float | None, trained: Sequence[_Trained]) -> bool:
    """Whether another member as slow as the slowest would be too late."""
    if deadline is None:
        return False
    return time.perf_counter() + max(one.part.seconds for one in trained) > deadline


def _weigh(trained: Sequence[_Trained], rows: Rows, fold: Tensor, loss: str) -> Blended:
    known = fold >= 0
    targets = rows.targets.cpu().double()[known].numpy()
    outputs = np.stack([one.outputs[known].numpy() for one in trained])
    w = None if rows.weight is None else rows.weight.cpu().double()[known].numpy()
    weigh = _by_error if loss == "rmse" else _by_log_loss
    factors, shares, errors = weigh(trained, outputs, targets, w, loss)
    found = [
        one._replace(part=one.part._replace(weight=share, factor=factor, error=error))
        for one, factor, share, error in zip(trained, factors, shares, errors, strict=True)
    ]
    found.sort(key=lambda one: -one.part.weight)
    total: Any = sum(one.part.factor * one.outputs for one in found)
    first = next((one.part.nets for one in trained if one.part.nets), ())
    kernel = next((one for one in found if one.kernel is not None), None)
    return Blended(
        tuple(one.part for one in found if one.part.weight > 0),
        tuple(one.part._replace(nets=(), frozen=None) for one in found if one.part.weight == 0),
        total, fold, tuple(first), kernel,
    )  # fmt: skip


_Weighed = tuple[list[float], list[float], list[float]]  # factors, shares, errors


def _by_error(
    trained: Sequence[_Trained], outputs: Floats, targets: Floats, w: Floats | None, loss: str
) -> _Weighed:
    """Weights by squared error, in which nets are taken for a little worse than they look."""
    residuals = (outputs - targets).reshape(len(outputs), -1)
    n = len(targets)
    flattered = NET_OPTIMISM if n <= MANY_ROWS else 1 + _FLATTERED_ROWS / n
    optimism = np.array([flattered if one.part.nets else 1.0 for one in trained])
    each = None if w is None else np.repeat(w, targets.shape[1])
    weights = blend_weights(optimism[:, None] * residuals, each).tolist()
    return weights, weights, [_rmse(r**2, each) for r in residuals]


def _rmse(squares: Floats, w: Floats | None) -> float:
    return float(np.sqrt(np.average(squares, weights=w)))


def _by_log_loss(
    trained: Sequence[_Trained], outputs: Floats, targets: Floats, w: Floats | None, loss: str
) -> _Weighed:
    """Factors by log-loss; shares are those of members scaled to be as sure as they may be."""
    classes = (targets + 1) / 2 if loss == "bce" else targets
    factors = class_weights(outputs, classes, w)
    errors = [log_loss(one, classes, w) for one in outputs]
    if not factors.any():  # all are worse than to say nothing: the best says almost nothing
        factors[int(np.argmin(errors))] = _LEAST_FACTOR
    spread = factors * np.array([one.std() for one in outputs])
    spread = spread if spread.any() else factors  # where all say the same of every row
    return factors.tolist(), (spread / spread.sum()).tolist(), errors


class _Workshop:
    """Trains one member after another; rows are encoded once per encoding."""

    def __init__(
        self,
        rows: Rows,
        fold: Tensor,
        k: int,
        seed: int,
        loss: str,
        budget: Budget,
        fit_nets: FitNets,
        trains: Tensor | None = None,
        checkpoint: Checkpoint | None = None,
        deadline: float | None = None,
    ) -> None:
        self.rows, self.fold, self.k, self.seed, self.loss = rows, fold, k, seed, loss
        self.deadline = deadline
        self.budget, self.fit_nets, self.trains = budget, fit_nets, trains
        self.checkpoint, self.turn = checkpoint, ""  # what tells members of one name apart
        self.encodings: dict[str, Encoded] = {}

    def train(self, name: str, turn: int, others: Sequence[_Trained] = ()) -> _Trained | None:
        """One member by its name; None for nets that are not worth it beside the others."""
        start, key = time.perf_counter(), f"{self.turn}{turn} {name}"
        kind, _, encoding = name.partition(":")
        own = self.encoding(encoding) if encoding else None
        if kind in KINDS_OF_NETS:
            fit = partial(self.fit_nets, kind, own, turn)
            if not self._may_pay(fit, others):
                return None
            began = time.perf_counter()
            nets = self._go_on(fit(), fit, began, others)
            found = _Trained(Part(name, 0.0, 0.0, 0.0, nets=tuple(nets)), self._outputs(nets))
        else:
            found = self._frozen(name, kind, own, key)
        seconds = kept_seconds(self.checkpoint, key, time.perf_counter() - start)
        return found._replace(part=found.part._replace(seconds=seconds))

    def again(self, blended: Blended, final: Tensor) -> Blended:
        """The blend with members that are no nets trained in folds of all rows."""
        self.fold, self.trains, self.turn = final, None, "again "
        parts, kernel = [], None
        for part in blended.parts:
            if part.frozen is not None:
                own = self.train(part.name, 0)
                assert own is not None
                seconds = part.seconds + own.part.seconds
                part = part._replace(frozen=own.part.frozen, seconds=seconds)
                kernel = kernel or (own._replace(part=part) if own.kernel else None)
            parts.append(part)
        kernel = kernel or blended.kernel
        return replace(blended, parts=tuple(parts), kernel=kernel, final=final)

    def encoding(self, name: str) -> Encoded:
        """An encoding of the rows, fitted when it is first asked for."""
        if name not in self.encodings:
            weight = None if self.rows.weight is None else self.rows.weight.cpu().numpy()
            fitted = fit_encoding(name, self.rows.x.cpu().numpy(), weight)
            self.encodings[name] = Encoded(fitted).to(self.rows.x.device)
        return self.encodings[name]

    def _may_pay(self, fit: Callable[..., Any], others: Sequence[_Trained]) -> bool:
        """Whether nets are worth their time: of many rows, by the net of the first fold.

        Its error is compared with what the other members reach on that fold.
        """
        within = self.budget.nets_within
        if not self.has_many_rows or not others or math.isinf(within):
            return True
        first = fit(folds=1)
        return self._error_of(first) <= within * self._least(others, first)

    def _go_on(
        self,
        nets: Sequence[FittedMember],
        fit: Callable[..., Any],
        start: float,
        others: Sequence[_Trained],
    ) -> Sequence[FittedMember]:
        """The same nets; of many rows after more cycles of the schedule, while they learn."""
        if not self.has_many_rows:
            return nets
        most = _GO_ON_WITHIN * self._least(others, nets) if others else math.inf
        falls = _ended_late(nets)
        for cycle in range(1, self.budget.cycles):
            now, before = time.perf_counter(), self._error_of(nets)
            end = now + 2 * (now - start)  # a cycle takes twice as long as the one before
            is_late = self.deadline is not None and end > self.deadline
            if not falls or before > most or is_late:
                break
            nets, start = _better(nets, fit(before=nets, cycle=cycle)), now
            falls = self._error_of(nets) < _STILL_FALLS * before
        return nets

    @property
    def has_many_rows(self) -> bool:
        """Whether nets are trained as on many rows."""
        return len(self.fold) > MANY_ROWS and self.loss == "rmse"

    def _outputs(self, nets: Sequence[FittedMember]) -> Tensor:
        """Out-of-fold outputs; the target itself for rows of no fold."""
        outputs = self.rows.targets.cpu().double().clone()
        for net in nets:
            assert net.held_out is not None
            outputs[net.rows.valid] = net.held_out.outputs.cpu().double()
        return outputs

    def _error_of(self, nets: Sequence[FittedMember]) -> float:
        """Root mean squared error of nets on the rows that they held out."""
        return self._error(self._outputs(nets), nets)

    def _least(self, others: Sequence[_Trained], nets: Sequence[FittedMember]) -> float:
        """The least error of other members on the same rows."""
        return min(self._error(one.outputs, nets) for one in others)

    def _error(self, outputs: Tensor, nets: Sequence[FittedMember]) -> float:
        rows = torch.cat([net.rows.valid for net in nets])
        squares = (outputs - self.rows.targets.cpu().double())[rows].square().mean(1).numpy()
        weight = self.rows.weight
        return _rmse(squares, None if weight is None else weight.cpu().double()[rows].numpy())

    def _frozen(self, name: str, kind: str, encoding: Encoded | None, key: str) -> _Trained:
        x = self.rows.x if encoding is None else encoding(self.rows.x)
        rows, fold = self.rows, self.fold.to(x.device)
        trains = None if self.trains is None else self.trains.to(x.device)
        data = FoldData(
            x, rows.targets, rows.weight, fold, self.k, self.seed, self.loss, trains,
            self._own_deadline(),
        )  # fmt: skip
        with one_thread() if len(x) <= _MOST_ALONE else nullcontext():
            sizes = {"k": self.k, "d_in": x.shape[1], "n_out": rows.targets.shape[1]}
            found = kept_member(
                self.checkpoint, key, lambda: self._fit(kind, data), sizes, x.device
            )
            kernel = found if isinstance(found, FittedKernel) else None
            predictor, arrays = found[:2]
            frozen = Frozen(predictor, arrays, encoding).to(x.device).eval()
            outputs = out_of_fold(frozen, self.rows.x, self.fold, self.k)
        return _Trained(Part(name, 0.0, 0.0, 0.0, frozen=frozen), outputs, kernel)

    def _own_deadline(self) -> float | None:
        """Of one member: others, and what is left to do after them, need time too."""
        if self.deadline is None:
            return None
        now = time.perf_counter()
        return now + _MOST_OF_TIME * (self.deadline - now)

    def _fit(self, kind: str, data: FoldData) -> Any:
        if kind == "kernel":
            return fit_kernel(data, self.budget.kernel)
        if kind == "ridge":
            return fit_linear(data)
        if kind == "trees":
            if data.n_rows <= MANY_ROWS:
                return fit_extra_trees(data, n_trees=self.budget.n_trees)
            return fit_extra_trees(
                data, n_trees=self.budget.n_trees // 2 + 10, max_features=0.7, min_samples_leaf=3
            )
        if data.n_rows > MANY_ROWS:
            many = data.n_rows > _VERY_MANY_ROWS
            options: Any = {"rate": 0.1, "max_leaf_nodes": 63} if many else {}
            return fit_hist_boosting(data, n_trees=self.budget.boosted * (1 + many), **options)
        return fit_boosting(data, self.budget.boosting)


def _ended_late(nets: Sequence[FittedMember]) -> bool:
    """Whether half of the nets were best near the end of their training."""
    late = [net.best_iter >= _LATE * (len(net.history) - 1) for net in nets]
    return 2 * sum(late) >= len(late)


def _better(
    before: Sequence[FittedMember], after: Sequence[FittedMember]
) -> Sequence[FittedMember]:
    """Of every net the better one, with the history of all cycles."""
    found = []
    for old, new in zip(before, after, strict=True):
        history = old.history + new.history
        if new.best_score > old.best_score:
            best = len(old.history) + new.best_iter
            found.append(replace(new, history=history, best_iter=best, rows=old.rows))
        else:
            found.append(replace(old, history=history))
    return regroup(found)


@torch.inference_mode()
def out_of_fold(frozen: Frozen, x: Tensor, fold: Tensor, k: int, chunk: int = 1024) -> Tensor:
    """Output for each row by the model of its fold; 0 for rows in none."""
    found = torch.zeros(len(x), frozen.predictor.n_out, dtype=torch.float64)
    for i in range(k):
        own = frozen.fold(i)
        for rows in (fold == i).nonzero()[:, 0].split(chunk):
            found[rows] = own.each(x[rows])[0].cpu().double()
    return found.clone()
