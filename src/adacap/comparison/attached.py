"""Methods that other distributions add, by entry point."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from adacap.comparison.registry import MethodError

__all__ = ["GROUP", "load_attached"]

GROUP = "adacap.methods"


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
