"""Compare the data sets that are present with the papers' tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adacap_bench.datasets import DataError, Task, TaskTable
from adacap_bench.datasets.catalogue import mnist_files
from adacap_bench.datasets.loading import read_task_frame, table_of
from adacap_bench.datasets.places import checksum, how_to_get, locate, read_content
from adacap_bench.datasets.tasks import DataFile, Exemption, Figures

if TYPE_CHECKING:
    import pandas

__all__ = ["Check", "Verdict", "count_features", "verify_mnist", "verify_task", "verify_tasks"]

Status = Literal["ok", "explained", "mismatch", "absent"]
_FIGURES = ("n", "p", "continuous", "categorical")


@dataclass(frozen=True)
class Check:
    """One fact: what was expected and what was found."""

    name: str
    expected: Any
    found: Any
    status: Status = "ok"


@dataclass(frozen=True)
class Verdict:
    """What became of one task: its checks, and explanations in words.

    The status is the worst of the checks. "explained" is a known difference, or a match that needs
    a word; "absent" is not a judgement.
    """

    key: str
    name: str
    status: Status
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-able data."""
        return asdict(self)


def verify_tasks(tasks: Iterable[Task], folder: str | Path | None = None) -> list[Verdict]:
    """Verdict on each task.

    Parameters
    ----------
    tasks : iterable of Task
        Entries, as :func:`~adacap_bench.datasets.find_suite` gives them.
    folder : path, optional
        Data folder to look in before ``ADACAP_DATA`` and the cache.

    Examples
    --------
    >>> from adacap_bench.datasets import find_suite
    >>> [verdict.status for verdict in verify_tasks(find_suite("builtin-iris"))]
    ['ok']
    """
    return [verify_task(task, folder) for task in tasks]


def verify_task(task: Task, folder: str | Path | None = None) -> Verdict:
    """Check a task: checksum, rows, columns, and the paper's n, p and columns by kind."""
    path = None if task.file is None else locate(task.file, folder)
    if task.file is not None and path is None:
        advice = how_to_get(task, task.file)
        return Verdict(task.key, task.name, "absent", notes=(advice,))
    checks: list[Check] = []
    notes: list[str] = []
    if task.file is not None and path is not None:
        checks += _check_sums([(task.file, path)])
        if checks and checks[0].status == "explained":
            notes.append(f"Another copy than the one checked. {task.file.origin}".strip())
    try:
        frame = read_task_frame(task, folder)
        checks += _check_table(task, frame, table_of(frame, task))
    except DataError as error:
        checks.append(Check("table", "readable", str(error), "mismatch"))
    if task.exemption is not None:
        notes.append(task.exemption.reason)
    return _verdict(task.key, task.name, checks, notes, str(path or "built in"))


def verify_mnist(folder: str | Path | None = None) -> Verdict:
    """Check the checksums of the four files of MNIST."""
    found = [(file, locate(file, folder)) for file in mnist_files().values()]
    present = [(file, path) for file, path in found if path is not None]
    if len(present) < len(found):
        return Verdict("mnist", "MNIST", "absent", notes=("Run: adacap data fetch mnist",))
    place = str(present[0][1].parent)
    return _verdict("mnist", "MNIST", _check_sums(present), [], place)


def count_features(X: pandas.DataFrame) -> tuple[int, int, int]:
    """Features, continuous columns and categorical columns after the paper's preprocessing.

    A numeric column of 3 to 12 distinct values counts as both.

    Examples
    --------
    >>> import pandas as pd
    >>> count_features(pd.DataFrame({"size": range(20), "rooms": [1, 2, 3, 4] * 5}))
    (6, 2, 1)
    """
    from adacap.estimators.encoder import TableEncoder
    from adacap.tables.plan import Binary, Number, OneHot
    from adacap.tables.table import read_table

    encoder = TableEncoder("paper").fit(read_table(X))
    parts = [plan.parts for plan in encoder.columns_]
    continuous = sum(any(isinstance(part, Number) for part in column) for column in parts)
    categorical = sum(any(isinstance(part, OneHot | Binary) for part in column) for column in parts)
    return encoder.n_features_out_, continuous, categorical


def _check_sums(files: Iterable[tuple[DataFile, Path]]) -> list[Check]:
    checks = []
    for file, path in files:
        if not file.sha256:
            continue  # no copy was ever seen, or the user's own
        try:
            found = checksum(read_content(path, file.name))
        except DataError as error:
            found = str(error)
        status: Status = "mismatch" if file.exact else "explained"
        status = "ok" if found in file.sha256 else status
        checks.append(Check("sha256", " or ".join(file.sha256), found, status))
    return checks


def _check_table(task: Task, frame: pandas.DataFrame, table: TaskTable) -> list[Check]:
    """Checks of shape and figures; the shape is right, or reading would have failed."""
    checks = []
    if task.rows is not None and task.columns is not None:
        checks.append(Check("rows", task.rows, len(frame)))
        checks.append(Check("columns", task.columns, frame.shape[1]))
    if task.figures is None:
        return checks
    exempt = (task.exemption or Exemption("")).figures
    for name, found in _found_figures(task, frame, table).items():
        paper = getattr(task.figures, name)
        if paper is not None:
            checks.append(Check(name, paper, found, _compare(name, paper, found, exempt)))
    return checks


def _found_figures(task: Task, frame: pandas.DataFrame, table: TaskTable) -> dict[str, int]:
    if task.is_encoded:  # a matrix does not show the kinds of columns
        return {"n": len(frame), "p": frame.shape[1] - 1}
    # The 2022 paper counts training rows, the 2021 supplement all rows.
    n = int(0.8 * len(table.y)) if task.paper_id is not None else len(table.y)
    return dict(zip(_FIGURES, (n, *count_features(table.X)), strict=True))


def _compare(name: str, paper: int, found: int, exempt: Figures) -> Status:
    if found == paper:
        return "ok"
    return "explained" if found == getattr(exempt, name) else "mismatch"


def _verdict(key: str, name: str, checks: list[Check], notes: list[str], place: str) -> Verdict:
    statuses = {check.status for check in checks}
    status: Status = "explained" if notes or "explained" in statuses else "ok"
    status = "mismatch" if "mismatch" in statuses else status
    return Verdict(key, name, status, tuple(checks), tuple(notes), place)
