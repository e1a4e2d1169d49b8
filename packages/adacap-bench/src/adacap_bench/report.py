"""The page of a benchmark: one HTML file from the stored results, without training anything."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from adacap.exceptions import AdaCapError
from adacap.files import check_writable
from adacap.page import Page, PageColumn
from adacap.page.embed import asset
from adacap_bench.metrics import ScoreTable, critical_difference, failures
from adacap_bench.metrics.cells import COUNTED
from adacap_bench.report_data import EASY_LIMIT, report_data
from adacap_bench.tables import Missing, failure_reason, read_tables, top1_table, write_tables

__all__ = ["build_report", "write_report"]

_SCRIPTS = ("report_numbers.js", "report_figures.js", "report_app.js")


def build_report(
    frame: pd.DataFrame,
    *,
    title: str | None = None,
    allow_missing: bool = True,
    versions: Sequence[Mapping[str, str]] = (),
    unavailable: Mapping[str, str] | None = None,
) -> Page:
    """Page of a benchmark from its rows.

    Parameters
    ----------
    frame : DataFrame
        As given by ``Store.frame()``: one row per record.
    title : str, optional
    allow_missing : bool, default=True
        Whether results of a method may be missing: it is then marked and not ranked. Otherwise
        missing cells are an error that names them.
    versions : sequence of mappings, optional
        Versions of packages, one mapping per set of versions that occurs.
    unavailable : mapping, optional
        Methods that were not run, with the reason.

    Returns
    -------
    Page
        To be written with ``page.write(path)``.

    Raises
    ------
    AdaCapError
        If no row has a result.
    MissingCellsError
        If cells are missing and that is not allowed.

    Examples
    --------
    >>> rows = [("a", "ols", 0.5), ("a", "rf", 0.4), ("b", "ols", 0.2), ("b", "rf", 0.25)]
    >>> frame = pd.DataFrame(rows, columns=["task", "method", "test_rmse"])
    >>> frame = frame.assign(kind="regression", split=0, seed=0, status="ok")
    >>> page = build_report(frame, title="Two methods")
    >>> [section.title for section in page.sections][:2]
    ['Overview', 'Leaderboard']
    """
    missing: Missing = "mark" if allow_missing else "refuse"
    tables = read_tables(frame, missing=missing)
    if not tables:
        raise AdaCapError(
            f"None of the {len(frame)} records has a score: there is nothing to report. "
            "To see why: adacap bench status."
        )
    page = Page(title or "Benchmark of tabular methods", subtitle(frame))
    page.style(asset("report.css", "adacap_bench"))
    page.data("benchmark", report_data(frame))
    add_overview(page, frame, tables)
    add_interactive(page)
    add_contests(page, tables)
    add_lead(page, tables)
    add_failures(page, frame, unavailable or {})
    add_reading(page)
    add_versions(page, frame, versions)
    for name in _SCRIPTS:
        page.script(asset(name, "adacap_bench"))
    return page


def write_report(
    store_path: str | Path,
    out: str | Path,
    *,
    title: str | None = None,
    tables_dir: str | Path | None = None,
    suite: str | None = None,
    force: bool = False,
    allow_missing: bool = True,
) -> Path:
    """Write the page of a store, and its tables if a folder for them is given.

    Parameters
    ----------
    store_path : str or Path
        Results of ``adacap bench run``.
    out : str or Path
        The HTML file. It appears when it is complete.
    title : str, optional
    tables_dir : str or Path, optional
        Folder for the tables as Markdown, CSV and LaTeX.
    suite : str, optional
        Only these tasks: suites, keys or files of tasks, several with commas.
    force : bool, default=False
        Replace `out` and the tables if they exist.
    allow_missing : bool, default=True
        See :func:`build_report`.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    OutputExistsError
        If `out` exists and `force` is not set.
    AdaCapError
        If the store has no result for these tasks.
    """
    from adacap_bench.store import Store

    out = Path(out)
    check_writable(out, force)
    with Store(store_path, read_only=True) as store:
        frame = _of_suite(store.frame(), suite)
        sets = {
            tuple(sorted(record.versions.items())) for record in store.records(predictions=False)
        }
    page = build_report(
        frame,
        title=title,
        allow_missing=allow_missing,
        versions=[dict(versions) for versions in sorted(sets) if versions],
        unavailable=_unavailable(frame),
    )
    if tables_dir is not None:
        write_tables(frame, tables_dir, missing="mark" if allow_missing else "refuse", force=force)
    return page.write(out, force=force)


def _of_suite(frame: pd.DataFrame, suite: str | None) -> pd.DataFrame:
    if suite is None:
        return frame
    from adacap_bench.datasets import find_tasks

    names = [name.strip() for name in suite.split(",") if name.strip()]
    rows = frame[frame["task"].isin([task.key for task in find_tasks(names)])]
    if not len(rows):
        raise AdaCapError(f"The store has no record of a task of {suite!r}.")
    return rows.reset_index(drop=True)


def _unavailable(frame: pd.DataFrame) -> dict[str, str]:
    """Known methods without a record that cannot be run here, with the reason."""
    from adacap_bench.methods import METHODS, unavailable

    run = set(frame["method"])
    reasons = {name: unavailable(method) for name, method in METHODS.items() if name not in run}
    return {name: reason for name, reason in reasons.items() if reason}


# ------------------------------------------------------------------------------ its sections


_DIALOG = """<dialog id='detail' aria-labelledby='detail-title'><div class='dialog-head'>
<h2 id='detail-title'></h2><button type='button' id='detail-close'>Close</button></div>
<div id='detail-body'></div></dialog>"""


_MEANINGS = {
    "experiment": "one train/test split of one task; several seeds of a method on it are averaged",
    "mean ± s.e.": "mean test score over experiments; "
    "the standard error includes the differences between tasks",
    "P90, P95": "share of experiments in which best ≥ 0.9 (0.95) · own error; "
    "for accuracy and AUC own ≥ 0.9 · best",
    "PMA": "mean ratio to the best: best/own for errors, own/best for accuracy and AUC",
    "rank": "mean place over the tasks (by the mean score of each), ties sharing theirs, among "
    "methods without gaps; the same numbers as in the figure of ranks",
    "top 1": "share of experiments a method wins; methods that tie divide the point",
    "critical difference": "Nemenyi's test at the 5 % level on ranks by task, "
    "since splits of a task are not independent",
    "fit, times": "mean seconds of fit, and as a multiple of the time of the method that the "
    "column names, on the same experiments",
    "†": "a method without a result for some experiments: averaged over those it has, not ranked",
}


def subtitle(frame: pd.DataFrame) -> str:
    """When the results were made."""
    if "created" not in frame.columns or frame["created"].isna().all():
        return ""
    days = frame["created"].dropna().astype(str).str.slice(0, 10)
    first, last = days.min(), days.max()
    return f"Results of {first}" if first == last else f"Results of {first} to {last}"


def add_overview(page: Page, frame: pd.DataFrame, tables: Mapping[str, ScoreTable]) -> None:
    """How much was measured, and what is missing."""
    counted = frame["status"].isin(COUNTED)
    imported = int((frame["status"] == "imported").sum())
    facts: dict[str, object] = {
        "tasks": frame["task"].nunique(),
        "methods": frame["method"].nunique(),
        "experiments": len(frame[["task", "split"]].drop_duplicates()),
        "records with a result": int(counted.sum()),
        "records without": int((~counted).sum()),
    }
    if imported:
        facts["of which imported"] = imported
    section = page.section("Overview").facts(facts)
    gaps = {name: len(table.missing()) for name, table in tables.items() if table.missing()}
    if gaps:
        parts = ", ".join(
            f"{n} of {tables[name].values.size} cells of {tables[name].metric.label}"
            for name, n in gaps.items()
        )
        section.note(
            f"Some methods have missing results: {parts}. They are marked † and not ranked; "
            "nothing was filled in."
        )


def add_interactive(page: Page) -> None:
    """Places that the script fills: leaderboard, figures, tasks, and the dialog for details."""
    board = page.section("Leaderboard")
    board.html("<div id='controls'></div>")
    board.html("<noscript><p class='note'>The leaderboard needs JavaScript.</p></noscript>")
    board.html("<p id='summary' role='status'></p>")
    board.html("<p id='nothing' class='note' hidden>No result matches these filters.</p>")
    board.html("<div id='board' data-follows></div>")
    board.text("Choose a method for its scores on every task and split.")
    ranks = page.section("Which differences are real", name="ranks-section")
    ranks.html("<div data-follows><div id='ranks'></div><p id='ranks-note'></p></div>")
    trade = page.section("Time against error", name="time")
    trade.html(
        "<figure class='chart' data-follows><div id='trade-off' class='plot'></div><figcaption>"
        "Each point is a method; along the dotted front nothing is both faster and better. Open "
        "symbols have missing results. Choose a point for its scores.</figcaption></figure>"
    )
    wins = page.section("Who beats whom", name="wins-section")
    wins.html(
        "<figure class='chart' data-follows><div id='wins' class='plot'></div><figcaption>Share of "
        "experiments, in per cent, in which the method of the line beats that of the column; a tie "
        "is half a win.</figcaption></figure>"
    )
    tasks = page.section("Tasks").text("Choose a task for the scores of every method.")
    tasks.html(f"<div id='task-table' data-follows></div>{_DIALOG}")


def add_contests(page: Page, tables: Mapping[str, ScoreTable]) -> None:
    """First places by category in the paper's restricted contests."""
    scored = [table for name, table in tables.items() if name != "r2"]
    found = top1_table(scored, limit=EASY_LIMIT, allow_absent=False)
    if found is None:  # a category without its networks would leave the places to the others
        return
    columns = [
        PageColumn(column.title)
        if column.digits is None
        else PageColumn(column.title, "number", column.digits, " %")
        for column in found.columns
    ]
    rows = [[row[0], *(100 * value for value in row[1:])] for row in found.rows]  # type: ignore[operator]
    section = page.section("First places by category", name="contests").text(found.caption)
    section.table(columns, rows)
    for note in found.notes:
        section.note(note)


