"""The guide's code runs as printed, from top to bottom, and prints what the guide shows."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the guide draws with matplotlib")

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "capacity.md"


def names(text: str) -> list[str]:
    """What stands left of the values in a printed capacity."""
    return re.findall(r"^  ([^ →]+(?: [^ ]+)*?)  ", text, re.M)


def test_code_of_the_guide_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 5
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), namespace)
    printed = capsys.readouterr().out
    shown = re.search(r"^```text\n(.*?)^```", text, re.M | re.S).group(1)
    assert names(shown) == names(printed)[: len(names(shown))]
    assert len(names(shown)) == 9
    assert "no signal was shown" in printed
    assert (tmp_path / "report.html").stat().st_size > 60_000
    assert (tmp_path / "truth_against_noise.png").exists()
