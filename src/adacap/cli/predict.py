"""``adacap predict``: predictions for a table of any length, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, say
from adacap.cli.loading import Asked, file_kinds, find_columns, load_model, output_columns
from adacap.text import counted, size_of

if TYPE_CHECKING:
    from adacap.files import Parts, Source, TextOptions

__all__ = ["PredictionJob", "as_matrix", "predict"]


@command
def predict(
    model: option.Model,
    data: option.NewData,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .csv, .tsv, .parquet, .feather, .xlsx; - for standard output.",
        ),
    ],
    *,
    interval: Annotated[
        str | None,
        typer.Option(help="Coverage of intervals, such as 0.9 or 0.5,0.9; regression only."),
    ] = None,
    quantiles: Annotated[
        str | None, typer.Option(help="Quantiles, such as 0.1,0.5,0.9; regression only.")
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option("--set", help="Coverage of sets of classes, such as 0.9; classes only."),
    ] = None,
    id_columns: option.IdColumns = None,
    keep_columns: Annotated[
        bool, typer.Option("--keep-columns", help="Keep all columns of the table.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds to predict for; continue later with --resume."),
    ] = None,
    escape_formulas: option.EscapeFormulas = False,
    batch_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows at a time.", show_default="32768")
    ] = None,
    key_file: option.KeyFile = None,
    force: option.Force = False,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Predict the rows of a table, in their order, at constant memory.

    Columns written: prediction, with --interval lower and upper (lower_50, upper_50, ... where
    there are several), with --quantiles quantile_0.1 and so on; for several targets one of each per
    target; for a classifier class and one probability per class, with --set the set of classes
    that the row may have, joined by |.
    """
    from adacap.files import OutputError, check_writable
    from adacap.files.formats import output_format
    from adacap.files.unpacking import Unpacked

    start = time.perf_counter()
    to_stdout = str(output) == "-"
    if to_stdout and (resume or as_json):
        raise UsageError("-o - writes the predictions themselves: leave --resume and --json out.")
    if to_stdout:
        draft = Unpacked("predictions.csv", output)  # lives as long as this call
        output = draft.path
    check_writable(output, force)
    option.refuse_same({"MODEL": model, "DATA": data, "--output": output, "--key-file": key_file})
    output_format(output)
    asked = Asked(
        tuple(option.shares(interval, "--interval", "0.9")),
        tuple(option.shares(quantiles, "--quantiles", "0.1,0.5,0.9")),
        tuple(option.shares(sets, "--set", "0.9")),
    )
    job = PredictionJob(model, data, asked, text.read(), key_file)
    job.keep(id_columns or [], keep_columns)
    parts = job.parts(output, batch_rows)
    parts.start(resume)
    if resume and not parts.n_rows:
        note("There is nothing to resume: starting at the first row.")
    before = parts.n_rows
    try:
        is_done = job.run(parts, time_limit)
        if not is_done:
            note(f"The time limit was reached: {_kept(parts, job.source)}.")
            raise typer.Exit(1)
        n_rows = parts.finish(force, escape_formulas=escape_formulas)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_kept(parts, job.source)) from None
    except typer.Exit:
        raise
    except (OSError, MemoryError) as error:  # a full disk: what is done can be resumed
        if to_stdout or isinstance(error, OutputError | FileNotFoundError):
            parts.discard()
            raise
        raise OSError(f"{error or 'Memory ran out'}: {_kept(parts, job.source)}.") from error
    except BaseException:
        parts.discard()
        raise
    finally:
        parts.leave()
    seconds = time.perf_counter() - start
    facts = {
        "model": str(model),
        "data": str(data),
        "output": str(output),
        "rows": n_rows,
        "resumed_at": before,
        "columns": job.columns,
        "interval": _one_or_all(asked.coverages),
        "quantiles": list(asked.quantiles) or None,
        "set": _one_or_all(asked.sets),
        "interval_method": job.method,
        "interval_promise": job.promises,
        "seconds": seconds,
        "predict_seconds": job.seconds,
    }
    if as_json:
        print_json(facts)
        return
    if to_stdout:
        _print_file(output)
        return
    say(_speed(n_rows, n_rows - before, job.seconds, seconds))
    for text_of_one in job.promises or ():
        say(text_of_one)
    say(f"{output} ({size_of(output.stat().st_size)}): {', '.join(job.columns)}")


