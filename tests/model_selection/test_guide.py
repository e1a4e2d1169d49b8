"""The guide's code runs as printed, from top to bottom."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "selection.md"


def test_code_of_the_guide_runs(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)
    assert len(blocks) == 3
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "valid: True" in printed
    assert str(namespace["score"]) in GUIDE.read_text("utf-8"), "the printed score has changed"
