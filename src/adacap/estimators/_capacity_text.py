"""Capacity in words: lines for a terminal, a table for a notebook, remarks for both."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from adacap.text import table_lines

if TYPE_CHECKING:
    from adacap.estimators.capacity import Capacity
    from adacap.estimators.settings import Share

__all__ = ["as_html", "as_text", "lines_of", "remarks_of", "source_of"]

_LOSSES = {
    "rmse": "RMSE in standard deviations of the target",
    "bce": "cross-entropy",
    "ce": "cross-entropy",
}
_NO_LAYER = (
    "Neither nets nor a kernel were trained: there is no output layer to read. Add 'kernel' or "
    "'nets' to quality."
)
_NO_HEAD = (
    "The plain scheme has no closed-form output layer: λ, degrees of freedom, leave-one-out "
    "residuals and the fit of permuted labels do not exist for it. Use scheme='adacap' or "
    "'tikhonov' to read them."
)


def lines_of(capacity: Capacity) -> list[tuple[str, str, str]]:
    """Name, value and remark of each reading there is."""
    c = capacity
    lines: list[tuple[str, str, str]] = []
    if c.effective_dof is not None and c.dof_per_row is not None:
        of = f"{c.dof_per_row:.3g} per row, of {c.n_features} features"
        lines.append(("effective degrees of freedom", f"{c.effective_dof:.4g}", of))
    if c.lam is not None:
        lines.append(("λ", f"{c.lam:.4g}", f"{c.lambda_per_row:.3g} per row"))
    if c.fit_true is not None and c.fit_permuted is not None and c.memorisation_gap is not None:
        noise = f"± {np.std(c.permuted_fits):.2g}, constant {c.baseline:.4g}"
        lines += [
            ("fit of the labels", f"{c.fit_true:.4g}", _LOSSES[c.loss]),
            ("fit of permuted labels", f"{c.fit_permuted:.4g}", noise),
            ("memorisation gap", f"{c.memorisation_gap:.4g}", _p(c.p_value, c.n_permutations)),
        ]  # fmt: skip
    if c.press_r2 is not None:
        lines.append(("PRESS R²", f"{c.press_r2:.4g}", "leave-one-out, features given"))
    if c.holdout_p_value is not None:
        lines.append(("held-out rows", f"p = {c.holdout_p_value:.2g}", "predictions of new rows"))
    if len(c.rows):
        top = ", ".join(str(row.row) for row in c.most_influential())
        mean = f"mean {c.leverage.mean():.3g}"
        lines += [
            ("largest leverage", f"{c.leverage.max():.3g}", mean),
            ("most influential rows", top, ""),
        ]
    return lines


def _p(value: float | None, n_permutations: int) -> str:
    if value is None:
        return ""
    return f"p = {value:.2g} given the features, {n_permutations} permutations"


def _title(capacity: Capacity) -> str:
    n_nets, read_from = len(capacity.members), capacity.read_from
    same = capacity.n_rows - capacity.n_distinct
    rows = f"{capacity.n_rows} rows" + (f" ({same} repeated)" if same else "")
    scheme = "" if capacity.scheme is None else f", scheme {capacity.scheme}"
    nets = f", {n_nets} nets" if n_nets > 1 else ""
    if read_from is None:
        return f"Capacity of {capacity.estimator}{scheme}, {rows}{nets}"
    return (
        f"Capacity of {capacity.estimator}, {rows}, read from {source_of(read_from)}{scheme}{nets}"
    )


def source_of(share: Share) -> str:
    """The member of a blend that a reading comes from, and its weight, in words.

    Examples
    --------
    >>> from adacap.estimators.settings import Share
    >>> source_of(Share("kernel", 0.25, 0.7, 0.1))
    'kernel, 25 % of the blend'
    >>> source_of(Share("nets:bins", 0.0, 0.7, 0.1))
    'nets:bins, which has no weight in this blend'
    """
    if share.weight:
        return f"{share.name}, {100 * share.weight:.0f} % of the blend"
    return f"{share.name}, which has no weight in this blend"


def as_text(capacity: Capacity) -> str:
    """Lines for a terminal."""
    rows = table_lines(["", "", ""], lines_of(capacity), n_text=3, gap=2)[1:]
    body = [f"  {row}" for row in rows]
    remarks = [f"  → {remark}" for remark in remarks_of(capacity)]
    return "\n".join([_title(capacity), *body, *remarks])


def as_html(capacity: Capacity) -> str:
    """A table for a notebook."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:right'>{html.escape(value)}</td>"
        f"<td style='text-align:left;opacity:.7'>{html.escape(note)}</td></tr>"
        for name, value, note in lines_of(capacity)
    )
    remarks = "".join(f"<li>{html.escape(remark)}</li>" for remark in remarks_of(capacity))
    caption = f"<caption style='text-align:left'><b>{html.escape(_title(capacity))}</b></caption>"
    return f"<table>{caption}<tbody>{cells}</tbody></table><ul>{remarks}</ul>"


def remarks_of(capacity: Capacity) -> list[str]:
    """What the readings mean, most important first."""
    c = capacity
    found = []
    if c.holdout_p_value is not None and c.holdout_p_value > 0.05:
        found.append(
            f"On rows held out, predictions are no nearer to their labels than to labels in random "
            f"order (p = {c.holdout_p_value:.2g}): no signal was shown that carries to new rows."
        )
    if c.n_features == 0:
        return [*found, _NO_LAYER]
    if c.scheme == "plain" and c.fit_true is None:
        return [*found, _NO_HEAD]
    if c.fit_true is None:
        return [*found, "The output layer could not be factorised again: no readings of it."]
    if c.memorised is not None and c.memorised > 0.5:
        found.append(
            f"The output layer fits labels in random order as well, {100 * c.memorised:.0f} % "
            "better than a constant: it can memorise, and a good fit on its own rows proves little."
        )
    if c.press_r2 is not None and c.loss == "rmse" and 1 - c.fit_true**2 - c.press_r2 > 0.2:
        found.append(
            f"R² falls from {1 - c.fit_true**2:.2f} to {c.press_r2:.2f} when each row is left out "
            "of the output layer: single rows matter much."
        )
    if len(c.rows) and (n_high := int((c.leverage > 0.9).sum())):
        rows = "row has" if n_high == 1 else "rows have"
        alone = (
            "it nearly decides its own fit" if n_high == 1 else "each nearly decides its own fit"
        )
        found.append(f"{n_high} {rows} a leverage above 0.9: {alone}.")
    return found
