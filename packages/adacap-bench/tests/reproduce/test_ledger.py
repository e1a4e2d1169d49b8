"""Records and the page: what is written comes back, and the page says what the records say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adacap_bench.reproduce import items, read_folder, write_ledger
from adacap_bench.reproduce.figure import FigureData, Panel, Series
from adacap_bench.reproduce.item import Claim, Row
from adacap_bench.reproduce.item_record import ItemRecord, ItemRecordError, read_item_record
from adacap_bench.reproduce.ledger import with_paragraph
from adacap_bench.reproduce.rejudging import rejudged
from adacap_bench.reproduce.text import HEADLINES, ledger_text, readme_text, record_text
from adacap_bench.reproduce.verdicts import ClaimEffect

DOCS = Path(__file__).parents[4] / "docs"


EFFECTS = {
    True: ClaimEffect(1.0, 0.1, 20),
    False: ClaimEffect(-1.0, 0.1, 20),
    None: ClaimEffect(1.0, 0.1, 5),
}


def record(item="c8", holds=(True, False), **fields) -> ItemRecord:
    panel = Panel("panel", series=(Series("ours", (1, 2), (0.5, 0.25)),))
    known = {
        "title": "Dropout", "place": "Table 5", "measure": "RMSE", "scale": "quick",
        "extent": "2 splits", "command": f"adacap reproduce {item} --quick",
        "created": "2026-01-02T03:04:05", "versions": {"adacap": "0.1"}, "n_jobs": 4,
        "n_failed": 0, "core_seconds": 12.3,
        "rows": (Row("none", 0.123456789, 0.1, 0.01, 2, extra={"λ": 3.0}), Row("some", 0.2)),
        "claims": tuple(
            Claim(f"claim {k}", (EFFECTS[h],), f"evidence {k}") for k, h in enumerate(holds)
        ),
        "figure": FigureData("A figure.", (panel,)), "notes": ("a note",),
    }  # fmt: skip
    return ItemRecord(item=item, **{**known, **fields})


def test_a_record_comes_back(tmp_path):
    path = tmp_path / "c8.json"
    record().write(path)
    back = read_item_record(path)
    assert back.rows[0].ours == 0.123457  # six digits
    assert back.figure == record().figure
    assert back.claims == record().claims
    assert (back.command, back.created) == (record().command, record().created)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("no json", "is not the record of a reproduction"),
        ("[1]", "is not the record of a reproduction"),
        ('{"format": 2, "rows": []}', "is not the record of a reproduction"),
        ('{"format": 99}', "has format 99, but this adacap reads 4"),
    ],
)
def test_a_stranger_is_refused(tmp_path, text, match):
    path = tmp_path / "c8.json"
    path.write_text(text)
    with pytest.raises(ItemRecordError, match=match):
        read_item_record(path)


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ((True, True), "reproduced"),
        ((True, False), "partly reproduced"),
        ((False, False), "not reproduced"),
        ((None, False), "partly not reproduced"),
        ((None, True), "partly reproduced"),
        ((None,), "undecided"),
        ((), "measured"),
    ],
)
def test_verdict_of_all_claims(holds, verdict):
    assert record(holds=holds).verdict == verdict


def test_a_table_has_paper_ours_difference_and_verdict():
    lines = record_text(record(), picture="c8.png").splitlines()
    assert "| none | 0.1000 | 0.1235 | 0.0100 | 2 | +0.0235 | higher | 3 |" in lines
    assert "| some | – | 0.2000 | – | 1 | – | – | – |" in lines
    assert "![A figure.](c8.png)" in lines


def test_the_ledger_names_what_failed_and_what_is_absent():
    text = ledger_text({"c8": record()}, ["c8", "c9"])
    assert "Of 2 claims: 1 reproduced, 1 not reproduced." in text
    assert "## What did not reproduce\n\n- c8: claim 1 — evidence 1 (effect -1 ± 0.1, 20" in text
    assert "Not run yet, or not kept: c9." in text


def test_the_page_is_written_from_a_folder(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    record().write(folder / "c8.json")
    page = write_ledger(folder, tmp_path / "REPRODUCTION.md")
    text = page.read_text(encoding="utf-8")
    assert "## c8: Dropout" in text
    assert "(records/c8.png)" in text


def test_the_page_in_the_repository_is_that_of_its_records():
    """After a change: adacap reproduce ledger -o docs/reproduction --page docs/REPRODUCTION.md."""
    records = DOCS / "reproduction"
    expected = ledger_text(read_folder(records), [*items()], folder="reproduction")
    assert (DOCS / "REPRODUCTION.md").read_text(encoding="utf-8") == expected


def test_the_paragraph_of_the_readme_is_that_of_the_records():
    """After a change: make ledger."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    paragraph = readme_text(read_folder(DOCS / "reproduction"), [*items()])
    assert with_paragraph(text, paragraph) == text


