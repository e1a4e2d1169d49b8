"""Tables of a benchmark in the paper's form: numbers first, then Markdown, CSV or LaTeX."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from adacap.exceptions import refuse_existing
from adacap.files.atomic import write_text
from adacap_bench.jobs import last_line
from adacap_bench.metrics import (
    CONTESTS,
    METRICS,
    WITHOUT_ADACAP,
    Contest,
    ScoreTable,
    easy_subset,
    failures,
    from_frame,
    leaderboard,
    mean_scores,
    p_share,
    top1_by_category,
)
from adacap_bench.metrics.cells import COUNTED
from adacap_bench.metrics.contests import contestants
from adacap_bench.tables_text import TextColumn, TextTable, Value

__all__ = [
    "TextColumn",
    "TextTable",
    "all_tables",
    "failures_table",
    "leaderboard_table",
    "per_task",
    "read_tables",
    "reference_of",
    "task_names",
    "ten_best",
    "top1_table",
    "write_tables",
]

Missing = Literal["refuse", "mark"]
TableRows: TypeAlias = tuple[tuple[Value, ...], ...]

# Whose runtime counts as 1: the first of these that was measured, else the fastest's.
REFERENCES = ("catboost", "fast-catboost", "rf", "ridge", "logreg")

_GAPS = "† has no result for some experiments; averaged over those it has."


def _named(method: str, has_gaps: bool) -> str:
    return f"{method} †" if has_gaps else method


def _seed_note(table: ScoreTable) -> tuple[str, ...]:
    most = int(table.n_seeds.max(initial=0))
    return (f"Up to {most} seeds of a method on one split are averaged.",) if most > 1 else ()


def _notes(table: ScoreTable) -> tuple[str, ...]:
    return ((_GAPS,) if table.missing() else ()) + _seed_note(table)


def reference_of(methods: Sequence[str]) -> str | None:
    """Method whose runtime counts as 1, ``None`` for the fastest."""
    return next((name for name in REFERENCES if name in methods), None)


def leaderboard_table(table: ScoreTable) -> TextTable:
    """Every summary of every method: mean ± error, P90, P95, PMA, rank, top 1, runtime."""
    reference = reference_of(table.methods)
    board = leaderboard(table, reference=reference)
    metric = table.metric
    best: Literal["max", "min"] = "max" if metric.greater_is_better else "min"
    columns = (
        TextColumn("method"),
        TextColumn("category"),
        TextColumn(metric.label, 4, best),
        TextColumn("± s.e.", 4),
        TextColumn("P90 %", 1, "max", 100),
        TextColumn("P95 %", 1, "max", 100),
        TextColumn("PMA %", 1, "max", 100),
        TextColumn("Friedman rank", 2, "min"),
        TextColumn("top 1 %", 1, "max", 100),
        TextColumn("fit (s)", 3),
        TextColumn(f"time / {reference or 'fastest'}", 2),
        TextColumn("experiments", 0),
    )
    names = [
        "category", "mean", "se", "p90", "p95", "pma", "rank", "top1",
        "fit_seconds", "relative_time", "n",
    ]  # fmt: skip
    rows = tuple(
        (_named(row["method"], row["missing"] > 0), *(row[name] for name in names))
        for row in board.to_dict("records")
    )
    caption = f"Test {metric.label} and global metrics over {_size(table)}."
    return TextTable(f"leaderboard-{metric.name}", caption, columns, rows, _notes(table))


def _size(table: ScoreTable) -> str:
    n_tasks = len({task for task, _ in table.experiments})
    tasks = "task" if n_tasks == 1 else "tasks"
    return f"{len(table.experiments)} experiments ({n_tasks} {tasks})"


def ten_best(table: ScoreTable, n: int = 10, *, limit: float = 0.25) -> TextTable:
    """The methods of lowest error: mean, P90 and runtime, overall and where the error is small.

    The latter are experiments whose best error is below `limit`; scores have no such columns.
    """
    metric, board = table.metric, leaderboard(table).head(n)
    best: Literal["max", "min"] = "max" if metric.greater_is_better else "min"
    columns = [TextColumn("method"), TextColumn(f"{metric.label} avg.", 4, best)]
    columns.append(TextColumn("P90 %", 1, "max", 100))
    parts = [board["mean"].tolist(), board["p90"].tolist()]
    caption = f"Test {metric.label}, P90 and runtime of the best methods on {_size(table)}."
    if not metric.greater_is_better:
        easy = easy_subset(table, limit)
        means, shares = _easy_columns(easy)
        columns.append(TextColumn(f"{metric.label} avg., min < {limit:g}", 4, best))
        columns.append(TextColumn(f"P90 %, min < {limit:g}", 1, "max", 100))
        parts += [[values.get(m, np.nan) for m in board["method"]] for values in (means, shares)]
        caption += (
            f" The best {metric.label} is below {limit:g} in {len(easy.experiments)} of them."
        )
    columns += [TextColumn("avg. runtime (s)", 3, "min"), TextColumn("max runtime (s)", 3)]
    parts += [board["fit_seconds"].tolist(), board["longest_fit"].tolist()]
    names = [_named(*pair) for pair in zip(board["method"], board["missing"] > 0, strict=True)]
    rows = tuple(zip(names, *parts, strict=True))
    return TextTable(f"ten-best-{metric.name}", caption, tuple(columns), rows, _notes(table))


def _easy_columns(easy: ScoreTable) -> tuple[dict[str, float], dict[str, float]]:
    if not easy.experiments:
        return {}, {}
    return {m: score.mean for m, score in mean_scores(easy).items()}, p_share(easy)


def top1_table(
    tables: Sequence[ScoreTable], *, limit: float = 0.25, allow_absent: bool = True
) -> TextTable | None:
    """Share of experiments won by each category, in the paper's restricted contests.

    For errors both contests are held, over all experiments and over those with a best error below
    `limit`; for classification scores the one without AdaCap, as in the paper. ``None`` if no
    contest has anybody in it. If a contest is held without some of its networks, a note names them.
    """
    columns, shares, notes = [TextColumn("category")], [], []
    for table in tables:
        for contest, part, place in _contests(table, limit):
            if not part.experiments or not part.methods:
                continue  # nobody to compete, or nothing to compete for
            if not allow_absent and not set(contest.networks) <= set(part.methods):
                continue
            found = top1_by_category(part, contest, allow_absent=True)
            title = f"{table.metric.label} {place}, {contest.name} (n={found.n_experiments})"
            columns.append(TextColumn(title, 1, "max", 100))
            shares.append(found.shares)
            if found.absent:
                notes.append(f"{title}: without {', '.join(found.absent)}, which have no result.")
    if not shares:
        return None
    totals = {name: max(part.get(name, 0) for part in shares) for part in shares for name in part}
    ordered = sorted(totals, key=lambda name: (-shares[0].get(name, 0), -totals[name], name))
    rows: TableRows = tuple(
        (name, *(part.get(name, np.nan) for part in shares)) for name in ordered
    )
    caption = (
        "Percentage of experiments whose best method belongs to the category. Four networks stand "
        "for DNN in each contest; methods that tie divide the point."
    )
    return TextTable("top1-by-category", caption, tuple(columns), rows, tuple(notes))


def _contests(table: ScoreTable, limit: float) -> list[tuple[Contest, ScoreTable, str]]:
    """Contests to hold, with their contestants' scores: what is easy depends on who takes part."""
    held = [WITHOUT_ADACAP] if table.metric.greater_is_better else list(CONTESTS)
    parts = [(contest, table.take_methods(contestants(table, contest))) for contest in held]
    found = [(contest, part, "top 1") for contest, part in parts]
    if not table.metric.greater_is_better:
        place = f"top 1 where min < {limit:g}"
        found += [(c, easy_subset(part, limit), place) for c, part in parts if part.methods]
    return found


