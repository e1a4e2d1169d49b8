"""From parameters to settings: each ``"auto"`` is resolved once, and the value is kept.

Nothing here needs torch, so that a model file can be inspected without it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from adacap.architectures import BACKBONES, Architecture
from adacap.estimators.preprocessing import encoder_options
from adacap.estimators.quality import MemberPlan, is_of_nets, nets_in, plan_of

if TYPE_CHECKING:
    from adacap.estimators._base import AdaCapBase
    from adacap.estimators.dependence import RowSplit

__all__ = [
    "CLASSIFICATION", "MOST_HELD", "MSE_SCHEMES", "REGRESSION", "SCHEMES", "TUNED", "Net",
    "Settings", "Share", "kinds_of_nets", "most_nets", "optimizer_pair", "resolve",
]  # fmt: skip

SCHEMES = ("adacap", "adacap-gap", "tikhonov", "plain")
MSE_SCHEMES = ("adacap-mse", "adacap-gap-mse", "tikhonov-mse", "plain-mse")
"""The schemes with the mean squared error for the loss of numbers, in place of its root."""

MOST_HELD = 2048  # rows that choose an iteration; more do not choose better
_HELD = 0.2  # share of the rows that one net holds out
_MOST_FOLDS = 5  # where the user leaves their number open
_LEAST_FOLD = 2  # rows of a fold, where the user leaves their number open

# --------------------------------------------------------------------------- what "auto" means


class Net(NamedTuple):
    """What the value behind an ``"auto"`` may depend on, beside the class of the estimator."""

    n_train: int  # rows that one net is trained on
    width: int
    depth: int


def _fading(net: Net) -> float:
    return min(3.0, 1500.0 / net.n_train)


TUNED: dict[str, dict[str, Any]] = {
    "fast": {"quality": "fast"},
    "balanced": {"quality": "balanced"},
    "best": {"quality": "best"},
    "nets": {"quality": "nets"},
    "fast-nets": {
        "quality": "nets", "width": 64, "max_iter": 80, "max_lr": 0.05, "lambda_init": 1.0,
        "n_estimators": 5, "batch_size": 512,
    },
}  # fmt: skip
"""Presets by how long a user is willing to wait; docs/DEFAULTS.md has the figures behind them."""

REGRESSION: dict[str, Any] = {
    "quality": "balanced",
    "scheme": "adacap",
    "architecture": Architecture("glu"),
    "weight_decay": _fading,
    "width": 128,
    "n_estimators": 5,
    "batch_size": 512,
    "max_iter": 130,
    "max_lr": 0.03,
    "lambda_init": 3.0,
}
"""What ``"auto"`` means in :class:`AdaCapRegressor`, regardless of scheme and nets."""

CLASSIFICATION: dict[str, Any] = {
    "quality": "balanced",
    "width": 128,
    "scheme": "plain",
    "architecture": Architecture("mlp", dropout=0.2, batch_norm=True),
    "weight_decay": 0.0,
    "n_estimators": 1,
    "batch_size": 2048,
    "max_iter": 200,
    "max_lr": 0.01,
    "lambda_init": "max_sensitivity",
}
"""What ``"auto"`` means in :class:`AdaCapClassifier`, regardless of scheme and nets."""

# ------------------------------------------------------------------------------- the settings


@dataclass(frozen=True)
class Share:
    """Weight of a member of a blend, and its error.

    Attributes
    ----------
    name : str
    weight : float
        0 for a member that was left out of the model.
    error : float
        Root mean squared out-of-fold error, in standard deviations of the target.
    seconds : float
        Of its training.
    """

    name: str
    weight: float
    error: float
    seconds: float = field(compare=False)

    def __str__(self) -> str:
        return f"{self.name} {self.weight:.2f} (error {self.error:.3g}, {self.seconds:.2g} s)"


@dataclass(frozen=True)
class Settings:
    """Every setting of a fit, with ``"auto"`` resolved.

    Members of a bag may differ in ``architecture``, ``depth``, ``max_iter`` and ``max_lr``: these
    then hold a tuple with one value per net that was kept. None means "not used", or that the
    estimator has no such parameter; of a fit that trained no nets, all that describes nets is None.

    Attributes
    ----------
    quality : {"fast", "balanced", "best", "nets", "own"}
        ``"own"`` for a list of members.
    members : tuple of str
        What was trained: ``("nets",)`` for a bag of nets alone.
    blend : tuple of Share
        Weight, error and time of each member of a blend; empty for nets alone.
    scheme : {"adacap", "adacap-gap", "tikhonov", "plain"}
        With ``"-mse"`` at the end where nets are trained on the mean squared error.
    architecture : Architecture or str
        The qualified name of the function for networks of your own.
    width, depth : int
        None for networks of your own.
    n_estimators : int
    preprocessing : str
    validation : "folds" or float
        What each net holds out to choose its iteration on.
    calibration_fraction : float
    max_iter : int
        Optimiser steps.
    max_lr : float
    batch_size : int
    optimizer, scheduler : str
    weight_decay : float
    refit : {"net", "head", "none"}
    n_permutations : int
    lambda_init : float, "max_sensitivity", "published" or tuple of float
    fit_intercept : bool
    time_limit : float
    select_by : str
        Classification only.
    structured_dither, target_dither, dither_form, initialization, top
        Of :class:`~adacap.estimators.mlr_net.MLRNetRegressor` and its classifier only.
    target_transform : {"none", "log", "yeo-johnson"} or tuple of these
        One for each target where they differ. Regression only.
    split_by : tuple of {"group", "time"}
        What hold-outs and folds respect; empty for rows drawn at random.
    n_groups : int
        Groups trained on.
    auto : tuple of str
        Parameters that were ``"auto"``.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> settings = resolve(AdaCapRegressor(max_iter=50), n_rows=200)
    >>> settings.n_estimators, settings.validation, settings.max_iter, settings.max_lr
    (5, 'folds', 50, 0.03)
    >>> "max_lr" in settings.auto, "max_iter" in settings.auto
    (True, False)
    """

    quality: str
    members: tuple[str, ...]
    scheme: Literal[
        "adacap", "adacap-gap", "tikhonov", "plain",
        "adacap-mse", "adacap-gap-mse", "tikhonov-mse", "plain-mse",
    ] | None  # fmt: skip
    architecture: Architecture | str | tuple[Architecture | str, ...] | None
    width: int | None
    depth: int | tuple[int | None, ...] | None
    n_estimators: int
    preprocessing: str
    validation: float | Literal["folds"]
    calibration_fraction: float | None
    max_iter: int | tuple[int, ...] | None
    max_lr: float | tuple[float, ...] | None
    batch_size: int | None
    optimizer: str | None
    scheduler: str | None
    weight_decay: float | None
    refit: Literal["net", "head", "none"] | None
    n_permutations: int | None
    lambda_init: float | tuple[float, ...] | Literal["max_sensitivity", "published"] | None
    fit_intercept: bool | None
    time_limit: float | None
    select_by: Literal["loss", "auc", "r2"] | None = None
    structured_dither: float | None = None
    target_dither: float | None = None
    dither_form: Literal["halved", "fitted", "printed"] | None = None
    initialization: Literal["glorot", "glorot-relu", "he", "kaiming"] | None = None
    top: int | None = None
    target_transform: str | tuple[str, ...] | None = None
    split_by: tuple[str, ...] = ()
    n_groups: int | None = None
    blend: tuple[Share, ...] = ()
    auto: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = self.rows()
        wide = max(len(name) for name, _, _ in rows)
        lines = [f"{name:{wide}}  {text}{'  (auto)' * auto}" for name, text, auto in rows]
        return "\n".join([*lines, *filter(None, [self.untrained_text])])

    def rows(self) -> list[tuple[str, str, bool]]:
        """Name, value as text and whether it was ``"auto"``, of all settings in use."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        del values["auto"]
        return [
            (name, _text(value), name in self.auto)
            for name, value in values.items()
            if value is not None and value != ()
        ]

    @property
    def plan(self) -> MemberPlan:
        """What was to be trained."""
        return MemberPlan(self.quality, self.members)

    @property
    def split_text(self) -> str:
        """How rows were held out, in words."""
        held = "folds" if self.validation == "folds" else "hold-outs"
        n = self.n_estimators
        texts = {
            (): f"rows at random, in {n} folds" if held == "folds" else "rows at random",
            ("group",): f"whole groups, {self.n_groups} in all"
            + f", in {n} folds" * (held == "folds"),
            ("time",): f"in time: {n} blocks, each after all rows that its models were trained on"
            if held == "folds"
            else "in time: the last rows are held out",
            ("group", "time"): f"in time and by whole groups, {self.n_groups} in all: later rows "
            "of some groups after earlier rows of the others",
        }
        return texts[self.split_by]

    def of_net(self, k: int) -> Settings:
        """Settings of one net of a mixed bag."""
        return self.of_nets([k])

    def of_nets(self, kept: Sequence[int]) -> Settings:
        """Settings of some of the nets of a mixed bag."""
        mixed = {name: getattr(self, name) for name in _PER_NET}
        chosen = {
            name: _one_or_each([values[k] for k in kept])
            for name, values in mixed.items()
            if isinstance(values, tuple)
        }
        return replace(self, **chosen)

    @property
    def read_from(self) -> Share | None:
        """The member of a blend that λ and capacity were read from; None for nets alone.

        The heaviest member of nets, with or without weight; else the heaviest kernel.
        """
        nets = [share for share in self.blend if is_of_nets(share.name)]
        kernels = [share for share in self.blend if share.name.partition(":")[0] == "kernel"]
        return next(iter([*nets, *kernels]), None)

    @property
    def untrained(self) -> tuple[str, ...]:
        """Members of a blend that were planned and not trained: too slow, or too far behind."""
        trained = {share.name for share in self.blend}
        return tuple(name for name in self.members if name not in trained and self.blend)

    @property
    def untrained_text(self) -> str:
        """Which members were not trained and why, in a sentence; empty where all were.

        Nets on many rows are tried on one fold first, and left out where others are far ahead.
        """
        if not self.untrained:
            return ""
        why = f"time_limit={self.time_limit:g} left no time, or " * (self.time_limit is not None)
        return f"Not trained, since {why}others were far ahead: {', '.join(self.untrained)}."

    def without_nets(self) -> Settings:
        """The same settings of a fit that trained no nets."""
        auto = tuple(name for name in self.auto if name not in _DESCRIBE_NETS)
        none: dict[str, Any] = dict.fromkeys(_DESCRIBE_NETS)
        return replace(self, **none, auto=auto)

    def to_dict(self) -> dict[str, Any]:
        """Settings as plain data, for a model file."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        found["blend"] = [asdict(share) for share in self.blend]
        return {**found, "architecture": _each(_describe, self.architecture)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Settings that :meth:`to_dict` made, perhaps by way of JSON.

        Examples
        --------
        >>> from adacap import AdaCapRegressor
        >>> settings = resolve(AdaCapRegressor(architecture=["glu", "mlp"]), n_rows=200)
        >>> Settings.from_dict(settings.to_dict()) == settings
        True
        """
        found = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
        for name in _PER_NET:
            n_kept = found["top"] or found["n_estimators"]
            if isinstance(found[name], tuple) and len(found[name]) != n_kept:
                raise ValueError(f"{name} has no value for each net: {found[name]!r}.")
        found["blend"] = tuple(Share(**share) for share in found["blend"])
        _check_nets(found)
        if found["split_by"] not in ((), ("group",), ("time",), ("group", "time")):
            raise ValueError(f"split_by is {found['split_by']!r}.")
        if found["target_transform"] == ():
            raise ValueError("target_transform has no value for any target.")
        if found["lambda_init"] == ():
            raise ValueError("lambda_init has no values to choose from.")
        return cls(**{**found, "architecture": _each(_restore, found["architecture"])})


