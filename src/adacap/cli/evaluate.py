"""``adacap evaluate``: AdaCap beside other methods on repeated splits of a table."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli.common import (
    AsJson,
    DateFormat,
    Decimal,
    Encoding,
    Separator,
    Weight,
    command,
    note,
    number,
    plus_minus,
    print_json,
    print_table,
    say,
    text_options,
)
from adacap.cli.fit import Data, Drop, MaxRows, Members, MethodOption, TaskOption

if TYPE_CHECKING:
    from adacap.cli.contest import Contest

__all__ = ["evaluate"]

_MOST_ROWS = 50_000  # to evaluate on, unless more are asked for
_LABELS = {"rmse": "RMSE", "r2": "R²", "accuracy": "accuracy", "auc": "AUC"}


@command
def evaluate(
    data: Data,
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.")],
    against: Annotated[
        str, typer.Option(help="Methods and groups, with commas. See: adacap bench methods.")
    ] = "ridge,rf",
    splits: Annotated[int, typer.Option(min=1, help="Random splits.")] = 10,
    test_size: Annotated[
        float, typer.Option(min=0.05, max=0.9, help="Share of rows to test on.")
    ] = 0.2,
    task: TaskOption = "auto",
    method: MethodOption = None,
    n_estimators: Members = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds for one fit of AdaCap.")
    ] = None,
    drop: Drop = None,
    weight: Weight = None,
    max_rows: MaxRows = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the first split.")] = 0,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    date_format: DateFormat = None,
    as_json: AsJson = False,
) -> None:
    """Compare AdaCap with other methods on repeated splits.

    Exit code 1 if a method failed; one that is not installed is left out, with the hint.
    """
    from adacap.cli.contest import compare, run_contest
    from adacap.cli.tables import load_rows
    from adacap.progress import Steps

    start = time.perf_counter()
    text = text_options(separator, decimal, encoding, date_format)
    loaded = load_rows(
        data, [target], task, method, drop=drop or [], max_rows=max_rows or _MOST_ROWS,
        seed=seed, text=text, weight=weight,
    )  # fmt: skip
    for line in loaded.notes:
        note(line)
    names = [name.strip() for name in against.split(",") if name.strip()]
    with Steps("Evaluating", unit="fits") as steps:

        def on_step(done: int, total: int, name: str) -> None:
            steps.total = total
            steps.update(done, text=name)

        contest = run_contest(
            loaded, names, method=method, n_estimators=n_estimators, time_limit=time_limit,
            n_splits=splits, test_size=test_size, seed=seed, on_step=on_step,
        )  # fmt: skip
    if not contest.n_splits:
        raise KeyboardInterrupt("no split was finished, so there are no scores")
    if contest.is_interrupted:
        note(f"Interrupted: these are the scores of {contest.n_splits} of {splits} splits.")
        splits = contest.n_splits
    pairs = [compare(contest, name) for name in contest.scores if name != "adacap"]
    seconds = time.perf_counter() - start
    if as_json:
        print_json({**loaded.facts(), **_facts(contest, pairs, splits, seed), "seconds": seconds})
    else:
        rows = f"{len(loaded.target.y):,} rows"
        say(f"{data.name}: {rows}, target {target} ({loaded.target.task}), {splits} splits.")
        say()
        _print_scores(contest)
        _print_pairs(contest, pairs)
    if contest.is_interrupted:
        raise typer.Exit(130)
    if contest.failures:
        raise typer.Exit(1)


def _mean_and_error(values: list[float], test_ratio: float) -> tuple[float, float]:
    import numpy as np

    from adacap.cli.contest import corrected_error

    known = np.array([value for value in values if not math.isnan(value)])
    if not len(known):
        return math.nan, math.nan
    return float(known.mean()), corrected_error(known, test_ratio)


def _facts(contest: Contest, pairs: list[dict[str, Any]], splits: int, seed: int) -> dict[str, Any]:
    methods = []
    for name, scores in contest.scores.items():
        summary: dict[str, Any] = {"method": name}
        for metric, values in scores.items():
            mean, error = _mean_and_error(values, contest.test_ratio)
            summary[metric] = {"mean": mean, "standard_error": error, "values": values}
        methods.append({**summary, "seconds": _mean_seconds(contest, name)})
    return {
        "splits": splits,
        "seed": seed,
        "main_metric": contest.main,
        "methods": methods,
        "against": pairs,
        "left_out": contest.left_out,
        "failures": contest.failures,
    }


def _mean_seconds(contest: Contest, name: str) -> float:
    return sum(contest.seconds[name]) / len(contest.seconds[name])


def _print_scores(contest: Contest) -> None:
    sign = 1 if contest.main == "rmse" else -1
    ratio = contest.test_ratio
    means = {n: _mean_and_error(s[contest.main], ratio)[0] for n, s in contest.scores.items()}
    order = sorted(means, key=lambda name: (math.isnan(means[name]), sign * means[name]))
    rows = []
    for name in order:
        scores = [plus_minus(*_mean_and_error(v, ratio)) for v in contest.scores[name].values()]
        rows.append([name, *scores, f"{_mean_seconds(contest, name):.2f}"])
    print_table(["method", *(_LABELS[m] for m in contest.metrics), "seconds"], rows, best=0)
    say("Mean ± standard error over the splits, corrected since they share rows; best first.")


def _print_pairs(contest: Contest, pairs: list[dict[str, Any]]) -> None:
    if pairs:
        say()
        rows = [
            [
                pair["method"],
                plus_minus(pair["difference"], pair["standard_error"]),
                f"{pair['better_in']} of {pair['n_splits']}",
                number(pair["p_value"], 3),
            ]
            for pair in pairs
        ]
        label = f"{_LABELS[contest.main]} difference"
        print_table(["adacap against", label, "adacap better in", "p-value"], rows)
        better = "negative" if contest.main == "rmse" else "positive"
        say(f"{better.capitalize()} differences are in favour of AdaCap. ± and p-value are of one")
        say("test, the corrected resampled t-test: splits share rows.")
    for name, reason in contest.left_out.items():
        note(f"left out: {name}: {reason}")
    for name, reason in contest.failures.items():
        note(f"failed: {name}: {reason}")
