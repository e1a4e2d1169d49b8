"""Errors and warnings that adacap raises on purpose, and the words for an unknown name."""

import difflib
import os
import sys
import warnings
from collections.abc import Iterable

__all__ = [
    "AdaCapError",
    "DivergenceError",
    "ModelFileError",
    "NonFiniteError",
    "NotPositiveDefiniteError",
    "NumericalWarning",
    "OutputExistsError",
    "refuse_existing",
    "suggest",
]


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


class OutputExistsError(AdaCapError, FileExistsError):
    """A file to write is there already and nobody said to replace it."""


class NumericalWarning(UserWarning):
    """A result is valid but was obtained with numerical help."""


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse to replace a file unless told to: the rule of everything that writes one.

    Raises
    ------
    OutputExistsError

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


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called us, however deep we are.

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


def suggest(name: object, known: Iterable[str], what: str) -> str:
    """Text of an error about an unknown name, with the nearest known one.

    Examples
    --------
    >>> suggest("snnn", ["mlp", "snn"], "architecture")
    "Unknown architecture 'snnn'. Did you mean 'snn'? Known: mlp, snn."
    """
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"Unknown {what} {name!r}.{hint} Known: {', '.join(known)}."
