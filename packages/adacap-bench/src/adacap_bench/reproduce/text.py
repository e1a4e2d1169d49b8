"""A record as Markdown, and all records as the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adacap_bench.markdown import markdown_lines
from adacap_bench.reproduce.item import Claim, Row, judged
from adacap_bench.reproduce.item_record import ItemRecord
from adacap_bench.reproduce.verdicts import LEAST, LEVEL, as_elsewhere
from adacap_bench.split import TEST_RATIO

__all__ = ["ledger_text", "readme_text", "record_text", "table_rows"]

_NOTHING = "–"


def table_rows(record: ItemRecord) -> list[list[object]]:
    """Titles, then one line per number: paper, ours, difference, verdict."""
    extras = list(dict.fromkeys(name for row in record.rows for name in row.extra))
    titles: list[object] = ["", "paper", "ours", "± s.d.", "runs", "difference", "verdict", *extras]
    return [titles, *(_line(row, extras) for row in record.rows)]


def _line(row: Row, extras: Sequence[str]) -> list[object]:
    def shown(value: float | None, sign: str = "") -> str:
        return _NOTHING if value is None else f"{value:{sign}.{row.digits}f}"

    difference = None if row.paper is None else row.ours - row.paper
    more = [f"{row.extra[name]:.4g}" if name in row.extra else _NOTHING for name in extras]
    return [
        row.label, shown(row.paper), shown(row.ours), shown(row.spread), str(row.n),
        shown(difference, "+"), row.verdict or _NOTHING, *more,
    ]  # fmt: skip


def record_text(record: ItemRecord, *, picture: str | None = None, level: int = 1) -> str:
    """One record as Markdown, its picture addressed relative to the page."""
    made = ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items()))
    titles, *rows = table_rows(record)
    failed = f", {record.n_failed} of them without a result" if record.n_failed else ""
    parts = [
        f"{'#' * level} {record.item}: {record.title}",
        f"*{record.place}.* Verdict: **{record.verdict}**. Scale: {record.extent} "
        f"({record.scale}; {record.progress or f'{record.n_jobs} runs'}{failed}, "
        f"{record.core_seconds:.0f} s of fits).",
        "\n".join(
            f"- {claim.text} — **{claim.verdict}** ({_effect(claim)}): {claim.evidence}"
            for claim in record.claims
        ),
        f"{record.measure}:",
        "\n".join(markdown_lines(titles, rows, "lrrrrrlr")),
    ]
    if picture:
        parts.append(f"![{record.figure.caption}]({picture})")
    parts.append("\n".join(f"- {note}" for note in record.notes))
    parts.append(f"`{record.command}` · {record.created[:10]} · {made}")
    return "\n\n".join(part for part in parts if part) + "\n"


def ledger_text(
    records: Mapping[str, ItemRecord], order: Sequence[str], *, folder: str | None = None
) -> str:
    """The ledger: a summary, what did not reproduce, then every record.

    The order has the keys of all items; those without a record are named as such. Pictures are in
    the folder, relative to the page; without one they are left out.
    """
    known = [records[key] for key in order if key in records]
    counts = Counter(_standing(claim) for record in known for claim in record.claims)
    said = ", ".join(f"{counts[one]} {words}" for one, words in _COUNTED.items() if counts[one])
    absent = [key for key in order if key not in records]
    parts = [
        "# Reproduction ledger",
        "Every figure, table and theorem of the paper that was measured again: its number, ours, "
        "and whether what the paper says of it holds in our runs. Written by `adacap reproduce "
        "ledger` from the records beside it; nothing here is typed by hand. `adacap reproduce "
        "ITEM` makes a record again, at the scale given by `--quick`, `--scale ledger` or `--scale "
        "paper`. `adacap reproduce all --scale paper --max-hours 8` runs for hours in pieces, the "
        "cheapest items first; a record that is not finished says how many of its runs are done.",
        f"Of {counts.total()} claims: {said}." if counts else "There is no record yet.",
        *_rule(),
    ]
    if known:
        parts += ["## Summary", _summary(known)]
    if any(record.before for record in known):
        parts += ["## What the rule and new runs changed", _changes(known)]
    if shared := _not_elsewhere(known):
        parts += ["## What holds on these tables and may not on others", shared]
    for standing, title in _SECTIONS.items():
        if found := _judged(known, standing):
            parts += [f"## {title}", found]
    if absent:
        parts.append(f"Not run yet, or not kept: {', '.join(absent)}.")
    parts += [
        record_text(
            record, picture=f"{folder}/{record.item}.png" if folder else None, level=2
        ).rstrip()
        for record in known
    ]
    return "\n\n".join(parts) + "\n"


def _rule() -> list[str]:
    """How claims and numbers are judged."""
    return [
        "One rule decides every claim. Its effect is measured on each experiment, in pairs, "
        "positive where the claim is right: a split of a table, a draw of data that are made, or a "
        "seed where there is one split. The claim is reproduced, or not, if over at least "
        f"{LEAST} experiments the mean effect is further from 0 than chance brings it in "
        f"{100 * LEVEL:.2f} % of all cases by Student's t: two standard errors of many "
        "experiments, 2.3 of ten. Holm's bounds over the claims of an item are higher, and so are "
        "those of a comparison that was picked as the best of several. Otherwise it is undecided. "
        "Of a claim that says several things the weakest is shown. An unfinished record shows its "
        "figures, but its claims wait.",
        "Means are over tasks, each of which weighs the same. Errors are of a mean over the same "
        "tasks: what tasks differ by is no part of them, and degrees of freedom are those of Welch "
        "and Satterthwaite. Only where a task has a single experiment does the spread over tasks "
        "stand for the error; that is wider.",
        "Splits of one table are repeated and share rows. Their error tells how well the mean over "
        "all splits of that very table is known, as the paper's claims are about these tables; "
        "whether a claim would hold on other rows of their kind is less certain. By the correction "
        f"of Nadeau and Bengio, whose variance is 1/n + {TEST_RATIO:g} of that of one split "
        "instead of 1/n, it would not be decided where it is listed below.",
        "A number *agrees* within 10 % of the paper's, or within two standard errors of at least "
        f"{LEAST} experiments; otherwise ours is *higher* or *lower*. ± is the standard deviation "
        "over runs; a mean over tasks has none.",
    ]


def _not_elsewhere(known: Sequence[ItemRecord]) -> str:
    """Claims that are decided for these tables, and not for others of their kind."""
    lines = []
    for record in known:
        apart = [
            replace(claim, effects=[*map(as_elsewhere, claim.effects)]) for claim in record.claims
        ]
        for claim, other in zip(record.claims, judged(apart), strict=True):
            if claim.verdict != other.verdict and not claim.waits:
                lines.append(
                    f"- {record.item}: {claim.text} — {claim.verdict} ({_effect(claim)}); "
                    f"elsewhere {other.verdict} ({_effect(other)})"
                )
    return "\n".join(lines)


def _summary(known: Sequence[ItemRecord]) -> str:
    rows = []
    for record in known:
        unfinished = f" (**{record.progress}**)" if record.progress else ""
        link = f"[{record.item}](#{_anchor(record)})"
        extent = f"{record.extent}{unfinished}"
        counts = Counter(map(_standing, record.claims))
        told = [counts[standing] for standing in _COLUMNS]
        rows.append((link, record.title, *told, record.verdict, extent))
    titles = ("item", "", *_COLUMNS.values(), "verdict", "scale")
    return "\n".join(markdown_lines(titles, rows, "llrrrrl"))


def _changes(known: Sequence[ItemRecord]) -> str:
    titles = ("item", "runs before", "runs", "verdict before", "verdict now", "why")
    rows = []
    for record in known:
        was, now = record.before, f"{record.verdict}, {record.held}"
        before = f"{was['verdict']}, {was['held']}" if was else "new"
        runs = was.get("runs", _NOTHING), record.n_jobs
        rows.append((record.item, *runs, before, now, _why(record)))
    return "\n".join(markdown_lines(titles, rows, "lrrl"))


def _why(record: ItemRecord) -> str:
    """What stands between the verdict before and now, as far as the record shows it."""
    was, reasons = record.before, []
    if not was:
        return "a new item"
    if record.progress:
        return record.progress
    if was["runs"] != record.n_jobs:
        reasons.append("run again")
    open_ = [claim.weakest for claim in record.claims if claim.holds is None]
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
    uneven = any(one.uneven for one in claim.effects)
    more = ", which all have; other numbers are means of more" if uneven else ""
    return f"effect {effect.value:+.3g} {error}, {effect.n} experiments{more}{several}"


# What a reader asks first: item, claim, and the claim in words that need no ledger.
HEADLINES = (
    ("n1", "Tikhonov lowers the error of the plain net: fast-mlp",
     "the ridge output layer (Tikhonov) lowers the error of a plain net"),
    ("n1", "The MLR loss lowers the error of Tikhonov alone: fast-mlp",
     "the MLR loss lowers the error of Tikhonov alone"),
    ("c10", "Tikhonov lowers the spread over seeds", "Tikhonov steadies a net over its seeds"),
    ("c2", "Tikhonov removes the oscillations", "Tikhonov removes oscillations of the training"),
    ("c8", "Dropout worsens AdaCap", "dropout harms AdaCap"),
    ("c11", "In the intermediate regime MLR(λ) + ‖P Y_perm‖² = (1 + o(1)) R(λ)",
     "the numbers follow Theorem 1"),
    ("c4", "λ chosen by MLR gives a lower test error than λ by 10-fold CV, T = 16",
     "MLR chooses a better λ for ridge regression than cross-validation"),
    ("c3", "AdaCap is uniformly better over the whole range",
     "AdaCap helps with few images per class"),
    ("n2", "The MLR loss lowers the error of Tikhonov alone at every share of permuted labels",
     "the MLR loss helps where labels are permuted"),
    ("n2", "AdaCap lowers the error of the plain net at every share of permuted labels",
     "AdaCap does better than a plain net where labels are permuted"),
    ("n3", "Training moves λ by more than a factor of 1.5 from its start",
     "training moves λ far from its start"),
    ("c9", "The plain net collapses at batches of 16 to 64",
     "a plain net collapses at small batches"),
    ("c9", "AdaCap works best with large batches", "AdaCap works best with large batches"),
    ("d6-permutations", "Permutations help: T = 16 is better than T = 0",
     "permutations improve the nets of 2021"),
    ("d6-width", "Wide nets generalise better: 1024 above 16", "wide nets of 2021 do better"),
    ("c5", "AdaCap raises the share of first places of networks",
     "AdaCap lets networks come first more often"),
    ("c6", "AdaCap-SNN and AdaCap-GLU come before CatBoost in mean RMSE",
     "nets with AdaCap come before CatBoost"),
    ("c5-classes", "AdaCap under-performs regular networks on classes, by AUC",
     "AdaCap is worse than plain nets on classes"),
    ("n4", "The MLR loss lowers the error of Tikhonov alone: attention",
     "the MLR loss helps a net with attention"),
)  # fmt: skip


def readme_text(records: Mapping[str, ItemRecord], order: Sequence[str]) -> str:
    """One paragraph on what reproduces and what does not, for the README."""
    known = {
        (key, claim.text): _standing(claim)
        for key in order
        if key in records
        for claim in records[key].claims
    }
    counts = Counter(known.values())
    groups: dict[str, list[str]] = {}
    for key, claim, words in HEADLINES:
        if key in order:
            groups.setdefault(known.get((key, claim), "waits"), []).append(words)
    told = " ".join(
        f"{opening} {'; '.join(groups[standing])}."
        for standing, opening in _OPENINGS.items()
        if standing in groups
    )
    return (
        f"Does the paper reproduce? Of {len(known)} claims, its own and on questions it leaves "
        f"open, {counts['holds']} hold by more than chance, {counts['fails']} fail, "
        f"{counts['near']} lie within their errors, and {counts['waits']} wait for {LEAST} "
        f"experiments in pairs or the rest of their runs. {told}"
    )


_COUNTED = {
    "holds": "reproduced",
    "fails": "not reproduced",
    "near": "within their errors",
    "waits": "waiting for more experiments",
}
_COLUMNS = {
    "holds": "held",
    "fails": "failed",
    "near": "within errors",
    "waits": "waiting",
}
_OPENINGS = {
    "holds": "It holds that",
    "fails": "It does not hold that",
    "near": "Within their errors, neither shown nor refuted:",
    "waits": "Not decided yet:",
}


def _standing(claim: Claim) -> str:
    """Whether a claim holds or fails, is near 0 by enough experiments, or waits for more."""
    if claim.waits:
        return "waits"
    if claim.holds is not None:
        return "holds" if claim.holds else "fails"
    decisive = claim.effects and all(effect.score is not None for effect in claim.effects)
    return "near" if decisive else "waits"


_SECTIONS = {
    "fails": "What did not reproduce",
    "near": "What lies within its error",
    "waits": "What waits for more experiments",
}


def _judged(known: Sequence[ItemRecord], standing: str) -> str:
    return "\n".join(
        f"- {record.item}: {claim.text} — {claim.evidence} ({_effect(claim)})"
        for record in known
        for claim in record.claims
        if _standing(claim) == standing
    )


def _anchor(record: ItemRecord) -> str:
    """Address that a heading gets on the usual sites."""
    heading = f"{record.item}: {record.title}".lower()
    kept = "".join(c for c in heading if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