_PER_NET = ("architecture", "depth", "max_iter", "max_lr")
_DESCRIBE_NETS = (
    "scheme", "architecture", "width", "depth", "max_iter", "max_lr", "batch_size", "optimizer",
    "scheduler", "weight_decay", "refit", "n_permutations", "lambda_init", "fit_intercept",
    "select_by",
)  # fmt: skip
_MAY_BE_NONE = ("width", "depth", "scheduler", "select_by")  # with nets too


def _check_nets(found: Mapping[str, Any]) -> None:
    """Refuse settings of nets where none were trained, and nets without settings."""
    has_nets = not found["blend"] or any(is_of_nets(share.name) for share in found["blend"])
    for name in _DESCRIBE_NETS:
        is_none = found[name] is None
        if is_none == has_nets and not (is_none and name in _MAY_BE_NONE):
            raise ValueError(f"{name} is {found[name]!r}, with{'' if has_nets else 'out'} nets.")


def _text(value: Any) -> str:
    if isinstance(value, Architecture):
        return repr(value) if value.options else value.name
    if isinstance(value, tuple):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    return tuple(map(change, value)) if isinstance(value, tuple) else change(value)


def _describe(architecture: Architecture | str | None) -> Any:
    if architecture is None or isinstance(architecture, str):
        return architecture
    return {"name": architecture.name, "options": dict(architecture.options)}