def _print_file(path: Path) -> None:
    """Copy a file to standard output; messages go to standard error."""
    import shutil

    with open(path, "rb") as file:
        shutil.copyfileobj(file, typer.get_binary_stream("stdout"))


def _speed(n_rows: int, n_now: int, predicting: float, all_in_all: float) -> str:
    """Rows per second of predicting alone; loading model and libraries is reported separately.

    Examples
    --------
    >>> _speed(42, 42, 0.05, 5.5)
    '42 rows predicted in 0.05 s (5.5 s with loading the model).'
    >>> _speed(500_000, 500_000, 10.0, 12.0)
    '500,000 rows predicted in 10 s, 50,000 rows/s (12 s with loading the model).'
    """
    rate = f", {n_now / predicting:,.0f} rows/s" if predicting >= 0.5 else ""
    return (
        f"{counted(n_rows, 'row')} predicted in {predicting:.2g} s{rate} "
        f"({all_in_all:.2g} s with loading the model)."
    )


def _one_or_all(coverages: tuple[float, ...]) -> Any:
    """Nothing, one number or several."""
    return coverages[0] if len(coverages) == 1 else list(coverages) or None


def _kept(parts: Parts, source: Source) -> str:
    """What remains of a run that ended early."""
    if not parts.n_rows:
        parts.discard()
        return "no row was predicted, and nothing was written"
    of = f" of {source.n_rows:,}" if source.n_rows else ""
    return (
        f"{parts.n_rows:,}{of} rows are done and kept in {parts.folder}. The same command with "
        "--resume continues from there; without it, it starts over"
    )