def per_task(table: ScoreTable, n: int = 10, *, names: dict[str, str] | None = None) -> TextTable:
    """Mean score on each task of the methods first on the leaderboard; names stand beside keys."""
    methods = leaderboard(table)["method"].head(n).tolist()
    tasks = table.by_task().take_methods(methods)
    best: Literal["max", "min"] = "max" if table.metric.greater_is_better else "min"
    columns = (TextColumn("task"), *(TextColumn(method, 4, best) for method in methods))
    labels = names or {}
    rows: TableRows = tuple(
        (_task_label(task, labels), *map(float, values))
        for (task, _), values in zip(tasks.experiments, tasks.values, strict=True)
    )
    caption = f"Mean test {table.metric.label} over the splits of each task."
    gaps = ("– marks a task of which a split is missing.",) if tasks.missing() else ()
    notes = gaps + _seed_note(table)
    return TextTable(f"tasks-{table.metric.name}", caption, columns, rows, notes, best_by_row=best)


def _task_label(task: str, names: dict[str, str]) -> str:
    name = names.get(task, "")
    return f"{task} ({name})" if name and name != task else task


def failures_table(frame: pd.DataFrame) -> TextTable:
    """Jobs without a result, with the last line of the traceback."""
    rows = tuple(
        (row["method"], row["task"], row["split"], row["seed"], row["status"], failure_reason(row))
        for row in failures(frame).to_dict("records")
    )
    titles = ("method", "task", "split", "seed", "status", "reason")
    columns = tuple(
        TextColumn(title, 0 if title in ("split", "seed") else None) for title in titles
    )
    return TextTable("failures", "Jobs without a result.", columns, rows)


