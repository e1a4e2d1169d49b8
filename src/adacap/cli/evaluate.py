"""``adacap evaluate``: AdaCap beside other methods on repeated splits of a table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli import options as option
from adacap.cli.common import UsageError, command, note, print_json, print_table, say
from adacap.progress import Steps
from adacap.text import counted, number, plus_minus

if TYPE_CHECKING:
    from adacap.cli.tables import Loaded
    from adacap.comparison import Comparison, Difference, Method

__all__ = ["evaluate"]

_MOST_ROWS = 50_000  # to evaluate on, unless more are asked for
_OWN = "adacap"
_AGAINST = {"regression": "ridge,rf", "classification": "logreg,rf"}  # a linear model and trees


@command
def evaluate(
    data: option.Data,
    target: option.OneTarget,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            help="Methods, such as ridge,rf,svm; adacap-bench adds more.",
            show_default="ridge,rf; logreg,rf for classes",
        ),
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 10,
    test_size: Annotated[
        float, typer.Option(min=0.05, max=0.9, help="Share of rows to test on.")
    ] = 0.2,
    task: option.Task = "auto",
    method: option.Method = None,
    n_estimators: option.Members = None,
    target_transform: option.TargetTransform = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds for one fit of AdaCap.")
    ] = None,
    drop: option.Drop = None,
    weight: option.Weight = None,
    dependence: option.DependentRows,
    max_rows: option.MaxRows = None,
    seed: Annotated[
        int, typer.Option(min=0, max=option.LARGEST_SEED, help="Of the first split.")
    ] = 0,
    text: option.TextFile,
    as_json: option.AsJson = False,
) -> None:
    """Compare AdaCap with other methods on repeated splits.

    Exit code 1 if a method failed; one that is not installed is left out, with the hint.
    """
    from adacap.cli.tables import load_rows
    from adacap.comparison import ComparisonInterrupted, compare

    start = time.perf_counter()
    loaded = load_rows(
        data, target, task, method, drop=drop, max_rows=max_rows or _MOST_ROWS, seed=seed,
        text=text, weight=weight, dependence=dependence,
    )  # fmt: skip
    for line in loaded.notes:
        note(line)
    own = {"method": method, "n_estimators": n_estimators, "time_limit": time_limit}
    own |= {"target_transform": target_transform}
    against = _AGAINST[loaded.target.task] if against is None else against
    methods, left_out = _methods(loaded, against, own)
    is_interrupted = False
    try:
        with Steps("Evaluating", unit="fits", total=splits * len(methods)) as steps:
            found = compare(
                methods, loaded.X, loaded.target.y, n_splits=splits, test_size=test_size,
                random_state=seed, sample_weight=loaded.weight, groups=loaded.dependence.groups,
                time=loaded.dependence.time,
                on_fit=lambda done, total, name: steps.update(done, text=name),
            )  # fmt: skip
    except ComparisonInterrupted as stopped:
        found, is_interrupted = stopped.finished, True
        if not found.n_splits:
            raise KeyboardInterrupt("no split was finished, so there are no scores") from None
        note(f"Interrupted: these are the scores of {found.n_splits} of {splits} splits.")
    pairs = [found.difference(_OWN, name) for name in found.scores if name != _OWN]
    if as_json:
        seconds = time.perf_counter() - start
        more = {"left_out": left_out, "failures": found.failures, "seconds": seconds}
        print_json({**loaded.facts(), **_facts(found, pairs, seed), **more})
    else:
        rows, n_splits = counted(len(loaded.target.y), "row"), counted(found.n_splits, "split")
        say(f"{data.name}: {rows}, target {target} ({loaded.target.task}), {n_splits}.")
        if text_of_split := loaded.dependence.text():
            say(text_of_split)
        say()
        print_table(found.titles, found.rows(), best=0)
        say("Mean ± standard error over the splits, corrected since they share rows; best first.")
        _print_pairs(found, pairs)
        for name, reason in left_out.items():
            note(f"left out: {name}: {reason}")
        for name, reason in found.failures.items():
            note(f"failed: {name}: {reason}")
    if is_interrupted:
        raise typer.Exit(130)
    if found.failures:
        raise typer.Exit(1)


def _methods(
    loaded: Loaded, against: str, own: dict[str, Any]
) -> tuple[dict[str, Callable[[int], Any]], dict[str, str]]:
    """AdaCap on the table as it is, the others on the matrix of its preprocessing.

    Returns a function of a seed for each, and why some are left out.
    """
    from adacap.cli.models import build
    from adacap.comparison import Encoded

    os.environ.setdefault("ADACAP_THREADS", str(os.cpu_count() or 1))
    task, kind = loaded.target.task, _kind(loaded)
    names = [name.strip() for name in against.split(",") if name.strip()]
    others = _named([name for name in names if name != _OWN])
    left_out = {one.name: reason for one in others if (reason := _why_not(one, kind, loaded))}

    def ours(seed: int) -> Any:
        return build(task, seed=seed, read_text=loaded.read_text, **own)

    ours(0)  # refuses options that no model takes, before anything is fitted

    def encoded(method: Method, seed: int) -> Any:
        return Encoded(method.build(kind, seed), task, loaded.read_text)

    usable = {one.name: partial(encoded, one) for one in others if one.name not in left_out}
    return {_OWN: ours, **usable}, left_out


def _named(names: Sequence[str]) -> tuple[Method, ...]:
    from adacap.comparison import MethodError, expand_methods, load_attached

    has_more = True
    try:
        has_more = bool(load_attached())
        return expand_methods(names)
    except MethodError as error:
        hint = "" if has_more else " More methods, and groups of them: pip install adacap-bench"
        raise UsageError(f"{error}{hint}") from error


def _kind(loaded: Loaded) -> str:
    import numpy as np

    if len(loaded.target.names) > 1:
        raise UsageError("evaluate compares methods on one target at a time.")
    if loaded.target.task == "regression":
        return "regression"
    return "binary" if len(np.unique(loaded.target.y)) == 2 else "multiclass"


def _why_not(method: Method, kind: str, loaded: Loaded) -> str:
    """Why a method cannot be run here; empty if it can."""
    from adacap.comparison import unavailable

    if reason := unavailable(method):
        return reason
    if kind not in method.kinds:
        return f"does {' and '.join(sorted(method.kinds))}, not {kind}"
    if method.max_rows is not None and len(loaded.target.y) > method.max_rows:
        return f"is for {method.max_rows} rows at most"
    return ""


def _facts(found: Comparison, pairs: list[Difference], seed: int) -> dict[str, Any]:
    methods = []
    for name, scores in found.scores.items():
        summary: dict[str, Any] = {"method": name}
        for metric, values in scores.items():
            summary[metric] = {**found.estimate(name, metric)._asdict(), "values": values}
        methods.append({**summary, "seconds": found.mean_seconds(name)})
    return {
        "splits": found.n_splits,
        "test_ratio": found.test_ratio,
        "seed": seed,
        "main_metric": found.main,
        "methods": methods,
        "against": [pair._asdict() for pair in pairs],
    }


def _print_pairs(found: Comparison, pairs: list[Difference]) -> None:
    if not pairs:
        return
    say()
    rows = [
        [
            pair.method,
            plus_minus(pair.difference, pair.standard_error),
            f"{pair.better_in} of {pair.n_splits}",
            number(pair.p_value, 3),
        ]
        for pair in pairs
    ]
    label = f"{found.titles[1]} difference"
    print_table(["adacap against", label, "adacap better in", "p-value"], rows)
    better = "negative" if found.main == "rmse" else "positive"
    say(f"{better.capitalize()} differences are in favour of AdaCap. ± and p-value are of one")
    say("test, the corrected resampled t-test: splits share rows.")
