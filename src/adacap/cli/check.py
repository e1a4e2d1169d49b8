"""``adacap check``: whether new rows are like those that a model was trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, print_table, say
from adacap.cli.predict import PredictionJob
from adacap.text import counted

__all__ = ["check"]

_MOST_SHOWN = 10


@command
def check(
    model: option.Model,
    data: Annotated[Path, typer.Argument(help="New rows: any file that predict takes.")],
    *,
    alpha: Annotated[float, typer.Option(help="Chance of any false alarm.")] = 0.05,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 if a column moved.")
    ] = False,
    key_file: option.KeyFile = None,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Show which columns have moved since training, and which rows' intervals not to trust.

    No target is needed. The model must have been fitted by a version that keeps the summaries this
    needs.
    """
    from adacap.drift import check_drift

    if not 0 < alpha < 1:
        raise UsageError(f"--alpha is a chance between 0 and 1, got {alpha:g}.")
    job = PredictionJob(model, data, None, text.read(), key_file)
    job.keep([], False)
    found = check_drift(job.model, job.all_rows(), alpha=alpha)
    if as_json:
        print_json({"model": str(model), "data": str(data), **found.to_dict()})
    else:
        say(f"{data.name}: {counted(found.n_rows, 'row')}. {found.headline}")
        if rows := found.rows():
            say()
            print_table(found.titles, rows, n_text=2)
        for name, levels in list(found.never_seen.items())[:_MOST_SHOWN]:
            note(f"never seen in {name}: {', '.join(map(repr, levels))}")
    if strict and found.is_drifted:
        raise typer.Exit(1)
