"""The guide's code runs as printed, and prints what the guide says."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "untidy.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_prints_what_it_says(capsys):
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert [kind for kind, _ in blocks] == ["python", "text"]
    exec(compile(blocks[0][1], str(GUIDE), "exec"), {"__name__": "guide"})
    assert blocks[1][1] in capsys.readouterr().out
