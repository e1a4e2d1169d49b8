"""Records and the page: what is written comes back, and the page says what the records say."""

from pathlib import Path

import pytest

from adacap_bench.reproduce import items, read_folder, write_ledger
from adacap_bench.reproduce.evidence import Evidence, EvidenceError, read_evidence
from adacap_bench.reproduce.figure import Figure, Panel, Series
from adacap_bench.reproduce.item import Claim, Row
from adacap_bench.reproduce.ledger import with_paragraph
from adacap_bench.reproduce.rejudging import rejudged
from adacap_bench.reproduce.text import HEADLINES, ledger_text, readme_text, record_text
from adacap_bench.reproduce.verdicts import Effect

DOCS = Path(__file__).parents[4] / "docs"


EFFECTS = {True: Effect(1.0, 0.1, 20), False: Effect(-1.0, 0.1, 20), None: Effect(1.0, 0.1, 5)}


def evidence(item="c8", holds=(True, False), **fields) -> Evidence:
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
        "figure": Figure("A figure.", (panel,)), "notes": ("a note",),
    }  # fmt: skip
    return Evidence(item=item, **{**known, **fields})


def test_a_record_comes_back(tmp_path):
    path = tmp_path / "c8.json"
    evidence().write(path)
    back = read_evidence(path)
    assert back.rows[0].ours == 0.123457  # six digits
    assert back.figure == evidence().figure
    assert back.claims == evidence().claims
    assert (back.command, back.created) == (evidence().command, evidence().created)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("no json", "is not the record of a reproduction"),
        ("[1]", "is not the record of a reproduction"),
        ('{"format": 2, "rows": []}', "is not the record of a reproduction"),
        ('{"format": 99}', "has format 99, but this adacap reads 3"),
    ],
)
def test_a_stranger_is_refused(tmp_path, text, match):
    path = tmp_path / "c8.json"
    path.write_text(text)
    with pytest.raises(EvidenceError, match=match):
        read_evidence(path)


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [
        ((True, True), "reproduced"),
        ((True, False), "partly reproduced"),
        ((False, False), "not reproduced"),
        ((None, False), "not reproduced"),
        ((None,), "undecided"),
        ((), "measured"),
    ],
)
def test_verdict_of_all_claims(holds, verdict):
    assert evidence(holds=holds).verdict == verdict


def test_a_table_has_paper_ours_difference_and_verdict():
    lines = record_text(evidence(), picture="c8.png").splitlines()
    assert "| none | 0.1000 | 0.1235 | 0.0100 | 2 | +0.0235 | higher | 3 |" in lines
    assert "| some | – | 0.2000 | – | 1 | – | – | – |" in lines
    assert "![A figure.](c8.png)" in lines


def test_the_ledger_names_what_failed_and_what_is_absent():
    text = ledger_text({"c8": evidence()}, ["c8", "c9"])
    assert "Of 2 claims: 1 reproduced, 1 not reproduced." in text
    assert "## What did not reproduce\n\n- c8: claim 1 — evidence 1 (effect -1 ± 0.1, 20" in text
    assert "Not run yet, or not kept: c9." in text


def test_the_page_is_written_from_a_folder(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    evidence().write(folder / "c8.json")
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
    within = Effect(0.01, 0.1, 20)
    claims = (Claim(said, (within,), ""), *evidence(holds=(True, False, None)).claims)
    text = readme_text({item: evidence(item, claims=claims)}, [item, "c3"])
    assert "Of 4 claims" in text
    assert "1 hold by two standard errors, 1 fail, 1 lie within their errors, and 1 wait" in text
    assert f"Within their errors, neither shown nor refuted: {words};" not in text
    assert f"Within their errors, neither shown nor refuted: {words}. Not decided yet: " in text


def test_the_paragraph_is_ten_lines_at_most_whatever_the_verdicts():
    text = readme_text({}, [*items()])
    assert all(words in text for _, _, words in HEADLINES)
    assert (
        len(with_paragraph("<!-- ledger: begin --><!-- ledger: end -->", text).splitlines()) <= 12
    )


def test_every_headline_is_a_claim_of_its_item():
    records = read_folder(DOCS / "reproduction")
    for item, said, _ in HEADLINES:
        assert item in items()
        if item in records:
            assert said in {claim.text for claim in records[item].claims}


def test_a_claim_within_its_error_is_not_one_that_waits():
    claims = [
        Claim("near", (Effect(0.01, 0.1, 20),), ""),
        Claim("few", (Effect(0.01, 0.1, 5),), ""),
    ]
    text = ledger_text({"c8": evidence(claims=tuple(claims))}, ["c8"])
    assert "## What lies within its error\n\n- c8: near" in text
    assert "## What waits for more experiments\n\n- c8: few" in text


def test_a_readme_without_marks_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs the marks <!-- ledger: begin"):
        with_paragraph("# A page", "new")


def test_a_verdict_follows_from_the_effects_of_the_record(tmp_path):
    """What a file says of it is not believed."""
    path = tmp_path / "c8.json"
    evidence(holds=(None,)).write(path)
    path.write_text(path.read_text(encoding="utf-8").replace('"holds": null', '"holds": true'))
    assert read_evidence(path).claims[0].verdict == "undecided"


def test_the_page_tells_what_the_rule_changed():
    before = {"verdict": "reproduced", "held": "1 of 1", "runs": 2}
    text = ledger_text({"c8": evidence(holds=(None,), before=before)}, ["c8"])
    assert (
        "| c8 | 2 | 4 | reproduced, 1 of 1 | undecided, 0 of 1 | run anew; 5 experiments are too "
        "few to decide |"
    ) in text


# Records that lack values or claims which their items have by now; a new run takes them off here.
OUTDATED = {"c3", "c5", "c6", "d6-ablation-bagged", "d6-structured"}


@pytest.mark.parametrize("key", sorted(path.stem for path in DOCS.glob("reproduction/*.json")))
def test_no_verdict_differs_when_it_is_computed_from_the_record(key):
    record = read_evidence(DOCS / "reproduction" / f"{key}.json")
    again = rejudged(items()[key], record)
    if again is None or len(again) != len(record.claims):
        assert key in OUTDATED
        return
    assert [claim.text for claim in again] == [claim.text for claim in record.claims]
    for new, old in zip(again, record.claims, strict=True):
        assert (new.verdict, len(new.effects)) == (old.verdict, len(old.effects)), new.text
        for mine, kept in zip(new.effects, old.effects, strict=True):
            assert mine.n == kept.n
            assert mine.value == pytest.approx(kept.value, rel=1e-3, abs=1e-5)
            assert (mine.error is None) == (kept.error is None)
            assert (mine.error or 0.0) == pytest.approx(kept.error or 0.0, rel=1e-3, abs=1e-5)


def test_a_record_keeps_thousands_of_values_in_pairs(tmp_path):
    values = {f"split {k}": 0.1 + 1e-4 * k for k in range(2000)} | {"split 7": float("nan")}
    row = Row("many", 0.2, None, 0.1, 2000, values=values)
    evidence(rows=(row,)).write(tmp_path / "c8.json")
    back = read_evidence(tmp_path / "c8.json").rows[0].values
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
