"""The parameters that the estimators share, described once."""

from typing import TypeVar

__all__ = ["documented"]

T = TypeVar("T", bound=type)

PARAMETERS = """Parameters
    ----------
    architecture : {"auto", "glu", "snn", "mlp", "resblock"}, list of these or callable
        Backbone, ``"auto"`` by default; auto is glu for regression, mlp for classification. The
        members of a bag take the names of a list in turn. A callable gets the number of encoded
        columns (or the shape of one sample) and returns an ``nn.Module`` that maps a batch to
        ``(n, J)``.
    scheme : {"auto", "adacap", "tikhonov", "plain"}, default="auto"
        ``"adacap"``: closed-form output layer and MLR loss; ``"tikhonov"``: the output layer
        alone; ``"plain"``: an ordinary net. Auto is adacap for regression, plain for
        classification.
    width, depth : int
        Size and number of hidden layers; ``depth=None`` is the usual one of the architecture. A
        list of depths is taken in turn, as that of architectures.
    n_permutations : int, default=16
        Permuted label sets of the MLR loss, drawn once.
    mlr_form : {"difference", "absolute_gap"}, default="difference"
    lambda_init : float, "max_sensitivity" or "auto", default="auto"
        Start of λ, a number or the paper's rule on the first minibatch. Auto is 3 for regression
        (see ``n_estimators``), else the rule.
    lambda_grid : sequence of float, optional
        Candidates of that rule; by default the paper's 12 points from 0.1 to 10⁴.
    fit_intercept : bool, default=True
        Unpenalised intercept of the output layer.
    max_iter : int or "auto", default="auto"
        Optimiser steps, not epochs; auto is 130 for regression (see ``n_estimators``), else 200.
    max_epochs : int, optional
        Sets the steps by epochs instead.
    max_lr : float or "auto", default="auto"
        Highest learning rate; auto is 0.03 for regression (see ``n_estimators``), else 0.01.
    optimizer : str or callable, default="adamw"
        Any torch optimiser by name, or ``(param_groups, lr=...) -> Optimizer``.
    scheduler : str, callable or None, default="onecycle"
        ``"onecycle"``, ``"cosine"``, ``"linear"``, ``"constant"`` or ``(optimizer, n_steps) ->
        LRScheduler``.
    weight_decay : float or "auto", default="auto"
        On the backbone, never on λ. Auto is ``min(3, 1500 / n_train)`` with a closed-form output
        layer (decoupled, so times the learning rate at each step), 0 for the plain scheme.
    dropout : float or "auto", default="auto"
    batch_norm : bool or "auto", default="auto"
        Auto is 0.2 and True for the plain scheme, off otherwise, as in the paper. Both concern
        named architectures only.
    batch_size : int or "auto", default="auto"
        Rows of a step; auto is 512 for regression (see ``n_estimators``), else 2048.
    validation_fraction : float, default=0.2
        Share of the rows, at most 2048, held out to choose the best iteration; 0 keeps the last.
    calibration_fraction : float, default=0.0
        Share of the rows that training never sees, for intervals of method ``"split"`` or the
        temperature of a classifier.
    temperature : float or "auto", default="auto"
        Classification: outputs are divided by it before they become probabilities. Auto fits it on
        the rows held out, which costs no training; 1 leaves the outputs as they are.
    select_by : {"loss", "auc", "r2"}, default="loss"
        What makes an iteration the best on the held-out rows. AUC is the paper's choice for
        classification, R² of the coded classes its supplement's; for regression all choose alike.
    patience : int, optional
        Stop after this many steps without a better validation score.
    refit_head : bool, default=True
        Solve the output layer once more on all rows, held-out ones included.
    refit_net : bool or "auto", default="auto"
        Train anew on all rows up to the best iteration. Auto does so where at least a tenth of
        the rows is held out, unless there is a net per fold or ``warm_start=True``.
    n_estimators : int or "auto", default="auto"
        Nets whose outputs are averaged. Auto is 5 for regression with a named architecture and a
        closed-form output layer (fewer below 10 rows), and 1 for classification, the plain scheme
        and an architecture of your own. Other parameters that are auto follow it.
    bagging : {"auto", "seeds", "folds"}, default="auto"
        Each net gets another seed and hold-out, or another fold, of at most 2048 rows, as its
        hold-out. Auto is folds for regression, unless ``validation_fraction=0``, else seeds.
    preprocessing : {"default", "paper", "none"}, default="default"
        How columns become numbers; see :class:`TableEncoder`.
    read_text : bool or str, default=True
        Whether text that spells numbers (``"1,234.50"``, ``"86 m²"``) or dates is read as such; a
        text such as ``"%d/%m/%Y"`` also says how dates are written.
    n_jobs : int, optional
        Processes for nets that cannot be trained as one computation. The result is the same.
    warm_start : bool, default=False
        Another ``fit`` goes on training the nets of the last one, with the same encoding.
    time_limit : float, optional
        Seconds after which training stops; a model is returned all the same.
    device : str, optional
        Torch device; by default a GPU if there is one.
    random_state : int, RandomState, Generator or None, default=None
    callbacks : sequence of Callback, optional
        See :mod:`adacap.training`.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
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
    scheme_, backbone_
        What ``"auto"`` stood for: the scheme, and the backbone with its sizes.
    encoder_ : TableEncoder
        What happens to each column; ``encoder_.summary()`` lists it.
    capacity_ : Capacity
        What ``capacity()`` returns.
    provenance_ : Provenance
        Rows trained on, seconds, date and versions.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when ``X`` has column names."""


def documented(cls: T) -> T:
    """Put the shared description in place of ``{parameters}`` in a class docstring."""
    if cls.__doc__ is not None:  # python -OO strips docstrings
        cls.__doc__ = cls.__doc__.replace("{parameters}", PARAMETERS)
    return cls
