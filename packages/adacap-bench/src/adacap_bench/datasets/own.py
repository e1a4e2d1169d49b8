"""The user's own tasks: a bare CSV file, or entries in a TOML file."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adacap.exceptions import UsageError, suggest
from adacap.files.sniff import encoding_of, guess_text_separator, sniff_text
from adacap.tables.targets import holds_classes
from adacap_bench.datasets.entry import check_fields, make_task, names_of
from adacap_bench.datasets.errors import DataError, MissingDataError
from adacap_bench.datasets.places import read_content
from adacap_bench.datasets.reading import read_frame, resolve
from adacap_bench.datasets.targets import is_missing
from adacap_bench.datasets.tasks import KINDS, Reader, Task, TaskKind

__all__ = [
    "FIELDS",
    "is_entries",
    "is_table",
    "sniff_kind",
    "sniff_reader",
    "task_of_csv",
    "task_of_toml",
]

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "?")  # unless the entry says otherwise
_TASK = ("key", "name", "path", "target", "kind", "transform", "classes", "note")
FIELDS = (*_TASK, *names_of(Reader))
_TABLE = re.compile(r"(?P<path>.+\.(csv|tsv|data|txt|npy)(\.gz|\.zip)?)(:(?P<target>.+))?", re.I)
_ENTRIES = re.compile(r"(?P<path>.+\.toml)(:(?P<key>.+))?", re.I)


def is_table(name: str) -> bool:
    """Whether a name is that of a table, with or without a target."""
    return _TABLE.fullmatch(name) is not None


def is_entries(name: str) -> bool:
    """Whether a name is that of a TOML file, with or without the key of an entry."""
    return _ENTRIES.fullmatch(name) is not None


def names_entry(name: str) -> bool:
    """Whether a name of a TOML file ends with the key of one of its entries."""
    found = _ENTRIES.fullmatch(name)
    return found is not None and found["key"] is not None


def task_of_csv(spec: str) -> Task:
    """Task of ``"mine.csv"``, ``"mine.csv:target"`` or ``"mine.csv:target:kind"``.

    Without a target it is the last column; without a kind, the target decides.
    """
    found = _TABLE.fullmatch(spec)
    if found is None:
        raise UsageError(f"Not the name of a table: {spec!r}. Expected one such as mine.csv:target")
    entry: dict[str, Any] = {"name": Path(found["path"]).name, "path": found["path"]}
    target, _, kind = (found["target"] or "").rpartition(":")
    if kind in KINDS and found["target"]:
        entry["kind"] = kind
        if target:
            entry["target"] = target
    elif found["target"]:
        entry["target"] = found["target"]
    return _complete(entry, spec, Path(), spec)


def suite_of_toml(name: str) -> tuple[Task, ...]:
    """All tasks of a user's TOML file."""
    path = Path(name)
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise MissingDataError(f"There is no file {name}.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error}.") from error
    except (ValueError, RecursionError) as error:  # also of an integer of 4,301 digits
        raise DataError(f"{name} is not a TOML file: {error}.") from error
    entries = document.get("tasks", [document])
    if not isinstance(entries, list):
        raise DataError(f"{name}: tasks must be entries, each below a line [[tasks]].")
    tasks = [_own_task(entry, name) for entry in entries]
    keys = [task.key for task in tasks]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise DataError(f"{name}: the key {twice[0]!r} is used twice. Set key in one of them.")
    return tuple(tasks)


def task_of_toml(name: str) -> Task:
    """Task of ``"mine.toml:key"``, or of ``"mine.toml"`` if it holds a single one."""
    found = _ENTRIES.fullmatch(name)
    tasks = suite_of_toml(found["path"] if found else name)
    if found is not None and found["key"] is None and len(tasks) == 1:
        return tasks[0]
    for task in tasks:
        if task.key == name:
            return task
    raise UsageError(suggest(name, [task.key for task in tasks], "task"))


def _own_task(entry: Any, where: str) -> Task:
    if not isinstance(entry, Mapping) or not {"name", "path", "target"} <= set(entry):
        raise DataError(f"{where}: an entry needs name, path, target and kind, got {entry!r}.")
    if not isinstance(entry["path"], str):
        raise DataError(f"{where}: path must be text, got {entry['path']!r}.")
    check_fields(entry, FIELDS, where)
    slug = re.sub(r"[^\w.]+", "-", str(entry.get("key", entry["name"])).lower()).strip("-")
    return _complete(dict(entry), f"{where}:{slug}", Path(where).parent, where)


def _complete(entry: dict[str, Any], key: str, base: Path, where: str) -> Task:
    """Task of an entry whose missing fields are taken from the file itself."""
    path = Path(base, Path(entry["path"]).expanduser()).absolute()
    if not path.is_file():
        raise MissingDataError(f"{where}: there is no file {path}.")
    content = read_content(path, path.stem)
    entry = {"target": -1, **_reader_fields(entry, path, content), **entry}
    entry |= {"key": key, "path": str(path)}
    task = make_task({"kind": "regression", **entry}, where)
    return _with_target(task, content, "kind" in entry)


def _reader_fields(entry: Mapping[str, Any], path: Path, content: bytes) -> dict[str, Any]:
    if ".npy" in path.suffixes:
        return {"format": "npy"}
    if "header" in entry and "separator" in entry and "encoding" in entry:
        return {"missing": list(MISSING)}
    return {"missing": list(MISSING), **sniff_reader(content)}


def _with_target(task: Task, content: bytes, kind_known: bool) -> Task:
    """Task whose target is a column of the file, and whose kind follows from it if unknown."""
    try:
        frame = read_frame(content, task.reader)
    except (ValueError, LookupError) as error:
        raise DataError(
            f"Cannot read {task.key!r}: {error}. Set header, separator, decimal or encoding in a "
            "TOML entry."
        ) from error
    names = [str(name) for name in frame.columns]
    if isinstance(task.target, str) and task.target not in names:
        if re.fullmatch(r"-?\d+", task.target):
            task = replace(task, target=int(task.target))
    (position,) = resolve(task.target, names, task.key)
    if kind_known:
        return task
    target = frame.iloc[:, position]
    return replace(task, kind=sniff_kind(target[~is_missing(target)]))


# ------------------------------------------------------------------- how its text is written


if TYPE_CHECKING:
    import pandas


def sniff_reader(content: bytes) -> dict[str, Any]:
    r"""Encoding, separator, decimal and header of the text of a table.

    Examples
    --------
    >>> sniff_reader(b"size;price\n1,5;20\n2,5;30\n")
    {'encoding': 'utf-8', 'separator': ';', 'decimal': ',', 'header': True}
    """
    separator = guess_text_separator(content.decode(encoding_of(content), "replace"))
    found = sniff_text(_tabbed(content) if separator == "space" else content)
    return {
        "encoding": "utf-8-sig" if content.startswith(codecs.BOM_UTF8) else found.encoding,
        "separator": separator,
        "decimal": found.decimal,
        "header": found.header,
    }


def _tabbed(content: bytes) -> bytes:
    """Text whose cells stand apart by blanks, with one tab between them."""
    return re.sub(rb"[ \t]+", b"\t", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", content))


def sniff_kind(target: pandas.Series[Any]) -> TaskKind:
    """Kind of the task by its target, under the rule of the command line.

    See :func:`adacap.tables.targets.holds_classes`; two classes make a binary task.
    """
    is_number = target.dtype.kind in "biuf"
    if not holds_classes(target.to_numpy() if is_number else target.to_numpy(str)):
        return "regression"
    return "binary" if target.nunique() == 2 else "multiclass"