def add_lead(page: Page, tables: Mapping[str, ScoreTable]) -> None:
    """The leader of each main metric against all others, judged by the test of the ranks."""
    main = [tables[name] for name in ("rmse", "auc") if name in tables]
    rows = [row for table in main for row in lead_numbers(table)]
    if not rows:
        return
    columns = [
        PageColumn("against"),
        PageColumn("metric", filter=len(main) > 1),
        PageColumn("leader", help="the method of the best mean rank over the tasks"),
        PageColumn(
            "mean difference", "number", 4, help="score of the leader minus the other's, by task"
        ),
        PageColumn("leader better on", help="tasks on which the leader has the better mean score"),
        PageColumn(
            "told apart",
            help="whether their mean ranks differ by the critical difference, as in the figure "
            "above with all tasks; 'no' means that these tasks cannot decide",
        ),
    ]
    section = page.section("Is the leader ahead", name="lead")
    section.text(
        "The method of the best mean rank beside each other one, over all tasks, whatever is "
        "chosen above. Whether two methods differ is judged by one test alone, that of the figure."
    )
    section.table(columns, rows, search=True)


def lead_numbers(table: ScoreTable) -> list[tuple[object, ...]]:
    """Rows of the section: other, metric, leader, difference, tasks won, verdict."""
    tasks = table.by_task().complete_methods()
    n = len(tasks.experiments)
    if n < 2 or len(tasks.methods) < 2:
        return []
    found = critical_difference(tasks)
    leader, *others = found.methods
    losses, own = tasks.losses, tasks.values[:, tasks.column(leader)]
    rows: list[tuple[object, ...]] = []
    for method, rank in zip(others, found.ranks[1:], strict=True):
        j = tasks.column(method)
        won = int((losses[:, tasks.column(leader)] < losses[:, j]).sum())
        verdict = "yes" if rank - found.ranks[0] >= found.difference else "no"
        difference = float((own - tasks.values[:, j]).mean())
        rows.append((method, table.metric.label, leader, difference, f"{won} of {n}", verdict))
    return rows


