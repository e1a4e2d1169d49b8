"""Which members a model is made of: what ``quality`` means.

Nothing here needs torch, so that a model file can be inspected without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adacap.encodings import ENCODINGS

if TYPE_CHECKING:
    from adacap.estimators._base import AdaCapBase

__all__ = [
    "CLASS_NETS", "CLASS_QUALITIES", "FOURIER", "KINDS_OF_NETS", "LEAST_ROWS", "MANY_ROWS",
    "MEMBERS", "NETS", "NETS_ALONE", "QUALITIES", "MemberPlan", "is_of_nets", "nets_in", "plan_of",
]  # fmt: skip

NETS_ALONE = ("nets",)
KINDS_OF_NETS = ("nets", "fourier")
OWN_LIST = "own"
"""The quality of a list of members."""
MEMBERS = tuple(
    kind if encoding is None else f"{kind}:{encoding}"
    for kind in (*KINDS_OF_NETS, "kernel", "boosting", "trees", "ridge")
    for encoding in (None, *ENCODINGS)
    if encoding is None or kind not in ("boosting", "trees")  # which see the order of values alone
)
"""Names of all members: a kind, and the encoding it sees rows in."""

QUALITIES: Mapping[str, tuple[str, ...]] = {
    "fast": ("kernel", "ridge:bins", "boosting"),
    "balanced": ("kernel", "boosting", "nets:bins", "ridge:bins", "kernel:rank"),
    "best": (
        "kernel", "boosting", "nets:bins", "kernel:rank", "nets", "ridge:bins", "trees",
        "nets:rank",
    ),
}  # fmt: skip
"""Members by how long a user is willing to wait, in order of value; figures: docs/DEFAULTS.md."""

MANY_ROWS = 2000
"""Rows above which trees are grown on histograms, and nets get more steps."""

OF_MANY_ROWS: Mapping[str, tuple[str, ...]] = {
    "fast": ("boosting", "ridge:bins"),
    "balanced": ("boosting", "kernel", "nets:bins", "trees", "ridge:bins"),
    "best": ("boosting", "nets:bins", "kernel", "nets:rank", "trees", "ridge:bins", "nets"),
}
"""The same for regression on many rows."""

CLASS_QUALITIES: Mapping[str, tuple[str, ...]] = {
    "fast": ("boosting", "ridge:bins"),
    "balanced": ("boosting", "nets:bins", "trees", "ridge:bins"),
    "best": ("boosting", "nets:bins", "trees", "ridge:bins", "nets", "kernel"),
}
"""The same for classification."""

_SMALL: dict[str, Any] = {"width": 64, "max_iter": 80, "max_lr": 0.05, "lambda_init": 1.0}
NETS: Mapping[str, dict[str, Any]] = {
    "fast": _SMALL, "balanced": _SMALL, "best": {}, OWN_LIST: _SMALL,
}  # fmt: skip
NETS_OF_MANY_ROWS: Mapping[str, dict[str, Any]] = {
    "fast": _SMALL, "balanced": {"max_iter": 150}, "best": {"max_iter": 400},
    OWN_LIST: {"max_iter": 150},
}  # fmt: skip
CLASS_NETS: Mapping[str, dict[str, Any]] = {name: {"n_estimators": 5} for name in NETS}
"""What ``"auto"`` means for the nets of a blend, where they differ from nets alone."""

FOURIER = {"width": 256, "depth": 1}
"""Size of Fourier-feature nets; independent of other nets."""

LEAST_ROWS = 20  # to blend members on
_OF_NETS = (
    "architecture", "scheme", "width", "depth", "n_estimators", "validation", "max_iter", "max_lr",
    "batch_size", "optimizer", "weight_decay", "refit", "n_permutations",
    "lambda_init", "fit_intercept", "warm_start",
)  # fmt: skip
_OF_FOLDS = ("n_estimators", "validation", "warm_start")  # which apply to any blend
_NOT_OF_FOURIER = (
    "architecture", "width", "depth", "max_iter", "max_lr", "weight_decay", "lambda_init",
)  # fmt: skip


def is_of_nets(member: str) -> bool:
    """Whether a member of this name is a bag of nets.

    Examples
    --------
    >>> is_of_nets("nets:bins"), is_of_nets("kernel")
    (True, False)
    """
    return member.partition(":")[0] in KINDS_OF_NETS


class MemberPlan(NamedTuple):
    """Quality and members of a fit."""

    quality: str
    members: tuple[str, ...]

    @property
    def is_blend(self) -> bool:
        """Whether there is more than a bag of nets."""
        return self.members != NETS_ALONE

    @property
    def has_nets(self) -> bool:
        """Whether a net is trained."""
        return any(map(is_of_nets, self.members))


def plan_of(
    estimator: AdaCapBase, n_rows: int, *, is_table: bool = True, has_validation_rows: bool = False
) -> MemberPlan:
    """What ``quality`` means in a fit on this many different rows.

    ``"auto"`` is the blend of ``"balanced"``, unless a parameter that describes nets is given: then
    it is a bag of such nets and nothing else.

    A ``ValueError`` if a blend is asked for by name and cannot be had, or if a parameter describes
    nets and the blend trains none.

    Examples
    --------
    >>> from adacap import AdaCapRegressor
    >>> plan_of(AdaCapRegressor(), 200).members[0]
    'kernel'
    >>> plan_of(AdaCapRegressor(width=32), 200).members
    ('nets',)
    >>> plan_of(AdaCapRegressor(quality=["kernel", "ridge"], width=32), 200)
    Traceback (most recent call last):
    ValueError: width=32 describes nets, and quality=['kernel', 'ridge'] trains none. Leave it ...
    """
    told = estimator._parameters
    quality = told["quality"]
    is_auto = isinstance(quality, str) and quality == "auto"
    if is_auto:
        quality = estimator._autos["quality"]
        if any(_is_given(estimator, name) for name in _OF_NETS):
            quality = "nets"
    is_large = n_rows > MANY_ROWS and estimator._qualities is QUALITIES
    known = OF_MANY_ROWS if is_large else estimator._qualities
    members = quality if isinstance(quality, list | tuple) else known.get(quality, NETS_ALONE)
    name = quality if isinstance(quality, str) else OWN_LIST
    reason = _why_not(told, is_table, has_validation_rows)
    if tuple(members) != NETS_ALONE and reason and not is_auto:
        raise ValueError(
            f"quality={told['quality']!r} blends members that are trained in the same folds, which "
            f"cannot be done {reason}. Use quality='nets' for a bag of nets alone."
        )
    if reason or n_rows < LEAST_ROWS or tuple(members) == NETS_ALONE:
        return MemberPlan("nets", NETS_ALONE)
    plan = MemberPlan(name, tuple(members))
    _refuse_without_effect(estimator, plan)
    return plan


def nets_in(estimator: AdaCapBase, plan: MemberPlan, n_rows: int) -> Mapping[str, Any]:
    """What ``"auto"`` means for the nets of a blend, where they differ from nets alone."""
    if not plan.is_blend:
        return {}
    own = estimator._nets_in
    is_large = n_rows > MANY_ROWS and own is NETS
    return (NETS_OF_MANY_ROWS if is_large else own)[plan.quality]


def _is_given(estimator: AdaCapBase, name: str) -> bool:
    """Whether a parameter differs from its default, regardless of type."""
    if name not in estimator._constraints:
        return False
    told = estimator._parameters
    if name == "validation" and told.get("select_by", "loss") != "loss":
        return True
    value, default = _plain(told[name]), estimator._constraints[name].default
    is_same = type(value) is type(default) and bool(value == default)
    return not is_same


def _plain(value: Any) -> Any:
    """A number or a text of NumPy as that of Python, which is what defaults are."""
    return value.item() if isinstance(value, np.generic) else value


def _refuse_without_effect(estimator: AdaCapBase, plan: MemberPlan) -> None:
    """Refuse parameters of nets where no net would use them."""
    if any(member.partition(":")[0] == "nets" for member in plan.members):
        return
    inert = [name for name in _OF_NETS if name not in _OF_FOLDS]
    told, what = estimator._parameters, "trains none"
    if plan.has_nets:
        inert, what = list(_NOT_OF_FOURIER), "trains those of Fourier features, of a fixed size"
    given = [f"{name}={told[name]!r}" for name in inert if _is_given(estimator, name)]
    if not plan.has_nets and told.get("select_by", "loss") != "loss":
        given.append(f"validation={estimator.validation!r}")
    if not given:
        return
    *most, last = given
    many = bool(most)
    raise ValueError(
        f"{', '.join(most)}{' and ' * many}{last} describe{'s' * (not many)} nets, and "
        f"quality={told['quality']!r} {what}. Leave {'them' if many else 'it'} out, or use "
        "quality='nets', a bag of nets, or quality='balanced', a blend with nets among its members."
    )


def _why_not(told: Mapping[str, Any], is_table: bool, has_validation_rows: bool) -> str:
    """Why members cannot be blended; empty where they can."""
    if not is_table:
        return "for samples that are not rows of a table"
    if has_validation_rows:
        return "with X_val, y_val"
    if told["warm_start"]:
        return "with warm_start=True"
    if told["validation"] not in ("auto", "folds"):
        return f"with validation={told['validation']!r}"
    if told["n_estimators"] == 1:
        return "with n_estimators=1"
    return ""
