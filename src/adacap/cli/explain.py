"""``adacap explain``: what each column adds to each prediction of a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, print_table, say
from adacap.cli.predict import PredictionJob
from adacap.text import counted, number, size_of

if TYPE_CHECKING:
    from adacap.files import TextOptions

__all__ = ["explain"]

_BATCH_ROWS = 256
_MOST_BACKGROUND = 2000  # rows read, of which some are drawn


@command
def explain(
    model: option.Model,
    data: option.NewData,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .csv, .tsv, .parquet, .feather, .xlsx."
        ),
    ],
    *,
    rows_from: Annotated[
        Path | None,
        typer.Option(help="Table to compare with, such as that of fit.", show_default="DATA"),
    ] = None,
    id_columns: option.IdColumns = None,
    method: Annotated[str, typer.Option(help="auto, exact or permutation.")] = "auto",
    permutations: Annotated[
        int, typer.Option(min=4, help="Orders of the columns per row, where it is sampled.")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the sampling.")] = 0,
    escape_formulas: option.EscapeFormulas = False,
    key_file: option.KeyFile = None,
    force: option.Force = False,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Say what each column adds to each prediction: Shapley values.

    Columns written: prediction, base, and one contribution per column; they add up to the
    prediction. For a classifier, and for several targets, there is one of each per class or target.
    """
    from adacap.files import check_writable
    from adacap.files.formats import output_format

    start = time.perf_counter()
    check_writable(output, force)
    option.refuse_same({"MODEL": model, "DATA": data, "--output": output, "--key-file": key_file})
    option.refuse_same({"--rows-from": rows_from, "--output": output})
    output_format(output)
    if method not in ("auto", "exact", "permutation"):
        raise UsageError(f"--method is auto, exact or permutation, got {method!r}.")
    options = {"method": method, "n_permutations": permutations, "random_state": seed}
    job = _Explaining(model, data, rows_from, text.read(), options, key_file)
    job.keep(id_columns or [], False)
    parts = job.parts(output, _BATCH_ROWS)
    parts.start(False)
    try:
        job.run(parts)
        n_rows = parts.finish(force, escape_formulas=escape_formulas)
    except BaseException:
        parts.discard()
        raise
    facts = {
        "model": str(model),
        "data": str(data),
        "output": str(output),
        "rows": n_rows,
        "method": job.how,
        "largest_error": job.error,
        "background_rows": job.n_background,
        "mean_size": job.mean_size(),
        "columns": job.columns,
        "seconds": time.perf_counter() - start,
    }
    if as_json:
        print_json(facts)
        return
    rows = [[name, number(size)] for name, size in list(job.mean_size().items())[:10]]
    print_table(["column", "adds or takes, on average"], rows)
    exact = f"by sampling, standard error at most {job.error:.2g}" if job.error else "exact"
    beside = counted(job.n_background, "row")
    say(f"{counted(n_rows, 'prediction')} explained beside {beside}; {exact}.")
    say(f"{output} ({size_of(output.stat().st_size)})")


class _Explaining(PredictionJob):
    """A model, a table, and the rows that its predictions are compared with."""

    verb = "Explaining"

    def __init__(
        self,
        model: Path,
        data: Path,
        rows_from: Path | None,
        text: TextOptions,
        options: dict[str, Any],
        key_file: Path | None = None,
    ) -> None:
        super().__init__(model, data, None, text, key_file)
        self.options, self.background = options, None
        self.how, self.error, self.n_background, self.n_done = "", 0.0, 0, 0
        self.sizes: dict[str, float] = {}
        if rows_from is not None:
            other = PredictionJob(model, rows_from, None, text, key_file)
            other.keep([], False)
            self.background = other.first_rows(_MOST_BACKGROUND)

    def outputs(self, X: Any) -> dict[str, Any]:
        """Prediction, base and contributions of some rows."""
        if self.background is None:
            _refuse_alike(X)
            note("Predictions are compared with the first rows of the table: see --rows-from.")
            self.background = X
        found = self.model.explain(X, self.background, **self.options)
        is_first = not self.n_done
        self.how = found.method if is_first else self.how
        self.error = max(self.error, float(found.errors.max()))
        self.n_background, n = found.n_background, len(found)
        for j, name in enumerate(found.feature_names):
            size = float(abs(found.values[:, j]).mean(axis=0).max())
            old = self.sizes.get(name, 0.0)
            self.sizes[name] = (old * self.n_done + size * n) / (self.n_done + n)
        self.n_done += n
        return _columns(found)

    def mean_size(self) -> dict[str, float]:
        """Mean absolute contribution of each column, the largest first."""
        return dict(sorted(self.sizes.items(), key=lambda pair: -pair[1]))


def _refuse_alike(X: Any) -> None:
    """Refuse rows that are to be compared with each other and do not differ."""
    import numpy as np

    from adacap.tables.table import read_table

    n_rows, n_different = len(X), len(np.unique(read_table(X).row_keys()))
    if n_different < 2:
        what = "one row" if n_rows == 1 else f"{n_rows} rows that are all the same"
        raise UsageError(
            f"A prediction is explained beside others, but a model file keeps no rows and the "
            f"table has {what}. Name a table to compare with, such as that of fit: "
            "--rows-from TABLE."
        )


def _columns(found: Any) -> dict[str, Any]:
    if found.output_names is None:
        columns = {"prediction": found.base_values + found.values.sum(1), "base": found.base_values}
        named = {f"contribution_{n}": found.values[:, j] for j, n in enumerate(found.feature_names)}
        return columns | named
    columns = {}
    for out in found.output_names:
        for name, values in _columns(found.output(out)).items():
            columns[f"{name}_{out}"] = values
    return columns
