"""Error, P90 and runtime of the best methods, from a store of the benchmark (C6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from adacap_bench.reproduce.figure import FigureData, Panel
from adacap_bench.reproduce.item import Claim, Outcome, Row, Scale, bars
from adacap_bench.reproduce.means import mean_of
from adacap_bench.reproduce.results import Results, row_of
from adacap_bench.reproduce.studies import contest
from adacap_bench.reproduce.studies.contest import N_REGRESSION, named
from adacap_bench.reproduce.verdicts import ClaimEffect, effect_of

if TYPE_CHECKING:
    from adacap_bench.metrics import ScoreTable

__all__ = ["PAPER_BEST", "SECONDS", "TEN_BEST", "best_columns"]

# Method: mean RMSE and P90 in per cent on the 26 tasks, the same where the best RMSE is below 0.25,
# mean and longest seconds.
PAPER_BEST = {
    "adacap-snn": (0.4147, 55.0, 0.1486, 32.5, 19.798, 169.82),
    "glu-mlp": (0.4201, 54.230, 0.1498, 40.0, 9.8911, 35.699),
    "adacap-glu-mlp": (0.4206, 60.384, 0.1455, 56.25, 22.355, 179.88),
    "adacap-resblock": (0.4214, 50.0, 0.1532, 30.0, 17.192, 166.13),
    "catboost": (0.4221, 66.538, 0.1910, 45.0, 92.518, 315.15),
    "mlp": (0.4230, 50.769, 0.1601, 26.25, 4.0581, 22.213),
    "adacap-mlp": (0.4233, 46.923, 0.1566, 17.5, 17.208, 168.10),
    "adacap-fast-snn": (0.4245, 42.307, 0.1591, 16.25, 7.6670, 38.286),
    "adacap-batch-resblock": (0.4257, 45.384, 0.1580, 20.0, 194.72, 2654.7),
    "snn": (0.4260, 40.384, 0.1526, 18.75, 7.1895, 32.581),
}
SECONDS = 4  # place of the mean time
# The same on the 15 small tasks, one split: column "no bag" of the table of bagging.
_PAPER_SMALL = {
    "adacap-snn": 0.3532,
    "adacap-glu-mlp": 0.3482,
    "snn": 0.3615,
    "glu-mlp": 0.3593,
    "fast-mlp": 0.3698,
    "catboost": 0.3638,
    "fast-catboost": 0.3879,
    "xrf": 0.3813,
}


def _summarise_best(results: Results, scale: Scale) -> Outcome:
    from adacap_bench.metrics import leaderboard

    scores = contest.score_table(results)
    table = contest.whole(scores, contest.contest_nets())
    names = [name for name in table.methods if table.categories[name] != "Peer"]
    complete = table.take_methods(names).complete_methods()
    absent = contest.left_out(results, table)
    board = leaderboard(complete)
    small = len({task for task, _ in table.experiments}) < N_REGRESSION
    paper = _PAPER_SMALL if small else {name: row[0] for name, row in PAPER_BEST.items()}
    shown = [str(name) for name in board["method"][:10]]
    shown += [name for name in board["method"] if name in {*paper, *PAPER_BEST} - {*shown}]
    by_name = {str(line.method): line for line in board.itertuples()}
    rows = [
        replace(
            row_of(name, named(table, complete.values[:, complete.column(name)]), paper.get(name)),
            extra={"rank": float(by_name[name].rank)},
        )
        for name in shown
    ]
    panel = Panel("best methods", "mean test RMSE", "", bars({row.label: row for row in rows}))
    figure = FigureData("Mean test RMSE, the best methods first.", (panel,))
    rows += _column_rows(complete, shown, small)
    remarks = [
        contest.tasks_remark(table, N_REGRESSION, len(scores.experiments)),
        *(f"Left out of the comparison: {name}, {why}." for name, why in absent.items()),
        _best_remark(small),
    ]
    return Outcome(rows, figure, remarks, _best_claims(complete, absent))


def _column_rows(table: ScoreTable, shown: Sequence[str], small: bool) -> list[Row]:
    """The further columns, one row per method; on fewer tasks an RMSE has no number beside it."""
    rows = []
    for column, found in best_columns(table).items():
        known = {} if small and column == _EASY_RMSE else PAPER_BEST
        for name in shown:
            paper = known[name][_COLUMNS[column]] if name in known else None
            label = f"{name}: {column}"
            rows.append(Row(label, found.values[name], paper, n=found.n, digits=found.digits))
    return rows


_EASY_RMSE = "RMSE where the best is below 0.25"
_COLUMNS = {
    "P90, %": 1,
    _EASY_RMSE: 2,
    "P90 where the best is below 0.25, %": 3,
    "mean seconds": 4,
    "longest, s": 5,
}


class BestColumn(NamedTuple):
    """One column of the table: a number per method, over how many experiments, digits shown."""

    values: Mapping[str, float]
    n: int
    digits: int


def best_columns(table: ScoreTable) -> dict[str, BestColumn]:
    """Columns of the paper's table beside the mean RMSE; of the subset only if it is not empty."""
    from adacap_bench.metrics import easy_subset, p_share, runtime

    easy, times = easy_subset(table), runtime(table)
    p90, easy_rmse, easy_p90, mean, longest = _COLUMNS
    n, n_easy = len(table.experiments), len(easy.experiments)
    found = {p90: BestColumn(_percent(p_share(table)), n, 1)}
    if n_easy:
        means = easy.values.mean(axis=0)
        found[easy_rmse] = BestColumn(
            dict(zip(easy.methods, map(float, means), strict=True)), n_easy, 4
        )
        found[easy_p90] = BestColumn(_percent(p_share(easy)), n_easy, 1)
    found[mean] = BestColumn({name: one.mean for name, one in times.items()}, n, 1)
    found[longest] = BestColumn({name: one.longest for name, one in times.items()}, n, 1)
    return found