def _restore(data: Any) -> Architecture | str | None:
    if data is None:
        return None
    name = data if isinstance(data, str) else data["name"]
    is_known = not isinstance(data, str) and name in BACKBONES  # else registered elsewhere
    return Architecture(name, **data["options"]) if is_known else str(name)


# ------------------------------------------------------------------------------- resolving


def resolve(
    estimator: AdaCapBase,
    n_rows: int,
    *,
    has_validation_rows: bool = False,
    is_table: bool = True,
    split: RowSplit | None = None,
) -> Settings:
    """All settings of a fit on this many different rows.

    An ``"auto"`` resolves to a value that depends on the class of the estimator and the number of
    rows alone: not on the scheme, nor on the architecture.

    The parameters have been checked. ``has_validation_rows`` says whether the caller of ``fit``
    gives rows to choose iterations on, ``split`` how rows are split where they are not independent.
    A ``ValueError`` if parameters do not go together.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> settings = [resolve(AdaCapRegressor(scheme=s), 200) for s in ("adacap", "plain")]
    >>> settings[0] == replace(settings[1], scheme="adacap", auto=settings[0].auto)
    True
    """
    told = estimator._parameters
    plan = plan_of(estimator, n_rows, is_table=is_table, has_validation_rows=has_validation_rows)
    autos = {**estimator._autos, **nets_in(estimator, plan, n_rows)}
    n_nets = _n_nets(estimator, n_rows, int(autos.get("n_estimators", 1)))
    validation = told["validation"]
    if split is not None and split.n_folds and n_nets > 1:
        n_nets = split.n_folds
    in_time = split is not None and "time" in split.by
    if _is_auto(validation):
        validation = "folds" if n_nets > 1 else _HELD
    _check_folds(validation, n_nets, n_rows)
    n_held = 0 if has_validation_rows else _n_held(n_rows, n_nets, validation)
    kinds = _kinds(estimator, n_nets)
    width = autos["width"] if _is_auto(told["width"]) else int(told["width"])
    nets = [Net(n_rows - n_held, width, depth or 1) for _, depth in kinds]

    def value(name: str, net: Net = nets[0]) -> Any:
        if not _is_auto(told[name]):
            return told[name]
        found = autos[name]
        return found(net) if callable(found) else found

    def per_net(values: Sequence[Any]) -> Any:
        return _one_or_each([values[k % len(values)] for k in range(n_nets)])

    batch_size = int(value("batch_size"))
    refit = told["refit"]
    if _is_auto(refit):
        again = n_held >= 0.1 * n_rows and (validation != "folds" or in_time)
        again = again and not told["warm_start"]
        refit = "net" if again else "head"
    optimizer, scheduler = map(_name_of, optimizer_pair(told["optimizer"]))
    start: Any = value("lambda_init")
    lam: Any = start if isinstance(start, str) else _numbers(start)
    settings = Settings(
        quality=plan.quality,
        members=plan.members,
        scheme=value("scheme"),
        architecture=per_net([architecture for architecture, _ in kinds]),
        width=width if any(depth for _, depth in kinds) else None,
        depth=per_net([depth for _, depth in kinds]),
        n_estimators=n_nets,
        preprocessing=encoder_options(told["preprocessing"])["policy"],
        validation=validation if validation == "folds" else float(validation),
        calibration_fraction=_number_or_none(told["calibration_fraction"]),
        max_iter=per_net([_steps(value("max_iter", net), net, batch_size) for net in nets]),
        max_lr=per_net([float(value("max_lr", net)) for net in nets]),
        batch_size=batch_size,
        optimizer=optimizer or "",
        scheduler=scheduler,
        weight_decay=float(value("weight_decay")),
        refit=refit,
        n_permutations=int(told["n_permutations"]),
        lambda_init=lam,
        fit_intercept=bool(told["fit_intercept"]),
        time_limit=_number_or_none(told["time_limit"]),
        **{name: value(name) for name in _ONLY_SOME if name in told},
        split_by=() if split is None else split.by,
        n_groups=None if split is None else split.n_groups,
        auto=tuple(name for name in told if _is_auto(told[name])),
    )
    _check_batch_norm(settings)
    _check_top(settings)
    return settings


