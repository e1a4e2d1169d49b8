"""What the commands share: options, exit codes, printing."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from adacap.files import Source, TextOptions

__all__ = [
    "AsJson", "DateFormat", "Decimal", "Encoding", "Force", "Separator", "UsageError", "Weight",
    "command", "note", "number", "plus_minus", "print_json", "print_table", "say", "size_of",
    "split_names", "text_options",
]  # fmt: skip

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="Column of row weights; it is not learned from."),
]
_TEXT = "Text files"
_WIDE = 10_000  # columns of a terminal that cuts nothing
Separator = Annotated[
    str | None,
    typer.Option(help="Between cells; 'tab', or 'space' for any blanks.", show_default="found out",
                 rich_help_panel=_TEXT),
]  # fmt: skip
Decimal = Annotated[
    str | None,
    typer.Option(help="Decimal sign.", show_default="found out", rich_help_panel=_TEXT),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Such as latin-1.", show_default="found out", rich_help_panel=_TEXT),
]
DateFormat = Annotated[
    str | None,
    typer.Option(help="Of dates, such as '%d/%m/%Y'.", show_default="ISO 8601 and clear others",
                 rich_help_panel=_TEXT),
]  # fmt: skip


class UsageError(ValueError):
    """The command line asks for something that is not there: exit code 2."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Exit 2 for wrong usage, 1 for data, models and files that will not do; messages alone.

    A command that is interrupted says what was kept: what the KeyboardInterrupt says, else nothing.
    """

    @wraps(function)
    def run(*args: Any, **options: Any) -> None:
        from adacap.exceptions import AdaCapError
        from adacap.files import OutputExistsError

        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_each_once()
                function(*args, **options)
        except KeyboardInterrupt as error:
            typer.echo(f"Interrupted: {str(error) or 'nothing was written'}.", err=True)
            raise typer.Exit(130) from error
        except (UsageError, OutputExistsError) as error:
            _fail(error, 2)
        except (AdaCapError, ValueError, TypeError, OSError, ImportError, MemoryError) as error:
            _fail(error, 1)

    return run


def _fail(error: BaseException, code: int) -> None:
    typer.echo(f"Error: {str(error) or type(error).__name__}", err=True)
    raise typer.Exit(code) from error


# What warnings for programmers say, in words for those who do not program.
_PLAIN_WORDS = {
    "are trained one by one, since": "The nets are trained one after the other, not all at once, "
    "which takes longer.",
}


def _show_each_once() -> Callable[..., None]:
    """Shower of warnings: each text once, however many nets say it."""
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
    typer.echo(f"Note: {text}", err=True)


def say(text: str = "", as_json: bool = False) -> None:
    """A line of the result, unless the result is JSON."""
    if not as_json:
        typer.echo(text)


def print_json(data: Any) -> None:
    """Print data as JSON; a number that is not finite becomes null."""
    typer.echo(json.dumps(_finite(data), indent=2, ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, best: int = -1, n_text: int = 1
) -> None:
    """Aligned columns, the first ``n_text`` to the left; nothing is cut, so it can be searched."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for j, name in enumerate(columns):
        table.add_column(name, justify="left" if j < n_text else "right", no_wrap=True)
    for i, row in enumerate(rows):
        table.add_row(*row, style="bold" if i == best else "")
    console = Console(highlight=False, markup=False, width=_WIDE)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: so many significant digits, no exponent in the usual range."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        whole = len(str(int(abs(value))))
        decimals = max(0, digits - whole) if abs(value) >= 1 else digits
        return f"{value:,.{decimals}f}".replace("-", "−")
    return f"{value:.{digits - 1}e}".replace("-", "−")


def plus_minus(mean: float, error: float) -> str:
    """A mean and its standard error, to the same decimal."""
    shown = number(mean)
    decimals = len(shown.partition(".")[2])
    if not math.isfinite(error) or "e" in shown:
        return f"{shown} ± {number(error, 2)}"
    return f"{shown} ± {error:,.{decimals}f}"


def size_of(n_bytes: int) -> str:
    """Size of a file for people."""
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"


def split_names(texts: Iterable[str], source: Source, what: str = "column") -> list[str]:
    """Names of columns given with commas, or one name that holds a comma itself."""
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
    """What the user says of a text file, checked."""
    import codecs

    from adacap.files import TextOptions
    from adacap.files.sniff import SPACES

    separator = "\t" if separator in ("tab", r"\t") else separator
    separator = SPACES if separator in ("space", " ", r"\s", SPACES) else separator
    for name, sign in (("separator", separator), ("decimal", decimal)):
        if sign is not None and len(sign) != 1 and (name, sign) != ("separator", SPACES):
            raise UsageError(f"--{name} must be one character, got {sign!r}.")
    if encoding is not None:
        try:
            encoding = codecs.lookup(encoding).name
        except LookupError:
            raise UsageError(f"Unknown --encoding {encoding!r}. Try utf-8 or latin-1.") from None
    return TextOptions(separator, decimal, encoding, date_format)