def test_the_paragraph_counts_every_claim_and_tells_the_headlines_by_standing():
    (item, said, words), *_ = HEADLINES
    within = ClaimEffect(0.01, 0.1, 20)
    claims = (Claim(said, (within,), ""), *record(holds=(True, False, None)).claims)
    text = readme_text({item: record(item, claims=claims)}, [item, "c3"])
    assert "Of 4 claims" in text
    assert "1 hold by more than chance" in text
    assert "1 fail, 1 lie within their errors, and 1 wait for 10 experiments" in text
    assert f"Within their errors, neither shown nor refuted: {words};" not in text
    assert f"Within their errors, neither shown nor refuted: {words}. Not decided yet: " in text


def test_the_paragraph_is_ten_lines_at_most_whatever_the_verdicts():
    marks = "<!-- ledger: begin --><!-- ledger: end -->"
    for records in ({}, read_folder(DOCS / "reproduction")):
        text = readme_text(records, [*items()])
        assert all(words in text for _, _, words in HEADLINES)
        assert len(with_paragraph(marks, text).splitlines()) <= 12


def test_every_headline_is_a_claim_of_its_item():
    records = read_folder(DOCS / "reproduction")
    for item, said, _ in HEADLINES:
        assert item in items()
        if item in records:
            assert said in {claim.text for claim in records[item].claims}


def test_a_claim_within_its_error_is_not_one_that_waits():
    claims = [
        Claim("near", (ClaimEffect(0.01, 0.1, 20),), ""),
        Claim("few", (ClaimEffect(0.01, 0.1, 5),), ""),
    ]
    text = ledger_text({"c8": record(claims=tuple(claims))}, ["c8"])
    assert "## What lies within its error\n\n- c8: near" in text
    assert "## What waits for more experiments\n\n- c8: few" in text
    assert "| 0 | 0 | 1 | 1 | undecided |" in text


def test_the_summary_counts_the_claims_of_an_item_by_standing():
    within = Claim("near", (ClaimEffect(0.01, 0.1, 20),), "")
    claims = (within, within, *record(holds=(True, False, True, None, True)).claims)
    text = ledger_text({"c8": record(claims=claims)}, ["c8"])
    assert "| item |  | held | failed | within errors | waiting | verdict | scale |" in text
    assert "| 3 | 1 | 2 | 1 | partly reproduced |" in text


def test_a_readme_without_marks_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs the marks <!-- ledger: begin"):
        with_paragraph("# A page", "new")


def test_a_verdict_follows_from_the_effects_of_the_record(tmp_path):
    """What a file says of it is not believed."""
    path = tmp_path / "c8.json"
    record(holds=(None,)).write(path)
    path.write_text(path.read_text(encoding="utf-8").replace('"holds": null', '"holds": true'))
    assert read_item_record(path).claims[0].verdict == "undecided"


def test_the_page_tells_what_the_rule_changed():
    before = {"verdict": "reproduced", "held": "1 of 1", "runs": 2}
    text = ledger_text({"c8": record(holds=(None,), before=before)}, ["c8"])
    assert (
        "| c8 | 2 | 4 | reproduced, 1 of 1 | undecided, 0 of 1 | run again; 5 experiments are too "
        "few to decide |"
    ) in text


# Records that do not keep what their verdicts need to be computed once more, and why. A new run
# takes them off here.
_NO_VALUES = "its rows keep no value per experiment"
_NO_EFFECTS = "its claims keep no effects"
_OTHER_ROWS = "it was made of other rows than its item has today"
KEPT_AS_THEY_WERE = {
    "c3": _NO_VALUES, "c5": _NO_EFFECTS, "c6": _NO_EFFECTS,
    "c7": _NO_VALUES, "c12": _NO_EFFECTS, "d6-ablation": _NO_VALUES,
    "d6-ablation-bagged": _NO_EFFECTS, "d6-depth": _NO_VALUES, "d6-lambda": _NO_VALUES,
    "d6-structured": _NO_VALUES,
}  # fmt: skip


def why_not_recomputed(record) -> str | None:
    if rejudged(items()[record.item], record) is not None:
        return None
    if not any(claim.effects for claim in record.claims):
        return _NO_EFFECTS
    nameless = any(row.n > 1 and not row.values for row in record.rows)
    return _NO_VALUES if nameless else _OTHER_ROWS


def test_the_records_that_cannot_be_computed_again_are_those_declared():
    records = read_folder(DOCS / "reproduction")
    found = {key: why_not_recomputed(record) for key, record in records.items()}
    assert {key: why for key, why in found.items() if why} == KEPT_AS_THEY_WERE


