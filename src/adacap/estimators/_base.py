"""What regressor and classifier share: validate, encode, build, train, freeze."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import nn

from adacap._typing import Floats, Index
from adacap.architectures import Architecture
from adacap.checkpoint import Checkpoint
from adacap.estimators._capacity_reading import read_capacity
from adacap.estimators.backbone import BackboneSpec, one_or_each
from adacap.estimators.background import Background
from adacap.estimators.bag import FittedMember, regroup, summary
from adacap.estimators.blending import Blended, NetTraining, blend_module, fit_blend
from adacap.estimators.constraints import CONSTRAINTS, Constraint, check_parameters
from adacap.estimators.dependence import (
    MOST_GROUP_FOLDS,
    dependent_hold_out,
    folds_wanted,
    split_folds,
)
from adacap.estimators.fitting import Recipe
from adacap.estimators.held_out import Evidence
from adacap.estimators.inputs import (
    feature_names,
    member_seeds,
    read_input,
    refuse_other_shape,
    row_weights,
    usual_torch,
)
from adacap.estimators.inspection import Explaining, Inspection
from adacap.estimators.predicting import chunked_outputs, refuse_non_finite
from adacap.estimators.preparing import Codec, Given, Preparation, Prepared
from adacap.estimators.presets import ADACAP, LIST, refuse_unknown, spelled_out
from adacap.estimators.provenance import Provenance, names_of_targets
from adacap.estimators.quality import NETS, QUALITIES, MemberPlan
from adacap.estimators.resuming import NO_CHECKPOINT, fingerprint, same_seeds
from adacap.estimators.rows import fold_rows, folds_as_arrays, hold_out
from adacap.estimators.seen import refuse_seen, see
from adacap.estimators.settings import (
    MOST_HELD,
    Settings,
    Share,
    kinds_of_nets,
    most_nets,
    optimizer_pair,
    resolve,
)
from adacap.estimators.sklearn_callbacks import (
    CallbackSupport,
    steps_for,
    takes_callbacks,
    told_to_callbacks,
)
from adacap.estimators.starts import start_named
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.estimators.telling import (
    doubts,
    tell_columns,
    tell_few_rows,
    tell_fewer_folds,
    tell_large,
)
from adacap.exceptions import suggest, warn_caller
from adacap.progress import Steps
from adacap.training.callbacks import Callback, ProgressBar
from adacap.training.config import OptimizerLike, TrainingConfig
from adacap.training.data import MemberRows
from adacap.training.history import History
from adacap.training.threads import after_fork

__all__ = [
    "AdaCapBase", "ArchitectureLike", "LambdaInit", "NumberScheme", "OptimizerPair", "RandomState",
    "Scheme",
]  # fmt: skip

ArchitectureLike: TypeAlias = (
    str | Architecture | Sequence[str | Architecture] | Callable[[Any], nn.Module]
)
OptimizerPair: TypeAlias = OptimizerLike | tuple[Any, Any]
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
LambdaInit: TypeAlias = float | Sequence[float] | Literal["max_sensitivity", "published"]
Scheme: TypeAlias = Literal["adacap", "adacap-gap", "tikhonov", "plain"]
NumberScheme: TypeAlias = (
    Scheme | Literal["adacap-mse", "adacap-gap-mse", "tikhonov-mse", "plain-mse"]
)


class AdaCapBase(Preparation, Inspection, Explaining, CallbackSupport, BaseEstimator, ABC):
    """Parameters and fitting of :class:`AdaCapRegressor` and :class:`AdaCapClassifier`.

    See there for what the parameters mean.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = CONSTRAINTS
    _presets: ClassVar[Mapping[str, dict[str, Any]]] = ADACAP
    _fixed: ClassVar[Mapping[str, Any]] = {}  # of a subclass that has fewer parameters
    _autos: ClassVar[Mapping[str, Any]]  # values or functions of a Net
    _qualities: ClassVar[Mapping[str, tuple[str, ...]]] = QUALITIES
    _nets_in: ClassVar[Mapping[str, dict[str, Any]]] = NETS  # autos of nets in a blend
    settings_: Settings

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of ``__init__``, its ``locals()``: it may do no more."""
        self.__dict__.update({name: v for name, v in arguments.items() if name != "self"})

    @classmethod
    def from_preset(cls, name: str, **overrides: Any) -> Self:
        """Estimator with the parameters of a preset.

        Parameters
        ----------
        name : str
            As in :func:`adacap.make`: ``"fast"``, ``"balanced"``, or a row of the paper's table
            such as ``"adacap-snn"``.
        **overrides
            Parameters that differ from the preset, and ``reading``, ``loss``, ``initialization`` as
            in :func:`adacap.make`.

        Returns
        -------
        estimator
            Not fitted.

        Raises
        ------
        ValueError
            If there is no such preset.
        TypeError
            If the estimator has no parameter of the name of an override.

        Examples
        --------
        >>> from adacap import AdaCapRegressor
        >>> AdaCapRegressor.from_preset("fast-nets", random_state=0).max_iter
        80
        """
        if name not in cls._presets:
            raise ValueError(suggest(name, cls._presets, f"preset of {cls.__name__}", LIST))
        preset = {key: v for key, v in cls._presets[name].items() if key in cls._constraints}
        defaults = {key: one.default for key, one in cls._constraints.items()}
        overrides = spelled_out(overrides, {**defaults, **preset}, cls._constraints, cls._autos)
        refuse_unknown(cls.__name__, overrides, cls._constraints)
        return cls(**{**preset, **overrides})

    @property
    def _parameters(self) -> dict[str, Any]:
        """Parameters, with those that a subclass does not offer at their fixed value."""
        return {**self._fixed, **self.get_params(deep=False)}

    @takes_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        groups: Any = None,
        time: Any = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    ) -> Self:
        """Train on a table.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            numpy, pandas, polars or arrow; numbers, booleans, text, dates and missing values. With
            ``preprocessing="none"`` also arrays of more dimensions, such as images.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Several targets are for regression only.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the row twice, 0 is the row absent. λ is per mean weight: weights are
            divided by their mean over the different rows, so their common scale plays no part.
        X_val, y_val : optional
            Rows to choose the best iteration on; then nothing is held out of ``X``.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one patient: folds, hold-outs and rows set
            aside take whole groups, and intervals hold for rows of groups that were not seen.
        time : array-like of shape (n_samples,), optional
            Numbers or dates that order the rows: what is held out comes after what was trained on,
            and intervals rest on errors on later rows. With ``groups``, on those of other groups.
        checkpoint : str, path-like or Checkpoint, optional
            File for the work done so far, written every 10 seconds and after each member of a
            blend, and removed at the end. The same call after the process was killed resumes from
            there and gives the same model, to the bit. A file of other data or settings, or one
            that is damaged, is not used, and a warning says why. Time of ``time_limit`` that was
            spent before counts.

        Returns
        -------
        self
            Unchanged if fitting fails.
        """
        start = perf_counter()
        with told_to_callbacks(self, X, y):
            check_parameters(self)
            with after_fork(torch_alone=False), usual_torch(grad=True):
                kept = Checkpoint.of(checkpoint)
                given = Given(X, y, sample_weight, X_val, y_val, groups, time)
                ready = self._ready(given, start, kept)
                if ready.settings.plan.is_blend:
                    with _progress(self, ready.settings) as progress:
                        blended = fit_blend(
                            ready.settings.members, ready.nets, progress=progress, **ready.options()
                        )
                    fitted = self._of_blend(ready, blended)
                else:
                    fitted = self._of_nets(ready, ready.nets.fit())
            for name in [n for n in vars(self) if n.endswith("_") and not n.endswith("__")]:
                delattr(self, name)
            for name, value in fitted.items():
                setattr(self, name, value)
            if kept is not None:
                kept.end()
        return self

    def _ready(self, given: Given, start: float, checkpoint: Checkpoint | None) -> _Ready:
        """All that training needs: the table read, settings resolved, rows divided."""
        if (given.X_val is None) != (given.y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither.")
        told = self._parameters
        is_warm_start = told["warm_start"] and hasattr(self, "members_")
        if is_warm_start and checkpoint is not None:
            raise ValueError(NO_CHECKPOINT)
        if is_warm_start and self.blend_:
            raise ValueError(
                "warm_start=True continues with the nets of the last fit, which was a blend of "
                f"{', '.join(part.name for part in self.blend_)}. Fit with quality='nets' first, "
                "or set warm_start=False."
            )
        most = max(most_nets(self), 0 if given.groups is None else MOST_GROUP_FOLDS)
        seeds = self.seeds_ if is_warm_start else member_seeds(self.random_state, most)
        seeds = same_seeds(self, seeds, checkpoint)
        data = self._prepare(given, seeds[0], is_warm_start)
        if not is_warm_start:
            tell_columns(data.encoder, self.verbose)
            if self.verbose:
                seen = data.samples
                is_class = isinstance(data.codec, ClassCodec)
                transform = getattr(self, "target_transform", None)
                for doubt in doubts(
                    data.encoder, seen.table, seen.y, is_class, transform=transform
                ):
                    warn_caller(doubt)
        external = data.valid is not None
        dependence = data.samples.dependence
        split, folds = None, None
        if dependence is not None:
            n_told = len(seeds) if is_warm_start else told["n_estimators"]
            is_folds = told["validation"] in ("auto", "folds") and not external
            n_folds = folds_wanted(dependence, n_told, data.n_rows) if is_folds else 0
            split, folds = split_folds(dependence, n_folds, MOST_HELD, data.strata, seeds[0])
        settings = resolve(
            self,
            data.n_rows,
            has_validation_rows=external,
            is_table=data.samples.sample_shape is None,
            split=split,
        )
        if isinstance(data.codec, RegressionCodec) and "target_transform" in told:
            settings = replace(settings, target_transform=data.codec.transform_names)
        if "quality" in told:
            tell_few_rows(told["quality"], settings, data.n_rows)
        if folds is not None and settings.validation == "folds":
            tell_fewer_folds(told["n_estimators"], settings)
        if is_warm_start:
            self._refuse_other_nets(settings, data.samples.sample_shape)
        else:
            tell_large(data.encoder, data.rows.x, settings.members)
        drawn, seeds = seeds, seeds[: settings.n_estimators]
        members = _member_rows(settings, data, seeds, folds)
        if checkpoint is not None:
            start -= checkpoint.begin(fingerprint(self, data, members), drawn)
        n_kinds = kinds_of_nets(told["architecture"], told["depth"])
        recipes = [self._recipe(settings.of_net(k), data.codec, start) for k in range(n_kinds)]
        nets = NetTraining(
            tuple(recipes),
            data.rows,
            tuple(members),
            data.valid,
            self._all_callbacks(settings.plan),
            self.members_ if is_warm_start else (),
            checkpoint,
        )
        return _Ready(given, nets, data, settings, seeds, start, is_warm_start)

    def _of_nets(self, ready: _Ready, fitted: Sequence[FittedMember]) -> dict[str, Any]:
        """Fitted attributes of nets alone."""
        data, settings, is_warm_start = ready.data, ready.settings, ready.is_warm_start
        kept = self._kept(fitted)
        chosen = [fitted[k] for k in kept]
        if len(chosen) < len(fitted):
            chosen = regroup(chosen)
        before = self.history_ if is_warm_start else History()
        evidence = Evidence(
            chosen, data.rows, data.valid, data.aside, is_warm_start, None, *data.dependences
        )
        return {
            **summary(chosen, before),
            "blend_": (),
            "settings_": settings.of_nets(kept),
            "seeds_": [ready.seeds[k] for k in kept],
            "backbone_": one_or_each([self._backbone_spec(settings.of_net(k)) for k in kept]),
            **self._findings(ready, settings, evidence),
        }

    def _of_blend(self, ready: _Ready, blended: Blended) -> dict[str, Any]:
        """Fitted attributes of a blend."""
        data, settings = ready.data, ready.settings
        shares = [(*part[:3], part.seconds) for part in (*blended.parts, *blended.left_out)]
        settings = replace(settings, blend=tuple(Share(*share) for share in shares))
        studied = blended.studied(data.rows, fit_intercept=bool(settings.fit_intercept))
        evidence = Evidence(studied, data.rows, None, data.aside, False, blended, *data.dependences)
        members = blended.members
        kinds = [self._backbone_spec(settings.of_net(k)) for k in range(settings.n_estimators)]
        if not blended.nets:  # planned members may have been too slow, or of no use
            settings, kinds = settings.without_nets(), []
        return {
            **summary(blended.nets, History()),
            **({} if blended.nets else _closed_form(studied)),
            "members_": members,
            "network_": blend_module(blended.parts),
            "blend_": blended.parts,
            "settings_": settings,
            "seeds_": [member.rows.seed for member in members],
            "backbone_": one_or_each(kinds) if kinds else None,
            **self._findings(ready, settings, evidence),
        }

    def _all_callbacks(self, plan: MemberPlan) -> tuple[Callback, ...]:
        if self.callbacks and not plan.has_nets:
            warn_caller(
                f"callbacks follow the training of nets, and quality={self.quality!r} trains "
                "none: they are not called."
            )
        own = [*(self.callbacks or ()), *steps_for(self)]
        if self.verbose and not plan.is_blend:  # which shows its members instead
            own.append(ProgressBar(type(self).__name__, leave=True))
        return tuple(own)

    def _findings(self, ready: _Ready, settings: Settings, evidence: Evidence) -> dict[str, Any]:
        """Fitted attributes of nets alone and of blends."""
        data = ready.data
        capacity = read_capacity(evidence, ready.nets.recipes[0], data, type(self).__name__)
        scheme = settings.scheme and settings.scheme.removesuffix("-mse")
        codec, encoder = _with_errors(data.codec, evidence), data.encoder
        made = Provenance.now(data.samples.n_given, data.n_rows, ready.start)
        return {
            "capacity_": replace(capacity, scheme=scheme, read_from=settings.read_from),
            "provenance_": replace(made, targets=names_of_targets(ready.given.y)),
            "codec_": codec,
            **self._calibrated(codec, evidence),
            "background_": Background.of(evidence, data.samples.sample_shape),
            "encoder_": encoder,
            "seen_": see(evidence, data),
            "scheme_": scheme,
            "sample_shape_": data.samples.sample_shape,
            "n_features_in_": len(encoder.columns_),
            **({"classes_": codec.classes} if isinstance(codec, ClassCodec) else {}),
            **({} if encoder.names_ is None else {"feature_names_in_": feature_names(encoder)}),
        }

    @abstractmethod
    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        """Fitted attributes computed on rows the nets were not trained on."""

    def _fresh(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Floats, Floats, Floats | None, Index]:
        """Outputs, coded y and weights of rows that ``fit`` did not see, and which rows count."""
        check_is_fitted(self)
        refuse_seen(self, X, y)
        outputs, coded = self._outputs(X).astype(np.float64), self.codec_.encode(y)
        check_consistent_length(outputs, coded)
        weight = row_weights(sample_weight, len(outputs))
        keep = np.arange(len(outputs)) if weight is None else np.flatnonzero(weight)
        return outputs[keep], coded[keep], None if weight is None else weight[keep], keep

    def _recipe(self, settings: Any, codec: Codec, start: float) -> Recipe:
        """How one kind of net is trained, by settings of one net."""
        told = self._parameters
        optimizer, scheduler = optimizer_pair(told["optimizer"])
        limit = settings.time_limit
        config = TrainingConfig(
            max_iter=settings.max_iter,
            max_lr=settings.max_lr,
            batch_size=settings.batch_size,
            optimizer=optimizer,
            scheduler=scheduler,
            weight_decay=settings.weight_decay,
            deadline=None if limit is None else start + limit,
        )
        told_net, backbone = told["architecture"], self._backbone_spec(settings)
        scheme = settings.scheme.removesuffix("-mse")
        return Recipe(
            backbone=backbone,
            factory=told_net if callable(told_net) else None,
            scheme=scheme.removesuffix("-gap"),
            loss=codec.loss,
            score=codec.score(settings.select_by or "loss"),
            mlr_form="absolute_gap" if scheme.endswith("-gap") else "difference",
            n_permutations=settings.n_permutations,
            lambda_init=settings.lambda_init,
            fit_intercept=settings.fit_intercept,
            refit_head=settings.refit != "none",
            refit_net=settings.refit == "net",
            config=config,
            initialise=start_named(backbone.initialization),
            objective=None if scheme == settings.scheme else "mse",
        )

    def _backbone_spec(self, settings: Settings) -> BackboneSpec:
        """Backbone of one kind of net."""
        architecture = settings.architecture
        if not isinstance(architecture, Architecture):
            return BackboneSpec.resolve(self._parameters["architecture"], width=1)
        depth: Any = settings.depth  # of one net
        return BackboneSpec.resolve(architecture, width=settings.width or 1, depth=depth)

    def _kept(self, fitted: Sequence[FittedMember]) -> Sequence[int]:
        """Which members make up the fitted bag: all of them."""
        return range(len(fitted))

    def _refuse_other_nets(self, settings: Settings, sample_shape: tuple[int, ...] | None) -> None:
        """Refuse a warm start whose parameters ask for other nets than there are."""
        refuse_other_shape("X", sample_shape, self.sample_shape_)
        for name in ("n_estimators", "scheme", "architecture", "width", "depth"):
            old, new = getattr(self.settings_, name), getattr(settings, name)
            if old != new:
                raise ValueError(
                    f"warm_start=True continues with the nets of the last fit, so {name} cannot "
                    f"change from {old!r} to {new!r}. Set warm_start=False to start over."
                )

    def _outputs(self, X: Any, network: nn.Module | None = None) -> npt.NDArray[np.float32]:
        """Raw outputs (n, ...) of the network or of another one."""
        table, shape = read_input(X, self.encoder_.policy)
        refuse_other_shape("X", shape, self.sample_shape_)
        encoded = self.encoder_.encode(table)
        outputs = chunked_outputs(network or self.network_, encoded, self.sample_shape_)
        refuse_non_finite(outputs, encoded)
        return outputs

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        key: str | bytes | None = None,
    ) -> None:
        """Write the fitted estimator to one file, for :func:`adacap.load`.

        Parameters
        ----------
        path : str or path-like
            The file appears when it is complete.
        force : bool, default=False
            Replace a file that exists.
        key : str or bytes, optional
            Sign the file with it, by HMAC-SHA256; ``adacap.load(path, key=key)`` then refuses a
            file that was changed without the key.

        Raises
        ------
        OutputExistsError
            If the file exists and ``force`` is not set.
        """
        from adacap.modelfile.saving import save

        save(self, path, force=force, key=key)

    def __sklearn_tags__(self) -> Tags:
        """Missing values, text and categories are accepted.

        Training is deterministic given ``random_state``.
        """
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags


class _Ready(NamedTuple):
    """Everything that the training of a fit starts from."""

    given: Given
    nets: NetTraining
    data: Prepared
    settings: Settings
    seeds: list[int]
    start: float  # of ``time.perf_counter``
    is_warm_start: bool

    def options(self) -> dict[str, Any]:
        """Of ``fit_blend``."""
        limit, seed = self.settings.time_limit, self.seeds[0]
        return {
            "loss": self.data.codec.loss,
            "quality": self.settings.quality,
            "seed": seed,
            "deadline": None if limit is None else self.start + limit,
            "final": _final_folds(self.settings, self.data, seed),
        }


def _with_errors(codec: Codec, evidence: Evidence) -> Codec:
    """The codec with errors out of fold, where a target is transformed."""
    if not isinstance(codec, RegressionCodec) or not codec.transforms:
        return codec
    index, outputs = evidence.outputs_held_out()
    rows = evidence.rows if evidence.valid is None else evidence.valid
    targets = rows.targets.cpu().double()[index]
    return codec.with_errors(outputs.numpy(), targets.numpy()) if len(index) else codec


def _progress(estimator: Any, settings: Settings) -> Any:
    """Progress display of the members of a blend, if requested."""
    if not estimator.verbose:
        return nullcontext()
    name, total = type(estimator).__name__, len(settings.members)
    return Steps(name, unit="members", total=total, leave=True)


def _closed_form(studied: Sequence[Any]) -> dict[str, Any]:
    """Fitted attributes that come from a kernel where there are no nets."""
    return (
        {"lambda_": one.lam, "effective_dof_": one.effective_dof}
        if (one := next(iter(studied), None))
        else {}
    )


def _member_rows(
    settings: Settings, data: Prepared, seeds: list[int], folds: Sequence[Any] | None
) -> list[MemberRows]:
    """Rows that each net trains on and holds out; ``folds`` are those of dependent rows."""
    n_rows, strata, dependence = data.n_rows, data.strata, data.samples.dependence
    draws = [np.random.default_rng(seed) for seed in seeds]
    if data.valid is not None:
        parts: Any = [(np.arange(n_rows), np.arange(0))] * len(seeds)
    elif settings.validation == "folds":
        own = folds or fold_rows(n_rows, len(seeds), MOST_HELD, strata, draws[0])
        parts = own
    else:
        share = float(settings.validation)
        if dependence is None:
            parts = [hold_out(n_rows, share, MOST_HELD, strata, rng) for rng in draws]
        else:
            parts = [dependent_hold_out(dependence, share, MOST_HELD, strata, r) for r in draws]
    return [
        MemberRows(torch.from_numpy(train), torch.from_numpy(valid), seed)
        for (train, valid), seed in zip(parts, seeds, strict=True)
    ]


def _final_folds(settings: Settings, data: Prepared, seed: int) -> torch.Tensor | None:
    """Folds of the models that predict, where others were trained on earlier rows alone."""
    if "time" not in settings.split_by:
        return None
    rng = np.random.default_rng(seed)
    folds = fold_rows(data.n_rows, settings.n_estimators, data.n_rows, data.strata, rng)
    return torch.from_numpy(folds_as_arrays(folds, data.n_rows)[0])
