"""``adacap calibrate``: intervals, sets and probabilities by rows that training never saw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, print_json, say
from adacap.text import counted

if TYPE_CHECKING:
    from adacap.files import TextOptions

__all__ = ["calibrate"]


@command
def calibrate(
    model: option.Model,
    data: Annotated[Path, typer.Argument(help="Table of fresh rows, with the target.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; by default MODEL itself is replaced."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="Target columns, if the model does not know their names."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column of groups that the model has not seen: each counts once."),
    ] = None,
    weight: option.Weight = None,
    key_file: option.KeyFile = None,
    force: option.Force = False,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Compute errors on fresh rows, so that intervals have guaranteed coverage.

    The rows must be new to the model: neither trained on nor used to choose it. Predictions stay as
    they are; the probabilities of a classifier get a new temperature. A signed file is signed
    again.
    """
    from adacap.cli.loading import load_model, read_key
    from adacap.files import check_writable
    from adacap.modelfile.archive import read

    place = model if output is None else output
    check_writable(place, force or output is None)
    option.refuse_same({"MODEL": model, "DATA": data, "--key-file": key_file})
    option.refuse_same({"DATA": data, "--key-file": key_file, "--output": output})
    estimator = load_model(model, key_file)
    key = read_key(key_file)
    if key is None and read(model).comment:
        raise UsageError(f"{model} is signed. Give its key, to sign it again: --key-file FILE.")
    rows = _rows(estimator, data, target or [], group, weight, text.read())
    y, groups = rows.y, rows.groups
    estimator.calibrate(rows.X, y, groups=groups, sample_weight=rows.weight)
    estimator.save(place, force=force or output is None, key=key)
    own = estimator.sets_ if hasattr(estimator, "predict_proba") else estimator.intervals_
    promise = own.describe(0.9)
    if as_json:
        facts = {"model": str(model), "data": str(data), "output": str(place), "rows": len(y)}
        facts |= {"weight": weight}
        facts |= {} if groups is None else {"group": group, "groups": len(set(groups.tolist()))}
        print_json({**facts, "method": own.resolve("auto"), "promise": promise})
        return
    say(f"{place}: calibrated on {counted(len(y), 'row')} of {data.name}.")
    say(f"90 % by {promise}")


class _Fresh(NamedTuple):
    """Rows to calibrate on: columns of the model, targets, and groups and weights if asked for."""

    X: Any
    y: Any
    groups: Any
    weight: Any


def _rows(
    estimator: Any,
    data: Path,
    target: list[str],
    group: str | None,
    weight: str | None,
    text: TextOptions,
) -> _Fresh:
    """The rows of a table that have a target."""
    import numpy as np
    import pyarrow as pa

    from adacap.cli.loading import file_kinds, find_columns
    from adacap.cli.tables import read_weights
    from adacap.cli.targets import read_target
    from adacap.files import FileError, open_table

    given = dict.fromkeys(name for text in target for name in text.split(","))
    names = list(given or estimator.provenance_.targets)
    if not names:
        raise UsageError("The model does not know the name of its target. Give it: --target NAME.")
    source = open_table(data, [*(estimator.encoder_.names_ or ()), *names], text)
    if missing := [name for name in names if name not in source.names]:
        raise UsageError(
            f"{data} has no column {missing[0]!r}, the target. Give it: --target NAME."
        )
    for role, name in (("group", group), ("weight", weight)):
        if name is not None and name not in source.names:
            raise UsageError(
                f"{data} has no column {name!r}. Name that of the {role}s: --{role} NAME."
            )
    found = find_columns(estimator, source)
    taken: dict[str | None, str] = dict.fromkeys(found or (), "a column the model learned from")
    taken |= {weight: "the column of --weight", group: "the column of --group"}
    for name in names:
        if name in taken:
            raise UsageError(f"{name!r} is {taken[name]} and cannot be the target.")
    others = {*names, group, weight}
    columns = [n for n in source.names if n not in others] if found is None else found
    has_format = text.date_format is not None
    kinds = {**file_kinds(estimator, columns, has_format), **_target_kinds(estimator, names)}
    kinds |= {} if weight is None else {weight: "numeric"}
    wanted = dict.fromkeys(name for name in (*columns, *names, group, weight) if name is not None)
    tables = list(source.batches(list(wanted), kinds=kinds))
    if not tables:
        raise FileError(f"{data} has no rows.")
    table = pa.concat_tables(tables)
    task = "classification" if hasattr(estimator, "predict_proba") else "regression"
    own = read_target(table, names, task)
    rows = np.flatnonzero(own.known)
    X = table.select(columns).take(rows)
    groups = None if group is None else np.array(table.column(group).take(rows).to_pylist(), object)
    counts = None if weight is None else read_weights(table, weight, own.known)
    if estimator.encoder_.names_ is None:
        from adacap.cli.predict import as_matrix

        X = as_matrix(X)
    return _Fresh(X, own.y, groups, counts)


def _target_kinds(estimator: Any, names: list[str]) -> dict[str, str]:
    """Types to read non-text class labels as; text is converted automatically."""
    labels = getattr(estimator, "classes_", None)
    kinds = {"b": "boolean", "i": "numeric", "u": "numeric", "f": "numeric"}
    kind = None if labels is None else kinds.get(labels.dtype.kind)
    return {} if kind is None else dict.fromkeys(names, kind)
