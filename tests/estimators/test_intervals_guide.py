"""The guide's code runs as printed, and its table is the one that the records give."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "intervals.md"


@pytest.fixture(scope="module")
def study():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        return runpy.run_path(str(ROOT / "benchmarks" / "coverage.py"), run_name="coverage")


def test_code_of_the_guide_runs(run_guide, capsys):
    blocks, names = run_guide("intervals.md")
    printed = capsys.readouterr().out
    assert len(blocks) == 6
    assert 0.8 < names["held"] <= 1
    assert "method='cv+' needs a model per fold" in printed
    assert "expected calibration error" in printed


def test_the_table_is_that_of_the_records(study):
    records = study["shared"].read_records(study["RESULTS"])
    inside = GUIDE.read_text("utf-8").split(study["BEGIN"])[1].split(study["END"])[0]
    assert inside.split("\n")[1:-1] == study["lines_of"](study["summary"](records))


def test_the_records_show_what_is_claimed(study):
    records = study["shared"].read_records(study["RESULTS"])
    table = study["summary"](records)
    assert len(table) >= 6
    for method in study["WANTED"]:
        wanted = study["FEWER_SPLITS"] if method in study["SLOW"] else 200
        assert min(row[method][2] for row in table.values()) >= wanted, method
    assert [line for line in study["verdicts"](records) if line.endswith("NOT")] == []


def test_a_cell_of_the_study(study):
    record = study["run_cell"]("heteroscedastic", 0, "split")
    assert record["set"] == "heteroscedastic"
    assert 0.6 < record["coverage"] <= 1
    assert 0.5 < record["width"] < 6


def test_what_is_done_is_not_run_again(study):
    done = [{"set": "friedman1", "split": 0, "method": "cv+"}]
    left = list(study["missing"](["friedman1"], 1, done))
    assert left == [("friedman1", 0, m) for m in ("split", "loo", "default", "forest")]


def test_verdicts_on_made_up_records(study):
    def records(coverage, width):
        return [
            {"set": name, "split": 0, "method": method, "coverage": coverage,
             "width": 2.0 if method == "forest" else width}
            for name in study["SETS"] for method in study["METHODS"]
        ]  # fmt: skip

    verdicts = study["verdicts"]
    assert all(line.endswith("as wanted") for line in verdicts(records(0.9, 1.0)))
    assert all(line.endswith("NOT") for line in verdicts(records(0.7, 3.0)))