_ONLY_SOME = (
    "select_by", "structured_dither", "target_dither", "dither_form", "initialization", "top",
)  # fmt: skip


def most_nets(estimator: AdaCapBase) -> int:
    """Nets that a bag may have where there are rows enough.

    Examples
    --------
    >>> from adacap import AdaCapClassifier, AdaCapRegressor
    >>> most_nets(AdaCapRegressor()), most_nets(AdaCapClassifier(n_estimators=3))
    (5, 3)
    """
    told = estimator._parameters["n_estimators"]
    return _MOST_FOLDS if _is_auto(told) else int(told)


def kinds_of_nets(architecture: Any, depth: Any) -> int:
    """How many kinds of nets the members of a bag take in turn.

    Examples
    --------
    >>> kinds_of_nets(["glu", "mlp"], 2), kinds_of_nets("glu", (1, 2, 3))
    (2, 3)
    """
    return math.lcm(len(_listed(architecture)), len(_listed(depth)))


def optimizer_pair(told: Any) -> tuple[Any, Any]:
    """Optimiser and schedule of the parameter ``optimizer``; One-Cycle unless a pair is given.

    Examples
    --------
    >>> optimizer_pair("adam"), optimizer_pair(("sgd", None))
    (('adam', 'onecycle'), ('sgd', None))
    """
    return tuple(told) if isinstance(told, list | tuple) else (told, "onecycle")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _one_or_each(values: Sequence[Any]) -> Any:
    """The value that all share, or a tuple of all where they differ."""
    same = all(value == values[0] for value in values)
    return values[0] if same else tuple(values)


