"""What each constructor parameter accepts, as one table; checked when ``fit`` is called.

A model file is checked against it too, so nothing here imports torch before a value asks for it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from adacap.architectures import BACKBONES, INITIALIZATIONS, Architecture
from adacap.encodings import ENCODINGS
from adacap.estimators.quality import MEMBERS, QUALITIES
from adacap.estimators.settings import MSE_SCHEMES, SCHEMES
from adacap.estimators.transforms import TRANSFORMS
from adacap.exceptions import did_you_mean, nearest
from adacap.tables.encoder import OPTIONS, POLICY_NAMES

if TYPE_CHECKING:
    from adacap.estimators._base import AdaCapBase

__all__ = [
    "CLASSIFIER", "CONSTRAINTS", "MLR_CLASSIFIER", "MLR_CONSTRAINTS", "REGRESSOR", "Constraint",
    "ValueKind", "check_parameters",
]  # fmt: skip

# --------------------------------------------------------------------------- kinds of values

_FEW = 6  # names that are all listed
_SURELY_MEANT = 0.7  # similarity of a member's name; "catboost" is 0.6 of one


@dataclass(frozen=True)
class ValueKind:
    """One kind of value: its name in an error, and how to recognise it."""

    text: str
    test: Callable[[Any], bool]
    names: Collection[str] | Callable[[], Collection[str]] = ()  # to choose from, if it is a name
    of_lists: str = ""  # sentence for a list that is not accepted
    why_not: Callable[[Any], str] | None = None  # sentences for any value that is not

    @property
    def known(self) -> list[str]:
        """Names to choose from."""
        return list(self.names() if callable(self.names) else self.names)

    def texts(self, value: Any) -> list[str]:
        """What is accepted in place of a value, in words; of many names those that are near."""
        known, rest = self.known, []
        if self.text and len(known) > _FEW:
            near = nearest(value, known, 3, 0.5)
            known, rest = near or known[:3], [] if near else ["…"]
        names = [*map(repr, known), *rest]
        return [self.text.format(names=", ".join(names))] if self.text else names


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    if isinstance(value, int):  # of any size; float64 has a largest
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, Real)


def _is_positive(value: Any) -> bool:
    return _is_real(value) and 0 < value < inf


def _is_penalty(value: Any) -> bool:
    return _is_real(value) and 1e-30 <= value <= 1e30  # which float32 holds with its square root


def _integer(least: int) -> ValueKind:
    return ValueKind(f"an integer of at least {least}", lambda v: _is_int(v) and v >= least)


def _name(*names: str) -> ValueKind:
    return ValueKind("", lambda v: isinstance(v, str) and v in names, names)


def _listing(kind: str, test: Callable[[Any], bool], least: int = 1) -> ValueKind:
    def fits(value: Any) -> bool:
        many = isinstance(value, list | tuple) or (
            isinstance(value, np.ndarray) and value.ndim == 1
        )
        return many and len(value) >= least and all(test(item) for item in value)

    return ValueKind(kind, fits)


def _is_architecture(value: Any) -> bool:
    known = isinstance(value, str) and (value == "auto" or value in BACKBONES)
    return known or isinstance(value, Architecture)


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")  # where it was not imported, nothing is a module
    return torch is not None and isinstance(value, torch.nn.Module)


def _is_members(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return is_list and all(item in MEMBERS for item in value) and len(set(value)) == len(value)


def _why_no_members(value: Any) -> str:
    """What is wrong with a list of members, and the names that there are.

    Examples
    --------
    >>> _why_no_members(["kernel", "kernel"])
    " 'kernel' is there twice. Members: nets, fourier, kernel, ridge, ...; boosting, trees."
    """
    coded = list(dict.fromkeys(name.partition(":")[0] for name in MEMBERS if ":" in name))
    alone = [name for name in MEMBERS if ":" not in name and name not in coded]
    ends = " or ".join(f":{encoding}" for encoding in ENCODINGS)
    known = f" Members: {', '.join(coded)}, each also with {ends}; {', '.join(alone)}."
    if isinstance(value, str):
        words = [word.strip() for word in value.split(",")]
        if all(word in MEMBERS for word in words):
            return f" Write members as a list: {words}.{known}"
        return f"{did_you_mean(value, ('auto', *QUALITIES))}{known}"
    if not isinstance(value, list | tuple):
        return known
    if not value:
        return f" The list is empty.{known}"
    for item in value:
        if item not in MEMBERS:
            near = nearest(item, MEMBERS, 1, _SURELY_MEANT)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            return f" {item!r} is no member.{meant}{known}"
    twice = next(item for item in value if list(value).count(item) > 1)
    return f" {twice!r} is there twice.{known}"


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, str) and not _is_module(value)


def _builds_modules(value: Any) -> bool:
    """Whether something seems callable with one argument to return a module."""
    if isinstance(value, type):
        torch = sys.modules.get("torch")
        return torch is not None and issubclass(value, torch.nn.Module)
    return _is_function(value) and _takes_one(value)


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(0)
    except TypeError:
        return False
    except ValueError:  # of a function without a signature
        return True
    return True


def _optimizers() -> Collection[str]:
    from adacap.training.config import OPTIMIZERS

    return OPTIMIZERS


def _schedulers() -> Collection[str]:
    from adacap.training.config import SCHEDULERS

    return SCHEDULERS


def _is_optimizer(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in _optimizers()


def _is_scheduler(value: Any) -> bool:
    known = isinstance(value, str) and value.lower() in _schedulers()
    return known or value is None or _is_function(value)


def _is_pair(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    return (_is_optimizer(value[0]) or _is_function(value[0])) and _is_scheduler(value[1])


def _is_device(value: Any) -> bool:
    import torch

    try:
        return isinstance(value, str) and torch.device(value).type != "meta"  # which holds nothing
    except RuntimeError:
        return False


def _is_callback(value: Any) -> bool:
    moments = ("on_start", "on_step", "on_end")
    return not isinstance(value, type) and all(hasattr(value, moment) for moment in moments)


def _is_epochs(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"0*[1-9]\d* epochs?", value) is not None


def _is_options(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() <= set(OPTIONS)


AUTO = _name("auto")
NONE = ValueKind("None", lambda v: v is None)
BOOL = ValueKind("True or False", lambda v: isinstance(v, bool | np.bool_))
SHARE = ValueKind("a number in [0, 1)", lambda v: _is_real(v) and 0 <= v < 1)
POSITIVE = ValueKind("a positive number", _is_positive)
NOT_NEGATIVE = ValueKind("a number of at least 0", lambda v: _is_real(v) and 0 <= v < inf)
SEED = ValueKind(
    "an integer of at least 0, a numpy Generator or a numpy RandomState",
    lambda v: (_is_int(v) and v >= 0) or isinstance(v, np.random.Generator | np.random.RandomState),
)

# ------------------------------------------------------------------------------- the tables


@dataclass(frozen=True)
class Constraint:
    """What a parameter accepts: any of some kinds."""

    kinds: tuple[ValueKind, ...]
    default: Any
    since: str = "0.1"  # version that brought the parameter

    def accepts(self, value: Any) -> str:
        """What is accepted in place of a value, in words."""
        word = next(iter(self._unknown(value)), value)
        *most, last = (text for kind in self.kinds for text in kind.texts(word))
        return f"{', '.join(most)} or {last}" if most else last

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that no kind accepts.

        Examples
        --------
        >>> CONSTRAINTS["scheme"].check("scheme", "tikonov")
        Traceback (most recent call last):
        ValueError: scheme must be 'auto', 'adacap', ... or 'plain', got 'tikonov'. Did you mean ...
        """
        if not any(kind.test(value) for kind in self.kinds):
            hint = "".join(self._hints(value))
            raise ValueError(f"{name} must be {self.accepts(value)}, got {value!r}.{hint}")

    def _hints(self, value: Any) -> Iterator[str]:
        if told := next((kind.why_not for kind in self.kinds if kind.why_not), None):
            yield told(value)
            return
        names = [name for kind in self.kinds for name in kind.known]
        yield from (did_you_mean(word, names) for word in self._unknown(value))
        if isinstance(value, list | tuple):
            for kind in self.kinds:
                yield kind.of_lists.format(names=", ".join(map(repr, kind.known)))
        if _is_module(value):
            yield " Each net starts fresh, so pass what builds it, not a network."

    def _unknown(self, value: Any) -> list[str]:
        """Words of a value that are not names."""
        words = list(value) if isinstance(value, list | tuple | dict) else [value]
        names = {name for kind in self.kinds for name in kind.known}
        return [word for word in words if isinstance(word, str) and word not in names]


