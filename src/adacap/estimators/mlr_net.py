"""MLR-NN, the method of 2021: wide ReLU nets under the MLR loss with structured dithering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from adacap.estimators._base import (
    AdaCapBase,
    LambdaInit,
    NumberScheme,
    OptimizerPair,
    RandomState,
    Scheme,
)
from adacap.estimators.bag import FittedMember
from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.constraints import MLR_CLASSIFIER, MLR_CONSTRAINTS
from adacap.estimators.fitting import Recipe
from adacap.estimators.preprocessing import Preprocessing
from adacap.estimators.presets import MLR_CLASS_NETS, MLR_NETS
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.settings import Settings
from adacap.estimators.starts import start_named
from adacap.training.callbacks import Callback
from adacap.training.dithering import Dither

__all__ = ["PACE", "MLRNetClassifier", "MLRNetRegressor"]

PACE: dict[int, tuple[float, int]] = {
    1: (1e-2, 200),
    2: (1e-3, 200),
    3: (10**-3.5, 400),
    4: (1e-4, 400),
}
"""Learning rate and iterations by number of hidden layers; deeper nets go as four layers do."""


_AUTOS: dict[str, Any] = {
    "max_iter": lambda net: PACE[min(net.depth, max(PACE))][1],
    "max_lr": lambda net: PACE[min(net.depth, max(PACE))][0],
    "batch_size": lambda net: net.width,
}


class MLRNetBase(AdaCapBase):
    """Parameters of :class:`MLRNetRegressor` and :class:`MLRNetClassifier`, and what they mean.

    All else is that of the AdaCap estimators: the same rows, loop, heads and files.
    """

    _constraints = MLR_CONSTRAINTS
    _presets = MLR_NETS
    _fixed: ClassVar[Mapping[str, Any]] = {
        "quality": "nets",
        "architecture": "mlp",
        "weight_decay": 0.0,
        "calibration_fraction": 0.0,
        "warm_start": False,
    }

    def __init__(
        self,
        *,
        depth: int | Sequence[int] = 2,
        width: int = 1024,
        scheme: NumberScheme = "adacap-gap",
        n_estimators: int = 1,
        top: int | None = None,
        preprocessing: Preprocessing = "default",
        validation: float | Literal["folds"] = 0.2,
        max_iter: int | str = "auto",
        max_lr: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        optimizer: OptimizerPair = ("adam", "constant"),
        refit: Literal["net", "head", "none"] = "head",
        n_permutations: int = 16,
        structured_dither: float = 1.0,
        target_dither: float | Literal["auto"] = "auto",
        dither_form: Literal["halved", "fitted", "printed"] = "halved",
        lambda_init: LambdaInit = "max_sensitivity",
        fit_intercept: bool = False,
        initialization: Literal["glorot", "glorot-relu", "he", "kaiming"] = "glorot",
        time_limit: float | None = None,
        device: str | None = None,
        random_state: RandomState = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self._keep(locals())

    def _recipe(self, settings: Settings, *rest: Any) -> Recipe:
        strength = (settings.structured_dither or 0.0, settings.target_dither or 0.0)
        return replace(
            super()._recipe(settings, *rest),
            dither=Dither(*strength, self.dither_form),
            initialise=start_named(self.initialization),
        )

    def _kept(self, fitted: Sequence[FittedMember]) -> Sequence[int]:
        """The ``top`` members of the best validation scores, in their order."""
        if self.top is None:
            return super()._kept(fitted)
        ranked = sorted(range(len(fitted)), key=lambda k: -fitted[k].best_score)
        return sorted(ranked[: self.top])


class MLRNetRegressor(MLRNetBase, AdaCapRegressor):
    """Regression by MLR-NN, the form of 2021 of the method behind AdaCap.

    A wide ReLU net whose output layer is the closed-form ridge solution, trained by Adam on

        ``RMSE(Y_ε + (I−H)ξ ; HY_ε) + mean_t |RMSE(Y ; Ȳ) − RMSE(π_t(Y)_ε + (I−H)ξ_t ; Hπ_t(Y)_ε)|``

    with noise ξ and ε drawn again at each step. For use rather than study take
    :class:`adacap.AdaCapRegressor`.

    Parameters
    ----------
    depth : int or list of int, default=2
        Hidden layers; the members of a bag take a list in turn.
    width : int, default=1024
        Size J of each hidden layer.
    scheme : {"adacap-gap", "adacap", "tikhonov", "plain"}, default="adacap-gap"
        ``"adacap-gap"``: closed-form output layer and the absolute gap to permuted labels, as the
        supplement has it; ``"adacap"``: the same with the difference; ``"tikhonov"``: the output
        layer alone, as with ``n_permutations=0``; ``"plain"``: an ordinary net. Any of them with
        ``"-mse"`` at the end is trained on the mean squared error, as the code of 2021 was.
    n_estimators : int, default=1
        Nets whose outputs are averaged.
    top : int or None, default=None
        Keep only this many nets, those of the best validation scores.
    preprocessing : {"default", "paper", "none"} or dict, default="default"
        How columns become numbers: a policy of :class:`adacap.TableEncoder`, or its options,
        such as ``{"read_text": False}`` for text that stays text even where it spells numbers.
    validation : "folds" or float, default=0.2
        What each net holds out to choose its best iteration, at most 2048 rows: a share of the
        rows in [0, 1), drawn by its own seed, or its own fold.
    max_iter : int, str or "auto", default="auto"
        Optimiser steps, or epochs in words: ``"20 epochs"``. Auto is 200 for one or two hidden
        layers, 400 for more.
    max_lr : float or "auto", default="auto"
        Learning rate; auto is 1e-2, 1e-3, 10^-3.5 and 1e-4 for one to four hidden layers.
    batch_size : int or "auto", default="auto"
        Auto is the smaller of the number of rows and the width.
    optimizer : str, callable or pair, default=("adam", "constant")
        Optimiser and schedule, as in :class:`adacap.AdaCapRegressor`.
    refit : {"net", "head", "none"}, default="head"
        What is done on all rows, held-out ones included, at the end. ``"net"``: train again up to
        the best iteration, then solve the output layer; ``"head"``: solve the output layer;
        ``"none"``: nothing.
    n_permutations : int, default=16
        T, permuted label sets, drawn once.
    structured_dither : float, default=1.0
        σ of the noise ξ that enters as ``(I − H)ξ``; 0 for none.
    target_dither : float or "auto", default="auto"
        Standard deviation of the noise ε on the standardised target; auto is 0.03 for
        regression. Classes have none.
    dither_form : {"halved", "fitted", "printed"}, default="halved"
        What is compared with the labels under structured dithering: see
        :func:`adacap.core.dithered_mlr_loss`.
    lambda_init : float, "max_sensitivity", "published" or sequence, default="max_sensitivity"
        Start of λ: a number, or the paper's rule on the first minibatch, without noise, which
        chooses among 12 values from 0.1 to 10⁴ or among those of a sequence. ``"published"`` is
        that of the code of 2021: the rank of the greatest rise over 11 values, among 10.
    fit_intercept : bool, default=False
        Unpenalised intercept of the output layer.
    initialization : {"glorot", "glorot-relu", "he", "kaiming"}, default="glorot"
        Glorot-uniform weights and zero biases, the same with weights √2 times as large, those of
        He with a variance of 2/fan-in, or torch's own start, a sixth of that.
    time_limit : float or None, default=None
        Seconds after which training stops; a model is returned all the same.
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
        Every setting of the fit, with ``"auto"`` resolved. It prints.
    network_ : nn.Module
        Trained net with its output layer frozen; maps encoded rows to coded targets.
    members_ : tuple of FittedMember
        The single nets that were kept, with their own λ, history and best iteration.
    lambda_ : float or None
        λ at the best iteration, geometric mean over members; None for the plain scheme.
    effective_dof_ : float or None
        Effective degrees of freedom of the output layer, mean over members.
    history_ : History
        One record per step of the first member.
    n_iter_, best_iter_ : int
        Steps run, and the step that was kept of the first member.
    backbone_ : BackboneSpec or tuple of BackboneSpec
        One for all members, or one for each where they differ.
    encoder_ : TableEncoder
        What happens to each column.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = MLRNetRegressor(depth=1, width=256, random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.85
    True

    Its ingredients one by one, as in the ablation of the supplement:

    >>> ablation = {
    ...     "NN": MLRNetRegressor(scheme="plain", target_dither=0.0),
    ...     "+ ridge": MLRNetRegressor(n_permutations=0, structured_dither=0.0),
    ...     "+ ridge, dithering": MLRNetRegressor(n_permutations=0),
    ...     "+ ridge, permutations": MLRNetRegressor(structured_dither=0.0),
    ...     "MLR": MLRNetRegressor(),
    ... }
    """

    _autos: ClassVar[Mapping[str, Any]] = {**_AUTOS, "target_dither": 0.03}


class MLRNetClassifier(MLRNetBase, AdaCapClassifier):
    """Classification by MLR-NN: the cross-entropy of labels coded ±1, with dithered predictions.

    Two classes are what the supplement describes; more are coded one-hot, as in
    :class:`adacap.AdaCapClassifier`, with noise on the prediction in the same way.

    Parameters
    ----------
    depth : int or list of int, default=2
        Hidden layers; the members of a bag take a list in turn.
    width : int, default=1024
        Size J of each hidden layer.
    scheme : {"adacap-gap", "adacap", "tikhonov", "plain"}, default="adacap-gap"
        ``"adacap-gap"``: closed-form output layer and the absolute gap to permuted labels, as the
        supplement has it; ``"adacap"``: the same with the difference; ``"tikhonov"``: the output
        layer alone, as with ``n_permutations=0``; ``"plain"``: an ordinary net.
    n_estimators : int, default=1
        Nets whose outputs are averaged.
    top : int or None, default=None
        Keep only this many nets, those of the best validation scores.
    preprocessing : {"default", "paper", "none"} or dict, default="default"
        How columns become numbers: a policy of :class:`adacap.TableEncoder`, or its options,
        such as ``{"read_text": False}`` for text that stays text even where it spells numbers.
    validation : "folds" or float, default=0.2
        What each net holds out to choose its best iteration, at most 2048 rows: a share of the
        rows in [0, 1), drawn by its own seed, or its own fold.
    max_iter : int, str or "auto", default="auto"
        Optimiser steps, or epochs in words: ``"20 epochs"``. Auto is 200 for one or two hidden
        layers, 400 for more.
    max_lr : float or "auto", default="auto"
        Learning rate; auto is 1e-2, 1e-3, 10^-3.5 and 1e-4 for one to four hidden layers.
    batch_size : int or "auto", default="auto"
        Auto is the smaller of the number of rows and the width.
    optimizer : str, callable or pair, default=("adam", "constant")
        Optimiser and schedule, as in :class:`adacap.AdaCapRegressor`.
    refit : {"net", "head", "none"}, default="head"
        What is done on all rows, held-out ones included, at the end. ``"net"``: train again up to
        the best iteration, then solve the output layer; ``"head"``: solve the output layer;
        ``"none"``: nothing.
    select_by : {"loss", "auc", "r2"}, default="r2"
        What makes an iteration the best on the held-out rows; R² is that of the coded classes.
    n_permutations : int, default=16
        T, permuted label sets, drawn once.
    structured_dither : float, default=1.0
        σ of the noise ξ that enters as ``(I − H)ξ``; 0 for none.
    target_dither : float or "auto", default="auto"
        Standard deviation of the noise ε on the standardised target; auto is 0.03 for
        regression. Classes have none.
    dither_form : {"halved", "fitted", "printed"}, default="halved"
        What is compared with the labels under structured dithering: see
        :func:`adacap.core.dithered_mlr_loss`.
    lambda_init : float, "max_sensitivity", "published" or sequence, default="max_sensitivity"
        Start of λ: a number, or the paper's rule on the first minibatch, without noise, which
        chooses among 12 values from 0.1 to 10⁴ or among those of a sequence. ``"published"`` is
        that of the code of 2021: the rank of the greatest rise over 11 values, among 10.
    fit_intercept : bool, default=False
        Unpenalised intercept of the output layer.
    initialization : {"glorot", "glorot-relu", "he", "kaiming"}, default="glorot"
        Glorot-uniform weights and zero biases, the same with weights √2 times as large, those of
        He with a variance of 2/fan-in, or torch's own start, a sixth of that.
    time_limit : float or None, default=None
        Seconds after which training stops; a model is returned all the same.
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
        Every setting of the fit, with ``"auto"`` resolved. It prints.
    network_ : nn.Module
        Trained net with its output layer frozen; maps encoded rows to coded targets.
    members_ : tuple of FittedMember
        The single nets that were kept, with their own λ, history and best iteration.
    lambda_ : float or None
        λ at the best iteration, geometric mean over members; None for the plain scheme.
    effective_dof_ : float or None
        Effective degrees of freedom of the output layer, mean over members.
    history_ : History
        One record per step of the first member.
    n_iter_, best_iter_ : int
        Steps run, and the step that was kept of the first member.
    backbone_ : BackboneSpec or tuple of BackboneSpec
        One for all members, or one for each where they differ.
    encoder_ : TableEncoder
        What happens to each column.
    n_features_in_ : int
        Columns of ``X``.
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLRNetClassifier(depth=1, width=64, max_iter=50, random_state=0)
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _autos: ClassVar[Mapping[str, Any]] = {**_AUTOS, "target_dither": 0.0}
    _constraints = MLR_CLASSIFIER
    _presets = MLR_CLASS_NETS

    def __init__(
        self,
        *,
        depth: int | Sequence[int] = 2,
        width: int = 1024,
        scheme: Scheme = "adacap-gap",
        n_estimators: int = 1,
        top: int | None = None,
        preprocessing: Preprocessing = "default",
        validation: float | Literal["folds"] = 0.2,
        max_iter: int | str = "auto",
        max_lr: float | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        optimizer: OptimizerPair = ("adam", "constant"),
        refit: Literal["net", "head", "none"] = "head",
        select_by: Literal["loss", "auc", "r2"] = "r2",
        n_permutations: int = 16,
        structured_dither: float = 1.0,
        target_dither: float | Literal["auto"] = "auto",
        dither_form: Literal["halved", "fitted", "printed"] = "halved",
        lambda_init: LambdaInit = "max_sensitivity",
        fit_intercept: bool = False,
        initialization: Literal["glorot", "glorot-relu", "he", "kaiming"] = "glorot",
        time_limit: float | None = None,
        device: str | None = None,
        random_state: RandomState = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self._keep(locals())
