"""``adacap check``: whether new rows are like those that a model was trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli.common import (
    AsJson,
    DateFormat,
    Decimal,
    Encoding,
    KeyFile,
    Separator,
    UsageError,
    command,
    note,
    print_json,
    print_table,
    say,
    text_options,
)
from adacap.cli.predict import Model

if TYPE_CHECKING:
    from adacap.files import TextOptions

__all__ = ["check"]

_MOST_SHOWN = 10


@command
def check(
    model: Model,
    data: Annotated[Path, typer.Argument(help="New rows: any file that predict takes.")],
    alpha: Annotated[float, typer.Option(help="Chance of any false alarm.")] = 0.05,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 if a column moved.")
    ] = False,
    key_file: KeyFile = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    date_format: DateFormat = None,
    as_json: AsJson = False,
) -> None:
    """Show which columns have moved since training, and which rows' intervals not to trust.

    No target is needed. The model must have been fitted by a version that keeps the summaries this
    needs.
    """
    from adacap.cli.loading import load_model
    from adacap.drift import check_drift

    if not 0 < alpha < 1:
        raise UsageError(f"--alpha is a chance between 0 and 1, got {alpha:g}.")
    fitted = load_model(model, key_file)
    text = text_options(separator, decimal, encoding, date_format)
    found = check_drift(fitted, _rows(fitted, data, text), alpha=alpha)
    if as_json:
        print_json({"model": str(model), "data": str(data), **found.to_dict()})
    else:
        say(f"{data.name}: {found.n_rows:,} rows. {found.headline}")
        if rows := found.rows():
            say()
            print_table(found.titles, rows, n_text=2)
        for name, levels in list(found.never_seen.items())[:_MOST_SHOWN]:
            note(f"never seen in {name}: {', '.join(map(repr, levels))}")
    if strict and found.is_drifted:
        raise typer.Exit(1)


def _rows(model: Any, path: Path, text: TextOptions) -> Any:
    """The rows of a file, read as ``predict`` reads them."""
    import pyarrow as pa

    from adacap.cli.loading import file_kinds, find_columns
    from adacap.cli.predict import as_matrix
    from adacap.files import FileError, open_table

    source = open_table(path, model.encoder_.names_ or (), text)
    columns = find_columns(model, source) or list(source.names)
    kinds = file_kinds(model, columns, text.date_format is not None)
    batches = list(source.batches(columns, kinds=kinds))
    if not batches:
        raise FileError(f"{path} has no rows.")
    table = pa.concat_tables([pa.table(batch) for batch in batches])
    return as_matrix(table) if model.encoder_.names_ is None else table
