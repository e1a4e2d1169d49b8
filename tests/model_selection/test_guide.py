"""The guide's code runs as printed, from top to bottom."""

from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "selection.md"


def test_code_of_the_guide_runs(run_guide, capsys):
    blocks, names = run_guide("selection.md")
    assert len(blocks) == 3
    assert "valid: True" in capsys.readouterr().out
    assert str(names["score"]) in GUIDE.read_text("utf-8"), "the printed score has changed"
