"""Sections of the page about a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adacap.page import Column, Page, Section
from adacap.report.charts import chart, fit_paths_chart, scores_chart
from adacap.report.facts import columns_table, facts, settings_table, versions_table
from adacap.report.importance import Importance
from adacap.report.scores import MethodScores
from adacap.report.training_figures import (
    capacity_paths,
    label_fits,
    learning_dynamics,
    weight_clusters,
)

__all__ = [
    "add_capacity",
    "add_clusters",
    "add_details",
    "add_importance",
    "add_learning",
    "add_memorisation",
    "add_scores",
    "add_summary",
    "add_trained",
]

_NO_HEAD = (
    "The plain scheme has no closed-form output layer, so there is no λ, no effective degrees of "
    "freedom and no fit of permuted labels to show."
)


def add_summary(page: Page, own: MethodScores, remarks: Sequence[str], n_test: int) -> None:
    """Scores at a glance, and what to know before trusting them."""
    shown: dict[str, object] = {
        f"test {name}": f"{value:.4g}" for name, value in own.scores.items()
    }
    section = page.section("At a glance", name="summary").facts(shown | {"test rows": n_test})
    for remark in remarks:
        section.note(remark)
    if not remarks:
        section.text("Nothing unusual was found.")


def add_scores(page: Page, own: MethodScores, baselines: Sequence[MethodScores]) -> None:
    """The model beside a constant, a linear model and a forest."""
    section = page.section("Beside simple methods", name="scores")
    rows = [own, *baselines]
    columns = [Column("method"), *(Column(name, "number") for name in own.scores)]
    columns.append(Column("seconds to fit", "number", 2))
    section.table(columns, [[row.method, *row.scores.values(), row.fit_seconds] for row in rows])
    if not baselines:
        section.text(
            "Mean, ridge and forest are left out: they need the table that the model was trained "
            "on, which a model does not keep. Pass X_train and y_train."
        )
        return
    section.chart(
        scores_chart(rows),
        height=60 + 48 * len(rows),
        caption="Error on the test rows. The simple methods were trained on the same rows and the "
        "same encoded columns.",
    )


def add_trained(page: Page, estimator: Any, n_test: int) -> None:
    """Rows, columns and what became of them."""
    section = page.section("What was trained on what", name="trained")
    section.facts(facts(estimator, n_test))
    section.table(
        ["column", Column("kind", filter=True), Column("treatment"), Column("became", "long")],
        columns_table(estimator),
        caption="What became of each column",
        search=estimator.n_features_in_ > 12,
    )


def add_learning(page: Page, estimator: Any) -> None:
    """Scores per iteration."""
    numbers = learning_dynamics(estimator)
    section = page.section("Learning dynamics", name="learning")
    caption = (
        f"Score of the rows trained on and of the rows held out, per iteration; iteration "
        f"{numbers.best_iter} was kept."
    )
    if numbers.valid is None:
        caption = "Score of the rows trained on, per iteration. No rows were held out."
    section.chart(chart(numbers), caption=caption)


def add_capacity(page: Page, estimator: Any) -> None:
    """λ, degrees of freedom and single rows."""
    section = page.section("Capacity", name="capacity")
    numbers, capacity = capacity_paths(estimator), estimator.capacity()
    if numbers is None:
        section.text(_NO_HEAD)
        return
    shown = {
        "degrees of freedom": f"{capacity.effective_dof:.4g} of {capacity.n_features}",
        "per row": f"{capacity.dof_per_row:.3g}",
        "λ": f"{capacity.lam:.4g}",
        "λ per row": f"{capacity.lambda_per_row:.3g}",
    }
    if capacity.press_r2 is not None:
        shown["PRESS R²"] = f"{capacity.press_r2:.4g}"
    if len(capacity.leverage):
        shown["largest leverage"] = f"{capacity.leverage.max():.3g}"
    section.facts(shown)
    section.chart(
        chart(numbers),
        caption="λ and the effective degrees of freedom of the output layer along training. More "
        "degrees of freedom fit more, truth and noise alike.",
    )
    _add_rows(section, capacity)


def _add_rows(section: Section, capacity: Any) -> None:
    if not len(capacity.rows):
        return
    columns = [Column("row", "number", 0, help="position in the training table, from 0")]
    columns += [
        Column("influence", "number", help="Cook's distance"),
        Column("leverage", "number", help="share of its own label in its fit"),
        Column("left-out residual", "number", help="by the layer solved without the row"),
    ]
    rows = [(r.row, r.influence, r.leverage, r.residual) for r in capacity.most_influential(8)]
    section.table(columns, rows, caption="Training rows whose absence would move the fit most")


def add_memorisation(page: Page, estimator: Any) -> None:
    """True-label against permuted-label fit."""
    section = page.section("Truth against noise", name="memorisation")
    numbers, held = label_fits(estimator), estimator.capacity().holdout_p_value
    if numbers is None:
        if held is not None:
            section.facts({"p-value on held-out rows": f"{held:.2g}"})
        section.text(
            "On rows held out of training, predictions are compared with the labels and with the "
            "labels in random order. More needs a closed-form output layer."
        )
        return
    shown = {
        "fit of the labels": f"{numbers.true:.4g}",
        "fit of permuted labels": f"{numbers.permuted.mean():.4g}",
        "memorisation gap": f"{numbers.gap:.4g}",
        "p-value given the features": f"{numbers.p_value:.2g}",
    }
    if held is not None:
        shown["p-value on held-out rows"] = f"{held:.2g}"
    section.facts(shown)
    section.chart(
        chart(numbers),
        height=340,
        caption="The output layer solved for the labels, and for the same labels in random order. "
        "Noise that is fitted better than a constant is memorised; the gap between the two is what "
        "the labels have to say.",
    )
    paths = fit_paths_chart(numbers)
    if paths is not None:
        section.chart(paths, height=340, caption="Both fits along training, on the minibatch.")
    section.text(
        "The features were trained on these labels, so the first p-value is small even for pure "
        "noise once the net has learned it by heart; the one on rows held out is the honest test."
    )


def add_importance(page: Page, numbers: Importance | None) -> None:
    """Permutation importance."""
    section = page.section("Which columns matter", name="importance")
    if numbers is None:
        section.text("The samples are no rows of a table, or no column is used.")
        return
    section.chart(
        chart(numbers),
        height=90 + 24 * min(25, len(numbers.names)),
        caption=f"Increase of the {numbers.loss} when a column is shuffled, mean and deviation of "
        f"{numbers.n_repeats} shuffles on {numbers.n_rows} test rows. Columns that say the same "
        "share the credit.",
    )
    if len(numbers.names) > 25:
        section.text(f"The 25 most important of {len(numbers.names)} columns are shown.")


def add_clusters(page: Page, estimator: Any) -> None:
    """Structure of the last hidden layer."""
    section = page.section("Structure of the last hidden layer", name="clusters")
    numbers = weight_clusters(estimator)
    if numbers is None:
        section.text("The backbone has no linear layer whose units could be compared.")
        return
    section.facts(
        {
            "units": numbers.n_units,
            "groups": numbers.n_clusters,
            "mean |correlation|": f"{numbers.mean:.3g}",
        }
    )
    section.chart(
        chart(numbers),
        height=480,
        caption="Absolute correlation between the weights of two units of the last hidden layer, "
        "like units side by side. Blocks are groups of units that do the same work.",
    )


def add_details(page: Page, estimator: Any) -> None:
    """Settings and versions."""
    section = page.section("Settings and versions", name="details")
    section.table(
        ["parameter", Column("value", "long"), Column("state", filter=True)],
        [(name, value, state or "default") for name, value, state in settings_table(estimator)],
    )
    section.table(["package", "version"], versions_table(estimator))