CONSTRAINTS: dict[str, Constraint] = {
    "quality": Constraint(
        (
            AUTO,
            _name(*QUALITIES, "nets"),
            ValueKind("a list of members", _is_members, why_not=_why_no_members),
        ),
        "auto",
    ),
    "architecture": Constraint(
        (
            AUTO,
            ValueKind("one of {names}", _is_architecture, BACKBONES),
            ValueKind("an Architecture", lambda v: isinstance(v, Architecture)),
            _listing("a list of these", _is_architecture),
            ValueKind("a function d_in -> nn.Module", _builds_modules),
        ),
        "auto",
    ),
    "scheme": Constraint((AUTO, _name(*SCHEMES)), "auto"),
    "width": Constraint((AUTO, _integer(1)), "auto"),
    "depth": Constraint((NONE, _integer(1), _listing("a list of these", _integer(1).test)), None),
    "n_estimators": Constraint((AUTO, _integer(1)), "auto"),
    "preprocessing": Constraint(
        (
            _name(*POLICY_NAMES),
            ValueKind("a dict of options of TableEncoder such as {names}", _is_options, OPTIONS),
        ),
        "default",
    ),
    "validation": Constraint((AUTO, _name("folds"), SHARE), "auto"),
    "calibration_fraction": Constraint((SHARE,), 0.0),
    "max_iter": Constraint(
        (AUTO, _integer(1), ValueKind("text such as '20 epochs'", _is_epochs)), "auto"
    ),
    "max_lr": Constraint((AUTO, POSITIVE), "auto"),
    "batch_size": Constraint((AUTO, _integer(1)), "auto"),
    "optimizer": Constraint(
        (
            ValueKind("an optimizer of torch such as {names}", _is_optimizer, _optimizers),
            ValueKind("a function (param_groups, lr=...) -> Optimizer", _is_function),
            ValueKind(
                "a pair (optimizer, scheduler)",
                _is_pair,
                _schedulers,
                " Scheduler: {names}, None or a function (optimizer, n_steps) -> LRScheduler.",
            ),
        ),
        "adamw",
    ),
    "weight_decay": Constraint((AUTO, NOT_NEGATIVE), "auto"),
    "refit": Constraint((AUTO, _name("net", "head", "none")), "auto"),
    "n_permutations": Constraint(
        (ValueKind("an integer of at least 1 (scheme='tikhonov' is without)", _integer(1).test),),
        16,
    ),
    "lambda_init": Constraint(
        (
            AUTO,
            _name("max_sensitivity", "published"),
            ValueKind("a positive number from 1e-30 to 1e30", _is_penalty),
            _listing("a sequence of at least 2 of these", _is_penalty, 2),
        ),
        "auto",
    ),
    "fit_intercept": Constraint((BOOL,), True),
    "time_limit": Constraint(
        (NONE, ValueKind("a positive number of seconds", lambda v: _is_real(v) and v > 0)), None
    ),
    "warm_start": Constraint((BOOL,), False),
    "device": Constraint(
        (NONE, ValueKind("the name of a torch device such as 'cpu' or 'cuda'", _is_device)), None
    ),
    "random_state": Constraint((NONE, SEED), None),
    "callbacks": Constraint(
        (NONE, _listing("a sequence of adacap.training.Callback objects", _is_callback, 0)), None
    ),
    "verbose": Constraint((BOOL, _integer(0)), 0),
}
"""Parameters of :class:`AdaCapRegressor` and :class:`AdaCapClassifier` alike."""