def add_failures(page: Page, frame: pd.DataFrame, unavailable: Mapping[str, str]) -> None:
    """Jobs without a result and methods that could not be run, each with its reason."""
    failed = failures(frame).to_dict("records")
    if not failed and not unavailable:
        return
    section = page.section("What is missing", name="missing")
    if failed:
        columns = [
            PageColumn("method", filter=True),
            PageColumn("task"),
            PageColumn("split", "number", 0),
            PageColumn("seed", "number", 0),
            PageColumn("status", filter=True),
            PageColumn("reason", "long"),
        ]
        names = ("method", "task", "split", "seed", "status")
        rows = [[*(row[name] for name in names), failure_reason(row)] for row in failed]
        section.table(columns, rows, caption="Jobs without a result", search=True)
    if unavailable:
        section.table(
            ["method", PageColumn("reason", "long")],
            list(unavailable.items()),
            caption="Methods that could not be run",
        )


def add_reading(page: Page) -> None:
    """What the numbers mean."""
    section = page.section("How to read this", name="reading")
    section.table(["name", PageColumn("meaning", "long")], list(_MEANINGS.items()))


def add_versions(page: Page, frame: pd.DataFrame, versions: Sequence[Mapping[str, str]]) -> None:
    """Software the results were made with, and whether settings changed on the way."""
    mixed = _mixed_settings(frame)
    if not versions and not mixed:
        return
    section = page.section("Versions and settings", name="versions")
    if versions:
        names = sorted({name for mapping in versions for name in mapping})
        rows = [
            [name, ", ".join(sorted({str(m[name]) for m in versions if name in m}))]
            for name in names
        ]
        section.table(["package", PageColumn("versions", "long")], rows)
        if len(versions) > 1:
            section.text(
                f"The results were not all made with the same software: {len(versions)} "
                "combinations of these versions occur, so small differences may come from them."
            )
    if mixed:
        section.note(
            f"The settings of {len(mixed)} methods changed between records of one task: "
            f"{', '.join(mixed[:10])}{', …' if len(mixed) > 10 else ''}. Their means mix both."
        )


def _mixed_settings(frame: pd.DataFrame) -> list[str]:
    if "settings_hash" not in frame.columns:
        return []
    counted = frame[frame["status"] == "ok"]
    hashes = counted.groupby(["method", "task"])["settings_hash"].nunique()
    return sorted({str(method) for method, _ in hashes[hashes > 1].index})
