"""A record as Markdown, and all records as the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adacap_bench.markdown import table_lines
from adacap_bench.reproduce.evidence import Evidence
from adacap_bench.reproduce.item import Claim, Row
from adacap_bench.reproduce.verdicts import LEAST

__all__ = ["ledger_text", "readme_text", "record_text", "table_rows"]

_NOTHING = "–"


def table_rows(evidence: Evidence) -> list[list[object]]:
    """Titles, then one line per number: paper, ours, difference, verdict."""
    extras = list(dict.fromkeys(name for row in evidence.rows for name in row.extra))
    titles: list[object] = ["", "paper", "ours", "± s.d.", "runs", "difference", "verdict", *extras]
    return [titles, *(_line(row, extras) for row in evidence.rows)]


def _line(row: Row, extras: Sequence[str]) -> list[object]:
    def shown(value: float | None, sign: str = "") -> str:
        return _NOTHING if value is None else f"{value:{sign}.{row.digits}f}"

    difference = None if row.paper is None else row.ours - row.paper
    more = [f"{row.extra[name]:.4g}" if name in row.extra else _NOTHING for name in extras]
    return [
        row.label, shown(row.paper), shown(row.ours), shown(row.spread), str(row.n),
        shown(difference, "+"), row.verdict or _NOTHING, *more,
    ]  # fmt: skip


def record_text(evidence: Evidence, *, picture: str | None = None, level: int = 1) -> str:
    """One record as Markdown.

    Parameters
    ----------
    evidence : Evidence
    picture : str, optional
        Address of the figure, relative to the page.
    level : int, default=1
        Of the heading.
    """
    made = ", ".join(f"{name} {version}" for name, version in sorted(evidence.versions.items()))
    titles, *rows = table_rows(evidence)
    failed = f", {evidence.n_failed} of them without a result" if evidence.n_failed else ""
    parts = [
        f"{'#' * level} {evidence.item}: {evidence.title}",
        f"*{evidence.place}.* Verdict: **{evidence.verdict}**. Scale: {evidence.extent} "
        f"({evidence.scale}; {evidence.progress or f'{evidence.n_jobs} runs'}{failed}, "
        f"{evidence.core_seconds:.0f} s of fits).",
        "\n".join(
            f"- {claim.text} — **{claim.verdict}** ({_effect(claim)}): {claim.evidence}"
            for claim in evidence.claims
        ),
        f"{evidence.measure}:",
        "\n".join(table_lines(titles, rows, "lrrrrrlr")),
    ]
    if picture:
        parts.append(f"![{evidence.figure.caption}]({picture})")
    parts.append("\n".join(f"- {note}" for note in evidence.notes))
    parts.append(f"`{evidence.command}` · {evidence.created[:10]} · {made}")
    return "\n\n".join(part for part in parts if part) + "\n"


def ledger_text(
    records: Mapping[str, Evidence], order: Sequence[str], *, folder: str | None = None
) -> str:
    """The ledger: a summary, what did not reproduce, then every record.

    Parameters
    ----------
    records : mapping of str to Evidence
    order : sequence of str
        Keys of all items; those without a record are named as such.
    folder : str, optional
        Where the pictures are, relative to the page; None leaves them out.
    """
    known = [records[key] for key in order if key in records]
    counts = Counter(claim.verdict for evidence in known for claim in evidence.claims)
    said = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
    absent = [key for key in order if key not in records]
    parts = [
        "# Reproduction ledger",
        "Every figure, table and theorem of the paper that was measured again: its number, ours, "
        "and whether what the paper says of it holds in our runs. Written by `adacap reproduce "
        "ledger` from the records beside it; nothing here is typed by hand. `adacap reproduce "
        "ITEM` makes a record anew, at the scale given by `--quick`, `--scale ledger` or `--scale "
        "paper`. `adacap reproduce all --scale paper --max-hours 8` runs for hours in pieces, the "
        "cheapest items first; a record that is not finished says how many of its runs are done.",
        f"Of {counts.total()} claims: {said}." if counts else "There is no record yet.",
        "One rule decides every claim. Its effect is measured on each experiment, in pairs, "
        "positive where the claim is right; the claim is reproduced or not if the mean effect is "
        f"beyond two standard errors over at least {LEAST} experiments, with Holm's bounds over "
        "the claims of an item, and undecided otherwise. Of a claim that says several things the "
        "weakest is shown. An experiment is a split of a task, or a seed where there is one split. "
        "A number *agrees* within 10 % of the paper's, or within two standard errors of at least "
        f"{LEAST} runs; otherwise ours is *higher* or *lower*. ± is the standard deviation over "
        "runs; a mean over tasks has none, since the spread between tasks is not an error of it.",
    ]
    if known:
        parts += ["## Summary", _summary(known)]
    if any(evidence.before for evidence in known):
        parts += ["## What the rule changed", _changes(known)]
    if bad := _judged(known, False):
        parts += ["## What did not reproduce", bad]
    if open_ := _judged(known, None):
        parts += ["## What these runs cannot decide", open_]
    if absent:
        parts.append(f"Not run yet, or not kept: {', '.join(absent)}.")
    parts += [
        record_text(
            evidence, picture=f"{folder}/{evidence.item}.png" if folder else None, level=2
        ).rstrip()
        for evidence in known
    ]
    return "\n\n".join(parts) + "\n"


def _summary(known: Sequence[Evidence]) -> str:
    rows = []
    for evidence in known:
        unfinished = f" (**{evidence.progress}**)" if evidence.progress else ""
        link = f"[{evidence.item}](#{_anchor(evidence)})"
        extent = f"{evidence.extent}{unfinished}"
        rows.append((link, evidence.title, evidence.held, evidence.verdict, extent))
    return "\n".join(table_lines(("item", "", "claims held", "verdict", "scale"), rows, "llrl"))


def _changes(known: Sequence[Evidence]) -> str:
    titles = ("item", "runs before", "runs", "verdict before", "verdict now", "why")
    rows = []
    for evidence in known:
        was, now = evidence.before, f"{evidence.verdict}, {evidence.held}"
        before = f"{was['verdict']}, {was['held']}" if was else "new"
        runs = was.get("runs", _NOTHING), evidence.n_jobs
        rows.append((evidence.item, *runs, before, now, _why(evidence)))
    return "\n".join(table_lines(titles, rows, "lrrl"))


def _why(evidence: Evidence) -> str:
    """What stands between the verdict before and now, as far as the record shows it."""
    was, reasons = evidence.before, []
    if not was:
        return "a new item"
    if was["runs"] != evidence.n_jobs:
        reasons.append("run anew")
    open_ = [claim.weakest for claim in evidence.claims if claim.holds is None]
    few = [effect.n for effect in open_ if effect is not None and effect.n < LEAST]
    if few:
        reasons.append(f"{min(few)} experiments are too few to decide")
    if any(effect is None or effect.error is None for effect in open_):
        reasons.append("the record keeps no differences between experiments")
    if any(effect and effect.n >= LEAST and effect.error is not None for effect in open_):
        reasons.append("some effects are within their errors")
    if not reasons:
        reasons.append("every claim is beyond its errors")
    return "; ".join(reasons)


def _effect(claim: Claim) -> str:
    """Effect, standard error and experiments of a claim, or why there are none."""
    if (effect := claim.weakest) is None:
        return "no effect was kept"
    error = "error not known" if effect.error is None else f"± {effect.error:.2g}"
    several = f", the weakest of {len(claim.effects)}" if len(claim.effects) > 1 else ""
    return f"effect {effect.value:+.3g} {error}, {effect.n} experiments{several}"


_CENTRAL = "n1"  # the item that asks what Tikhonov and the MLR loss each give


def readme_text(records: Mapping[str, Evidence], order: Sequence[str]) -> str:
    """One paragraph on what reproduces and what does not, for the README."""
    every = [(key, claim) for key in order if key in records for claim in records[key].claims]

    def told(claims: Sequence[tuple[str, Claim]]) -> str:
        return "; ".join(f"{claim.text} ({item})" for item, claim in claims) or "none"

    holds, fails = ([one for one in every if one[1].holds is verdict] for verdict in (True, False))
    near = [one for one in every if one[1].holds is None and _could_decide(one[1])]
    central = [one for one in near if one[0] == _CENTRAL]
    n_waiting = len(every) - len(holds) - len(fails) - len(near)
    return (
        f"Does the paper reproduce? Of {len(every)} claims, its own and on questions it leaves "
        f"open, {len(holds)} hold by two standard errors: {told(holds)}. {len(fails)} fail: "
        f"{told(fails)}. {len(near)} lie within their errors"
        + (f", the central one among them: {told(central)}" if central else "")
        + f". The other {n_waiting} wait for {LEAST} experiments that can be compared in pairs."
    )


def _could_decide(claim: Claim) -> bool:
    """Whether its experiments are enough, and only the size of the effect leaves it open."""
    effect = claim.weakest
    return effect is not None and effect.score is not None


def _judged(known: Sequence[Evidence], holds: bool | None) -> str:
    return "\n".join(
        f"- {evidence.item}: {claim.text} — {claim.evidence} ({_effect(claim)})"
        for evidence in known
        for claim in evidence.claims
        if claim.holds is holds
    )


def _anchor(evidence: Evidence) -> str:
    """Address that a heading gets on the usual sites."""
    heading = f"{evidence.item}: {evidence.title}".lower()
    kept = "".join(c for c in heading if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