REGRESSOR: dict[str, Constraint] = {
    **CONSTRAINTS,
    "scheme": Constraint((AUTO, _name(*SCHEMES, *MSE_SCHEMES)), "auto"),
    "target_transform": Constraint((AUTO, _name(*TRANSFORMS)), "none"),
}
"""Parameters of :class:`AdaCapRegressor`."""


def _is_validation_pair(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    held, rule = (CONSTRAINTS["validation"].kinds, _SELECT_BY.kinds)
    return any(k.test(value[0]) for k in held) and any(k.test(value[1]) for k in rule)


def _is_class_weight(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_real(v) and v >= 0 for v in value.values())


_SELECT_BY = Constraint((_name("loss", "auc", "r2"),), "loss")

CLASSIFIER: dict[str, Constraint] = {
    **CONSTRAINTS,
    "validation": Constraint(
        (
            *CONSTRAINTS["validation"].kinds,
            ValueKind(
                "a pair of one of these and what makes an iteration the best: 'loss', 'auc' or "
                "'r2'",
                _is_validation_pair,
            ),
        ),
        "auto",
    ),
    "calibration_fraction": Constraint((SHARE, NONE), 0.0),
    "class_weight": Constraint(
        (NONE, _name("balanced"), ValueKind("a dict from class to weight", _is_class_weight)), None
    ),
}
"""Parameters of :class:`AdaCapClassifier`."""

_DEPTH = Constraint((_integer(1), _listing("a list of these", _integer(1).test)), 2)

MLR_CONSTRAINTS: dict[str, Constraint] = {
    **{
        name: CONSTRAINTS[name]
        for name in (
            "max_iter", "max_lr", "batch_size", "preprocessing", "time_limit",
            "device", "random_state", "callbacks", "verbose",
        )
    },
    "n_permutations": Constraint((_integer(0),), 16),  # 0 in an ablation of the supplement
    "depth": _DEPTH,
    "width": Constraint((_integer(1),), 1024),
    "scheme": Constraint((_name(*SCHEMES, *MSE_SCHEMES),), "adacap-gap"),
    "structured_dither": Constraint((NOT_NEGATIVE,), 1.0),
    "target_dither": Constraint((AUTO, NOT_NEGATIVE), "auto"),
    "dither_form": Constraint((_name("halved", "fitted", "printed"),), "halved"),
    "lambda_init": Constraint(CONSTRAINTS["lambda_init"].kinds[1:], "max_sensitivity"),
    "fit_intercept": replace(CONSTRAINTS["fit_intercept"], default=False),
    "initialization": Constraint((_name(*INITIALIZATIONS),), "glorot"),
    "optimizer": replace(CONSTRAINTS["optimizer"], default=("adam", "constant")),
    "validation": Constraint((_name("folds"), SHARE), 0.2),
    "refit": Constraint((_name("net", "head", "none"),), "head"),
    "n_estimators": Constraint((_integer(1),), 1),
    "top": Constraint((NONE, _integer(1)), None),
}  # fmt: skip
"""Parameters of :class:`~adacap.estimators.mlr_net.MLRNetRegressor`."""

MLR_CLASSIFIER: dict[str, Constraint] = {
    **MLR_CONSTRAINTS,
    "scheme": Constraint((_name(*SCHEMES),), "adacap-gap"),
    "select_by": replace(_SELECT_BY, default="r2"),
}
"""Parameters of :class:`~adacap.estimators.mlr_net.MLRNetClassifier`."""


def check_parameters(estimator: AdaCapBase) -> None:
    """Refuse parameters that cannot work, by name, value and what is accepted."""
    for name, constraint in estimator._constraints.items():
        constraint.check(name, getattr(estimator, name))
