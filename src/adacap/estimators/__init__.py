"""Estimators with scikit-learn's interface.

Names are imported when first used: an encoder alone does not load torch.
"""

import importlib
from typing import TYPE_CHECKING, Any, Literal

from adacap.exceptions import suggest

if TYPE_CHECKING:
    from adacap.estimators.classifier import AdaCapClassifier
    from adacap.estimators.encoder import TableEncoder
    from adacap.estimators.regressor import AdaCapRegressor

__all__ = ["AdaCapClassifier", "AdaCapRegressor", "TableEncoder", "make"]

_HOME = {
    "AdaCapClassifier": "adacap.estimators.classifier",
    "AdaCapRegressor": "adacap.estimators.regressor",
    "TableEncoder": "adacap.estimators.encoder",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'adacap.estimators' has no attribute {name!r}")


def make(
    name: str, task: Literal["regression", "classification"] = "regression", **overrides: Any
) -> Any:
    """Estimator by name: a row of the paper's architecture table, or one of our own settings.

    ``AdaCapRegressor.from_preset`` and ``AdaCapClassifier.from_preset`` do the same where the task
    is known.

    Parameters
    ----------
    name : str
        An architecture, alone for the regular net or after ``adacap-`` or ``tikhonov-``: for
        example ``"snn"``, ``"adacap-snn"``, ``"tikhonov-fast-mlp"``. ``adacap.nn.PRESETS`` lists
        all. These are trained by the paper's protocol. ``"fast"``, ``"balanced"`` and ``"best"``
        are blends of members of several kinds, of which fast has no nets; ``"nets"`` and
        ``"fast-nets"`` are nets alone. ``"mlr-1"`` to ``"mlr-4"``, ``"bag-mlr-1"``,
        ``"bag-mlr-2"``, ``"ens-mlr"``, ``"best-mlr"`` and ``"top5-mlr"`` are the nets and
        ensembles of the 2021 supplement; ``"mlr-1-2021"`` to ``"mlr-4-2021"`` are its single nets
        as the code published with it trained them.
    task : {"regression", "classification"}, default="regression"
    **overrides
        Any parameter of the estimator, to change these settings. Also, for what the sources leave
        open: ``loss``, ``"rmse"`` or ``"mse"``, for regression; ``initialization``, ``"he"``,
        ``"glorot"``, ``"glorot-relu"`` or ``"kaiming"``, torch's; and ``reading``, one or several
        names of ``adacap.estimators.presets.READINGS``.

    Returns
    -------
    AdaCapRegressor, AdaCapClassifier, MLRNetRegressor or MLRNetClassifier

    Raises
    ------
    ValueError
        If the name or the task is unknown.
    TypeError
        If the estimator has no parameter of the name of an override.

    Examples
    --------
    >>> make("adacap-fast-snn", random_state=0).width
    256
    >>> make("top5-mlr", "classification")
    MLRNetClassifier(depth=(1, 2), n_estimators=20, preprocessing='paper',
                     time_limit=12000.0, top=5)
    >>> make("adacap-fast-mlp", loss="mse", initialization="he").scheme
    'adacap-mse'
    >>> model = make("adacap-fast-mlp", reading="no-hold-out")
    >>> model.validation, model.refit
    (0.0, 'none')
    >>> make("adacap-snnn")
    Traceback (most recent call last):
    ValueError: Unknown preset 'adacap-snnn'. Did you mean 'adacap-snn'? Nearest of ...
    >>> make("fast", learning_rate=0.1)
    Traceback (most recent call last):
    TypeError: AdaCapRegressor has no parameter 'learning_rate'. Use max_lr.
    """
    from adacap.estimators.classifier import AdaCapClassifier
    from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
    from adacap.estimators.presets import ADACAP, LIST, MLR_NETS
    from adacap.estimators.regressor import AdaCapRegressor

    if name not in ADACAP and name not in MLR_NETS:
        raise ValueError(suggest(name, [*ADACAP, *MLR_NETS], "preset", LIST))
    nets = name in MLR_NETS
    of_task: dict[str, Any] = {
        "regression": MLRNetRegressor if nets else AdaCapRegressor,
        "classification": MLRNetClassifier if nets else AdaCapClassifier,
    }
    if task not in of_task:
        raise ValueError(suggest(task, of_task, "task"))
    return of_task[task].from_preset(name, **overrides)
