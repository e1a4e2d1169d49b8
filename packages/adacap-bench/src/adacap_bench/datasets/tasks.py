"""The entries of the catalogue: a task, the file it is in, how to read it, what to expect."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas

__all__ = [
    "KINDS", "ColumnKey", "DataFile", "Exemption", "Figures", "Reader", "Task", "TaskKind",
    "TaskTable",
]  # fmt: skip

TaskKind = Literal["regression", "binary", "multiclass"]
KINDS: tuple[TaskKind, ...] = ("regression", "binary", "multiclass")
ColumnKey = int | str  # position, negative from the end, or name


@dataclass(frozen=True)
class DataFile:
    """One file of the data folder and where it comes from.

    Checksums are of the decompressed content, first that of the copy whose figures were checked;
    there is none if no copy was seen.
    """

    path: str  # in a data folder; beside it .gz and .zip are looked for
    sha256: tuple[str, ...] = ()
    exact: bool = True  # whether the public source is known to serve those very bytes
    urls: tuple[str, ...] = ()  # tried in turn; none where an account is needed
    page: str = ""  # of the data set, on the web
    origin: str = ""  # what is known of the copies in circulation, or how to obtain the file

    @property
    def name(self) -> str:
        """Last part of the path."""
        return re.split(r"[/\\]", self.path)[-1]


@dataclass(frozen=True)
class Reader:
    """How a file, text of separated values or a matrix, becomes a table."""

    format: Literal["csv", "npy"] = "csv"
    header: bool = True  # the first line holds names; without, columns are called c0, c1, ...
    separator: str = ","  # as pandas knows it; "space" is any run of blanks
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ("",)  # any other marker, such as ?, stays text
    lines: tuple[int, ...] = ()  # the first, and the one after the last, if a part is meant
    join_broken: bool = False  # a line that is short of fields is continued on the next one
    drop_rows: tuple[int, ...] = ()  # to leave out, negative ones counted from the end
    exclude: tuple[ColumnKey, ...] = ()  # no features: row numbers, dates, empty columns


@dataclass(frozen=True)
class Figures:
    """A row of a paper's table: training rows, features, columns by kind; None if not given."""

    n: int | None = None
    p: int | None = None
    continuous: int | None = None
    categorical: int | None = None


@dataclass(frozen=True)
class Exemption:
    """Why some figures differ from the paper's, and what they are instead."""

    reason: str
    figures: Figures = field(default_factory=Figures)


@dataclass(frozen=True)
class Task:
    """One entry of the catalogue.

    Attributes
    ----------
    key : str
        What commands and files call it; :func:`~adacap_bench.datasets.find_task` finds it by that.
    name : str
        Title for people.
    kind : {"regression", "binary", "multiclass"}
        What is predicted.
    suites : tuple of str
        Suites it belongs to.
    file : DataFile or None
        None for a task that needs no file.
    reader : Reader
        How the file is read.
    target : int or str
        Position or name of the target column in the file.
    transform : str
        Transform of the target, one of ``adacap_bench.datasets.targets.TRANSFORMS``.
    stored_scale : str
        Scale of a target that the file holds transformed already; the raw one is then lost.
    classes : tuple of str
        Classes in the order of their codes; empty if learnt from the file.
    rows, columns : int or None
        Shape of the table in the file, target and excluded columns included.
    paper_id : int or None
        Number in the table of the 2022 paper.
    target_index : int or None
        The paper's index of the target.
    figures : Figures or None
        The paper's figures.
    exemption : Exemption or None
        Known difference from them.
    note : str
        What is odd about the task.
    maker, options : str and tuple of pairs
        Function of ``adacap_bench.datasets.loading`` that makes the table, and its arguments.
    """

    key: str
    name: str
    kind: TaskKind
    suites: tuple[str, ...] = ()
    file: DataFile | None = None
    reader: Reader = field(default_factory=Reader)
    target: ColumnKey = -1
    transform: str = "none"
    stored_scale: str = ""
    classes: tuple[str, ...] = ()
    rows: int | None = None
    columns: int | None = None
    paper_id: int | None = None
    target_index: int | None = None
    figures: Figures | None = None
    exemption: Exemption | None = None
    note: str = ""
    maker: str = ""
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def is_encoded(self) -> bool:
        """Whether the features are a matrix that its authors have encoded already."""
        return self.reader.format == "npy"

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-able data."""
        return {**asdict(self), "options": dict(self.options)}


@dataclass(frozen=True, eq=False)
class TaskTable:
    """A loaded task.

    Attributes
    ----------
    task : Task
        The entry it was loaded by.
    X : pandas.DataFrame
        Features as they stand in the file; excluded columns and rows without target are gone.
    y : ndarray of shape (n_rows,)
        Regression: the transformed target, float64. Classes: codes 0, 1, ..., int64.
    classes : tuple of str
        Name of each code; empty for regression.
    """

    task: Task
    X: pandas.DataFrame
    y: npt.NDArray[Any]
    classes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"TaskTable({self.task.key}: {rows} rows, {columns} columns, {self.task.kind})"

    def __post_init__(self) -> None:
        if len(self.X) != len(self.y):
            raise ValueError(f"X has {len(self.X)} rows, but y has {len(np.asarray(self.y))}.")
