"""Rows to learn from: read, drawn if too many, and the target taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adacap.cli import options as option
from adacap.cli.common import UsageError
from adacap.cli.models import build
from adacap.cli.targets import TASKS, Target, read_target
from adacap.exceptions import suggest
from adacap.files import FileError, Sample, Source, open_table, sample_table
from adacap.files.errors import need_arrow
from adacap.progress import Steps
from adacap.tables.suspicions import is_numbering

__all__ = ["Dependent", "Loaded", "load_rows"]

_MANY_ROWS = 400_000
pa = need_arrow()


class Dependent(NamedTuple):
    """Groups and times of rows, one value per row, and the columns they come from."""

    groups: Any = None
    time: Any = None
    group_name: str | None = None
    time_name: str | None = None
    kept: tuple[str, ...] = ()  # of these columns, those to learn from

    def of(self, rows: Any) -> dict[str, Any]:
        """What ``fit`` of an estimator takes, for some rows."""
        given = {"groups": self.groups, "time": self.time}
        return {name: values[rows] for name, values in given.items() if values is not None}

    def text(self) -> str:
        """How rows are split, in words; empty where they are drawn at random."""
        parts = []
        if self.groups is not None:
            n_groups = len(set(self.groups.tolist()))
            parts.append(f"whole groups of {self.group_name} ({n_groups:,})")
        if self.time is not None:
            parts.append(f"later rows by {self.time_name}")
        names = [n for n in (self.group_name, self.time_name) if n and n not in self.kept]
        but = f" Not learned from: {', '.join(names)} (see --keep)." if names else ""
        return f"Rows are held out as {' and as '.join(parts)}.{but}" if parts else ""


class Loaded(NamedTuple):
    """Rows in memory whose target is known.

    ``n_rows`` are those of the file, ``drawn`` those taken from it, or None if all were;
    ``numbers`` says which row of the file each row is, the first being 1.
    """

    path: Path
    X: Any  # arrow table
    target: Target
    n_rows: int
    drawn: int | None
    dropped: list[str]
    notes: list[str]
    read_text: bool | str = True  # or the format of dates
    numbers: Any = None  # array of int
    weight: Any = None  # array of float, one weight per row
    weight_name: str | None = None
    dependence: Dependent = Dependent()

    def weights(self, rows: Any) -> Any:
        """Weights of some rows, or None."""
        return None if self.weight is None else self.weight[rows]

    def facts(self) -> dict[str, Any]:
        """What ``--json`` says of the data."""
        known = self.target.known
        return {
            "data": str(self.path),
            "rows": {
                "in_file": self.n_rows,
                "drawn": self.drawn,
                "without_target": int((~known).sum()),
                "used": int(known.sum()),
            },
            "target": self.target.names,
            "task": self.target.task,
            "weight": self.weight_name,
            "group": self.dependence.group_name,
            "time": self.dependence.time_name,
            "dropped": self.dropped,
            "notes": self.notes,
        }


def load_rows(
    path: Path,
    target: str,
    task: str,
    method: str | None,
    *,
    drop: Sequence[str] | None,
    max_rows: int | None,
    seed: int,
    text: option.TextFile,
    weight: str | None = None,
    dependence: option.DependentRows,
) -> Loaded:
    """Read a table, or as many rows of it as training can see.

    Each net takes ``max_iter`` minibatches of ``batch_size`` rows, so more rows than all nets take
    are of no use: from a larger table a uniform sample is drawn in one pass.
    """
    # dates in the user's format are read by the model, which then knows it
    options = replace(text.read(), date_format=None)
    if task not in TASKS:
        raise UsageError(suggest(task, TASKS, "task"))
    model = build("regression", method, seed=seed)  # refuses an unknown method
    source = open_table(path, [target, *target.split(",")], options)
    names = option.split_names([target], source, "target column")
    dropped = option.split_names(drop or [], source)
    group, time, keep = dependence
    given = {"weight": weight, "group": group, "time": time}
    roles = {role: name for role, name in given.items() if name is not None}
    for role, name in roles.items():
        _check_role(role, name, source, names, dropped)
    kept = _kept(keep, source, [group, time])
    if both := [name for name in names if name in dropped]:
        raise UsageError(f"{both[0]!r} is the target and cannot be dropped.")
    columns = [name for name in source.names if name not in dropped]
    hidden = {*names, weight, *(name for name in (group, time) if name not in kept)}
    if set(columns) <= hidden:
        raise FileError(f"{path} has no column to learn from besides the target.")
    most = max_rows or _seen(model)
    with Steps("Reading", total=source.n_rows) as steps:
        sample = sample_table(source, columns, most, seed, progress=steps.update)
    found = read_target(sample.table, names, task)
    X = sample.table.select([name for name in columns if name not in hidden])
    loaded = Loaded(
        path, X.filter(pa.array(found.known)), found, sample.n_rows,
        sample.table.num_rows if sample.drawn else None, dropped, [], text.date_format or True,
        sample.numbers[found.known],
        None if weight is None else read_weights(sample.table, weight, found.known),
        weight,
        Dependent(
            _cells(sample.table, group, found.known), _cells(sample.table, time, found.known),
            group, time, kept,
        ),
    )  # fmt: skip
    _check_dependence(loaded.dependence, len(found.y))
    counters = [name for name in X.column_names if _counts_rows(X.column(name), sample)]
    return loaded._replace(notes=[*source.notes, *found.notes, *_notes(loaded, counters)])


def _check_role(
    role: str, name: str, source: Source, targets: Sequence[str], dropped: Sequence[str]
) -> None:
    option.split_names([name], source, f"{role} column")
    if name in (*targets, *dropped):
        what = "the target" if name in targets else "dropped"
        raise UsageError(f"--{role} {name} is {what}: name another column.")


def _kept(keep: str | None, source: Source, roles: Sequence[str | None]) -> tuple[str, ...]:
    """Columns of groups and times to learn from."""
    kept = option.split_names([keep] if keep else [], source)
    for name in kept:
        if name not in roles:
            raise UsageError(
                f"--keep {name} is neither the column of --group nor that of --time. All others "
                "are learned from anyway."
            )
    return tuple(kept)


def _cells(table: Any, name: str | None, known: Any) -> Any:
    """Cells of a column, of the rows that have a target."""
    if name is None:
        return None
    column = table.column(name)
    is_array = column.null_count == 0 or pa.types.is_temporal(column.type)
    cells = column.to_numpy() if is_array else np.array(column.to_pylist(), object)
    return cells[known]


def _check_dependence(dependence: Dependent, n_rows: int) -> None:
    """Refuse groups and times that cannot be split, by the names of their columns."""
    from adacap.estimators.dependence import read_dependence

    for role, name, values in (
        ("groups", dependence.group_name, dependence.groups),
        ("time", dependence.time_name, dependence.time),
    ):
        try:
            found = read_dependence(**{"groups": None, "time": None, role: values}, n_rows=n_rows)
            if found is not None:
                found.check()
        except (TypeError, ValueError) as error:
            raise FileError(f"Column {name!r}: {error}") from error


def read_weights(table: Any, name: str, known: Any) -> Any:
    """Weights of the rows that have a target: numbers that are not negative, and not all 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_weights(pa.table({"w": [1, 2, 3]}), "w", np.array([True, False, True]))
    array([1., 3.])
    >>> read_weights(pa.table({"w": [1, -2]}), "w", np.array([True, True]))
    Traceback (most recent call last):
    adacap.files.errors.FileError: The weight 'w' is -2 in row 2. Weights are 0 or more.
    """
    column = table.column(name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise FileError(f"The weight {name!r} holds {column.type} values, not numbers.")
    values = np.asarray(column.cast(pa.float64()).to_numpy())
    bad = np.flatnonzero(known & ~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise FileError(
            f"The weight {name!r} is {values[bad[0]]:g} in row {bad[0] + 1}. Weights are 0 or more."
        )
    if not values[known].any():
        raise FileError(f"The weight {name!r} is 0 in every row that has a target.")
    return values[known]


def _seen(model: Any) -> int:
    """Rows that the nets can see, each in its own order."""
    from adacap.estimators.settings import resolve

    settings: Any = resolve(model, _MANY_ROWS)  # as nets would have them, if there are any
    if isinstance(model.max_iter, str) and model.max_iter != "auto":
        return _MANY_ROWS  # epochs, bounded by time
    steps = settings.max_iter if isinstance(settings.max_iter, tuple) else (settings.max_iter,)
    return int(settings.batch_size * max(steps) * settings.n_estimators)


def _notes(loaded: Loaded, counters: list[str]) -> list[str]:
    notes = []
    if loaded.drawn is not None:
        notes.append(
            f"{loaded.drawn:,} of {loaded.n_rows:,} rows were drawn at random to learn from "
            "(see --max-rows)."
        )
    known = loaded.target.known
    if n_missing := int((~known).sum()):
        notes.append(f"{n_missing:,} of {len(known):,} rows have no target and are left out.")
    if counters:
        names = ", ".join(counters)
        what = (
            "counts the rows, and may be an id"
            if len(counters) == 1
            else ("count the rows, and may be ids")
        )
        notes.append(f"{names} {what}. Consider --drop {','.join(counters)}.")
    return notes


def _counts_rows(column: Any, sample: Sample) -> bool:
    """Whether a column is a run of whole numbers, one per row; of drawn rows, a part of one."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    if column.null_count or len(column) < 10:
        return False
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    return is_numbering(values, sample.n_rows)
