"""Exit codes of the benchmark's commands: the library's rule, with the benchmark's names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from adacap.cli import common

__all__ = ["command"]

Command = Callable[..., None]


def command(kept: str = "") -> Callable[[Command], Command]:
    """A command under :func:`adacap.cli.common.command`: 0 done, 1 failed, 2 wrong command line.

    A plain ValueError is an option out of range or a name that nobody knows: code 2, as for an
    unknown method or item. What the input or the work causes has a class of its own.

    Parameters
    ----------
    kept : str
        What an interruption leaves behind.

    Examples
    --------
    >>> @command()
    ... def show():
    ...     raise ValueError("Unknown task 'abalon'.")
    >>> import typer
    >>> try:
    ...     show()
    ... except typer.Exit as end:
    ...     end.exit_code
    2
    """

    def decorated(function: Command) -> Command:
        @wraps(function)
        def run(*args: Any, **options: Any) -> None:
            try:
                function(*args, **options)
            except KeyboardInterrupt as error:
                raise KeyboardInterrupt(str(error) or kept) from None
            except ValueError as error:
                if _is_wrong_usage(error):
                    raise common.UsageError(str(error)) from error
                raise

        return common.command(run)

    return decorated


def _is_wrong_usage(error: ValueError) -> bool:
    from adacap.comparison import MethodError
    from adacap_bench.reproduce.registry import UnknownItemError

    return type(error) is ValueError or isinstance(error, MethodError | UnknownItemError)
