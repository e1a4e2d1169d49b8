"""What a method is, and the registry of all methods. Importing this loads none of them."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any

from adacap.exceptions import AdaCapError, UsageError, suggest

__all__ = [
    "GROUP", "KINDS", "METHODS", "Method", "MethodError", "expand_methods", "find_method",
    "load_attached", "register", "register_group", "threads", "unavailable", "with_threads",
]  # fmt: skip

GROUP = "adacap.methods"  # of entry points, by which other distributions add theirs
KINDS = ("regression", "binary", "multiclass")
_LIST = "adacap.comparison.METHODS lists them, and: adacap bench methods"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LOWEST = re.compile(r"(?P<package>[\w.-]+)>=(?P<version>\d+(\.\d+)*)")


class MethodError(AdaCapError, ValueError):
    """A method is unknown, registered twice or wrongly described."""


class UnknownMethodError(MethodError, UsageError):
    """No method or group has that name."""


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens.
    category : str
        Such as ``Linear``; the benchmark's contests by category count it under this name.
    kinds : set of {"regression", "binary", "multiclass"}
        Tasks the method does.
    build : callable
        ``build(kind, seed)`` gives a fresh estimator with ``fit`` and ``predict``, and for
        classes ``predict_proba`` or ``decision_function``. It prints nothing, writes no file and
        uses :func:`threads` threads.
    packages : tuple of str
        Import names the method needs.
    extra : str, optional
        Extra of adacap-bench that installs them.
    max_rows : int, optional
        Rows of the largest table it should be given; None means any.
    probe : callable, optional
        ``probe(estimator, split)`` looks at the fitted estimator and gives JSON-able data, such as
        the number of iterations or a curve; it becomes the payload of the record.
    note : str
        For the list of methods.
    lowest : str, optional
        A package and the lowest version of it that the method needs, where that is above what the
        library needs: ``"scikit-learn>=1.8"``.

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
    lowest: str | None = None

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
        if self.lowest is not None and not _LOWEST.fullmatch(self.lowest):
            raise MethodError(
                f"lowest of method {self.name!r} must be a package and a version such as "
                f"'scikit-learn>=1.8', got {self.lowest!r}."
            )

    @property
    def does(self) -> str:
        """Its kinds of task, in words."""
        return " and ".join(sorted(self.kinds))


METHODS: dict[str, Method] = {}
_groups: dict[str, Callable[[], tuple[str, ...]]] = {}


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
    adacap.comparison.registry.MethodError: There is already a method 'ridge' ...
    """
    if method.name in METHODS:
        raise MethodError(
            f"There is already a method {method.name!r} (category "
            f"{METHODS[method.name].category}). Choose another name."
        )
    if method.name in _groups:
        raise MethodError(f"{method.name!r} is the name of a group. Choose another name.")
    METHODS[method.name] = method


def register_group(name: str, members: Callable[[], tuple[str, ...]]) -> None:
    """Let a name stand for several methods.

    Parameters
    ----------
    name : str
    members : callable
        Gives the names of the methods; asked each time, since methods may be registered later.

    Raises
    ------
    MethodError
        If the name is taken by a method or by a group.

    Examples
    --------
    >>> register_group("ridge", lambda: ("ridge", "ols"))
    Traceback (most recent call last):
    adacap.comparison.registry.MethodError: 'ridge' is the name of a method or group already...
    """
    if name in METHODS or name in _groups:
        raise MethodError(f"{name!r} is the name of a method or group already. Choose another.")
    _groups[name] = members


def find_method(name: str) -> Method:
    """Method of a name.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> find_method("ridge").category
    'Linear'
    >>> find_method("rigde")
    Traceback (most recent call last):
    adacap.comparison.registry.UnknownMethodError: Unknown method 'rigde'. Did you mean 'ridge'...
    """
    if name not in METHODS:
        raise UnknownMethodError(suggest(name, METHODS, "method", _LIST))
    return METHODS[name]


def expand_methods(names: Sequence[str]) -> tuple[Method, ...]:
    """Methods meant by names of methods and groups, each once, in the order of mention.

    Parameters
    ----------
    names : sequence of str

    Returns
    -------
    tuple of Method
        Those that cannot be used here too: see :func:`unavailable`.

    Examples
    --------
    >>> [method.name for method in expand_methods(["lasso", "rf", "lasso"])]
    ['lasso', 'rf']
    """
    if isinstance(names, str):
        raise MethodError(f"names must be a list of names, got {names!r}. Split it first.")
    found: dict[str, Method] = {}
    for name in names:
        if name not in METHODS and name not in _groups:
            raise UnknownMethodError(suggest(name, [*METHODS, *_groups], "method or group", _LIST))
        for member in _groups[name]() if name in _groups else (name,):
            found[member] = METHODS[member]
    return tuple(found.values())


@cache
def load_attached() -> tuple[str, ...]:
    """Import the modules that entry points of ``adacap.methods`` name, once per process.

    A module registers its methods when it is imported.

    Returns
    -------
    tuple of str
        Names of the entry points; none if only the library is installed.

    Raises
    ------
    MethodError
        If one cannot be imported.

    Examples
    --------
    >>> load_attached() == load_attached()
    True
    """
    found = entry_points(group=GROUP)
    for entry in found:
        try:
            entry.load()
        except ImportError as error:
            raise MethodError(
                f"The methods of {entry.value} cannot be imported: {error}. Reinstall it, or "
                "remove it."
            ) from error
    return tuple(entry.name for entry in found)


def unavailable(method: Method) -> str | None:
    """Why a method cannot be used here, with the way out; None if it can.

    Nothing is imported; only the presence of packages is checked.

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
        return _too_old(method)
    names, verb = " and ".join(missing), "is" if len(missing) == 1 else "are"
    source = f"'adacap-bench[{method.extra}]'" if method.extra else " ".join(missing)
    plural = "" if len(missing) == 1 else "s"
    return (
        f"{method.name} needs the package{plural} {names}, which {verb} not installed: "
        f"pip install {source}"
    )


def _too_old(method: Method) -> str | None:
    """Why an installed package is too old for a method; None if it is not."""
    asked = _LOWEST.fullmatch(method.lowest or "")
    if asked is None:
        return None
    try:
        found = version(asked["package"])
    except PackageNotFoundError:  # installed without its metadata
        return None
    if _release(found) >= _release(asked["version"]):
        return None
    return (
        f"{method.name} needs {asked['package']} {asked['version']} or newer, but {found} is "
        f"installed: pip install '{method.lowest}'"
    )


def _release(text: str) -> list[int]:
    """Numbers that a version starts with."""
    return [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", text)[0])]


_threads: ContextVar[int | None] = ContextVar("_threads", default=None)


@contextmanager
def with_threads(n: int) -> Iterator[None]:
    """Build methods with this many threads inside the block, regardless of the environment.

    Examples
    --------
    >>> with with_threads(3):
    ...     threads()
    3
    """
    before = _threads.set(n)
    try:
        yield
    finally:
        _threads.reset(before)


def threads() -> int:
    """Threads a method may use: those of ``with_threads``, of ``ADACAP_THREADS``, or one.

    Examples
    --------
    >>> threads() >= 1
    True
    """
    told = _threads.get()
    if told is not None:
        return told
    text = os.environ.get("ADACAP_THREADS", "1")
    if not text.isdecimal() or int(text) < 1:
        raise MethodError(f"ADACAP_THREADS must be a positive whole number, got {text!r}.")
    return int(text)


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None
