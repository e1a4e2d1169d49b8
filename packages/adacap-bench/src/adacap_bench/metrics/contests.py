"""Who comes first, by category, in the paper's two restricted contests."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from adacap_bench.metrics.scores import ScoreTable
from adacap_bench.metrics.summaries import first_places

__all__ = [
    "CONTESTS",
    "PAPER_CATEGORIES",
    "WITHOUT_ADACAP",
    "WITH_ADACAP",
    "Contest",
    "TopOne",
    "contestants",
    "easy_subset",
    "top1_by_category",
]


@dataclass(frozen=True)
class Contest:
    """Which four networks represent the category DNN against all methods of other categories."""

    name: str
    networks: tuple[str, ...]


WITHOUT_ADACAP = Contest("without AdaCap", ("mlp", "resblock", "snn", "glu-mlp"))
WITH_ADACAP = Contest("with AdaCap", ("mlp", "adacap-resblock", "adacap-snn", "adacap-glu-mlp"))
CONTESTS = (WITHOUT_ADACAP, WITH_ADACAP)

# Networks beyond the four would favour their category by number; peers came after the paper.
_NETWORKS = frozenset({"AdaCap", "Tikhonov", "MLR-NN", "DNN"})
_OUTSIDE = frozenset({"Peer"})

PAPER_CATEGORIES: dict[str, str] = {"Linear": "GLM", "Tree": "CART", "Kernel": "SVM"}


@dataclass(frozen=True)
class TopOne:
    """Share of experiments won by each category, the largest first.

    `absent` names networks of the contest that the table does not have.
    """

    contest: Contest
    shares: dict[str, float]
    n_experiments: int
    absent: tuple[str, ...]


def contestants(table: ScoreTable, contest: Contest) -> dict[str, str]:
    """Methods of the table that take part in a contest, with the paper's name of their category."""
    found = {name: "DNN" for name in contest.networks if name in table.methods}
    for method in table.methods:
        category = table.categories[method]
        if method not in contest.networks and category not in _NETWORKS | _OUTSIDE:
            found[method] = PAPER_CATEGORIES.get(category, category)
    return found


def top1_by_category(
    table: ScoreTable, contest: Contest = WITH_ADACAP, *, allow_absent: bool = False
) -> TopOne:
    """Share of experiments whose best method belongs to a category.

    The category DNN consists of the contest's four networks alone; other networks and methods of
    category "Peer" do not take part. Methods that tie for the best divide the point.

    Parameters
    ----------
    table : ScoreTable
    contest : Contest, default=WITH_ADACAP
    allow_absent : bool, default=False
        Whether the contest may be held without some of its networks; the result names them.

    Raises
    ------
    ValueError
        If a network of the contest is absent and that is not allowed, or nobody takes part.
    """
    absent = tuple(name for name in contest.networks if name not in table.methods)
    if absent and not allow_absent:
        raise ValueError(
            f"The contest {contest.name!r} needs {', '.join(absent)}, which this table does not "
            f"have. Run them, or pass allow_absent=True."
        )
    sides = contestants(table, contest)
    if not sides:
        raise ValueError(f"No method of this table takes part in the contest {contest.name!r}.")
    played = table.take_methods(sides)
    points, n = first_places(played), int((~np.isnan(played.best())).sum())
    totals = dict.fromkeys(sides.values(), 0.0)
    for j, method in enumerate(played.methods):
        totals[sides[method]] += float(points[:, j].sum())
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    shares = {category: total / n if n else np.nan for category, total in ordered}
    return TopOne(contest, shares, n, absent)


def easy_subset(
    table: ScoreTable, limit: float = 0.25, *, unit: Literal["experiment", "task"] = "experiment"
) -> ScoreTable:
    """The experiments in which the best method has an error below a limit.

    Parameters
    ----------
    table : ScoreTable
        Of an error such as RMSE.
    limit : float, default=0.25
        The paper's limit, for standardised targets.
    unit : {"experiment", "task"}, default="experiment"
        Whether each split counts for itself, or a task enters with all its splits when the mean
        over them of some method is below the limit.
    """
    if table.metric.greater_is_better:
        raise ValueError(f"easy_subset needs an error such as rmse, got {table.metric.name!r}.")
    if unit == "experiment":
        return table.take_experiments(table.best() < limit)
    if unit != "task":
        raise ValueError(f"unit must be 'experiment' or 'task', got {unit!r}.")
    tasks = table.by_task()
    easy = {
        task
        for (task, _), best in zip(tasks.experiments, tasks.best(), strict=True)
        if best < limit
    }
    return table.take_experiments([task in easy for task, _ in table.experiments])
