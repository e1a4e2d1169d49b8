"""What regressor and classifier share: validate, encode, build, train, freeze."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length
from torch import nn

from adacap.architectures import Architecture
from adacap.estimators._capacity_reading import read_capacity
from adacap.estimators.backbone import BackboneSpec, one_or_each
from adacap.estimators.bag import FittedMember, regroup, summary
from adacap.estimators.capacity import Capacity
from adacap.estimators.constraints import CONSTRAINTS, Constraint, check_parameters
from adacap.estimators.fitting import Recipe, Rows, fit_members
from adacap.estimators.held_out import Evidence
from adacap.estimators.inputs import (
    feature_names,
    grid_of,
    member_seeds,
    read_input,
    refuse_other_shape,
    row_weights,
)
from adacap.estimators.inspection import Inspection
from adacap.estimators.predicting import chunked_outputs
from adacap.estimators.preparing import Codec, Preparation, Samples
from adacap.estimators.preprocessing import Preprocessing
from adacap.estimators.presets import ADACAP, refuse_unknown
from adacap.estimators.provenance import Provenance
from adacap.estimators.rows import fold_rows, hold_out
from adacap.estimators.settings import (
    MOST_HELD,
    Settings,
    kinds_of_nets,
    most_nets,
    optimizer_pair,
    resolve,
)
from adacap.estimators.sklearn_callbacks import CallbackSupport, steps_for, tells_callbacks
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.estimators.telling import tell_columns, tell_doubts
from adacap.exceptions import suggest
from adacap.tables.columns import Floats
from adacap.training.callbacks import Callback, ProgressBar
from adacap.training.config import OptimizerLike, TrainingConfig
from adacap.training.data import MemberRows
from adacap.training.history import History

__all__ = ["AdaCapBase", "ArchitectureLike", "OptimizerPair", "RandomState", "Scheme"]

ArchitectureLike: TypeAlias = (
    str | Architecture | Sequence[str | Architecture] | Callable[[Any], nn.Module]
)
OptimizerPair: TypeAlias = OptimizerLike | tuple[Any, Any]
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
Scheme: TypeAlias = Literal["adacap", "adacap-gap", "tikhonov", "plain"]


class AdaCapBase(Preparation, Inspection, CallbackSupport, BaseEstimator, ABC):
    """Parameters and fitting of :class:`AdaCapRegressor` and :class:`AdaCapClassifier`.

    See there for what the parameters mean.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = CONSTRAINTS
    _presets: ClassVar[Mapping[str, dict[str, Any]]] = ADACAP
    _fixed: ClassVar[Mapping[str, Any]] = {}  # of a subclass that has fewer parameters
    _autos: ClassVar[Mapping[str, Any]]  # values or functions of a Net
    settings_: Settings

    def __init__(
        self,
        *,
        architecture: ArchitectureLike = "auto",
        scheme: Literal["auto"] | Scheme = "auto",
        width: int = 128,
        depth: int | Sequence[int] | None = None,
        n_estimators: int | Literal["auto"] = "auto",
        preprocessing: Preprocessing = "default",
        validation: float | Literal["auto", "folds"] = "auto",
        calibration_fraction: float = 0.0,
        max_iter: int | str = "auto",
        max_lr: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        optimizer: OptimizerPair = "adamw",
        weight_decay: float | Literal["auto"] = "auto",
        patience: int | None = None,
        refit: Literal["auto", "net", "head", "none"] = "auto",
        n_permutations: int = 16,
        lambda_init: float | Sequence[float] | Literal["auto", "max_sensitivity"] = "auto",
        fit_intercept: bool = True,
        time_limit: float | None = None,
        warm_start: bool = False,
        device: str | None = None,
        random_state: RandomState = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.architecture = architecture
        self.scheme = scheme
        self.width = width
        self.depth = depth
        self.n_estimators = n_estimators
        self.preprocessing = preprocessing
        self.validation = validation
        self.calibration_fraction: float | None = calibration_fraction
        self.max_iter = max_iter
        self.max_lr = max_lr
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.patience = patience
        self.refit = refit
        self.n_permutations = n_permutations
        self.lambda_init = lambda_init
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    @classmethod
    def from_preset(cls, name: str, **overrides: Any) -> Self:
        """Estimator with the parameters of a preset.

        Parameters
        ----------
        name : str
            As in :func:`adacap.make`: ``"fast"``, ``"balanced"``, or a row of the paper's table
            such as ``"adacap-snn"``.
        **overrides
            Parameters to depart from the preset.

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
        >>> AdaCapRegressor.from_preset("fast", random_state=0).max_iter
        80
        """
        if name not in cls._presets:
            raise ValueError(suggest(name, cls._presets, f"preset of {cls.__name__}"))
        refuse_unknown(cls.__name__, overrides, cls._constraints)
        preset = {key: v for key, v in cls._presets[name].items() if key in cls._constraints}
        return cls(**{**preset, **overrides})

    @property
    def _parameters(self) -> dict[str, Any]:
        """Parameters, with those that a subclass does not offer at their fixed value."""
        return {**self._fixed, **self.get_params(deep=False)}

    @tells_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
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

        Returns
        -------
        self
            Unchanged if fitting fails.
        """
        start = time.perf_counter()
        check_parameters(self)
        fitted = self._fit(X, y, sample_weight, X_val, y_val, start)
        for name in [n for n in vars(self) if n.endswith("_") and not n.endswith("__")]:
            delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, start: float
    ) -> dict[str, Any]:
        """Fitted attributes."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither.")
        told = self._parameters
        going_on = told["warm_start"] and hasattr(self, "members_")
        seeds = self.seeds_ if going_on else member_seeds(self.random_state, most_nets(self))
        data = self._prepare(X, y, sample_weight, X_val, y_val, seeds[0], going_on)
        if not going_on:
            tell_columns(data.encoder, self.verbose)
            if self.verbose:
                seen = data.samples
                is_class = isinstance(data.codec, ClassCodec)
                tell_doubts(data.encoder, seen.table, seen.y, is_class)
        external = data.valid is not None
        settings = resolve(self, data.n_rows, has_validation_rows=external)
        if going_on:
            self._refuse_other_nets(settings, data.samples.sample_shape)
        seeds = seeds[: settings.n_estimators]
        members = _member_rows(settings, data.n_rows, data.strata, seeds, external)
        n_kinds = kinds_of_nets(told["architecture"], told["depth"])
        recipes = [
            self._recipe(settings.of_net(k), data.rows, data.codec, start) for k in range(n_kinds)
        ]
        callbacks = [*(self.callbacks or ()), *steps_for(self)]
        if self.verbose:
            callbacks.append(ProgressBar(type(self).__name__, ends_with_a_line=True))
        fitted = fit_members(
            recipes,
            data.rows,
            members,
            valid=data.valid,
            callbacks=callbacks,
            start_from=self.members_ if going_on else (),
        )
        before = self.history_ if going_on else History()
        kept = self._kept(fitted)
        chosen = [fitted[k] for k in kept]
        if len(chosen) < len(fitted):
            chosen = regroup(chosen)
        evidence = Evidence(chosen, data.rows, data.valid, data.aside, going_on)
        capacity = self._read_capacity(evidence, recipes[0], data.codec, data.samples)
        codec, encoder = data.codec, data.encoder
        return {
            **summary(chosen, before),
            "settings_": settings.of_nets(kept),
            "capacity_": replace(capacity, scheme=settings.scheme),
            "provenance_": Provenance.now(data.samples.n_given, data.n_rows, start),
            "codec_": codec,
            **self._calibrated(codec, evidence),
            "encoder_": encoder,
            "seeds_": [seeds[k] for k in kept],
            "scheme_": settings.scheme,
            "backbone_": one_or_each([self._backbone_spec(settings.of_net(k)) for k in kept]),
            "sample_shape_": data.samples.sample_shape,
            "n_features_in_": len(encoder.columns_),
            **({"classes_": codec.classes} if isinstance(codec, ClassCodec) else {}),
            **({} if encoder.names_ is None else {"feature_names_in_": feature_names(encoder)}),
        }

    @abstractmethod
    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        """Fitted attributes that rest on rows the nets were not trained on."""

    def _compare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Floats, Floats, Floats | None]:
        """Outputs for X, coded y and weights, without rows of weight 0."""
        outputs, coded = self._outputs(X).astype(np.float64), self.codec_.encode(y)
        check_consistent_length(outputs, coded)
        weight = row_weights(sample_weight, len(outputs))
        if weight is None:
            return outputs, coded, None
        keep = weight > 0
        return outputs[keep], coded[keep], weight[keep]

    def _recipe(self, settings: Settings, rows: Rows, codec: Codec, start: float) -> Recipe:
        """How one kind of net is trained."""
        told = self._parameters
        optimizer, scheduler = optimizer_pair(told["optimizer"])
        limit, lam = settings.time_limit, settings.lambda_init
        config = TrainingConfig(
            max_iter=settings.max_iter,  # type: ignore[arg-type]  # of one net
            max_lr=settings.max_lr,  # type: ignore[arg-type]
            batch_size=settings.batch_size,
            optimizer=optimizer,
            scheduler=scheduler,
            weight_decay=settings.weight_decay,
            patience=settings.patience,
            deadline=None if limit is None else start + limit,
        )
        told_net = told["architecture"]
        return Recipe(
            backbone=self._backbone_spec(settings),
            factory=told_net if callable(told_net) else None,
            scheme=settings.scheme.removesuffix("-gap"),
            loss=codec.loss,
            score=codec.score(settings.select_by or "loss"),
            mlr_form="absolute_gap" if settings.scheme.endswith("-gap") else "difference",
            n_permutations=settings.n_permutations,
            lambda_init="max_sensitivity" if isinstance(lam, tuple) else lam,
            grid=grid_of(lam if isinstance(lam, tuple) else None),
            fit_intercept=settings.fit_intercept,
            refit_head=settings.refit != "none",
            refit_net=settings.refit == "net",
            config=config,
        )

    def _backbone_spec(self, settings: Settings) -> BackboneSpec:
        """Backbone of one kind of net."""
        architecture = settings.architecture
        if not isinstance(architecture, Architecture):
            return BackboneSpec.resolve(self._parameters["architecture"], width=1)
        depth: Any = settings.depth  # of one net
        return BackboneSpec.resolve(architecture, width=settings.width or 1, depth=depth)

    def _read_capacity(
        self,
        evidence: Evidence,
        recipe: Recipe,
        codec: Codec,
        samples: Samples,
    ) -> Capacity:
        scale = codec.scale if isinstance(codec, RegressionCodec) else np.ones(codec.n_targets)
        return read_capacity(
            evidence,
            recipe,
            origin=samples.origin,
            scale=scale,
            estimator=type(self).__name__,
            n_rows=samples.n_given,
            n_distinct=len(samples.origin),
        )

    def _kept(self, fitted: Sequence[FittedMember]) -> Sequence[int]:
        """Which members make up the fitted bag: all of them."""
        return range(len(fitted))

    def _refuse_other_nets(self, settings: Settings, sample_shape: tuple[int, ...] | None) -> None:
        """Refuse to go on where the parameters ask for other nets than there are."""
        refuse_other_shape("X", sample_shape, self.sample_shape_)
        for name in ("n_estimators", "scheme", "architecture", "width", "depth"):
            old, new = getattr(self.settings_, name), getattr(settings, name)
            if old != new:
                raise ValueError(
                    f"warm_start=True goes on with the nets of the last fit, so {name} cannot "
                    f"change from {old!r} to {new!r}. Set warm_start=False to start anew."
                )

    def _outputs(self, X: Any, network: nn.Module | None = None) -> npt.NDArray[np.float32]:
        """Raw outputs (n, ...) of the network or of another one."""
        table, shape = read_input(X, self.encoder_.policy)
        refuse_other_shape("X", shape, self.sample_shape_)
        encoded = self.encoder_.encode(table)
        return chunked_outputs(network or self.network_, encoded, self.sample_shape_)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the fitted estimator to one file, for :func:`adacap.load`.

        Parameters
        ----------
        path : str or path-like
            The file appears when it is complete.
        force : bool, default=False
            Replace a file that exists.

        Raises
        ------
        OutputExistsError
            If the file exists and ``force`` is not set.
        """
        from adacap.persistence import save

        save(self, path, force=force)

    def __sklearn_tags__(self) -> Tags:
        """Missing values, text and categories are welcome.

        Training is deterministic given ``random_state``.
        """
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags


def _member_rows(
    settings: Settings,
    n_rows: int,
    strata: npt.NDArray[np.intp] | None,
    seeds: list[int],
    external: bool,
) -> list[MemberRows]:
    """Rows that each net trains on and holds out."""
    if external:
        parts = [(np.arange(n_rows), np.arange(0))] * len(seeds)
    elif settings.validation == "folds":
        rng = np.random.default_rng(seeds[0])
        parts = fold_rows(n_rows, len(seeds), MOST_HELD, strata, rng)
    else:
        share = float(settings.validation)
        parts = [
            hold_out(n_rows, share, MOST_HELD, strata, np.random.default_rng(seed))
            for seed in seeds
        ]
    return [
        MemberRows(torch.from_numpy(train), torch.from_numpy(valid), seed)
        for (train, valid), seed in zip(parts, seeds, strict=True)
    ]
