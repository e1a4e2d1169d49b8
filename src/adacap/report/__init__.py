"""How a fitted model did and how good it is: a page about it, and every figure as numbers.

``write_report`` (or ``estimator.report``) writes the page. Each figure is a function that returns
its numbers; :func:`draw` draws them with matplotlib.
"""

from adacap.explain import Importance, permutation_importance
from adacap.report.about import About
from adacap.report.draw import draw
from adacap.report.facts import columns_table, facts, settings_table
from adacap.report.prediction_figures import (
    Confusion,
    IntervalCoverage,
    Predictions,
    Residuals,
    Roc,
    confusion,
    interval_coverage,
    predictions,
    residuals,
    roc,
)
from adacap.report.remarks import remarks
from adacap.report.scores import (
    MethodScores,
    PairedDifference,
    baseline_scores,
    model_scores,
    paired_difference,
    sorted_scores,
)
from adacap.report.summary import summary
from adacap.report.training_figures import (
    CapacityPaths,
    LabelFits,
    LearningDynamics,
    WeightClusters,
    capacity_paths,
    label_fits,
    learning_dynamics,
    weight_clusters,
)
from adacap.report.writing import build_report, write_report

__all__ = [
    "About", "CapacityPaths", "Confusion", "Importance", "IntervalCoverage", "LabelFits",
    "LearningDynamics", "MethodScores", "PairedDifference", "Predictions", "Residuals", "Roc",
    "WeightClusters", "baseline_scores", "build_report", "capacity_paths", "columns_table",
    "confusion", "draw", "facts", "interval_coverage", "label_fits", "learning_dynamics",
    "model_scores", "paired_difference", "permutation_importance", "predictions", "remarks",
    "residuals", "roc", "settings_table", "sorted_scores", "summary", "weight_clusters",
    "write_report",
]  # fmt: skip
