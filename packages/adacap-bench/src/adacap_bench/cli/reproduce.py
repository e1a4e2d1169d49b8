"""``adacap reproduce``: the paper's figures, tables and theorem, measured again."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli.common import UsageError, command, print_table
from adacap.cli.options import AsJson
from adacap.exceptions import suggest
from adacap_bench.cli import folder_to_read, folder_to_write, options

if TYPE_CHECKING:
    from adacap_bench.reproduce import Item, ItemRecord, Machine

__all__ = ["app", "reproduce"]

app = typer.Typer(**options.LOOKS)

_WHAT = "Items such as c8, or all; list shows them, ledger rewrites the page from the records."


@app.command()
@partial(command, kept="finished jobs are kept, run the same command to resume")
def reproduce(
    what: Annotated[list[str], typer.Argument(help=_WHAT, metavar="list|ledger|all|ITEM...")],
    quick: Annotated[bool, typer.Option("--quick", help="About a minute per item.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's scale: hours.")] = False,
    scale: Annotated[
        str | None, typer.Option(help="quick, ledger or paper.", show_default="ledger")
    ] = None,
    splits: Annotated[int | None, typer.Option(min=1, help="Other than the scale's.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Other than the scale's.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Only these, comma-separated, of an item that can be run in parts (c7); they join "
            "the record that the folder holds.",
            show_default="all",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of records, tables and figures.")
    ] = Path("reproduction"),
    page: Annotated[
        Path | None, typer.Option(help="The ledger.", show_default="REPRODUCTION.md in the folder")
    ] = None,
    readme: Annotated[
        Path | None,
        typer.Option(help="File whose paragraph on the ledger, between marks, is rewritten."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Store of 'adacap bench run' that c5, c5-classes, c6 and c12 read."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Store of finished jobs.", show_default="state.sqlite in the folder"),
    ] = None,
    jobs: options.Jobs = None,
    threads: options.Threads = 1,
    engine: options.EngineName = "local",
    address: options.Address = None,
    data: options.Data = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds after which no new job starts; the same command resumes later.",
        ),
    ] = None,
    max_hours: Annotated[
        float | None,
        typer.Option(min=0.001, help="The same in hours, for runs of the paper's scale in pieces."),
    ] = None,
    job_limit: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Seconds after which a job is stopped; the record says which were."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again what failed or was stopped.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the paper's figures and tables again, beside its numbers.

    What was finished is kept: after an interruption or a time limit the same command resumes. With
    a time limit the cheapest items come first, and the record of an unfinished one says how many
    of its runs are done. Exit code 0: all items gave a whole record; 1: one did not; 2: the command
    line is wrong; 130: interrupted.
    """
    if what == ["list"]:
        _list(as_json)
        return
    from adacap_bench.reproduce import Machine, find_items, write_ledger

    ledger = page or output / "REPRODUCTION.md"
    failed = 0
    if what == ["ledger"]:
        _refuse_empty(output)
        _check_pages(ledger, readme)
    else:
        folder_to_write(output)
        _check_pages(ledger, readme)  # before hours of work
        machine = Machine(
            state or output / "state.sqlite", store, engine,
            options.at_once(jobs, threads), threads, address, folder_to_read(data),
            progress=not as_json, deadline=_deadline(time_limit, max_hours),
            job_limit=job_limit, retry_failed=retry_failed,
        )  # fmt: skip
        failed = _run_all(
            find_items(what), machine, _scale(quick, full, scale), splits, seeds,
            [name.strip() for name in methods.split(",")] if methods else [],
            output, as_json,
        )  # fmt: skip
    write_ledger(output, ledger, readme)
    if not as_json:
        typer.echo(f"Ledger: {ledger}")
    raise typer.Exit(int(failed > 0))


def _check_pages(ledger: Path, readme: Path | None) -> None:
    from adacap.files import check_writable
    from adacap_bench.reproduce.ledger import with_paragraph

    check_writable(ledger, force=True)
    if readme is None:
        return
    if not readme.is_file():
        raise UsageError(f"There is no file {readme}.")
    try:
        with_paragraph(readme.read_text(encoding="utf-8"), "")
    except UnicodeDecodeError as error:
        raise UsageError(f"{readme} is not text in UTF-8.") from error
    except ValueError as error:
        raise UsageError(f"{readme}: {error}") from error


