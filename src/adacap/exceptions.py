"""Errors and warnings that adacap raises on purpose."""

__all__ = [
    "AdaCapError",
    "DivergenceError",
    "ModelFileError",
    "NonFiniteError",
    "NotPositiveDefiniteError",
    "NumericalWarning",
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


class NumericalWarning(UserWarning):
    """A result is valid but was obtained with numerical help."""
