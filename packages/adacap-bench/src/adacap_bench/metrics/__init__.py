"""Metrics of a benchmark, from its stored results alone.

Everything starts from a :class:`ScoreTable`, read with :func:`from_frame`.
"""

from adacap_bench.metrics.cells import MissingCellsError, failures
from adacap_bench.metrics.contests import (
    CONTESTS,
    WITH_ADACAP,
    WITHOUT_ADACAP,
    Contest,
    TopOne,
    easy_subset,
    top1_by_category,
)
from adacap_bench.metrics.pairs import PairedBootstrap, paired_bootstrap, win_rate_matrix
from adacap_bench.metrics.ranks import (
    CriticalDifference,
    FriedmanTest,
    critical_difference,
    friedman_ranks,
    friedman_test,
    nemenyi_quantile,
)
from adacap_bench.metrics.scores import METRICS, Metric, ScoreTable, find_metric, from_frame
from adacap_bench.metrics.summaries import (
    MeanScore,
    Runtime,
    leaderboard,
    mean_scores,
    p_share,
    pma,
    runtime,
    top1,
)

__all__ = [
    "CONTESTS",
    "METRICS",
    "WITHOUT_ADACAP",
    "WITH_ADACAP",
    "Contest",
    "CriticalDifference",
    "FriedmanTest",
    "MeanScore",
    "Metric",
    "MissingCellsError",
    "PairedBootstrap",
    "Runtime",
    "ScoreTable",
    "TopOne",
    "critical_difference",
    "easy_subset",
    "failures",
    "find_metric",
    "friedman_ranks",
    "friedman_test",
    "from_frame",
    "leaderboard",
    "mean_scores",
    "nemenyi_quantile",
    "p_share",
    "paired_bootstrap",
    "pma",
    "runtime",
    "top1",
    "top1_by_category",
    "win_rate_matrix",
]
