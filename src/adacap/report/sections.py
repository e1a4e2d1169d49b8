"""Sections of the page about a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adacap.estimators._capacity_text import source_of
from adacap.estimators.held_out import N_PERMUTATIONS
from adacap.explain.importance import Importance
from adacap.page import Page, PageColumn, Section
from adacap.report.about import About
from adacap.report.charts import chart, fit_paths_chart, scores_chart
from adacap.report.facts import columns_table, facts, settings_table, versions_table
from adacap.report.remarks import speaks_for_model
from adacap.report.scores import MethodScores, sorted_scores
from adacap.report.training_figures import (
    capacity_paths,
    label_fits,
    learning_dynamics,
    weight_clusters,
)
from adacap.text import number

__all__ = [
    "add_blend", "add_capacity", "add_clusters", "add_details", "add_importance", "add_learning",
    "add_memorisation", "add_scores", "add_summary", "add_trained",
]  # fmt: skip

_MEANS = {
    "R²": "share of the variance explained; 1 is perfect, 0 is the mean",
    "RMSE": "root mean squared error, in the unit of the target; less is better",
    "MAE": "mean absolute error, in the unit of the target; less is better",
    "accuracy": "share of rows whose class is right",
    "AUC": "chance that a row of a class gets a higher probability of it than another row",
    "log-loss": "mean of −log of the probability given to the right class; less is better",
}
_NO_HEAD = (
    "The plain scheme has no closed-form output layer, so there is no λ, no effective degrees of "
    "freedom and no fit of permuted labels to show."
)


_KINDS = {
    "nets": "nets",
    "kernel": "kernel",
    "boosting": "boosted trees",
    "trees": "randomised trees",
    "ridge": "linear",
}
_SEEN = {"": "columns as they are", "rank": "ranks", "bins": "columns and bins of them"}


def add_summary(
    page: Page, told: str, scored: str, own: MethodScores, remarks: Sequence[str], about: About
) -> None:
    """How good the model is in plain words, its scores, and what to know before trusting them."""
    section = page.section("At a glance", name="summary").text(told)
    shown: dict[str, object] = {"file": about.data, "target": ", ".join(about.targets)}
    shown = {name: value for name, value in shown.items() if value}
    shown |= {f"test {name}": number(value) for name, value in own.scores.items()}
    section.facts(shown | {"test rows": len(own.losses)})
    section.text(scored)
    for remark in remarks:
        section.note(remark)
    if not remarks:
        section.text("Nothing unusual was found.")


def add_scores(
    page: Page, own: MethodScores, baselines: Sequence[MethodScores], unit: str = ""
) -> None:
    """The model beside a constant, a linear model and a forest, the best first."""
    section = page.section("Beside simple methods", name="scores")
    rows = sorted_scores([own, *baselines])
    columns = [
        PageColumn("method"),
        *(PageColumn(name, "number", _digits(name), help=_meaning(name)) for name in own.scores),
    ]
    columns.append(PageColumn("seconds to fit", "number", 2))
    section.table(columns, [[row.method, *row.scores.values(), row.fit_seconds] for row in rows])
    if not baselines:
        section.text(
            "Mean, ridge and forest are left out: they need the table that the model was trained "
            "on, which a model does not keep. Pass X_train and y_train."
        )
        return
    section.chart(
        scores_chart(rows, own.method, unit),
        height=76 + 48 * len(rows),
        caption="Error on the test rows, the best method first. The simple methods were trained on "
        "the same rows and the same encoded columns.",
    )


def _meaning(score: str) -> str:
    unit = (
        "standard deviations of each target"
        if "standardised" in score
        else "the unit of the target"
    )
    return _MEANS[score.split()[0]].replace("the unit of the target", unit)


def _digits(score: str) -> int | None:
    """Digits after the point of a score without a unit; the others are of any size."""
    return None if score.startswith(("RMSE", "MAE")) else 4


def add_trained(page: Page, estimator: Any, n_test: int) -> None:
    """Rows, columns and what became of them."""
    section = page.section("What was trained on what", name="trained")
    section.text("This part and those below are about the model that is kept.")
    section.facts(facts(estimator, n_test))
    section.table(
        ["column", PageColumn("kind", filter=True), "treatment", PageColumn("became", "long")],
        columns_table(estimator),
        caption="What became of each column",
        search=estimator.n_features_in_ > 12,
    )


def add_blend(page: Page, estimator: Any) -> None:
    """Members of a blend and how they did; nothing for nets alone."""
    shares = estimator.settings_.blend
    if not shares:
        return
    section = page.section("Members of the blend", name="blend")
    loss = "log-loss" if hasattr(estimator, "classes_") else "root mean squared error"
    unit = "" if hasattr(estimator, "classes_") else ", in standard deviations of the target"
    section.text(
        "Members are trained in the same folds, and weighted by how well they predict the rows "
        "held out of each. A member that adds nothing to the others has no weight, and is not kept."
    )
    section.table(
        [
            PageColumn("member", help="what it is"),
            PageColumn("encoding", help="what it sees of the columns"),
            PageColumn("weight", "number", 3, help="share in the blend"),
            PageColumn("out-of-fold error", "number", 4, help=loss + unit),
            PageColumn("seconds to fit", "number", 2),
        ],
        [
            [_KINDS[kind], _SEEN[encoding], share.weight, share.error, share.seconds]
            for share in shares
            for kind, _, encoding in [share.name.partition(":")]
        ],
        caption=f"Members of the blend, the heaviest first. Error: {loss}{unit}.",
    )
    if untrained := estimator.settings_.untrained_text:
        section.text(untrained)


def add_learning(page: Page, estimator: Any) -> None:
    """Scores per iteration; nothing for a model without nets."""
    if not len(estimator.history_):
        return
    section = page.section("Learning dynamics", name="learning")
    numbers = learning_dynamics(estimator)
    caption = (
        "Score of the rows trained on and of the rows held out, per iteration; iteration "
        f"{numbers.best_iter} was kept."
    )
    if numbers.others_best:
        kept = ", ".join(map(str, numbers.others_best[:10]))
        more = ", …" if len(numbers.others_best) > 10 else ""
        caption = (
            f"Net 1 of {1 + len(numbers.others_best)}: {caption[0].lower()}{caption[1:]} The other "
            f"nets, in grey, kept {kept}{more}."
        )
    if numbers.valid is None:
        caption = "Score of the rows trained on, per iteration. No rows were held out."
    section.chart(chart(numbers), caption=caption)


def add_capacity(page: Page, estimator: Any, about: About) -> None:
    """λ, degrees of freedom and single rows; nothing for a model of trees and ridge alone."""
    numbers, capacity = capacity_paths(estimator), estimator.capacity()
    if not capacity.n_features:
        return
    section = page.section("Capacity", name="capacity")
    if capacity.effective_dof is None:
        section.text(_NO_HEAD)
        return
    if capacity.read_from is not None:
        section.text(f"Read from {source_of(capacity.read_from)}.")
    if not speaks_for_model(capacity):
        for remark in capacity.remarks():
            section.note(remark)
    shown = {
        "degrees of freedom": f"{number(capacity.effective_dof)} of {capacity.n_features}",
        "per row": f"{capacity.dof_per_row:.3g}",
        "λ": f"{capacity.lam:.4g}",
        "λ per row": f"{capacity.lambda_per_row:.3g}",
    }
    if capacity.press_r2 is not None:
        shown["PRESS R²"] = number(capacity.press_r2)
    if len(capacity.leverage):
        shown["largest leverage"] = f"{capacity.leverage.max():.3g}"
    section.facts(shown)
    if numbers is None:
        section.text("There are no nets in the model; these are readings of what it has instead.")
    else:
        section.chart(
            chart(numbers),
            caption="λ and the effective degrees of freedom of the output layer along training, of "
            "net 1 in full and of the others faint. More degrees of freedom fit more, truth and "
            "noise alike.",
        )
    _add_rows(section, capacity, about)


def _add_rows(section: Section, capacity: Any, about: About) -> None:
    if not len(capacity.rows):
        return
    columns = [PageColumn("row", "number", 0, help=about.counts)]
    columns += [
        PageColumn("influence", "number", help="Cook's distance"),
        PageColumn("leverage", "number", help="share of its own label in its fit"),
        PageColumn("left-out residual", "number", help="by the layer solved without the row"),
    ]
    most = capacity.most_influential(8)
    rows = [(about.row(int(r.row)), r.influence, r.leverage, r.residual) for r in most]
    caption = f"Training rows whose absence would move the fit most. Row: {about.counts}."
    section.table(columns, rows, caption=caption)


def add_memorisation(page: Page, estimator: Any) -> None:
    """True-label against permuted-label fit; nothing where neither was read."""
    numbers, held = label_fits(estimator), estimator.capacity().holdout_p_value
    if numbers is None and held is None:
        return
    section = page.section("Truth against noise", name="memorisation")
    if numbers is None:
        section.facts({"p-value on held-out rows": _p_value(held)})
        section.text(
            "On rows held out of training, predictions are compared with the labels and with the "
            "labels in random order. More needs a closed-form output layer."
        )
        return
    shown = {
        "fit of the labels": number(numbers.true),
        "fit of permuted labels": number(numbers.permuted.mean()),
        "memorisation gap": number(numbers.gap),
        "p-value given the features": _p_value(numbers.p_value, len(numbers.permuted)),
    }
    if held is not None:
        shown["p-value on held-out rows"] = _p_value(held)
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
    honest = "" if held is None else "; the one on rows held out is the honest test"
    section.text(
        "The features were trained on these labels, so the p-value given them is small even for "
        f"pure noise that was learned by heart{honest}. "
        f"{len(numbers.permuted)} permutations cannot show a p-value below "
        f"{1 / (len(numbers.permuted) + 1):.2g}."
    )


def _p_value(value: float, n_permutations: int = N_PERMUTATIONS) -> str:
    """A p-value; the smallest that this number of permutations can show is given as a bound.

    Examples
    --------
    >>> _p_value(0.04), _p_value(0.005)
    ('0.04', '≤ 0.005')
    """
    least = 1 / (n_permutations + 1)
    return f"{value:.2g}" if value > least * 1.001 else f"≤ {least:.2g}"


def add_importance(page: Page, numbers: Importance | None, unit: str = "") -> None:
    """Permutation importance."""
    section = page.section("Which columns matter", name="importance")
    if numbers is None:
        section.text("Column importance needs tabular input with at least one used column.")
        return
    section.chart(
        chart(numbers, unit=unit),
        height=90 + 24 * min(25, len(numbers.names)),
        caption=f"Increase of the {numbers.loss}, which is {number(numbers.baseline)} with nothing "
        f"shuffled, when a column is shuffled: mean of {numbers.n_repeats} shuffles and standard "
        f"error, on {numbers.n_rows} test rows. Columns that say the same share the credit.",
    )
    if len(numbers.names) > 25:
        section.text(f"The 25 most important of {len(numbers.names)} columns are shown.")


def add_clusters(page: Page, estimator: Any) -> None:
    """Structure of the last hidden layer; nothing without a linear layer of a net."""
    numbers = weight_clusters(estimator)
    if numbers is None:
        return
    section = page.section("Structure of the last hidden layer", name="clusters")
    section.facts(
        {
            "units of the layer": numbers.n_units,
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
        ["parameter", PageColumn("value", "long"), PageColumn("state", filter=True)],
        [(name, value, state or "default") for name, value, state in settings_table(estimator)],
    )
    section.table(["package", "version"], versions_table(estimator))
