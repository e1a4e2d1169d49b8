"""A record as Markdown, and all records as the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adacap.reproduce.evidence import Evidence
from adacap.reproduce.item import Row

__all__ = ["ledger_text", "record_text", "table_rows"]

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
    failed = f", {evidence.n_failed} of them without a result" if evidence.n_failed else ""
    parts = [
        f"{'#' * level} {evidence.item}: {evidence.title}",
        f"*{evidence.place}.* Verdict: **{evidence.verdict}**. Scale: {evidence.extent} "
        f"({evidence.scale}; {evidence.n_jobs} runs{failed}, "
        f"{evidence.core_seconds:.0f} s of fits).",
        "\n".join(
            f"- {claim.text} — **{claim.verdict}**: {claim.evidence}" for claim in evidence.claims
        ),
        f"{evidence.measure}:",
        _markdown(table_rows(evidence)),
    ]
    if picture:
        parts.append(f"![{evidence.figure.caption}]({picture})")
    parts.append("\n".join(f"- {note}" for note in evidence.notes))
    parts.append(f"`{evidence.command}` · {evidence.created[:10]} · {made}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(rows: list[list[object]]) -> str:
    titles, *lines = rows
    marks = ["|:--", *("|--:" for _ in titles[1:])]
    marks[6] = "|:--"
    body = "\n".join(_markdown_row(line) for line in lines)
    return f"{_markdown_row(titles)}\n{''.join(marks)}|\n{body}"


def _markdown_row(cells: list[object]) -> str:
    """One row of a Markdown table; a bar inside a cell must not end it."""
    texts = [str(cell).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(texts)} |"


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
        "ITEM` makes a record anew, at the scale given by `--quick`, `--scale ledger` or `--full`.",
        f"Of {counts.total()} claims: {said}." if counts else "There is no record yet.",
        "A number *agrees* if it is within 10 % of the paper's or within two standard errors; "
        "otherwise the table says whether ours is *higher* or *lower*. A claim is judged by the "
        "rule of its item, with the numbers beside it. ± is the standard deviation over runs.",
    ]
    if known:
        parts += ["## Summary", _summary(known)]
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
    lines = ["| item | | claims held | verdict | scale |", "|:--|:--|--:|:--|:--|"]
    for evidence in known:
        held = sum(claim.holds is True for claim in evidence.claims)
        lines.append(
            f"| [{evidence.item}](#{_anchor(evidence)}) | {evidence.title} | "
            f"{held} of {len(evidence.claims)} | {evidence.verdict} | {evidence.extent} |"
        )
    return "\n".join(lines)


def _judged(known: Sequence[Evidence], holds: bool | None) -> str:
    return "\n".join(
        f"- {evidence.item}: {claim.text} — {claim.evidence}"
        for evidence in known
        for claim in evidence.claims
        if claim.holds is holds
    )


def _anchor(evidence: Evidence) -> str:
    """Address that a heading gets on the usual sites."""
    heading = f"{evidence.item}: {evidence.title}".lower()
    kept = "".join(c for c in heading if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
