"""The code of the guide runs as printed."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "why.md"


def test_the_guide_runs_and_prints(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {"__name__": "guide"})
    printed = capsys.readouterr().out
    for words in ("increase of the RMSE", "Friedman's H", "prediction", "leans on", "100% of the"):
        assert words in printed