@pytest.mark.parametrize(
    "key",
    sorted({path.stem for path in DOCS.glob("reproduction/*.json")} - set(KEPT_AS_THEY_WERE)),
)
def test_no_verdict_differs_when_it_is_computed_from_the_record(key):
    record = read_item_record(DOCS / "reproduction" / f"{key}.json")
    again = rejudged(items()[key], record)
    assert [claim.text for claim in again.claims] == [claim.text for claim in record.claims]
    compared = 0
    for new, old in zip(again.claims, record.claims, strict=True):
        assert (new.verdict, len(new.effects)) == (old.verdict, len(old.effects)), new.text
        for mine, kept in zip(new.effects, old.effects, strict=True):
            assert (mine.n, mine.trials, mine.uneven) == (kept.n, kept.trials, kept.uneven)
            for name in ("value", "error", "df", "elsewhere"):
                there, here = getattr(kept, name), getattr(mine, name)
                assert (here is None) == (there is None)
                assert (here or 0.0) == pytest.approx(there or 0.0, rel=1e-3, abs=1e-5)
            compared += 1
    assert compared


def test_the_ledger_judges_a_record_by_the_rule_of_today(tmp_path):
    """A record of before the correction: its file has the old error, its page the new one."""
    there = read_item_record(DOCS / "reproduction" / "c8.json")
    claims = [
        replace(claim, effects=[replace(e, error=1e-6, df=None) for e in claim.effects])
        for claim in there.claims
    ]
    replace(there, claims=claims).write(tmp_path / "c8.json")
    assert {claim.holds for claim in read_item_record(tmp_path / "c8.json").claims} <= {True, False}
    write_ledger(tmp_path, tmp_path / "page.md")
    back = read_item_record(tmp_path / "c8.json")
    assert [claim.verdict for claim in back.claims] == [claim.verdict for claim in there.claims]


def test_an_unfinished_record_shows_its_figures_and_its_claims_wait():
    found = record(holds=(True, False), n_left=3)
    assert (found.verdict, found.held) == ("unfinished", "0 of 2")
    assert {claim.verdict for claim in found.claims} == {"waits for the rest of its runs"}
    text = ledger_text({"c8": found}, ["c8"])
    assert "Of 2 claims: 2 waiting for more experiments." in text
    assert "claim 0 — **waits for the rest of its runs** (effect +1 ± 0.1" in text
    assert "0 hold by more than chance" in readme_text({"c8": found}, ["c8"])


def test_the_text_says_where_means_are_of_more_than_the_pairs():
    claims = (Claim("a", (ClaimEffect(1.0, 0.1, 12, uneven=True),), ""),)
    assert "12 experiments, which all have; other numbers are means of more" in record_text(
        record(claims=claims)
    )


def test_what_the_correction_for_shared_rows_leaves_open_is_listed():
    open_ = ClaimEffect(1.0, 0.3, 20, elsewhere=0.6)
    text = ledger_text({"c8": record(claims=(Claim("a", (open_,), "b"),))}, ["c8"])
    assert "## What holds on these tables and may not on others" in text
    assert "- c8: a — reproduced (effect +1 ± 0.3, 20 experiments); elsewhere undecided" in text
    assert "may not on others" not in ledger_text({"c8": record()}, ["c8"])


def test_an_older_record_is_read_by_what_it_keeps(tmp_path):
    """Format 3 called draws splits, and effects had values without names."""
    path = tmp_path / "c4.json"
    row = Row("MLR", 0.5, n=2, values={"draw 0": 0.4, "draw 1": 0.6})
    effect = ClaimEffect(0.5, 0.1, 2, values={"paper-1, split 0": 0.4, "paper-2, split 0": 0.6})
    record("c4", rows=(row,), claims=(Claim("a", (effect,), ""),)).write(path)
    assert read_item_record(path).rows[0].values == row.values
    assert read_item_record(path).claims[0].effects[0].values == effect.values
    data = json.loads(path.read_text(encoding="utf-8"))
    data["format"] = 3
    data["rows"][0]["values"] = {"split ": [0.4, 0.6]}
    data["claims"][0]["effects"][0]["values"] = [0.4, 0.6]
    path.write_text(json.dumps(data), encoding="utf-8")
    old = read_item_record(path)
    assert old.rows[0].values == row.values
    assert old.claims[0].effects[0].values == {"0": 0.4, "1": 0.6}
    assert old.notes[-1].startswith("Effects were kept without the names of their experiments")


def test_a_record_keeps_thousands_of_values_in_pairs(tmp_path):
    values = {f"split {k}": 0.1 + 1e-4 * k for k in range(2000)} | {"split 7": float("nan")}
    row = Row("many", 0.2, None, 0.1, 2000, values=values)
    record(rows=(row,)).write(tmp_path / "c8.json")
    back = read_item_record(tmp_path / "c8.json").rows[0].values
    assert set(values) - set(back) == {"split 7"}
    assert back["split 1999"] == pytest.approx(0.2999)
    assert (tmp_path / "c8.json").stat().st_size < 20_000


def test_every_record_in_the_repository_says_where_it_comes_from():
    records = read_folder(DOCS / "reproduction")
    assert records
    for key, found in records.items():
        assert key in items()
        assert found.command.startswith(f"adacap reproduce {key} ")
        assert found.versions["adacap"]
        assert len(found.created) >= 10
        assert "/" not in found.command
