"""``adacap data``: list, fetch, show and verify data sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli.common import UsageError, command, print_table
from adacap_bench.cli import folder_to_read, options

if TYPE_CHECKING:
    from adacap.progress import Steps
    from adacap_bench.datasets import Task
    from adacap_bench.verify import Verdict

__all__ = ["app"]

app = typer.Typer(
    help="Data sets: list, fetch, show, verify.", no_args_is_help=True, **options.LOOKS
)

_MNIST = "mnist"

Suites = Annotated[
    list[str] | None, typer.Option("--suite", "-s", help="Suite, key, .toml or .csv file.")
]
Keys = Annotated[list[str] | None, typer.Argument(help="Keys, suites, .toml or .csv files.")]
Folder = Annotated[Path | None, typer.Option(help="Data folder, looked in first.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


_command = partial(command, kept="files that are complete are kept")


@app.command("list")
@_command
def list_(suite: Suites = None, folder: Folder = None, as_json: AsJson = False) -> None:
    """List the tasks and whether their data are present."""
    from adacap_bench.datasets import SUITES, catalogue, find_tasks

    folder_to_read(folder)
    tasks = find_tasks(suite) if suite else tuple(catalogue().values())
    rows = _list_tasks(tasks, folder, as_json)
    if as_json:
        return
    present = sum(row["place"] != "absent" for row in rows)
    typer.echo(
        f"{present} of {len(rows)} present. "
        "n and p come from the paper where given, otherwise from the file."
    )
    if not suite:
        names = ", ".join(f"{name} ({text})" for name, text in SUITES.items())
        typer.echo(f"Suites: {names}. Images: {_MNIST}.")


def _several_of(name: str) -> list[Task]:
    """Tasks whose name contains this one, if it is not a key and there are several."""
    from adacap_bench.datasets.catalogue import catalogue, find_by_name

    named = [] if name in catalogue() or Path(name).suffix else find_by_name(name)
    return named if len(named) > 1 else []


def _list_tasks(tasks: Iterable[Task], folder: Path | None, as_json: bool) -> list[dict[str, Any]]:
    rows = [_summary(task, folder) for task in tasks]
    if as_json:
        _print_json(rows)
    else:
        columns = ("key", "name", "kind", "n", "p", "place")
        _print_table([[row[name] for name in columns] for row in rows], columns)
    return rows


@app.command()
@_command
def show(
    key: Annotated[str, typer.Argument(help="Key or name of a task, or a .csv file.")],
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show everything known about a task, and its columns if its data are present.

    If several tasks have the name, they are listed.
    """
    from adacap_bench.datasets import find_task, load_table
    from adacap_bench.datasets.places import how_to_get

    folder_to_read(folder)
    if several := _several_of(key):
        _list_tasks(several, folder, as_json)
        return
    task = find_task(key)
    place = _place(task, folder)
    fields = {**task.to_dict(), "place": place}
    if place != "absent":
        table = load_table(task, folder=folder)
        fields["usable_rows"] = len(table.y)
        fields["classes"] = table.classes
        fields["table_columns"] = {
            str(name): {"type": str(X.dtype), "distinct": int(X.nunique())}
            for name, X in table.X.items()
        }
    elif task.file is not None:
        fields["how_to_get"] = how_to_get(task, task.file)
    if as_json:
        _print_json(fields)
        return
    for name, value in fields.items():
        if value not in (None, "", (), {}):
            _print_field(name, value)


@app.command()
@_command
def fetch(
    keys: Keys = None,
    suite: Suites = None,
    folder: Annotated[Path | None, typer.Option(help="Where to; the cache by default.")] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Address of a copy of the data folder to fetch from.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Download even files that are present.")] = False,
    check: Annotated[
        bool, typer.Option(help="Compare checksums; else the shape of the table alone.")
    ] = True,
    retries: Annotated[int, typer.Option(min=0, help="Retries after an error.")] = 3,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 30.0,
    as_json: AsJson = False,
) -> None:
    """Download data sets from their public sources."""
    from adacap.exceptions import AdaCapError
    from adacap.progress import Steps
    from adacap_bench.datasets.download import Transfer

    results = []
    for key, fetch_one in _fetchers(_named(keys, suite)):
        with Steps(key, unit="bytes", total=0, leave=True) as steps:
            transfer = Transfer(partial(_show, steps), retries, timeout)
            try:
                facts = fetch_one(
                    folder=folder, mirror=mirror, force=force, check=check, transfer=transfer
                )
                results.append({"key": key, "status": "ok", **facts})
            except (AdaCapError, OSError) as error:
                results.append({"key": key, "status": "failed", "reason": str(error)})
    if as_json:
        _print_json(results)
    for result in [] if as_json else results:
        typer.echo(f"{result['key']}: {result.get('reason') or result['place']}")
        if "hidden_by" in result:
            typer.echo(f"{result['key']}: but {result['hidden_by']} is looked at first", err=True)
    if any(result["status"] == "failed" for result in results):
        raise typer.Exit(1)


