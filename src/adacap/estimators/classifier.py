"""AdaCap and plain networks for classification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from adacap.estimators._base import (
    AdaCapBase,
    ArchitectureLike,
    OptimizerPair,
    RandomState,
    Scheme,
)
from adacap.estimators.calibration import (
    Reliability,
    fit_temperature,
    held_out_temperature,
    reliability,
)
from adacap.estimators.constraints import CLASSIFIER
from adacap.estimators.held_out import Evidence
from adacap.estimators.preprocessing import Preprocessing
from adacap.estimators.settings import CLASSIFICATION
from adacap.estimators.targets import ClassCodec
from adacap.training.callbacks import Callback

__all__ = ["AdaCapClassifier"]


class AdaCapClassifier(ClassifierMixin, AdaCapBase):
    """Neural network for classification on small tables.

    The default trains a plain net, which does better here than AdaCap: the paper says so too. The
    other schemes are there for study. Labels may be strings, two or more classes.

    Parameters stand in four groups. For most users: ``architecture`` to
    ``calibration_fraction``. For tuning: ``max_iter`` to ``select_by``. For research:
    ``n_permutations`` to ``fit_intercept``. For running: ``time_limit`` to ``verbose``. What
    ``"auto"`` stands for depends on the number of rows alone, so that estimators which differ in
    ``scheme`` or ``architecture`` are trained alike; ``settings_`` has what it became.

    Parameters
    ----------
    architecture : str, Architecture, list of these or callable, default="auto"
        ``"glu"``, ``"snn"``, ``"mlp"``, ``"resblock"``, or such a name with options:
        ``Architecture("mlp", dropout=0.2, batch_norm=True)``. Auto is glu for regression, and mlp
        with dropout 0.2 and batch norm for classification. The members of a bag take the items of
        a list in turn. A callable gets the number of encoded columns (or the shape of one sample)
        and returns an ``nn.Module`` that maps a batch to ``(n, J)``.
    scheme : {"auto", "adacap", "adacap-gap", "tikhonov", "plain"}, default="auto"
        ``"adacap"``: closed-form output layer and MLR loss; ``"adacap-gap"``: the same with the
        absolute gap of the paper's appendix in the loss; ``"tikhonov"``: the output layer alone;
        ``"plain"``: an ordinary net. Auto is adacap for regression, plain for classification.
    width : int, default=128
        Size of the hidden layers, of named architectures.
    depth : int, list of int or None, default=None
        Number of hidden layers or blocks; None is the usual one of the architecture. The members
        of a bag take the items of a list in turn.
    n_estimators : int or "auto", default="auto"
        Nets whose outputs are averaged. Auto is 5 for regression (fewer below 10 rows) and
        1 for classification.
    preprocessing : {"default", "paper", "none"} or dict, default="default"
        How columns become numbers: a policy of :class:`TableEncoder`, or its options, such as
        ``{"read_text": False}`` for text that stays text even where it spells numbers.
    validation : {"auto", "folds"} or float, default="auto"
        What each net holds out to choose its best iteration, at most 2048 rows: its own fold, or
        a share of the rows in [0, 1), drawn by its own seed. With 0 nothing is held out and the
        last iteration is kept. Auto is folds for several nets, 0.2 for one.
    calibration_fraction : float or None, default=0.0
        Share of the rows that training never sees, to fit the temperature on. With 0 it is fitted
        on the rows held out, which costs no training. None leaves the outputs as they are.
    max_iter : int, str or "auto", default="auto"
        Optimiser steps, or epochs in words: ``"20 epochs"``. Auto is 130 for regression, 200 for
        classification.
    max_lr : float or "auto", default="auto"
        Highest learning rate. Auto is 0.03 for regression, 0.01 for classification.
    batch_size : int or "auto", default="auto"
        Rows of a step. Auto is 512 for regression, 2048 for classification.
    optimizer : str, callable or pair, default="adamw"
        Any torch optimiser by name, or ``(param_groups, lr=...) -> Optimizer``, with the One-Cycle
        schedule. A pair ``(optimizer, scheduler)`` has another one: ``"onecycle"``, ``"cosine"``,
        ``"linear"``, ``"constant"``, ``(optimizer, n_steps) -> LRScheduler`` or None.
    weight_decay : float or "auto", default="auto"
        On the backbone, never on λ. Auto is ``min(3, 1500 / n)`` for regression, with n rows
        that a net is trained on, and 0 for classification.
    patience : int or None, default=None
        Stop after this many steps without a better validation score.
    refit : {"auto", "net", "head", "none"}, default="auto"
        What is done on all rows, held-out ones included, at the end. ``"net"``: train again up to
        the best iteration, then solve the output layer; ``"head"``: solve the output layer;
        ``"none"``: nothing. Auto is net where at least a tenth of the rows is held out, unless
        there is a net per fold or ``warm_start=True``; else head.
    select_by : {"loss", "auc", "r2"}, default="loss"
        What makes an iteration the best on the held-out rows. AUC is the paper's choice, R² of the
        coded classes that of its supplement.
    n_permutations : int, default=16
        Permuted label sets of the MLR loss, drawn once.
    lambda_init : float, "max_sensitivity", sequence of float or "auto", default="auto"
        Start of λ: a number, or the paper's rule on the first minibatch, which chooses among 12
        values from 0.1 to 10⁴ or among those of a sequence. Auto is 3 for regression,
        the rule for classification.
    fit_intercept : bool, default=True
        Unpenalised intercept of the output layer.
    time_limit : float or None, default=None
        Seconds after which training stops; a model is returned all the same.
    warm_start : bool, default=False
        Another ``fit`` goes on training the nets of the last one, with the same encoding.
    device : str or None, default=None
        Torch device; None is a GPU if there is one.
    random_state : int, RandomState, Generator or None, default=None
        Fixes every random choice; with the same integer a fit gives the same model.
    callbacks : sequence of Callback or None, default=None
        See :mod:`adacap.training`.
    verbose : int or bool, default=0
        1 shows progress.

    Attributes
    ----------
    settings_ : Settings
        Every setting of the fit, with ``"auto"`` replaced by what it stood for. It prints.
    network_ : nn.Module
        Trained net with its output layer frozen; maps encoded rows to coded targets.
    members_ : tuple of FittedMember
        The single nets, with their own λ, history and best iteration.
    lambda_ : float or None
        λ at the best iteration, geometric mean over members; None for the plain scheme.
    effective_dof_ : float or None
        Effective degrees of freedom of the output layer, mean over members.
    history_ : History
        One record per step of the first member: losses, validation score, λ, learning rate, …
    n_iter_ : int
        Steps run.
    best_iter_ : int
        Step that was kept, of the first member.
    scheme_ : str
        The scheme, as in ``settings_``.
    backbone_ : BackboneSpec or tuple of BackboneSpec
        One for all members, or one for each where they differ.
    encoder_ : TableEncoder
        What happens to each column; ``encoder_.summary()`` lists it.
    capacity_ : Capacity
        What ``capacity()`` returns.
    provenance_ : Provenance
        Rows trained on, seconds, date and versions.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    temperature_ : float
        What outputs are divided by before they become probabilities; above 1 where the nets were
        too sure of themselves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaCapClassifier(max_iter=50, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _codec = ClassCodec
    _autos: ClassVar[Mapping[str, Any]] = CLASSIFICATION
    _constraints = CLASSIFIER
    codec_: ClassCodec

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
        calibration_fraction: float | None = 0.0,
        max_iter: int | str = "auto",
        max_lr: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        optimizer: OptimizerPair = "adamw",
        weight_decay: float | Literal["auto"] = "auto",
        patience: int | None = None,
        refit: Literal["auto", "net", "head", "none"] = "auto",
        select_by: Literal["loss", "auc", "r2"] = "loss",
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
        super().__init__(
            architecture=architecture,
            scheme=scheme,
            width=width,
            depth=depth,
            n_estimators=n_estimators,
            preprocessing=preprocessing,
            validation=validation,
            max_iter=max_iter,
            max_lr=max_lr,
            batch_size=batch_size,
            optimizer=optimizer,
            weight_decay=weight_decay,
            patience=patience,
            refit=refit,
            n_permutations=n_permutations,
            lambda_init=lambda_init,
            fit_intercept=fit_intercept,
            time_limit=time_limit,
            warm_start=warm_start,
            device=device,
            random_state=random_state,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.calibration_fraction = calibration_fraction
        self.select_by = select_by

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.codec_.probabilities(self._outputs(X))

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the temperature anew, on fresh rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows that ``fit`` did not see.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            Which class is predicted stays as it is.
        """
        check_is_fitted(self)
        found = fit_temperature(*self._compare(X, y, sample_weight))
        self.codec_ = replace(self.codec_, temperature=found)
        return self

    def reliability(
        self, X: Any, y: Any, *, n_bins: int = 10, sample_weight: Any = None
    ) -> Reliability:
        """How often predicted probabilities come true on test rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        n_bins : int, default=10
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        Reliability
            Mean predicted probability, observed share and number of rows per bin, and ``ece``; see
            :class:`~adacap.estimators.calibration.Reliability`.
        """
        shares = self.predict_proba(X)
        return reliability(
            y, shares, classes=self.classes_, n_bins=n_bins, sample_weight=sample_weight
        )

    @property
    def temperature_(self) -> float:
        """What outputs are divided by before they become probabilities."""
        return self.codec_.temperature

    def _calibrated(self, codec: Any, evidence: Evidence) -> dict[str, Any]:
        is_off = self._parameters["calibration_fraction"] is None
        found = 1.0 if is_off else held_out_temperature(evidence)
        return {"codec_": replace(codec, temperature=found)}

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels
