"""The code of the guide runs as printed."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "export.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_runs(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(blocks) == 4
    namespace: dict[str, object] = {"__name__": "guide"}
    for code in blocks:
        exec(compile(code, str(GUIDE), "exec"), namespace)
    assert (tmp_path / "m.onnx").exists()
