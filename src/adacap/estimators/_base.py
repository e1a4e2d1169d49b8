"""What regressor and classifier share: validate, encode, build, train, freeze."""

from __future__ import annotations

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length
from torch import nn

from adacap.estimators._capacity_reading import read_capacity
from adacap.estimators._checks import check_parameters
from adacap.estimators.backbone import BackboneSpec, one_or_each
from adacap.estimators.capacity import Capacity
from adacap.estimators.ensemble import summary
from adacap.estimators.fitting import FittedMember, Recipe, Rows, fit_members
from adacap.estimators.held_out import Evidence
from adacap.estimators.inputs import (
    decay_of,
    feature_names,
    grid_of,
    is_list,
    member_seeds,
    read_input,
    refuse_other_shape,
    row_weights,
)
from adacap.estimators.inspection import Inspection
from adacap.estimators.predicting import chunked_outputs
from adacap.estimators.preparing import Codec, Preparation, Samples
from adacap.estimators.provenance import Provenance
from adacap.estimators.rows import fold_rows, hold_out
from adacap.estimators.settings import ONE_NET, has_folds, members_of, setting_of
from adacap.estimators.sklearn_callbacks import CallbackSupport, steps_for, tells_callbacks
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.tables.columns import Floats
from adacap.training.callbacks import Callback, ProgressBar
from adacap.training.config import OptimizerLike, SchedulerLike, TrainingConfig
from adacap.training.data import MemberRows
from adacap.training.history import History

__all__ = ["AdaCapBase"]

_MOST_HELD = 2048  # rows that choose an iteration; more do not choose better


