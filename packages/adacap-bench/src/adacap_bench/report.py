"""The page of a benchmark: one HTML file from the stored results, without training anything."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from adacap.exceptions import AdaCapError
from adacap.files import check_writable
from adacap.page import Page
from adacap.page.embed import asset
from adacap_bench import report_sections as sections
from adacap_bench.report_data import report_data
from adacap_bench.tables import Missing, read_tables, write_tables

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
    >>> frame = pd.DataFrame(
    ...     {
    ...         "task": ["a", "a", "b", "b"],
    ...         "kind": "regression",
    ...         "split": 0,
    ...         "seed": 0,
    ...         "method": ["ols", "rf", "ols", "rf"],
    ...         "status": "ok",
    ...         "test_rmse": [0.5, 0.4, 0.2, 0.25],
    ...     }
    ... )
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
    page = Page(title or "Benchmark of tabular methods", sections.subtitle(frame))
    page.style(asset("report.css", "adacap_bench"))
    page.data("benchmark", report_data(frame))
    sections.add_overview(page, frame, tables)
    sections.add_interactive(page)
    sections.add_contests(page, tables)
    sections.add_lead(page, tables)
    sections.add_failures(page, frame, unavailable or {})
    sections.add_reading(page)
    sections.add_versions(page, frame, versions)
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