def _percent(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: 100 * share for name, share in shares.items()}


def _best_remark(small: bool) -> str:
    if small:
        return (
            "The paper's mean RMSE is that of single models in its table of bagging: these tasks. "
            "Its P90 and seconds are of all 26, from the table of the ten best methods."
        )
    return "The paper's numbers are its table of the ten best methods."


def _best_claims(table: ScoreTable, absent: Mapping[str, str]) -> list[Claim]:
    """Claims about mean errors, by differences on the same experiments."""
    errors = {name: named(table, table.values[:, k]) for k, name in enumerate(table.methods)}
    mean = {name: mean_of(values) for name, values in errors.items()}
    shown = ", ".join(f"{name} {mean[name]:.4f}" for name in (_SNN, _GLU))
    first = min(mean, key=lambda name: mean[name])
    nets = [name for name in errors if name.startswith("adacap-")]
    best = min(nets, key=lambda name: mean[name])
    others = [name for name in errors if name not in nets]
    trees = (
        f"{_TREES} {mean[_TREES]:.4f}"
        if _TREES in mean
        else f"{_TREES} is left out: {absent.get(_TREES, 'not run')}"
    )
    return [
        Claim(
            "AdaCap-SNN and AdaCap-GLU come before CatBoost in mean RMSE",
            [_less(errors[name], errors[_TREES]) for name in (_SNN, _GLU) if _TREES in errors],
            f"{shown}, {trees}",
        ),
        Claim(
            "A net with AdaCap has the lowest mean RMSE of all methods",
            # The best was picked from all nets with AdaCap.
            [_less(errors[best], errors[name], trials=len(nets)) for name in others],
            f"the lowest is {first} with {mean[first]:.4f}; {shown}{_without(absent)}",
        ),
        *(
            Claim(
                f"AdaCap improves {net}",
                [_less(errors[f"adacap-{net}"], errors[net])],
                f"mean RMSE {mean[net]:.4f} without, {mean[f'adacap-{net}']:.4f} with AdaCap",
            )
            for net in ("snn", "glu-mlp")
        ),
        *_near_claims(table, absent),
    ]


_SNN, _GLU, _TREES = "adacap-snn", "adacap-glu-mlp", "catboost"


def _without(absent: Mapping[str, str]) -> str:
    """Names of the methods that a claim about all of them leaves out."""
    return f"; without {', '.join(absent)}" if absent else ""


def _less(
    ours: Mapping[str, float], theirs: Mapping[str, float], *, trials: int = 1
) -> ClaimEffect:
    """That the first errors are lower than the second."""
    return effect_of({name: theirs[name] - error for name, error in ours.items()}, trials=trials)


def _near_claims(table: ScoreTable, absent: Mapping[str, str]) -> list[Claim]:
    """Claims of the table's caption about P90 and about the subset of the best RMSE below 0.25."""
    from adacap_bench.metrics import easy_subset

    near = table.best()[:, None] >= 0.9 * (1 - 1e-12) * table.values
    first, second = (named(table, near[:, table.column(name)]) for name in (_GLU, _SNN))
    claims = [
        Claim(
            "AdaCap-GLU is more consistent than AdaCap-SNN: its P90 is higher",
            [_less(second, first)],
            f"P90 {100 * mean_of(first):.1f} % against {100 * mean_of(second):.1f} %",
        )
    ]
    easy = easy_subset(table)
    if len(easy.experiments):
        others = [name for name in easy.methods if not name.startswith("adacap-")]
        errors = {name: named(easy, easy.values[:, easy.column(name)]) for name in [_GLU, *others]}
        mean = {name: mean_of(values) for name, values in errors.items()}
        best = min(others, key=lambda name: mean[name])
        claims.append(
            Claim(
                "Where the best RMSE is below 0.25, AdaCap-GLU has a lower mean RMSE than every "
                "method without AdaCap",
                [_less(errors[_GLU], errors[name]) for name in others],
                f"{_GLU} {mean[_GLU]:.4f}, the best of the others is {best} with {mean[best]:.4f}"
                f"{_without(absent)}",
            )
        )
    return claims


TEN_BEST = contest.item(
    "c6",
    "Error, P90 and runtime of the best methods",
    "Table of the ten best methods on the regression tasks",
    "Test RMSE, mean over experiments; then the other columns of the table",
    _summarise_best,
    contest.NOTE_CLOCK,
)