class AdaCapBase(Preparation, Inspection, CallbackSupport, BaseEstimator, ABC):
    """Parameters and fitting of :class:`AdaCapRegressor` and :class:`AdaCapClassifier`.

    See there for what the parameters mean.
    """

    _auto_scheme: str
    _auto_architecture: str

    def __init__(
        self,
        *,
        architecture: str | Sequence[str] | Callable[[Any], nn.Module] = "auto",
        scheme: Literal["auto", "adacap", "tikhonov", "plain"] = "auto",
        width: int = 128,
        depth: int | Sequence[int] | None = None,
        n_permutations: int = 16,
        mlr_form: Literal["difference", "absolute_gap"] = "difference",
        lambda_init: float | Literal["auto", "max_sensitivity"] = "auto",
        lambda_grid: tuple[float, float, int] | Sequence[float] | None = None,
        fit_intercept: bool = True,
        max_iter: int | Literal["auto"] = "auto",
        max_epochs: int | None = None,
        max_lr: float | Literal["auto"] = "auto",
        optimizer: OptimizerLike = "adamw",
        scheduler: SchedulerLike = "onecycle",
        weight_decay: float | Literal["auto"] = "auto",
        dropout: float | Literal["auto"] = "auto",
        batch_norm: bool | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        validation_fraction: float = 0.2,
        calibration_fraction: float = 0.0,
        temperature: float | Literal["auto"] = "auto",
        select_by: Literal["loss", "auc", "r2"] = "loss",
        patience: int | None = None,
        refit_head: bool = True,
        refit_net: bool | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        bagging: Literal["auto", "seeds", "folds"] = "auto",
        preprocessing: Literal["default", "paper", "none"] = "default",
        n_jobs: int | None = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        device: str | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.architecture = architecture
        self.scheme = scheme
        self.width = width
        self.depth = depth
        self.n_permutations = n_permutations
        self.mlr_form = mlr_form
        self.lambda_init = lambda_init
        self.lambda_grid = lambda_grid
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.max_epochs = max_epochs
        self.max_lr = max_lr
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_norm = batch_norm
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.calibration_fraction = calibration_fraction
        self.temperature = temperature
        self.select_by = select_by
        self.patience = patience
        self.refit_head = refit_head
        self.refit_net = refit_net
        self.n_estimators = n_estimators
        self.bagging = bagging
        self.preprocessing = preprocessing
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.device = device
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

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
            A weight of 2 is the row twice, 0 is the row absent.
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
        going_on = self.warm_start and hasattr(self, "members_")
        most = setting_of(self, "n_estimators")
        seeds = self.seeds_ if going_on else member_seeds(self.random_state, most)
        data = self._prepare(X, y, sample_weight, X_val, y_val, seeds[0], going_on)
        seeds = seeds if going_on else seeds[: members_of(self, data.n_rows)]
        members = self._member_rows(data.n_rows, data.strata, seeds, data.valid is not None)
        scheme = self._auto_scheme if self.scheme == "auto" else self.scheme
        turns = self._backbones(scheme, len(members))
        backbones = [turns[k % len(turns)] for k in range(len(members))]
        if going_on:
            self._refuse_other_nets(scheme, one_or_each(backbones), data.samples.sample_shape)
        recipes = [
            self._recipe(data.rows, members, data.codec, scheme, spec, start) for spec in turns
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
            n_jobs=self.n_jobs,
            start_from=self.members_ if going_on else (),
        )
        before = self.history_ if going_on else History()
        kept = self._kept(fitted)
        chosen = [fitted[k] for k in kept]
        evidence = Evidence(chosen, data.rows, data.valid, data.aside, going_on)
        codec, encoder = data.codec, data.encoder
        return {
            **summary(chosen, before),
            "capacity_": self._read_capacity(evidence, recipes[0], codec, data.samples),
            "provenance_": Provenance.now(data.samples.n_given, data.n_rows, start),
            "codec_": codec,
            **self._calibrated(codec, evidence),
            "encoder_": encoder,
            "seeds_": [seeds[k] for k in kept],
            "scheme_": scheme,
            "backbone_": one_or_each([backbones[k] for k in kept]),
            "sample_shape_": data.samples.sample_shape,
            "n_features_in_": len(encoder.columns_),
            **({"classes_": codec.classes} if isinstance(codec, ClassCodec) else {}),
            **({} if encoder.names_ is None else {"feature_names_in_": feature_names(encoder)}),
        }

    @property
    def _auto(self) -> Mapping[str, Any]:
        """What "auto" stands for; None where another method decides."""
        return ONE_NET

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

    def _member_rows(
        self,
        n_rows: int,
        strata: npt.NDArray[np.intp] | None,
        seeds: list[int],
        external: bool,
    ) -> list[MemberRows]:
        everything = (np.arange(n_rows), np.arange(0))
        if external:
            parts = [everything] * len(seeds)
        elif has_folds(self, len(seeds)):
            rng = np.random.default_rng(seeds[0])
            parts = fold_rows(n_rows, len(seeds), _MOST_HELD, strata, rng)
        else:
            parts = [
                hold_out(
                    n_rows,
                    self.validation_fraction,
                    _MOST_HELD,
                    strata,
                    np.random.default_rng(seed),
                )
                for seed in seeds
            ]
        return [
            MemberRows(torch.from_numpy(train), torch.from_numpy(valid), seed)
            for (train, valid), seed in zip(parts, seeds, strict=True)
        ]

    def _recipe(
        self,
        rows: Rows,
        members: list[MemberRows],
        codec: Codec,
        scheme: str,
        backbone: BackboneSpec,
        start: float,
    ) -> Recipe:
        n_train = max(len(member.train) for member in members)
        config = TrainingConfig(
            **self._pace(backbone, n_train),
            optimizer=self.optimizer,
            scheduler=self.scheduler,
            weight_decay=decay_of(self.weight_decay, scheme, n_train),
            patience=self.patience,
            deadline=None if self.time_limit is None else start + self.time_limit,
        )
        shape = tuple(rows.x.shape[1:])
        factory = self.architecture if callable(self.architecture) else None
        return Recipe(
            make_backbone=lambda: backbone.build(shape, factory),
            scheme=scheme,
            loss=codec.loss,
            score=codec.score(self.select_by),
            mlr_form=self.mlr_form,
            n_permutations=self.n_permutations,
            lambda_init=setting_of(self, "lambda_init"),
            grid=grid_of(self.lambda_grid),
            fit_intercept=self.fit_intercept,
            refit_head=self.refit_head,
            refit_net=self._refits_net(members),
            config=config,
        )

    def _pace(self, backbone: BackboneSpec, n_train: int) -> dict[str, Any]:
        """Steps, learning rate and batch size for nets of this backbone."""
        pace = {name: setting_of(self, name) for name in ("max_iter", "max_lr", "batch_size")}
        if self.max_epochs is not None:
            pace["max_iter"] = self.max_epochs * max(1, n_train // pace["batch_size"])
        return pace

    def _check_more(self) -> None:
        """Refuse parameters that only a subclass has."""

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

    def _refits_net(self, members: list[MemberRows]) -> bool:
        """Whether to train anew on all rows; pointless where few are held out."""
        if self.refit_net != "auto":
            return bool(self.refit_net)
        held = len(members[0].valid)
        enough = held >= 0.1 * (held + len(members[0].train))
        return enough and not has_folds(self, len(members)) and not self.warm_start

    def _backbones(self, scheme: str, n_members: int) -> list[BackboneSpec]:
        """The backbones that members take in turn; one, unless a list is given."""
        names: Any = self.architecture if is_list(self.architecture) else [self.architecture]
        depths: Any = self.depth if is_list(self.depth) else [self.depth]
        n_turns = math.lcm(len(names), len(depths))
        if n_turns > n_members:
            raise ValueError(
                f"architecture={self.architecture!r} and depth={self.depth!r} make {n_turns} "
                f"kinds of nets, which needs n_estimators of at least {n_turns}, got "
                f"{n_members}."
            )
        turns = range(n_turns)
        return [
            self._backbone_spec(scheme, names[k % len(names)], depths[k % len(depths)])
            for k in turns
        ]

    def _backbone_spec(
        self, scheme: str, architecture: str | Callable[[Any], nn.Module], depth: int | None
    ) -> BackboneSpec:
        plain = scheme == "plain"
        spec = BackboneSpec.resolve(
            self._auto_architecture if architecture == "auto" else architecture,
            width=self.width,
            depth=depth,
            dropout=(0.2 if plain else 0.0) if self.dropout == "auto" else self.dropout,
            batch_norm=plain if self.batch_norm == "auto" else self.batch_norm,
        )
        if spec.batch_norm and setting_of(self, "batch_size") == 1:
            raise ValueError("batch_norm needs a batch_size of at least 2, got batch_size=1.")
        return spec

    def _refuse_other_nets(
        self,
        scheme: str,
        backbone: BackboneSpec | tuple[BackboneSpec, ...],
        sample_shape: tuple[int, ...] | None,
    ) -> None:
        """Refuse to go on where the parameters ask for other nets than there are."""
        refuse_other_shape("X", sample_shape, self.sample_shape_)
        n_before = len(self.members_)
        n_now = n_before if self.n_estimators == "auto" else self.n_estimators
        for name, old, new in (
            ("n_estimators", n_before, n_now),
            ("scheme", self.scheme_, scheme),
            ("the backbone", self.backbone_, backbone),
        ):
            if old != new:
                raise ValueError(
                    f"warm_start=True goes on with the nets of the last fit, so {name} cannot "
                    f"change from {old!r} to {new!r}. Set warm_start=False to start anew."
                )

    def _outputs(self, X: Any, network: nn.Module | None = None) -> npt.NDArray[np.float32]:
        """Raw outputs (n, ...) of the network or of another one."""
        table, shape = read_input(X, self.encoder_.policy)
        refuse_other_shape("X", shape, self.sample_shape_)
        encoded = self.encoder_.transform(table)
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
        """Missing values, text and categories are welcome; training is random."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags
