"""An item run in parts gives the record of a run of the whole."""

import json

import pytest
from typer.testing import CliRunner

from adacap_bench.cli.reproduce import app
from adacap_bench.reproduce import Machine, items, reproduce

BAGGING = items()["c7"]


@pytest.fixture
def machine(tmp_path, made_up, no_targets, monkeypatch):
    """A machine on which every method of the scale gives the same numbers whenever it is run."""
    every = made_up(BAGGING, BAGGING.scales["ledger"])

    def run(item, scale, machine):
        wanted = {method for grid in item.grids(scale) for method in grid.methods}
        records = [record for record in every.records if record.job.method in wanted]
        return type(every)(records)

    monkeypatch.setattr("adacap_bench.reproduce.running._run", run)
    return Machine(tmp_path / "state.sqlite")


OTHERS = ["adacap-snn", "adacap-glu-mlp", "snn", "fast-mlp", "catboost", "fast-catboost", "xrf"]


def test_parts_make_the_whole(machine):
    whole = reproduce(BAGGING, machine, "ledger")
    part = reproduce(BAGGING, machine, "ledger", methods=OTHERS)
    assert "glu-mlp" not in {row.label.split(",")[0] for row in part.rows}
    assert [claim.verdict for claim in part.claims].count("undecided") >= 1
    joined = reproduce(BAGGING, machine, "ledger", methods=["glu-mlp"], earlier=part)
    assert joined.rows == whole.rows
    assert joined.claims == whole.claims
    assert joined.figure == whole.figure
    assert (joined.command, joined.extent) == (whole.command, whole.extent)
    assert (joined.n_jobs, joined.scale) == (whole.n_jobs, whole.scale)
    assert joined.core_seconds == pytest.approx(whole.core_seconds)
    assert joined.notes[:-1] == whole.notes
    assert joined.notes[-1].startswith("Run in parts: glu-mlp by `adacap reproduce c7")


@pytest.mark.parametrize("methods", [[one] for one in (*OTHERS, "glu-mlp")])
def test_one_method_alone_decides_no_claim_about_all(machine, methods):
    record = reproduce(BAGGING, machine, "ledger", methods=methods)
    assert record.extent.endswith(f"{methods[0]} only")
    assert not any(claim.holds for claim in record.claims)


def test_the_command_joins_the_record_of_the_folder(machine, tmp_path):
    words = ["c7", "-o", str(tmp_path), "--json", "--methods"]
    for methods in (",".join(OTHERS), "glu-mlp"):
        result = CliRunner().invoke(app, [*words, methods])
        assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "c7.json").read_text(encoding="utf-8"))
    assert len(record["rows"]) == 24
    again = CliRunner().invoke(app, [*words, "glu-mlp"])
    assert again.exit_code == 2
    assert "has 'glu-mlp' already" in again.stderr


def test_what_does_not_go_together_is_refused_before_a_run(machine, monkeypatch):
    part = reproduce(BAGGING, machine, "ledger", methods=OTHERS)
    monkeypatch.setattr("adacap_bench.reproduce.running._run", lambda *_: pytest.fail("was run"))
    for item, methods, scale, text in (
        (BAGGING, ["glu-mpl"], "ledger", "Did you mean 'glu-mlp'"),
        (BAGGING, ["glu-mlp"], "quick", "is of the scale 'ledger'"),
        (BAGGING, ["xrf"], "ledger", "has 'xrf' already"),
        (items()["c8"], ["xrf"], "ledger", "cannot be run for some"),
    ):
        with pytest.raises(ValueError, match=text):
            reproduce(item, machine, scale, methods=methods, earlier=part)
