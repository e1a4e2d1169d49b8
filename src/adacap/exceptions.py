"""Errors and warnings that adacap raises on purpose, and messages about unknown names."""

import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any

__all__ = [
    "AdaCapError", "DivergenceError", "MissingPackageError", "ModelFileError", "NoFolderError",
    "NonFiniteError", "NotPositiveDefiniteError", "NumericalWarning", "OutputError",
    "OutputExistsError", "SignatureError", "UsageError", "did_you_mean", "few_of", "nearest",
    "need", "refuse_existing", "suggest",
]  # fmt: skip


class AdaCapError(Exception):
    """Base of every error that is not a plain misuse of an argument."""


class NonFiniteError(AdaCapError, ArithmeticError):
    """A matrix to factorise holds NaN or infinite values."""


class NotPositiveDefiniteError(AdaCapError, ArithmeticError):
    """A regularised Gram matrix cannot be factorised, even with jitter."""


class DivergenceError(AdaCapError, ArithmeticError):
    """Training produced no usable iteration."""


class ModelFileError(AdaCapError, ValueError):
    """A model file is missing parts, malformed or of an unknown version."""


class SignatureError(ModelFileError):
    """A model file is not signed, or not with the key that was given."""


class OutputError(AdaCapError, OSError):
    """A file cannot be written at the requested place."""


class OutputExistsError(OutputError, FileExistsError):
    """The file to write exists, and replacing it was not requested."""


class NoFolderError(OutputError, FileNotFoundError):
    """The folder of a file to write does not exist."""


class MissingPackageError(AdaCapError, ImportError):
    """An optional package is not installed."""


class UsageError(AdaCapError, ValueError):
    """Something was asked for that does not exist, or that does not go with the rest.

    A command ends with exit code 2.
    """


class NumericalWarning(UserWarning):
    """A result is valid, but needed a numerical safeguard."""


def refuse_existing(path: str | os.PathLike[str], force: bool = False) -> None:
    """Refuse to replace a file unless asked to; everything that writes a file follows this rule.

    Examples
    --------
    >>> refuse_existing(os.devnull, force=False)
    Traceback (most recent call last):
    adacap.exceptions.OutputExistsError: /dev/null exists. Choose another name, or replace it:...
    """
    if os.path.lexists(path) and not force:
        raise OutputExistsError(
            f"{os.fspath(path)} exists. Choose another name, or replace it: force=True (--force on "
            "the command line)."
        )


def need(module: str, what: str, extra: str) -> Any:
    """Module of an optional package.

    Parameters
    ----------
    module : str
        Import name.
    what : str
        What needs it: the start of the message.
    extra : str
        What to install, such as ``"adacap[files]"``.

    Raises
    ------
    MissingPackageError
        If the package is not there; an error inside a package that is there is raised as it is.

    Examples
    --------
    >>> need("no_such_reader", "Reading stone tablets", "adacap[files]")
    Traceback (most recent call last):
    adacap.exceptions.MissingPackageError: Reading stone tablets needs the package no_such_reader,
    which is not installed. Run: pip install 'adacap[files]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name not in (module, package):
            raise
        raise MissingPackageError(
            f"{what} needs the package {package}, which is not installed. "
            f"Run: pip install {extra!r}"
        ) from error


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the user's line, however deep the call is.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_caller("Too few rows.")
    >>> str(told[0].message)
    'Too few rows.'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and any(part in frame.f_code.co_filename for part in _OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# Directories whose frames are passed over; scikit-learn and joblib wrap our methods.
_OURS = (os.path.dirname(__file__) + os.sep, f"{os.sep}sklearn{os.sep}", f"{os.sep}joblib{os.sep}")


_FEW, _MANY = 6, 20  # known names that are always listed; that are listed where none is near


def nearest(name: object, known: Iterable[str], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """Known names similar to a name, the nearest first.

    Parameters
    ----------
    name : object
        Compared as text.
    known : iterable of str
    n : int, default=1
        At most this many.
    cutoff : float, default=0.6
        How similar they must be, from 0 (anything) to 1 (the same).

    Examples
    --------
    >>> nearest("snnn", ["mlp", "snn"]), nearest("snnn", ["mlp"])
    (['snn'], [])
    """
    return difflib.get_close_matches(str(name), list(known), n=n, cutoff=cutoff)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Question for an unknown name, "did you mean"; empty if no known name is similar.

    Examples
    --------
    >>> did_you_mean("snnn", ["mlp", "snn"]), did_you_mean("x", ["mlp", "snn"])
    (" Did you mean 'snn'?", '')
    """
    return "".join(f" Did you mean {near!r}?" for near in nearest(name, known))


def suggest(name: object, known: Iterable[str], what: str, see: str = "") -> str:
    """Text of an error about an unknown name: the nearest one, and a few known ones.

    Parameters
    ----------
    name : object
    known : iterable of str
    what : str
        What it names, such as ``"column"``.
    see : str, optional
        How to list the known names, such as ``"See: adacap data list"``.

    Examples
    --------
    >>> suggest("snnn", ["mlp", "snn"], "architecture")
    "Unknown architecture 'snnn'. Did you mean 'snn'? Known: mlp, snn."
    >>> suggest("sizes", ["size", "sized", "side", "a", "b", "c", "d"], "column")
    "Unknown column 'sizes'. Did you mean 'size'? Nearest of 7: size, sized, side."
    >>> suggest("zzz", map(str, range(100)), "task", "See: adacap data list")
    "Unknown task 'zzz'. None of 100 is near. See: adacap data list"
    """
    known = sorted(known)
    return f"Unknown {what} {name!r}.{did_you_mean(name, known)} {few_of(name, known, see)}"


def few_of(name: object, known: Iterable[str], see: str = "") -> str:
    """Sentence that lists the known names: all if they are few, else up to three near ones.

    Where none is near, it says how to list them, or lists them if that is not too long.

    Examples
    --------
    >>> few_of("x", ["mlp", "snn"])
    'Known: mlp, snn.'
    """
    known = list(known)
    near = nearest(name, known, 3, 0.5)
    if len(known) <= _FEW or (not near and not see and len(known) <= _MANY):
        return f"Known: {', '.join(known)}."
    if near:
        return f"Nearest of {len(known)}: {', '.join(near)}."
    return f"None of {len(known)} is near.{see and f' {see}'}"
