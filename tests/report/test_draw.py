"""Every figure can be drawn, by the page's description and by matplotlib."""

import json

import numpy as np
import pytest

from adacap.page import compact
from adacap.report import (
    capacity_paths,
    confusion,
    draw,
    interval_coverage,
    label_fits,
    learning_dynamics,
    permutation_importance,
    predictions,
    residuals,
    roc,
    weight_clusters,
)
from adacap.report.charts import chart

matplotlib = pytest.importorskip("matplotlib", reason="draws with matplotlib")

TRAINING = [learning_dynamics, capacity_paths, label_fits, weight_clusters]
ROWS = [predictions, residuals, interval_coverage, permutation_importance]
CLASSES = [confusion, roc, permutation_importance, lambda m, X, y: m.reliability(X, y)]


def figures(case, functions):
    for function in functions:
        yield (
            function(case.model)
            if function in TRAINING
            else function(case.model, case.X_test, case.y_test)
        )


@pytest.mark.parametrize(
    ("kind", "functions"),
    [
        ("regression", [*TRAINING, *ROWS]),
        ("two_targets", ROWS),
        ("binary", [learning_dynamics, weight_clusters, *CLASSES]),
        ("multiclass", [*TRAINING, *CLASSES]),
    ],
)
def test_every_figure_is_drawn(kind, functions, request, tmp_path):
    case = request.getfixturevalue(kind)
    for numbers in figures(case, functions):
        ax = draw(numbers)
        if kind == "regression":  # the layout takes most of the time
            ax.figure.savefig(tmp_path / "figure.png", dpi=40)
        assert ax.get_xlabel()
        assert ax.lines or ax.patches or ax.images or ax.collections
        described = chart(numbers)
        assert set(described) == {"data", "layout"}
        assert described["data"]
        assert len(json.dumps(compact(described))) < 200_000


def test_a_target_is_chosen(two_targets):
    numbers = predictions(two_targets.model, two_targets.X_test, two_targets.y_test)
    described = chart(numbers, target=1)
    np.testing.assert_array_equal(described["data"][0]["y"], numbers.actual[:, 1])
    line = draw(numbers, target=1).lines[0]
    np.testing.assert_array_equal(line.get_ydata(), numbers.actual[:, 1])


def test_given_axes_are_drawn_on(regression):
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert draw(label_fits(regression.model), ax) is ax
    assert ax.get_ylabel() == "permutations"


def test_many_points_are_thinned(regression):
    numbers = predictions(regression.model, regression.X_test, regression.y_test)
    parts = numbers.actual, numbers.predicted, numbers.lower, numbers.upper
    many = type(numbers)(*(np.repeat(part, 100, 0) for part in parts), 0.9, "cv+", "")
    assert len(chart(many)["data"][0]["x"]) == 1500


@pytest.mark.parametrize("function", [draw, chart])
def test_anything_else_is_refused(function):
    with pytest.raises(TypeError, match="dict"):
        function({"a": 1})
