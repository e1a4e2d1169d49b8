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
    LambdaInit,
    OptimizerPair,
    RandomState,
    Scheme,
)
from adacap.estimators.bounds import Errors
from adacap.estimators.calibration import (
    Reliability,
    fit_temperature,
    held_out_temperature,
    reliability,
)
from adacap.estimators.constraints import CLASSIFIER
from adacap.estimators.held_out import Evidence
from adacap.estimators.intervals import fresh_errors
from adacap.estimators.preparing import Given, Prepared
from adacap.estimators.preprocessing import Preprocessing
from adacap.estimators.presets import ADACAP_CLASSES
from adacap.estimators.quality import CLASS_NETS, CLASS_QUALITIES
from adacap.estimators.rows import weights_of_classes
from adacap.estimators.sets import SetData, class_scores, predict_set
from adacap.estimators.settings import CLASSIFICATION
from adacap.estimators.targets import ClassCodec
from adacap.training.callbacks import Callback

__all__ = ["AdaCapClassifier"]


class AdaCapClassifier(ClassifierMixin, AdaCapBase):
    """Classification on small tables by a blend of nets, trees, kernels and logistic regression.

    Members are trained in the same five folds and weighted by their out-of-fold log-loss. The nets
    are plain ones, which do better here than AdaCap, as the paper says too. The other schemes are
    there for study. Labels may be strings, two or more classes.

    Parameters come in four groups. For most users: ``quality`` to ``class_weight``. For tuning:
    ``max_iter`` to ``refit``. For research: ``n_permutations`` to ``fit_intercept``. For running:
    ``time_limit`` to ``verbose``. What ``"auto"`` resolves to depends on ``quality`` and the number
    of rows alone, so that nets that differ in ``scheme`` or ``architecture`` are trained alike;
    ``settings_`` has the values.

    Parameters
    ----------
    quality : {"auto", "fast", "balanced", "best", "nets"} or list of str, default="auto"
        What is trained. Fast, balanced and best are blends: nets, kernels, trees and ridge, trained
        in the same folds and weighted by their out-of-fold error; higher levels train more members
        for longer. ``"nets"`` is nets alone, and so is all else with fewer than 20 rows. A list
        names the members of a blend by kind and encoding: ``["kernel", "nets:bins"]``. Auto is
        balanced, or nets with ``X_val`` or any parameter that describes nets: ``architecture`` to
        ``n_estimators``, ``validation``, those for tuning and research, ``warm_start``. With a
        quality they describe the nets of its blend; those that leave no folds are refused, and so
        are parameters of nets with a quality that trains none, such as fast.
    architecture : str, Architecture, list of these or callable, default="auto"
        ``"glu"``, ``"snn"``, ``"mlp"``, ``"resblock"``, ``"fourier"``, or a name with options:
        ``Architecture("mlp", dropout=0.2, batch_norm=True)``. Auto is mlp with dropout 0.2 and
        batch norm. The members of a bag take the items of
        a list in turn. A callable gets the number of encoded columns (or the shape of one sample)
        and returns an ``nn.Module`` that maps a batch to ``(n, J)``.
    scheme : {"auto", "adacap", "adacap-gap", "tikhonov", "plain"}, default="auto"
        ``"adacap"``: closed-form output layer and MLR loss; ``"adacap-gap"``: the same with the
        absolute gap of the paper's appendix in the loss; ``"tikhonov"``: the output layer alone;
        ``"plain"``: an ordinary net. Auto is plain.
    width : int or "auto", default="auto"
        Size of the hidden layers, of named architectures. Auto is 128. This and the autos below
        are the same for nets alone and in a blend.
    depth : int, list of int or None, default=None
        Number of hidden layers or blocks; None is the default of the architecture. The members
        of a bag take the items of a list in turn.
    n_estimators : int or "auto", default="auto"
        Nets whose outputs are averaged, and folds of a blend. Auto is 5 folds, and 1 net for nets
        alone.
    preprocessing : {"default", "paper", "none"} or dict, default="default"
        How columns become numbers: a policy of :class:`TableEncoder`, or its options, such as
        ``{"read_text": False}`` for text that stays text even where it spells numbers.
    validation : {"auto", "folds"}, float or pair, default="auto"
        What each net holds out to choose its best iteration, at most 2048 rows: its own fold, or
        a share of the rows in [0, 1), drawn by its own seed. With 0 nothing is held out and the
        last iteration is kept. Auto is folds for several nets, 0.2 for one. A pair such as
        ``(0.2, "auc")`` also says what makes an iteration the best: ``"loss"``, else; ``"auc"``,
        the paper's choice; ``"r2"`` of the coded classes, that of its supplement.
    calibration_fraction : float or None, default=0.0
        Share of the rows that training never sees, to fit the temperature on. With 0 it is fitted
        on the rows held out, which costs no training. None leaves the outputs as they are.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, by which ``sample_weight`` is multiplied; balanced is in inverse
        proportion to how often a class is seen. Probabilities and sets are then those of rows in
        which classes have these weights.
    max_iter : int, str or "auto", default="auto"
        Optimiser steps, or epochs in words: ``"20 epochs"``. Auto is 200.
    max_lr : float or "auto", default="auto"
        Highest learning rate. Auto is 0.01.
    batch_size : int or "auto", default="auto"
        Rows of a step. Auto is 2048.
    optimizer : str, callable or pair, default="adamw"
        Any torch optimiser by name, or ``(param_groups, lr=...) -> Optimizer``, with the One-Cycle
        schedule. A pair ``(optimizer, scheduler)`` has another one: ``"onecycle"``, ``"cosine"``,
        ``"linear"``, ``"constant"``, ``(optimizer, n_steps) -> LRScheduler`` or None.
    weight_decay : float or "auto", default="auto"
        On the backbone, never on λ. Auto is 0.
    refit : {"auto", "net", "head", "none"}, default="auto"
        What is done on all rows, held-out ones included, at the end. ``"net"``: train again up to
        the best iteration, then solve the output layer; ``"head"``: solve the output layer, not
        available for plain nets; ``"none"``: nothing. Auto is net where at least a tenth of the
        rows is held out, unless there is a net per fold or ``warm_start=True``; else head.
    n_permutations : int, default=16
        Permuted label sets of the MLR loss, drawn once. For the adacap schemes only.
    lambda_init : float, "max_sensitivity", "published", sequence or "auto", default="auto"
        Start of λ: a number, or the paper's rule on the first minibatch, which chooses among 12
        values from 0.1 to 10⁴ or among those of a sequence; ``"published"`` is that of the code
        of 2021. Auto is the rule. Plain nets, which auto trains, have no λ.
    fit_intercept : bool, default=True
        Unpenalised intercept of the closed-form output layer; plain nets have one anyway.
    time_limit : float or None, default=None
        Seconds after which training stops; a model is returned all the same. A blend leaves out
        the last of its members when time runs short.
    warm_start : bool, default=False
        Another ``fit`` continues to train the nets of the last one, with the same encoding.
    device : str or None, default=None
        Torch device; None is a GPU if there is one.
    random_state : int, RandomState, Generator or None, default=None
        Fixes every random choice; with the same integer a fit gives the same model.
    callbacks : sequence of Callback or None, default=None
        Called during the training of nets, see :mod:`adacap.training`; a warning says so if none
        are trained.
    verbose : int or bool, default=0
        1 shows progress.

    Attributes
    ----------
    settings_ : Settings
        Every setting of the fit, with ``"auto"`` resolved. It prints.
    network_ : nn.Module
        Trained net with its output layer frozen; maps encoded rows to coded targets.
    blend_ : tuple of Part
        Members of a blend, as in :class:`AdaCapRegressor`; empty for nets alone.
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
    scheme_ : str or None
        The scheme, as in ``settings_``; None where no nets were trained.
    backbone_ : BackboneSpec, tuple of BackboneSpec or None
        One for all members, or one for each where they differ; None where no nets were trained.
    encoder_ : TableEncoder
        What happens to each column; ``encoder_.summary()`` lists it.
    capacity_ : Capacity
        What ``capacity()`` returns.
    provenance_ : Provenance
        Rows trained on, seconds, date and versions.
    background_ : Background
        What is kept of the training rows, for :meth:`explain`.
    seen_ : Seen
        Summary of the training rows that new rows are compared with, for
        :func:`adacap.drift.check_drift`.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the variation of predictions; they sum to 1.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    temperature_ : float
        What outputs are divided by before they become probabilities; above 1 where the nets were
        too sure of themselves.
    sets_ : SetData
        What :meth:`predict_set` is based on; ``sets_.describe()`` says in words what it guarantees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AdaCapClassifier(max_iter=50, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _codec = ClassCodec
    _qualities: ClassVar[Mapping[str, tuple[str, ...]]] = CLASS_QUALITIES
    _nets_in: ClassVar[Mapping[str, dict[str, Any]]] = CLASS_NETS
    _autos: ClassVar[Mapping[str, Any]] = CLASSIFICATION
    _constraints = CLASSIFIER
    _presets: ClassVar[Mapping[str, dict[str, Any]]] = ADACAP_CLASSES
    codec_: ClassCodec
    sets_: SetData

    def __init__(
        self,
        *,
        quality: str | Sequence[str] = "auto",
        architecture: ArchitectureLike = "auto",
        scheme: Literal["auto"] | Scheme = "auto",
        width: int | Literal["auto"] = "auto",
        depth: int | Sequence[int] | None = None,
        n_estimators: int | Literal["auto"] = "auto",
        preprocessing: Preprocessing = "default",
        validation: float | Literal["auto", "folds"] | Sequence[Any] = "auto",
        calibration_fraction: float | None = 0.0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        max_iter: int | str = "auto",
        max_lr: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        optimizer: OptimizerPair = "adamw",
        weight_decay: float | Literal["auto"] = "auto",
        refit: Literal["auto", "net", "head", "none"] = "auto",
        n_permutations: int = 16,
        lambda_init: LambdaInit | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        time_limit: float | None = None,
        warm_start: bool = False,
        device: str | None = None,
        random_state: RandomState = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self._keep(locals())

    @property
    def _parameters(self) -> dict[str, Any]:
        """Parameters, with the pair that ``validation`` may be taken apart."""
        told = super()._parameters
        held, rule = told["validation"], told.get("select_by", "loss")
        if isinstance(held, list | tuple):
            held, rule = held
        return {**told, "validation": held, "select_by": rule}

    def _prepare(self, given: Given, *rest: Any) -> Prepared:
        told = self._parameters.get("class_weight")
        if told is not None:
            weight = weights_of_classes(told, ClassCodec.check(given.y), given.sample_weight)
            given = given._replace(sample_weight=weight)
        return super()._prepare(given, *rest)

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

    def predict_set(
        self,
        X: Any,
        coverage: float | Sequence[float] = 0.9,
        method: Literal["auto", "cv+", "split"] = "auto",
        *,
        allow_empty: bool = False,
    ) -> npt.NDArray[np.bool_]:
        """Sets of classes that hold the class of a new row with the given probability.

        Easy rows have sets of one class, hard ones larger sets. The probability is over all rows,
        not for each class or each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        coverage : float or sequence of float, default=0.9
            1 − α, between 0 and 1.
        method : {"auto", "cv+", "split"}, default="auto"
            ``"split"``: probabilities on rows that training never saw (``calibration_fraction`` or
            :meth:`calibrate`), with a guarantee of 1 − α. ``"cv+"``: those of each row under the
            models of a fold that never saw it; 1 − 2α is guaranteed, except for what is not
            repeated in each fold. Auto is the first that the model can give.
        allow_empty : bool, default=False
            Whether a set may be empty, where no class fits. Else the class that fits best is in
            every set, and sets hold at least as often.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            In the order of ``classes_``; (n_samples, n_classes, n_coverages) for several coverages.
            With fewer rows than the coverage needs, all classes are in every set.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = AdaCapClassifier(quality=["ridge"], random_state=0).fit(X[::2], y[::2])
        >>> inside = model.predict_set(X[1::2], coverage=0.9)
        >>> bool(inside[range(75), y[1::2]].mean() >= 0.85)
        True
        """
        check_is_fitted(self)
        return predict_set(self, X, coverage, method, allow_empty=allow_empty)

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the temperature again, and use the rows for sets of method ``"split"``.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows that ``fit`` did not see.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        groups : array-like of shape (n_samples,), optional
            Groups that ``fit`` has not seen, each of which then counts once in the sets.

        Returns
        -------
        self
            Which class is predicted stays as it is.
        """
        outputs, coded, weight, keep = self._fresh(X, y, sample_weight)
        own = replace(self.codec_, temperature=self.sets_.temperature)
        errors = Errors(class_scores(own, outputs, coded), weight)
        split = fresh_errors(errors, groups, len(y), keep, self.settings_)
        self.sets_ = replace(self.sets_, split=split)
        found = fit_temperature(outputs, coded, weight)
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
        codec = replace(codec, temperature=found)
        return {"codec_": codec, "sets_": SetData.of_classes(evidence, codec)}

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
