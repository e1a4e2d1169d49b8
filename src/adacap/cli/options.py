"""Options that several commands have, and what is read from them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from adacap.exceptions import UsageError

if TYPE_CHECKING:
    from adacap.files import Source, TextOptions

__all__ = [
    "LARGEST_SEED", "AsJson", "Data", "DependentRows", "Drop", "EscapeFormulas", "Force",
    "IdColumns", "KeyFile", "MaxRows", "Members", "Method", "Model", "NewData", "OneTarget",
    "TargetTransform", "Task", "TextFile", "Weight", "refuse_same", "shares", "split_names",
]  # fmt: skip

LARGEST_SEED = 2**31 - 1  # scikit-learn's, with room for those of later splits

Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV, Parquet (file or folder), Feather, Excel, JSON lines; also .gz, .zip; - for"
        " standard input."
    ),
]
NewData = Annotated[Path, typer.Argument(help="Table: any file that fit takes.")]
Model = Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In text files, put ' before text that a spreadsheet would run as a formula.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help="File of the key that the model file is signed with."),
]
IdColumns = Annotated[
    list[str] | None, typer.Option("--id", help="Columns to keep, comma-separated.")
]
OneTarget = Annotated[str, typer.Option("--target", "-t", help="Column to predict.")]
Task = Annotated[str, typer.Option("--task", help="auto, regression or classification.")]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="A preset of adacap.make, or members to blend, such as kernel,boosting.",
        show_default="a blend",
    ),
]
Members = Annotated[
    int | None,
    typer.Option(
        "--n-estimators",
        min=1,
        show_default="5",
        help="Folds of a blend named by --method; else nets alone, one per fold.",
    ),
]
TargetTransform = Annotated[
    str | None,
    typer.Option(help="Of a skewed target: log, yeo-johnson, none, or auto, found out of fold.",
                 show_default="none"),
]  # fmt: skip
Drop = Annotated[list[str] | None, typer.Option(help="Columns to leave out, comma-separated.")]
MaxRows = Annotated[
    int | None,
    typer.Option(min=2, help="Rows to draw from a larger table.",
                 show_default="what training can see"),
]  # fmt: skip
Weight = Annotated[
    str | None, typer.Option("--weight", help="Column of row weights; it is not learned from.")
]


# Groups of options: ``command`` gives a command each field of such a parameter as an option.

_ROWS, _TEXT = "Rows that are not independent", "Text files"


class DependentRows(NamedTuple):
    """Columns by which rows depend on each other."""

    group: Annotated[
        str | None,
        typer.Option("--group", help="Column of groups, such as a patient: none is on both sides "
                     "of a split. It is not learned from.", rich_help_panel=_ROWS),
    ] = None  # fmt: skip
    time: Annotated[
        str | None,
        typer.Option("--time", help="Column that orders the rows: tests are on later rows. It is "
                     "not learned from.", rich_help_panel=_ROWS),
    ] = None  # fmt: skip
    keep: Annotated[
        str | None,
        typer.Option("--keep", help="Of the columns of --group and --time, those to learn from "
                     "anyway, comma-separated.", rich_help_panel=_ROWS),
    ] = None  # fmt: skip


class TextFile(NamedTuple):
    """How a text file is written, where the user says so."""

    separator: Annotated[
        str | None,
        typer.Option(help="Between cells; 'tab', or 'space' for any blanks.",
                     show_default="detected", rich_help_panel=_TEXT),
    ] = None  # fmt: skip
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal sign.", show_default="detected", rich_help_panel=_TEXT),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="Such as latin-1.", show_default="detected", rich_help_panel=_TEXT),
    ] = None
    date_format: Annotated[
        str | None,
        typer.Option(help="Of dates, such as '%d/%m/%Y'.",
                     show_default="ISO 8601 and clear others", rich_help_panel=_TEXT),
    ] = None  # fmt: skip

    def read(self) -> "TextOptions":
        """The options, checked."""
        from adacap.files import TextOptions
        from adacap.files.sniff import SPACES

        separator = "\t" if self.separator in ("tab", r"\t") else self.separator
        separator = SPACES if separator in ("space", " ", r"\s", SPACES) else separator
        for name, sign in (("separator", separator), ("decimal", self.decimal)):
            if sign is not None and len(sign) != 1 and (name, sign) != ("separator", SPACES):
                raise UsageError(f"--{name} must be one character, got {sign!r}.")
        encoding = None if self.encoding is None else _encoding(self.encoding)
        return TextOptions(separator, self.decimal, encoding, self.date_format)


def _encoding(name: str) -> str:
    """Python's name of an encoding; codecs that do not decode bytes, such as rot13, are refused."""
    import codecs

    try:
        b"a,b\n".decode(name, "replace")
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise UsageError(f"Unknown --encoding {name!r}. Try utf-8 or latin-1.") from None


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

    The names are those of arguments and options; None is a file that is not asked for.

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


def split_names(texts: Iterable[str], source: "Source", what: str = "column") -> list[str]:
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