def _refuse_empty(folder: Path) -> None:
    """A page without records would replace a good one."""
    if not any(folder.glob("*.json")):
        raise UsageError(
            f"{folder} holds no record, so there is no ledger to write. Name the folder of records "
            "with -o, or make one: adacap reproduce c4 --quick."
        )


def _run_all(
    chosen: list[Item],
    machine: Machine,
    scale: str,
    splits: int | None,
    seeds: int | None,
    methods: list[str],
    output: Path,
    as_json: bool,
) -> int:
    """Number of items without result and of jobs left; both are printed; the others continue."""
    from adacap_bench.reproduce import (
        NoResultError,
        UnfinishedError,
        cheapest_first,
        read_item_record,
        reproduce,
        write_all,
    )

    if machine.deadline is not None:
        chosen = cheapest_first(chosen, scale, machine.folder)

    found: list[dict[str, Any]] = []
    failed = left = 0
    for item in chosen:
        file = output / f"{item.key}.json"
        earlier = read_item_record(file) if methods and file.exists() else None
        try:
            record = reproduce(
                item, machine, scale,
                splits=splits, seeds=seeds, methods=methods, earlier=earlier,
            )  # fmt: skip
        except NoResultError as error:
            typer.echo(f"{item.key}: {error}", err=True)
            failed += 1
            continue
        except UnfinishedError as error:
            typer.echo(f"{item.key}: {error}", err=True)
            left += error.n_left
            found.append(_unfinished(item, error.n_left, []))
            continue
        if record.n_left:
            typer.echo(f"{item.key}: {record.progress}.", err=True)
            left += record.n_left
            paths = [] if _says_more(file, record) else write_all(record, output)
            found.append(_unfinished(item, record.n_left, paths))
            continue
        paths = write_all(record, output)
        found.append(
            {"item": item.key, "verdict": record.verdict, "files": [str(path) for path in paths]}
        )
        if not as_json:
            _print(record)
    if as_json:
        typer.echo(json.dumps(found))
    if left:
        _say_left(left, machine.state)
    return failed + left


def _unfinished(item: Item, n_left: int, paths: list[Path]) -> dict[str, Any]:
    files = [str(path) for path in paths]
    return {"item": item.key, "verdict": "unfinished", "files": files, "jobs_left": n_left}


def _says_more(file: Path, unfinished: ItemRecord) -> bool:
    """Whether an existing record is based on more runs; it is then kept."""
    from adacap_bench.reproduce import read_item_record

    if not file.exists():
        return False
    there = read_item_record(file)
    more = there.n_jobs - there.n_failed > unfinished.n_jobs - unfinished.n_failed
    if more:
        typer.echo(f"{file} is of {there.n_jobs} runs and is kept.", err=True)
    return more


def _say_left(left: int, state: Path) -> None:
    typer.echo(
        f"The time limit was reached: {left} {'job is' if left == 1 else 'jobs are'} left. "
        f"What is done is kept in {state}; run the same command to resume.",
        err=True,
    )


def _deadline(seconds: float | None, hours: float | None) -> float | None:
    limits = [limit for limit in (seconds, None if hours is None else 3600 * hours) if limit]
    return time.monotonic() + min(limits) if limits else None


def _scale(quick: bool, full: bool, scale: str | None) -> str:
    chosen = [name for name, on in (("quick", quick), ("paper", full)) if on]
    chosen += [scale] if scale else []
    if len(set(chosen)) > 1:
        raise UsageError(f"Choose one scale, got {' and '.join(chosen)}.")
    from adacap_bench.reproduce.item import SCALES

    if chosen and chosen[0] not in SCALES:
        raise UsageError(suggest(chosen[0], SCALES, "scale"))
    return chosen[0] if chosen else "ledger"


def _list(as_json: bool) -> None:
    from adacap_bench.reproduce import items

    every = items().values()
    if as_json:
        rows = [{"item": item.key, "title": item.title, "place": item.place} for item in every]
        typer.echo(json.dumps(rows))
        return
    lines = [[item.key, item.title, item.place] for item in every]
    print_table(["item", "what", "where in the paper"], lines, n_text=3)


def _print(record: ItemRecord) -> None:
    from adacap_bench.reproduce.text import table_rows

    titles, *lines = table_rows(record)
    typer.echo(f"\n{record.item}: {record.title} ({record.extent})")
    print_table(list(map(str, titles)), [list(map(str, line)) for line in lines], n_text=None)
    for claim in record.claims:
        typer.echo(f"{claim.verdict}: {claim.text}. {claim.evidence}")
