"""MLR-NN, the method of 2021: wide ReLU nets under the MLR loss with structured dithering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Literal

import numpy as np
from torch import nn

from adacap.estimators._base import AdaCapBase
from adacap.estimators._checks import _at_least, _is_real, _one_of
from adacap.estimators._mlr_docs import documented
from adacap.estimators.backbone import BackboneSpec
from adacap.estimators.classifier import AdaCapClassifier
from adacap.estimators.fitting import FittedMember, Recipe
from adacap.estimators.regressor import AdaCapRegressor
from adacap.estimators.settings import setting_of
from adacap.nn.initialisation import glorot_uniform
from adacap.training.callbacks import Callback
from adacap.training.config import OptimizerLike, SchedulerLike
from adacap.training.dithering import Dither

__all__ = ["PACE", "MLRNetClassifier", "MLRNetRegressor"]

PACE: dict[int, tuple[float, int]] = {
    1: (1e-2, 200),
    2: (1e-3, 200),
    3: (10**-3.5, 400),
    4: (1e-4, 400),
}
"""Learning rate and iterations by number of hidden layers; deeper nets go as four layers do."""


_STARTS: dict[str, Callable[[nn.Module], None] | None] = {
    "glorot": glorot_uniform,
    "glorot-relu": partial(glorot_uniform, gain=2**0.5),
    "kaiming": None,  # as torch starts
}


class MLRNetBase(AdaCapBase):
    """Parameters of :class:`MLRNetRegressor` and :class:`MLRNetClassifier`, and what they mean.

    All else is that of the AdaCap estimators: the same rows, loop, heads and files.
    """

    _auto_target_dither: float

    def __init__(
        self,
        *,
        depth: int | Sequence[int] = 2,
        width: int = 1024,
        scheme: Literal["adacap", "tikhonov", "plain"] = "adacap",
        n_permutations: int = 16,
        structured_dither: float = 1.0,
        target_dither: float | Literal["auto"] = "auto",
        mlr_form: Literal["difference", "absolute_gap"] = "absolute_gap",
        dither_form: Literal["halved", "fitted", "printed"] = "halved",
        lambda_init: float | Literal["max_sensitivity"] = "max_sensitivity",
        lambda_grid: tuple[float, float, int] | Sequence[float] | None = None,
        fit_intercept: bool = False,
        initialization: Literal["glorot", "glorot-relu", "kaiming"] = "glorot",
        max_iter: int | Literal["auto"] = "auto",
        max_lr: float | Literal["auto"] = "auto",
        optimizer: OptimizerLike = "adam",
        scheduler: SchedulerLike = "constant",
        weight_decay: float = 0.0,
        batch_size: int | Literal["auto"] = "auto",
        validation_fraction: float = 0.2,
        select_by: Literal["loss", "auc", "r2"] = "r2",
        refit_head: bool = True,
        refit_net: bool = False,
        n_estimators: int = 1,
        top: int | None = None,
        preprocessing: Literal["default", "paper", "none"] = "default",
        read_text: bool | str = True,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        device: str | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(
            architecture="mlp", scheme=scheme, width=width, depth=depth,
            n_permutations=n_permutations, mlr_form=mlr_form, lambda_init=lambda_init,
            lambda_grid=lambda_grid, fit_intercept=fit_intercept, optimizer=optimizer,
            scheduler=scheduler, weight_decay=weight_decay, dropout=0.0, batch_norm=False,
            validation_fraction=validation_fraction, select_by=select_by, refit_head=refit_head,
            refit_net=refit_net, n_estimators=n_estimators, preprocessing=preprocessing,
            read_text=read_text, n_jobs=n_jobs, time_limit=time_limit, device=device,
            random_state=random_state, callbacks=callbacks, verbose=verbose,
        )  # fmt: skip
        self.max_iter = max_iter
        self.max_lr = max_lr
        self.batch_size = batch_size
        self.structured_dither = structured_dither
        self.target_dither = target_dither
        self.dither_form = dither_form
        self.initialization = initialization
        self.top = top

    def _check_more(self) -> None:
        _one_of("initialization", self.initialization, tuple(_STARTS))
        _one_of("dither_form", self.dither_form, ("halved", "fitted", "printed"))
        for name, value in (
            ("structured_dither", self.structured_dither),
            ("target_dither", self._target_dither()),
        ):
            if not (_is_real(value) and 0 <= value < inf):
                extra = " or 'auto'" if name == "target_dither" else ""
                raise ValueError(f"{name} must be 0 or more{extra}, got {value!r}.")
        if self.top is not None:
            _at_least("top", self.top, 1)
            if self.top > setting_of(self, "n_estimators"):
                raise ValueError(
                    f"top must be at most n_estimators={self.n_estimators}, got {self.top}."
                )

    @property
    def _auto(self) -> Mapping[str, Any]:
        """By depth and width, in :meth:`_pace`."""
        return {"bagging": "seeds", "max_iter": None, "max_lr": None, "batch_size": None}

    def _target_dither(self) -> Any:
        return self._auto_target_dither if self.target_dither == "auto" else self.target_dither

    def _pace(self, backbone: BackboneSpec, n_train: int) -> dict[str, Any]:
        """Learning rate and iterations by depth, batches of min(n, J) rows."""
        max_lr, max_iter = PACE[min(backbone.depth or 1, max(PACE))]
        return {
            "max_iter": max_iter if self.max_iter == "auto" else self.max_iter,
            "max_lr": max_lr if self.max_lr == "auto" else self.max_lr,
            "batch_size": self.width if self.batch_size == "auto" else self.batch_size,
        }

    def _recipe(self, *args: Any) -> Recipe:
        return replace(
            super()._recipe(*args),
            dither=Dither(self.structured_dither, self._target_dither(), self.dither_form),
            initialise=_STARTS[self.initialization],
        )

    def _kept(self, fitted: Sequence[FittedMember]) -> Sequence[int]:
        """The ``top`` members of the best validation scores, in their order."""
        if self.top is None:
            return super()._kept(fitted)
        ranked = sorted(range(len(fitted)), key=lambda k: -fitted[k].best_score)
        return sorted(ranked[: self.top])


@documented
class MLRNetRegressor(MLRNetBase, AdaCapRegressor):
    """Regression by MLR-NN, the form of 2021 of the method behind AdaCap.

    A wide ReLU net whose output layer is the closed-form ridge solution, trained by Adam on

        ``RMSE(Y_ε + (I−H)ξ ; HY_ε) + mean_t |RMSE(Y ; Ȳ) − RMSE(π_t(Y)_ε + (I−H)ξ_t ; Hπ_t(Y)_ε)|``

    with noise ξ and ε drawn anew at each step. For use rather than study take
    :class:`AdaCapRegressor`.

    {parameters}

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

    _auto_target_dither = 0.03


@documented
class MLRNetClassifier(MLRNetBase, AdaCapClassifier):
    """Classification by MLR-NN: the cross-entropy of labels coded ±1, with dithered predictions.

    Two classes are what the supplement describes; more are coded one-hot, as in
    :class:`AdaCapClassifier`, with noise on the prediction in the same way.

    {parameters}
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

    _auto_target_dither = 0.0