def failure_reason(row: dict[str, object]) -> str:
    """Last line of a record's traceback, or nothing."""
    text = row.get("traceback")
    return last_line(text) if isinstance(text, str) else ""


def read_tables(frame: pd.DataFrame, *, missing: Missing = "refuse") -> dict[str, ScoreTable]:
    """Score tables of all metrics the frame has results for."""
    found = {}
    for name, metric in METRICS.items():
        of_kind = frame[frame["kind"].isin(list(metric.kinds)) & frame["status"].isin(COUNTED)]
        column = next((c for c in metric.columns if c in frame.columns), None)
        if column is not None and of_kind[column].notna().any():
            found[name] = from_frame(frame, metric, missing=missing)
    return found


def all_tables(
    frame: pd.DataFrame, *, missing: Missing = "refuse", n_best: int = 10
) -> list[TextTable]:
    """Every table the frame has results for.

    Parameters
    ----------
    frame : DataFrame
        Rows of a store, see :func:`adacap_bench.metrics.from_frame`.
    missing : {"refuse", "mark"}, default="refuse"
    n_best : int, default=10
        Methods in the tables that show only the best.

    Returns
    -------
    list of TextTable
    """
    scores = read_tables(frame, missing=missing)
    names = task_names(frame)
    tables = []
    for table in scores.values():
        tables += [leaderboard_table(table), ten_best(table, n_best)]
        tables.append(per_task(table, n_best, names=names))
    contests = top1_table([table for name, table in scores.items() if name != "r2"])
    tables += [contests] if contests else []
    tables.append(failures_table(frame))
    return tables


def task_names(frame: pd.DataFrame) -> dict[str, str]:
    """Name of each task, empty where a record has none."""
    if "task_name" not in frame.columns:
        return {}
    named = frame.dropna(subset=["task_name"])
    return dict(zip(named["task"].astype(str), named["task_name"].astype(str), strict=True))


def write_tables(
    frame: pd.DataFrame,
    folder: str | Path,
    *,
    missing: Missing = "refuse",
    n_best: int = 10,
    force: bool = False,
) -> list[Path]:
    """Write every table as Markdown, CSV and LaTeX.

    Parameters
    ----------
    frame : DataFrame
    folder : str or Path
        Made if it does not exist.
    missing : {"refuse", "mark"}, default="refuse"
    n_best : int, default=10
    force : bool, default=False
        Replace files that exist, such as those of an earlier call.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    OutputExistsError
        If a file exists and ``force`` is not set; nothing is written then.
    """
    tables = all_tables(frame, missing=missing, n_best=n_best)
    folder = Path(folder)
    for table in tables:
        for ending in ("md", "csv", "tex"):
            refuse_existing(folder / f"{table.name}.{ending}", force)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for ending, text in (
            ("md", table.to_markdown()),
            ("csv", table.to_csv()),
            ("tex", table.to_latex()),
        ):
            path = folder / f"{table.name}.{ending}"
            written.append(write_text(path, text, force=force))
    return written