@app.command()
@_command
def verify(
    keys: Keys = None, suite: Suites = None, folder: Folder = None, as_json: AsJson = False
) -> None:
    """Compare what is present with checksums and with the papers' tables."""
    from adacap_bench.datasets import catalogue, find_tasks
    from adacap_bench.verify import verify_mnist, verify_task

    folder_to_read(folder)
    names = [*(keys or []), *(suite or [])]
    tasks = find_tasks(name for name in names if name != _MNIST) if names else catalogue().values()
    verdicts = [verify_task(task, folder) for task in tasks]
    if not names or _MNIST in names:
        verdicts.append(verify_mnist(folder))
    if as_json:
        _print_json([verdict.to_dict() for verdict in verdicts])
    else:
        _print_verdicts(verdicts)
    if any(verdict.status == "mismatch" for verdict in verdicts):
        raise typer.Exit(1)


# ------------------------------------------------------------------------------- helpers


def _named(keys: list[str] | None, suites: list[str] | None) -> list[str]:
    names = [*(keys or []), *(suites or [])]
    if not names:
        raise UsageError("Nothing to fetch: name keys, or a suite with --suite.")
    return names


def _fetchers(names: list[str]) -> list[tuple[str, Callable[..., dict[str, str]]]]:
    """Key and function of everything to fetch; tasks of one file share a download."""
    from adacap_bench.datasets import find_tasks

    tasks: dict[str, Task] = {}
    for task in find_tasks(name for name in names if name != _MNIST):
        tasks.setdefault(task.file.path if task.file else task.key, task)
    jobs = [(task.key, partial(_fetch_task, task)) for task in tasks.values()]
    return [*jobs, (_MNIST, partial(_fetch_mnist))] if _MNIST in names else [*jobs]


def _show(steps: Steps, done: int, total: int | None) -> None:
    steps.total = total
    steps.update(done)


def _fetch_task(task: Task, **options: Any) -> dict[str, str]:
    from adacap_bench.datasets import fetch
    from adacap_bench.datasets.places import locate

    path = fetch(task, **options)
    if path is None or task.file is None:
        return {"place": "built in"}
    found = locate(task.file, options["folder"])
    return {"place": str(path)} | ({} if found == path else {"hidden_by": str(found)})


def _fetch_mnist(*, check: bool, **options: Any) -> dict[str, str]:
    from adacap_bench.datasets.catalogue import mnist_files
    from adacap_bench.datasets.fetching import fetch_file

    places = [
        fetch_file(file, check=None if check else lambda content: None, **options)
        for file in mnist_files().values()
    ]
    return {"place": str(places[0].parent)}


def _place(task: Task, folder: Path | None) -> str:
    from adacap_bench.datasets.places import locate

    if task.file is None:
        return "built in"
    return str(locate(task.file, folder) or "absent")


def _summary(task: Task, folder: Path | None) -> dict[str, Any]:
    columns = None if task.columns is None else task.columns - 1
    figures = task.figures
    return {
        "key": task.key,
        "name": task.name,
        "kind": task.kind,
        "n": figures.n if figures else task.rows,
        "p": figures.p if figures else columns,
        "suites": task.suites,
        "place": _place(task, folder),
    }


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _print_table(rows: list[list[Any]], columns: tuple[str, ...]) -> None:
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    print_table(columns, texts, n_text=None)


def _print_field(name: str, value: Any) -> None:
    if name == "table_columns":
        typer.echo(f"columns used ({len(value)}):")
        rows = [
            [f"  {column}", facts["type"], facts["distinct"]] for column, facts in value.items()
        ]
        _print_table(rows, ("  name", "type", "distinct"))
    elif isinstance(value, dict):
        typer.echo(f"{name}:")
        for inner, each in value.items():
            if each not in (None, "", (), {}):
                _print_field(f"  {inner}", each)
    elif isinstance(value, tuple):
        typer.echo(f"{name}: {', '.join(str(each) for each in value)}")
    else:
        typer.echo(f"{name}: {value}")


def _print_verdicts(verdicts: list[Verdict]) -> None:
    columns = ("key", "status", "n", "p", "continuous", "categorical", "sha256", "name")
    rows = []
    for verdict in verdicts:
        checks = {check.name: check for check in verdict.checks}
        figures: list[Any] = [
            checks[name].found if name in checks else None for name in columns[2:6]
        ]
        sums = [check.status for check in verdict.checks if check.name == "sha256"]
        rows.append(
            [verdict.key, verdict.status, *figures, ", ".join(sorted(set(sums))), verdict.name]
        )
    _print_table(rows, columns)
    for verdict in verdicts:
        for check in verdict.checks:
            if check.status in ("explained", "mismatch"):
                expected = f"expected {check.expected}, found {check.found}"
                typer.echo(f"{verdict.key}: {check.status}: {check.name}: {expected}")
        for note in verdict.notes:
            typer.echo(f"{verdict.key}: {note}")
    counts = [f"{sum(v.status == s for v in verdicts)} {s}" for s in _STATUSES]
    typer.echo(f"{len(verdicts)} checked: {', '.join(counts)}.")


_STATUSES = ("ok", "explained", "mismatch", "absent")
