"""How commands run and print: groups of options, exit codes, notes, results."""

from __future__ import annotations

import inspect
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any

import typer

from adacap.exceptions import AdaCapError, OutputError, UsageError
from adacap.text import table_lines, visible

__all__ = ["UsageError", "command", "exit_code", "note", "print_json", "print_table", "say"]


def exit_code(error: BaseException) -> int:
    """The rule of every command: 2 if the command line is wrong, 1 if the input or the work failed.

    A missing file, a folder in place of a file, and an output that cannot be written are a wrong
    command line.

    Examples
    --------
    >>> exit_code(UsageError("Unknown --task")), exit_code(FileNotFoundError("no.csv"))
    (2, 2)
    >>> exit_code(ValueError("no column to learn from"))
    1
    """
    wrong = UsageError | OutputError | FileNotFoundError | IsADirectoryError
    return 2 if isinstance(error, wrong) else 1


def command(
    function: Callable[..., None], kept: str = "nothing was written"
) -> Callable[..., None]:
    """A command that ends with its message alone and the code of :func:`exit_code`; 130 on Ctrl-C.

    An interrupted command says what was kept: what the KeyboardInterrupt says, else ``kept``. A
    parameter that is a named tuple stands for its fields, an option each.
    """
    signature, groups = _spread(function)

    @wraps(function)
    def run(*args: Any, **options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field: options.pop(field) for field in group._fields})
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_each_once()
                function(*args, **options)
                _flush()
        except KeyboardInterrupt as error:
            typer.echo(f"Interrupted: {str(error) or kept}.", err=True)
            raise typer.Exit(130) from error
        except (AdaCapError, ValueError, TypeError, OSError, ImportError, MemoryError) as error:
            typer.echo(f"Error: {_lines(str(error)) or type(error).__name__}", err=True)
            with suppress(OSError):
                _flush()
            raise typer.Exit(exit_code(error)) from error

    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def _spread(function: Callable[..., None]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Signature with the fields of each group of options in its place, and these groups."""
    signature, groups = inspect.signature(function, eval_str=True), {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if hasattr(parameter.annotation, "_fields"):
            groups[name] = parameter.annotation
            fields = inspect.signature(parameter.annotation).parameters.values()
            parameters += [field.replace(kind=parameter.kind) for field in fields]
        else:
            parameters.append(parameter)
    return signature.replace(parameters=parameters), groups


def _flush() -> None:
    """Write what is printed; a full disk or a closed pipe is an error now, not when Python ends."""
    try:
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


_ONE_BY_ONE = "are trained one by one, since"  # a warning for programmers, and in plain words:
_PLAIN_WORDS = "The nets are trained one after the other, not all at once, which takes longer."


def _show_each_once() -> Callable[..., None]:
    """Function that shows each warning once, however many nets raise it."""
    shown: set[str] = set()

    def show(message: Warning | str, *args: Any, **more: Any) -> None:
        text = _PLAIN_WORDS if _ONE_BY_ONE in str(message) else str(message)
        if text not in shown:
            shown.add(text)
            note(text)

    return show


def note(text: str) -> None:
    """A line for the reader on standard error, so that standard output stays for results."""
    typer.echo(f"Note: {_lines(text)}", err=True)


def say(text: str = "", as_json: bool = False) -> None:
    """A line of the result, unless the result is JSON."""
    if not as_json:
        typer.echo(_lines(text))


def _lines(text: str) -> str:
    """Text of some lines, without control characters."""
    return visible(text, kept="\n\t")


def print_json(data: Any) -> None:
    """Print data as JSON; a number that is not finite becomes null.

    Control characters are escaped, as JSON allows: a reader gets the same text.
    """
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False)
    typer.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, best: int = -1, n_text: int | None = 1
) -> None:
    """Print :func:`adacap.text.table_lines`, titles and the best row in bold on a terminal."""
    cells = [[visible(cell) for cell in row] for row in rows]
    for i, line in enumerate(table_lines(columns, cells, n_text=n_text), start=-1):
        typer.echo(typer.style(line, bold=True) if i in (-1, best) else line)
