"""``adacap bench``: run the benchmark, look at it, import results, report."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli.common import command
from adacap.exceptions import UsageError
from adacap_bench.cli import folder_to_read, folder_to_write

if TYPE_CHECKING:
    from adacap_bench.plan import Skipped
    from adacap_bench.runner import Summary

__all__ = ["app"]

app = typer.Typer(
    name="bench",
    help="Compare methods on many tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

StorePath = Annotated[Path, typer.Argument(help="File of results.", metavar="STORE")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
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
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Jobs at once.", show_default="processors")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each job.")] = 1,
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="Ray cluster to join.")] = None,
    store: Annotated[Path, typer.Option(help="File of results.")] = Path("results.sqlite"),
    time_limit: Annotated[float | None, typer.Option(help="Seconds for one job.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Restarts after a crash.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
    plugin: Annotated[
        list[Path] | None, typer.Option(help="Python file that registers methods.")
    ] = None,
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
        n_jobs=jobs or max(1, (os.cpu_count() or 1) // threads),
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
    file: Annotated[Path, typer.Argument(help="CSV of task, split, method, score.")],
    store: Annotated[Path, typer.Option(help="File of results.")] = Path("results.sqlite"),
    as_json: AsJson = False,
) -> None:
    """Add anyone's results from a CSV file.

    Columns task, split, method, score; optionally metric, category, seed, fit_seconds,
    predict_seconds, kind. All rows are taken or none.
    """
    from adacap_bench.imports import import_csv, read_csv
    from adacap_bench.store import Store

    read_csv(file)  # before a store is made for nothing
    with Store(store) as opened:
        n_new, n_old = import_csv(file, opened)
    if as_json:
        typer.echo(json.dumps({"imported": n_new, "there_before": n_old, "store": str(store)}))
        return
    typer.echo(f"{n_new} results imported into {store}, {n_old} were there.")


@app.command()
@command
def methods(
    plugin: Annotated[
        list[Path] | None, typer.Option(help="Python file that registers methods.")
    ] = None,
    as_json: AsJson = False,
) -> None:
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
    _print_methods(rows)
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


def _print_methods(rows: list[dict[str, Any]]) -> None:
    from adacap.cli.common import print_table

    found = [
        [row["name"], row["category"], ", ".join(row["kinds"]), row["unavailable"] or "yes"]
        for row in rows
    ]
    print_table(["method", "category", "kinds", "available"], found, n_text=4)
