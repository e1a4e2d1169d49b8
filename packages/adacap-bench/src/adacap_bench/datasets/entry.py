"""From an entry, as TOML gives it, to a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from adacap.exceptions import suggest
from adacap_bench.datasets.errors import DataError
from adacap_bench.datasets.targets import TRANSFORMS
from adacap_bench.datasets.tasks import KINDS, DataFile, Exemption, Figures, Reader, Task

__all__ = ["check_fields", "make_task", "names_of"]


def names_of(cls: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass."""
    return tuple(field.name for field in dataclasses.fields(cls))


_NESTED = ("file", "reader", "figures", "exemption")
_FIGURES = names_of(Figures)
_TASK = tuple(name for name in names_of(Task) if name not in _NESTED)
_KNOWN = (*_TASK, *names_of(DataFile), *names_of(Reader), *_FIGURES, "exemption")


def make_task(entry: Mapping[str, Any], where: str) -> Task:
    """Task of one flat entry, whose fields are those of the dataclasses it consists of.

    Messages call the place of the entry as ``where`` does.
    """
    entry = {name: _frozen(value) for name, value in entry.items()}
    check_fields(entry, _KNOWN, where)
    for name in ("key", "name", "kind"):
        if not entry.get(name):
            raise DataError(f"{where}: an entry needs a {name}, got {dict(entry)}.")
    _check_choice(entry["kind"], KINDS, "kind", where)
    _check_choice(entry.get("transform", "none"), tuple(TRANSFORMS), "transform", where)
    figures = _pick(entry, _FIGURES)
    exemption = entry.get("exemption")
    return Task(
        file=DataFile(**_pick(entry, names_of(DataFile))) if "path" in entry else None,
        reader=Reader(**_pick(entry, names_of(Reader))),
        figures=Figures(**figures) if figures else None,
        exemption=None if exemption is None else _exemption(dict(exemption)),
        **_task_fields(entry),
    )


def check_fields(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Refuse a field that has no meaning."""
    for name in entry:
        if name not in known:
            text = suggest(name, known, "field")
            raise DataError(f"{where}: {text[0].lower()}{text[1:]}")


def _check_choice(value: Any, choices: tuple[str, ...], name: str, where: str) -> None:
    if value not in choices:
        raise DataError(f"{where}: {name} must be one of {', '.join(choices)}, got {value!r}.")


def _pick(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry and name != "name"}


def _task_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in _TASK if name in entry}


def _exemption(entry: dict[str, Any]) -> Exemption:
    reason = entry.pop("reason")
    return Exemption(reason, Figures(**entry))


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return tuple(value.items())
    return value
