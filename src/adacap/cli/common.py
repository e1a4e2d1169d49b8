"""What the commands share: options, exit codes, printing."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.exceptions import AdaCapError, OutputError, UsageError
from adacap.text import counted, number, plus_minus, size_of, table_lines, visible

if TYPE_CHECKING:
    from adacap.files import Source, TextOptions

__all__ = [
    "LARGEST_SEED",
    "AsJson", "DateFormat", "Decimal", "Encoding", "EscapeFormulas", "Force", "GroupColumn",
    "Keep", "KeyFile", "Separator", "TimeColumn", "UsageError", "Weight",
    "command", "counted", "exit_code", "note", "number", "plus_minus", "print_json", "print_table",
    "refuse_same", "say", "shares", "size_of", "split_names", "text_options",
]  # fmt: skip

LARGEST_SEED = 2**31 - 1  # scikit-learn's, with room for those of later splits
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In text files, put ' before text that a spreadsheet would run as a formula.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="Column of row weights; it is not learned from."),
]
_ROWS = "Rows that are not independent"
GroupColumn = Annotated[
    str | None,
    typer.Option("--group", help="Column of groups, such as a patient: none is on both sides of a "
                 "split. It is not learned from.", rich_help_panel=_ROWS),
]  # fmt: skip
TimeColumn = Annotated[
    str | None,
    typer.Option("--time", help="Column that orders the rows: tests are on later rows. It is not "
                 "learned from.", rich_help_panel=_ROWS),
]  # fmt: skip
Keep = Annotated[
    str | None,
    typer.Option("--keep", help="Of the columns of --group and --time, those to learn from "
                 "anyway, comma-separated.", rich_help_panel=_ROWS),
]  # fmt: skip
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help="File of the key that the model file is signed with."),
]
_TEXT = "Text files"
Separator = Annotated[
    str | None,
    typer.Option(help="Between cells; 'tab', or 'space' for any blanks.", show_default="detected",
                 rich_help_panel=_TEXT),
]  # fmt: skip
Decimal = Annotated[
    str | None,
    typer.Option(help="Decimal sign.", show_default="detected", rich_help_panel=_TEXT),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Such as latin-1.", show_default="detected", rich_help_panel=_TEXT),
]
DateFormat = Annotated[
    str | None,
    typer.Option(help="Of dates, such as '%d/%m/%Y'.", show_default="ISO 8601 and clear others",
                 rich_help_panel=_TEXT),
]  # fmt: skip


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

    An interrupted command says what was kept: what the KeyboardInterrupt says, else ``kept``.
    """

    @wraps(function)
    def run(*args: Any, **options: Any) -> None:
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

    return run


def _flush() -> None:
    """Write what is printed; a full disk or a closed pipe is an error now, not when Python ends."""
    try:
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


# Warnings for programmers, reworded for users of the command line.
_PLAIN_WORDS = {
    "are trained one by one, since": "The nets are trained one after the other, not all at once, "
    "which takes longer.",
}


def _show_each_once() -> Callable[..., None]:
    """Function that shows each warning once, however many nets raise it."""
    shown: set[str] = set()

    def show(message: Warning | str, *args: Any, **more: Any) -> None:
        text = str(message)
        text = next((plain for part, plain in _PLAIN_WORDS.items() if part in text), text)
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
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    best: int = -1,
    n_text: int | None = 1,
) -> None:
    """Print :func:`adacap.text.table_lines`, titles and the best row in bold on a terminal."""
    cells = [[visible(cell) for cell in row] for row in rows]
    for i, line in enumerate(table_lines(columns, cells, n_text=n_text), start=-1):
        typer.echo(typer.style(line, bold=True) if i in (-1, best) else line)


def shares(text: str | None, option: str, example: str) -> list[float]:
    """Numbers between 0 and 1 of an option, comma-separated.

    Examples
    --------
    >>> shares("0.5,0.9", "--interval", "0.9"), shares(None, "--interval", "0.9")
    ([0.5, 0.9], [])
    >>> shares("90", "--interval", "0.9")
    Traceback (most recent call last):
    adacap.exceptions.UsageError: --interval is a share between 0 and 1, got 90. Did you mean 0.9?
    """
    found = []
    for part in [] if text is None else text.split(","):
        try:
            value = float(part)
        except ValueError:
            raise UsageError(f"{option} takes numbers such as {example}, got {part!r}.") from None
        if not 0 < value < 1:
            meant = _meant(value, option, example)
            raise UsageError(f"{option} is a share between 0 and 1, got {value:g}.{meant}")
        found.append(value)
    return found


def _meant(value: float, option: str, example: str) -> str:
    """The share that a percentage was meant to be."""
    if 1 < value < 100:
        return f" Did you mean {value / 100:g}?"
    return f" For example: {option} {example}."


def refuse_same(paths: Mapping[str, Path | None]) -> None:
    """Refuse the same file in two roles: the later would replace the earlier, --force or not.

    Parameters
    ----------
    paths : mapping of str to path
        By the names of arguments and options; None for what is not asked for.

    Examples
    --------
    >>> refuse_same({"DATA": Path("a.csv"), "--output": Path("./a.csv")})
    Traceback (most recent call last):
    adacap.exceptions.UsageError: DATA and --output are the same file, a.csv. Name another.
    """
    seen: dict[str, str] = {}
    for role, path in paths.items():
        if path is None or str(path) == "-":
            continue
        other = seen.setdefault(os.path.realpath(path), role)
        if other != role:
            raise UsageError(f"{other} and {role} are the same file, {path}. Name another.")


def split_names(texts: Iterable[str], source: Source, what: str = "column") -> list[str]:
    """Comma-separated names of columns, or one name that contains a comma."""
    found: list[str] = []
    for text in texts:
        own = [text] if text in source.names else [part.strip() for part in text.split(",")]
        found += [name for name in own if name]
    try:
        source.check(found, what)
    except LookupError as error:
        raise UsageError(str(error)) from error
    return list(dict.fromkeys(found))


def text_options(
    separator: str | None, decimal: str | None, encoding: str | None, date_format: str | None
) -> TextOptions:
    """The user's options for a text file, checked."""
    from adacap.files import TextOptions
    from adacap.files.sniff import SPACES

    separator = "\t" if separator in ("tab", r"\t") else separator
    separator = SPACES if separator in ("space", " ", r"\s", SPACES) else separator
    for name, sign in (("separator", separator), ("decimal", decimal)):
        if sign is not None and len(sign) != 1 and (name, sign) != ("separator", SPACES):
            raise UsageError(f"--{name} must be one character, got {sign!r}.")
    encoding = None if encoding is None else _encoding(encoding)
    return TextOptions(separator, decimal, encoding, date_format)


def _encoding(name: str) -> str:
    """Python's name of an encoding; codecs that do not decode bytes, such as rot13, are refused."""
    import codecs

    try:
        b"a,b\n".decode(name, "replace")
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise UsageError(f"Unknown --encoding {name!r}. Try utf-8 or latin-1.") from None
