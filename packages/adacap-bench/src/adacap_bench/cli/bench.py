"""``adacap bench``: run the benchmark, look at it, import results, report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli.common import command, print_table
from adacap.cli.options import AsJson
from adacap.exceptions import UsageError
from adacap_bench.cli import folder_to_read, folder_to_write, options

if TYPE_CHECKING:
    from adacap_bench.plan import Skipped
    from adacap_bench.runner import Summary

__all__ = ["app"]

app = typer.Typer(
    name="bench", help="Compare methods on many tables.", no_args_is_help=True, **options.LOOKS
)

StorePath = Annotated[Path, typer.Argument(help="File of results.", metavar="STORE")]
Results = Annotated[Path, typer.Option(help="File of results.")]
Plugins = Annotated[list[Path] | None, typer.Option(help="Python file that registers methods.")]
SUITE = "Suite, key of a task, .toml file of entries or .csv file; several separated by commas."
QUICK = ("intercept", "ridge", "logreg", "svm", "rf", "fast-catboost", "adacap-fast-snn")
METHODS = "Comma-separated methods and groups. See: adacap bench methods."


@app.command()
@command
def run(
    suite: Annotated[str, typer.Option(help=SUITE)] = "builtin",
    methods: Annotated[str | None, typer.Option(help=METHODS, show_default="all")] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Seeded 80/20 splits.", show_default="10")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per method and split.")] = 1,
    jobs: options.Jobs = None,
    threads: options.Threads = 1,
    engine: options.EngineName = "local",
    address: options.Address = None,
    store: Results = Path("results.sqlite"),
    time_limit: Annotated[float | None, typer.Option(help="Seconds for one job.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Restarts after a crash.")] = 1,
    data: options.Data = None,
    plugin: Plugins = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few fast methods, two splits.")] = False,
    raw_target: Annotated[
        bool, typer.Option("--raw-target", help="Without the transforms of the catalogue.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Rerun jobs that failed, crashed or timed out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the jobs that the store does not hold yet.

    Exit code 0: all went well; 1: a job failed or there was none to run; 2: the command line
    is wrong; 130: interrupted, and what was finished is stored.
    """
    from adacap_bench.datasets import find_tasks
    from adacap_bench.runner import run as run_jobs

    usual = list(QUICK if quick else ["all"])
    summary = run_jobs(
        find_tasks(_names(suite, "--suite")),
        usual if methods is None else _names(methods, "--methods"),
        range(splits or (2 if quick else 10)),
        range(seeds),
        store,
        engine=engine,
        n_jobs=options.at_once(jobs, threads),
        threads=threads,
        time_limit=time_limit,
        retries=retries,
        raw_target=raw_target,
        retry_failed=retry_failed,
        address=address,
        folder=folder_to_read(data),
        plugins=plugin or [],
        progress=True,
    )
    typer.echo(json.dumps(summary.to_dict()) if as_json else _describe(summary, store))
    raise typer.Exit(summary.exit_code)


@app.command("import")
@command
def import_(
    file: Annotated[
        Path, typer.Argument(help="CSV of task, split, method, score, or a file of 'bench pack'.")
    ],
    store: Results = Path("results.sqlite"),
    as_json: AsJson = False,
) -> None:
    """Add anyone's results from a CSV file, or the records of another store.

    A CSV file has the columns task, split, method, score; optionally metric, category, seed,
    fit_seconds, predict_seconds, kind. A name that ends in .gz is a file of 'adacap bench pack',
    whose jobs are not run again. All rows are taken or none.
    """
    from adacap_bench.imports import import_csv, read_csv
    from adacap_bench.packing import check_packed, unpack
    from adacap_bench.store import Store

    is_packed = file.suffix == ".gz"
    (check_packed if is_packed else read_csv)(file)  # before a store is made for nothing
    with Store(store) as opened:
        n_new, n_old = (unpack if is_packed else import_csv)(file, opened)
    if as_json:
        typer.echo(json.dumps({"imported": n_new, "there_before": n_old, "store": str(store)}))
        return
    typer.echo(f"{n_new} results imported into {store}, {n_old} were there.")


