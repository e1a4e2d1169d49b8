"""The guide's code and commands run as printed, from top to bottom, in an empty folder."""

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adacap.cli import app

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "first_model.md"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_line(line):
    program, *arguments = shlex.split(line)
    assert program == "adacap"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"


def test_the_guide_runs(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert [kind for kind, _ in blocks] == ["python", "sh", "sh", "python"]
    namespace: dict[str, object] = {"__name__": "guide"}
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, str(GUIDE), "exec"), namespace)
            continue
        for line in code.splitlines():
            run_line(line)
    assert set(os.listdir()) == {
        "houses.csv", "new.csv", "houses.adacap", "report.html", "out.csv", "houses.onnx",
        "mine.adacap",
    }  # fmt: skip
    header, *rows = Path("out.csv").read_text(encoding="utf-8").splitlines()
    assert header == "id,prediction,lower,upper"
    assert [row.partition(",")[0] for row in rows] == [f"h{i}" for i in range(200, 220)]