def _n_nets(estimator: AdaCapBase, n_rows: int, most: int) -> int:
    told = estimator._parameters
    if not _is_auto(told["n_estimators"]):
        return int(told["n_estimators"])
    if told["warm_start"] and hasattr(estimator, "members_"):
        return len(estimator.members_)
    least = 2 if told["validation"] == "folds" else 1
    return max(least, min(most, n_rows // _LEAST_FOLD))


def _check_folds(validation: Any, n_nets: int, n_rows: int) -> None:
    if validation != "folds":
        return
    if n_nets < 2:
        raise ValueError(
            "validation='folds' trains one net per fold, which needs n_estimators of at least 2, "
            f"got n_estimators={n_nets}. Use more nets, or hold out a share: validation=0.2."
        )
    if n_nets > n_rows:
        raise ValueError(
            f"validation='folds' with n_estimators={n_nets} needs at least {n_nets} different "
            f"rows, got {n_rows}. Use fewer nets, or hold out a share: validation=0.2."
        )


def _n_held(n_rows: int, n_nets: int, validation: Any) -> int:
    """Rows that each net holds out, as many as :mod:`adacap.estimators.rows` gives it."""
    if validation == "folds":
        size = n_rows // n_nets
        return min(size, MOST_HELD) if n_rows - size >= 2 else 0
    size = min(int(validation * n_rows), MOST_HELD)
    return size if n_rows - size >= 2 else 0


def _kinds(estimator: AdaCapBase, n_nets: int) -> list[tuple[Architecture | str, int | None]]:
    """Architecture and depth of each kind of net, which members take in turn."""
    told = estimator._parameters
    names, depths = _listed(told["architecture"]), _listed(told["depth"])
    n_kinds = kinds_of_nets(names, depths)
    if n_kinds > n_nets:
        raise ValueError(
            f"architecture={told['architecture']!r} and depth={told['depth']!r} make {n_kinds} "
            f"kinds of nets, which needs n_estimators of at least {n_kinds}, got {n_nets}."
        )
    pairs = [(names[k % len(names)], depths[k % len(depths)]) for k in range(n_kinds)]
    return [_kind(estimator, name, depth) for name, depth in pairs]


def _kind(estimator: AdaCapBase, told: Any, depth: Any) -> tuple[Architecture | str, int | None]:
    if _is_auto(told):
        told = estimator._autos["architecture"]
    if isinstance(told, str):
        told = Architecture(told)
    if not isinstance(told, Architecture):
        return _name_of(told) or "", None
    return told, told.default_depth if depth is None else int(depth)


def _steps(told: Any, net: Net, batch_size: int) -> int:
    if not isinstance(told, str):
        return int(told)
    return int(told.split()[0]) * max(1, net.n_train // batch_size)


def _number_or_none(told: Any) -> float | None:
    return None if told is None else float(told)


def _numbers(told: Any) -> float | tuple[float, ...]:
    """A start of λ, or the grid to choose it from."""
    return tuple(sorted(map(float, told))) if hasattr(told, "__len__") else float(told)


def _name_of(told: Any) -> str | None:
    """The name of a function, or what is a name already."""
    if told is None or isinstance(told, str):
        return told
    if isinstance(told, functools.partial):
        told = told.func
    return ".".join(
        getattr(told, name, getattr(type(told), name)) for name in ("__module__", "__qualname__")
    )


def _check_batch_norm(settings: Settings) -> None:
    for one in _listed(settings.architecture):
        is_normed = isinstance(one, Architecture) and dict(one.options).get("batch_norm")
        if is_normed and settings.batch_size == 1:
            raise ValueError(f"batch_size must be at least 2 for {one!r}, got batch_size=1.")


def _check_top(settings: Settings) -> None:
    if settings.top is not None and settings.top > settings.n_estimators:
        raise ValueError(
            f"top must be at most n_estimators={settings.n_estimators}, got {settings.top}."
        )
