"""What a method is, and the register of all of them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from adacap.bench.jobs import KINDS
from adacap.exceptions import AdaCapError, suggest

__all__ = [
    "CATEGORIES",
    "METHODS",
    "Method",
    "MethodError",
    "find_method",
    "register",
    "threads",
    "unavailable",
]

CATEGORIES: dict[str, str] = {
    "AdaCap": "networks with the Tikhonov layer and the MLR loss",
    "Tikhonov": "networks with the Tikhonov layer alone",
    "MLR-NN": "the nets and ensembles of the 2021 supplement",
    "DNN": "ordinary networks",
    "GBDT": "boosted trees",
    "RF": "forests",
    "SVM": "support vector machines",
    "Kernel": "other kernel methods",
    "Linear": "linear models, and Gaussian classes",
    "MARS": "adaptive splines",
    "Tree": "single trees",
    "Baseline": "what to beat",
    "Peer": "methods from after the paper",
}

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class MethodError(AdaCapError, ValueError):
    """A method is unknown, registered twice or wrongly described."""


@dataclass(frozen=True)
class Method:
    """An entry of the register.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens.
    category : str
        One of ``CATEGORIES``, or a new one; contests by category count it as such.
    kinds : set of {"regression", "binary", "multiclass"}
        Tasks the method does.
    build : callable
        ``build(kind, seed)`` gives a fresh estimator with ``fit`` and ``predict``, and for
        classes ``predict_proba`` or ``decision_function``. It prints nothing, writes no file and
        uses :func:`threads` threads.
    packages : tuple of str
        Import names the method needs.
    extra : str, optional
        Extra of adacap that installs them.
    max_rows : int, optional
        Rows of the largest table it should be given; None means any.
    probe : callable, optional
        ``probe(estimator, split)`` looks at the fitted estimator and gives JSON-able data, such as
        the number of iterations or a curve; it becomes the payload of the record.
    note : str
        For the list of methods.

    Examples
    --------
    >>> from sklearn.linear_model import HuberRegressor
    >>> method = Method("huber", "Linear", {"regression"}, lambda kind, seed: HuberRegressor())
    >>> method.build("regression", 0)
    HuberRegressor()
    """

    name: str
    category: str
    kinds: Set[str]
    build: Callable[[str, int], Any]
    packages: tuple[str, ...] = ()
    extra: str | None = None
    max_rows: int | None = None
    note: str = ""
    probe: Callable[[Any, Any], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise MethodError(
                f"A method's name is made of lower-case words joined by hyphens, got {self.name!r}."
            )
        for field in ("kinds", "packages"):
            if isinstance(getattr(self, field), str):
                raise MethodError(
                    f"{field} of method {self.name!r} must be a collection of names, "
                    f"got {getattr(self, field)!r}. Put it in braces or parentheses."
                )
        object.__setattr__(self, "kinds", frozenset(self.kinds))
        object.__setattr__(self, "packages", tuple(self.packages))
        if not self.kinds:
            raise MethodError(f"Method {self.name!r} has no kind. Known: {', '.join(KINDS)}.")
        for kind in sorted(self.kinds - set(KINDS)):
            raise MethodError(suggest(kind, KINDS, f"kind of method {self.name!r}:"))
        if not callable(self.build):
            raise MethodError(
                f"build of method {self.name!r} must be a function of kind and seed, "
                f"got {self.build!r}."
            )

    @property
    def does(self) -> str:
        """Its kinds of task, in words."""
        return " and ".join(sorted(self.kinds))


METHODS: dict[str, Method] = {}


def register(method: Method) -> None:
    """Add a method to ``METHODS``.

    Parameters
    ----------
    method : Method

    Raises
    ------
    MethodError
        If the name is taken by a method or by a group.

    Examples
    --------
    >>> register(METHODS["ridge"])
    Traceback (most recent call last):
    adacap.bench.methods.registry.MethodError: There is already a method 'ridge' ...
    """
    from adacap.bench.methods.groups import GROUPS

    if method.name in METHODS:
        raise MethodError(
            f"There is already a method {method.name!r} (category "
            f"{METHODS[method.name].category}). Choose another name."
        )
    if method.name in GROUPS:
        raise MethodError(f"{method.name!r} is the name of a group. Choose another name.")
    METHODS[method.name] = method


def find_method(name: str) -> Method:
    """Method of a name.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> find_method("ridge").category
    'Linear'
    >>> find_method("catbost")
    Traceback (most recent call last):
    adacap.bench.methods.registry.MethodError: Unknown method 'catbost'. Did you mean 'catboost'...
    """
    if name not in METHODS:
        raise MethodError(suggest(name, METHODS, "method"))
    return METHODS[name]


def unavailable(method: Method) -> str | None:
    """Why a method cannot be used here, with the way out; None if it can.

    Nothing is imported: packages are only looked for.

    Parameters
    ----------
    method : Method

    Examples
    --------
    >>> print(unavailable(METHODS["ridge"]))
    None
    >>> moon = Method("moon", "Peer", {"binary"}, lambda kind, seed: None, packages=("moonshine",))
    >>> unavailable(moon)
    'moon needs the package moonshine, which is not installed: pip install moonshine'
    """
    missing = [package for package in method.packages if not _is_installed(package)]
    if not missing:
        return None
    names, verb = " and ".join(missing), "is" if len(missing) == 1 else "are"
    source = f"'adacap[{method.extra}]'" if method.extra else " ".join(missing)
    plural = "" if len(missing) == 1 else "s"
    return (
        f"{method.name} needs the package{plural} {names}, which {verb} not installed: "
        f"pip install {source}"
    )


def threads() -> int:
    """Threads a method may use: the environment variable ``ADACAP_THREADS``, or one.

    Examples
    --------
    >>> threads() >= 1
    True
    """
    text = os.environ.get("ADACAP_THREADS", "1")
    if not text.isdecimal() or int(text) < 1:
        raise MethodError(f"ADACAP_THREADS must be a positive whole number, got {text!r}.")
    return int(text)


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None