class PredictionJob:
    """A model, a table, and what to write of it."""

    verb = "Predicting"

    def __init__(
        self,
        model: Path,
        data: Path,
        asked: Asked | None,
        text: TextOptions,
        key_file: Path | None = None,
    ) -> None:
        from adacap.files import open_table

        self.path, self.model = model, load_model(model, key_file)
        asked = asked or Asked()
        self.asked, self.has_format = asked, text.date_format is not None
        self.method = _interval_method(self.model, asked) if any(asked) else None
        self.promises = _promises(self.model, asked)
        names = self.model.encoder_.names_ or ()
        self.source = open_table(data, names, text)
        self.features = find_columns(self.model, self.source)
        self.kept: list[str] = []
        self.columns: list[str] = []
        self.seconds = 0.0

    def keep(self, ids: list[str], everything: bool) -> None:
        """Choose the columns to copy."""
        named = option.split_names(ids, self.source, "id column")
        self.kept = list(self.source.names) if everything else named
        if self.features is None:  # by position: all columns that are not ids
            self.features = [name for name in self.source.names if name not in named]

    def parts(self, output: Path, batch_rows: int | None) -> Parts:
        """Where finished batches are kept, and how an earlier run is recognised."""
        from adacap.files import BATCH_ROWS, Parts, fingerprint

        self.rows = batch_rows or BATCH_ROWS
        settings = {
            "model": fingerprint([self.path]),
            "table": fingerprint(self.source.files),
            "interval": _one_or_all(self.asked.coverages),
            "columns": self.kept,
        }
        more = {"quantiles": self.asked.quantiles, "set": self.asked.sets}
        settings |= {name: list(levels) for name, levels in more.items() if levels}
        return Parts(output, settings)

    def run(self, parts: Parts, time_limit: float | None = None) -> bool:
        """Predict the rows that are left; False if the time limit ended it before the last row."""
        from adacap.files import FileError
        from adacap.progress import Steps

        features = self.features or []
        kinds = file_kinds(self.model, features, self.has_format)
        columns = list(dict.fromkeys([*features, *self.kept]))
        batches = self.source.batches(columns, kinds=kinds, rows=self.rows, start=parts.n_rows)
        total = self.source.n_rows
        start = time.perf_counter()
        with Steps(self.verb, total=total, start=parts.n_rows) as steps:
            for batch in batches:
                if time_limit is not None and time.perf_counter() - start > time_limit:
                    return False
                parts.add(self._predict(batch))
                steps.update(parts.n_rows, self.source.position())
        self.seconds = time.perf_counter() - start
        if not parts.n_rows:
            raise FileError(f"{self.source.path} has no rows.")
        self.columns = self.columns or parts.columns()
        return True

    def first_rows(self, most: int) -> Any:
        """At most this many rows of the table, as the model takes them."""
        return self.rows_of(next(self._batches(rows=most)))

    def all_rows(self) -> Any:
        """The whole table, as the model takes it."""
        import pyarrow as pa

        return self.rows_of(pa.concat_tables(self._batches()))

    def _batches(self, **options: Any) -> Iterator[Any]:
        """Columns of the model, batch by batch; an error where there are no rows."""
        from adacap.files import FileError

        features = self.features or []
        kinds = file_kinds(self.model, features, self.has_format)
        batches = self.source.batches(features, kinds=kinds, **options)
        first = next(batches, None)
        if first is None or not first.num_rows:
            raise FileError(f"{self.source.path} has no rows.")
        yield first
        yield from batches

    def rows_of(self, batch: Any) -> Any:
        """Rows as the model takes them."""
        X = batch.select(self.features)
        return X if self.model.encoder_.names_ is not None else as_matrix(X)

    def outputs(self, X: Any) -> dict[str, Any]:
        """Columns to write of some rows."""
        return output_columns(self.model, X, self.asked)

    def _predict(self, batch: Any) -> Any:
        import pyarrow as pa

        found = self.outputs(self.rows_of(batch))
        if clash := [name for name in self.kept if name in found]:
            raise UsageError(
                f"The table has a column {clash[0]!r} itself, as the predictions do. Keep others: "
                "--id."
            )
        kept = {name: batch.column(name) for name in self.kept}
        table = pa.table({**kept, **found})
        self.columns = table.column_names
        return table


def as_matrix(X: Any) -> Any:
    """Rows of a model that was fitted without names."""
    import numpy as np

    columns = [column.to_numpy() for column in X.columns]
    if all(column.dtype.kind in "fiub" for column in columns):
        return np.column_stack(columns)
    rows = np.empty((X.num_rows, len(columns)), dtype=object)
    for j, column in enumerate(X.columns):
        rows[:, j] = column.to_pylist()
    return rows


def _interval_method(model: Any, asked: Asked) -> str:
    """Method by which this model makes intervals or sets, or an error that says how to get one."""
    is_classifier, name = hasattr(model, "predict_proba"), type(model).__name__
    if is_classifier and (asked.coverages or asked.quantiles):
        option = "--interval" if asked.coverages else "--quantiles"
        raise UsageError(
            f"{option} is for regression, but the model is a {name}: it gives probabilities "
            "without being asked, and by --set 0.9 the classes that a row may have."
        )
    if asked.sets and not is_classifier:
        raise UsageError(f"--set is for classes, but the model is a {name}. Use --interval 0.9.")
    data = model.sets_ if is_classifier else model.intervals_
    try:
        return str(data.resolve("auto"))
    except ValueError as error:
        raise UsageError(
            f"{error} On the command line: adacap fit DATA --target NAME, without --method or "
            "with --n-estimators 5; or adacap calibrate MODEL ROWS."
        ) from error


def _promises(model: Any, asked: Asked) -> list[str] | None:
    """What the intervals or sets of each coverage are based on and guarantee."""
    data = model.sets_ if asked.sets else model.intervals_ if asked.coverages else None
    levels = asked.sets or asked.coverages
    return None if data is None else [f"{100 * one:g} % by {data.describe(one)}" for one in levels]