@app.command()
@command
def pack(
    store: StorePath,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = Path(
        "records.jsonl.gz"
    ),
    predictions: Annotated[
        bool, typer.Option("--predictions", help="With those of the test rows: a large file.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write all records of a store to a small file, to go on elsewhere.

    'adacap bench import' reads it into another store, and a run on that store begins where this
    one ended. Equal records give equal bytes, so the file can be kept in a repository.
    """
    from adacap_bench.packing import pack as write
    from adacap_bench.store import Store

    with Store(store, read_only=True) as opened:
        n = write(opened, output, predictions=predictions, force=force)
    if as_json:
        typer.echo(json.dumps({"packed": n, "output": str(output)}))
        return
    typer.echo(f"{n} records of {store} written to {output}.")


@app.command()
@command
def methods(plugin: Plugins = None, as_json: AsJson = False) -> None:
    """List the methods, and why some cannot be used here."""
    from adacap_bench.methods import GROUPS, METHODS, unavailable
    from adacap_bench.plugins import Plugin, load_plugin

    for path in plugin or []:
        load_plugin(Plugin.read(path))
    rows: list[dict[str, Any]] = [
        {
            "name": method.name,
            "category": method.category,
            "kinds": sorted(method.kinds),
            "max_rows": method.max_rows,
            "unavailable": unavailable(method),
            "note": method.note,
        }
        for method in METHODS.values()
    ]
    if as_json:
        typer.echo(json.dumps({"methods": rows, "groups": dict(GROUPS)}))
        return
    lines = [
        [row["name"], row["category"], ", ".join(row["kinds"]), row["unavailable"] or "yes"]
        for row in rows
    ]
    print_table(["method", "category", "kinds", "available"], lines, n_text=4)
    typer.echo("Groups: " + ", ".join(f"{name} ({len(GROUPS[name])})" for name in GROUPS))


@app.command()
@command
def status(
    store: StorePath,
    methods: Annotated[
        bool, typer.Option("--methods", help="What became of each method, as a Markdown table.")
    ] = False,
    splits: Annotated[
        int | None,
        typer.Option("--splits", min=1, help="With --methods: count only this many splits."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a store holds, also while a run writes to it."""
    from adacap_bench.status import methods_of, methods_table, status_of
    from adacap_bench.store import Store

    with Store(store, read_only=True) as opened:
        if methods:
            rows = methods_of(opened, n_splits=splits)
            text = json.dumps(rows) if as_json else methods_table(rows).to_markdown()
            typer.echo(text)
            return
        found = status_of(opened)
    if as_json:
        typer.echo(json.dumps(found))
        return
    counts = ", ".join(f"{n} {name}" for name, n in sorted(found["counts"].items()))
    typer.echo(f"{store}: {counts or 'no record'}")
    typer.echo(f"{found['n_tasks']} tasks, {found['n_methods']} methods")
    for failure in found["failures"]:
        typer.echo("{status}: {method} on {task}, {n} times: {reason}".format(**failure))


@app.command()
@command
def report(
    store: StorePath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write.")] = Path(
        "report.html"
    ),
    tables: Annotated[
        Path | None, typer.Option(help="Folder for Markdown, CSV and LaTeX tables.")
    ] = None,
    suite: Annotated[str | None, typer.Option(help=f"Only these tasks. {SUITE}")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="Refuse a store with missing results.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the report page from a store; nothing is fitted again."""
    from adacap_bench.report import write_report

    write_report(
        store,
        output,
        title=title,
        tables_dir=None if tables is None else folder_to_write(tables),
        suite=suite,
        force=force,
        allow_missing=not complete,
    )
    if as_json:
        typer.echo(json.dumps({"report": str(output), "tables": str(tables) if tables else None}))
        return
    typer.echo(f"Report written to {output}.")


def _names(text: str, option: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise UsageError(f"{option} is an empty list. Name at least one, or leave {option} out.")
    return found


def _describe(summary: Summary, store: Path) -> str:
    counts = ", ".join(f"{n} {name}" for name, n in sorted(summary.counts.items()))
    lines = [
        f"{summary.n_jobs} jobs: {summary.n_before} done before, now {counts or 'none'}, in "
        f"{summary.seconds:.1f} s. Results: {store}"
    ]
    if summary.n_elsewhere:
        lines.append(f"{summary.n_elsewhere} were done by another run on the same store meanwhile.")
    lines += _left_out(summary.skipped)
    if summary.interrupted:
        lines.append("Interrupted; run the same command to resume.")
    return "\n".join(lines)


def _left_out(skipped: list[Skipped]) -> list[str]:
    """One line per method and reason, with the tasks it holds for."""
    tasks: dict[tuple[str, str], list[str]] = {}
    for one in skipped:
        tasks.setdefault((one.method, one.reason), []).append(one.task)
    lines = []
    for (method, reason), names in tasks.items():
        what = "all methods" if method == "*" else method
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        where = "" if names == ["*"] else f" on {shown}"
        lines.append(f"left out: {what}{where}: {reason}")
    return lines
