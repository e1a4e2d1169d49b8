"""``adacap advise``: what a table is like, and which kind of model should win on it."""

from __future__ import annotations

from typing import Annotated

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, print_table, say
from adacap.progress import Steps

__all__ = ["advise"]

_MOST_ROWS = 20_000  # read to draw from


@command
def advise(
    data: option.Data,
    target: option.OneTarget,
    *,
    task: option.Task = "auto",
    drop: option.Drop = None,
    dependence: option.DependentRows,
    seed: Annotated[
        int, typer.Option(min=0, max=option.LARGEST_SEED, help="Of rows drawn, folds and forests.")
    ] = 0,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Say in seconds whether AdaCap, a linear model or trees should win on a table, and why.

    Also: noise, memorisation, linearity, outliers, a target transform, columns at risk, the cost.
    """
    from adacap.advice import advise as advise_on
    from adacap.cli.tables import load_rows
    from adacap.tables.targets import what_is_held

    loaded = load_rows(
        data, target, task, None, drop=drop, max_rows=_MOST_ROWS, seed=seed, text=text,
        dependence=dependence,
    )  # fmt: skip
    if len(loaded.target.names) > 1:
        raise UsageError("advise looks at one target at a time.")
    for line in loaded.notes:
        note(line)
    with Steps("Comparing", unit="fits") as steps:

        def on_fit(done: int, total: int, name: str) -> None:
            steps.total = total
            steps.update(done, text=name)

        found = advise_on(
            loaded.X, loaded.target.y, task=loaded.target.task, random_state=seed, on_fit=on_fit,
            groups=loaded.dependence.groups, time=loaded.dependence.time,
        )  # fmt: skip
    held = what_is_held(loaded.target.y)
    why = held.why("--task {task}") if task == "auto" else loaded.target.why
    if as_json:
        print_json({**loaded.facts(), **found.to_dict(), "why_task": why})
        return
    say(f"{data.name}: target {target} ({found.task}: {why}). {found.headline}")
    if split := loaded.dependence.text():
        say(split)
    say()
    print_table(found.titles, found.rows(), best=0)
    say()
    for reason in found.reasons:
        say(f"- {reason}")
    if found.columns:
        say()
        cells = [[one.column, one.risk, one.note] for one in found.columns]
        print_table(["column at risk", "risk", "what to know"], cells, n_text=3)
