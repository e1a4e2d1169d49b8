"""The guide's code and commands run as printed, from top to bottom, in an empty folder."""

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adacap.cli import app

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "first_model.md"
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"[A-Za-z]+( [a-z]+)?")
CELL = re.compile(r"(?<= )-?\d+\.\d+(?: ± \d+\.\d+)?")
CELL_TITLES = re.compile(r"R²|RMSE|MAE|seconds")


def run_line(line):
    program, *arguments = shlex.split(line)
    assert program == "adacap"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    return result.stdout


def assert_printed(table, printed):
    """Score tables: the rows in the guide's order; R² near the guide's, AdaCap's the highest."""
    titles, *rows = table.splitlines()
    found = printed[printed.index(titles) :].splitlines()[1 : 1 + len(rows)]
    names = [NAME.match(row)[0] for row in rows]
    assert [NAME.match(row)[0] for row in found] == names
    shown, now = ([r_squared(titles, row) for row in part] for part in (rows, found))
    assert now == pytest.approx(shown, abs=0.05)  # nets differ a little between machines
    assert max(now) == now[0], "the guide's table is one where AdaCap is ahead"


def r_squared(titles, row):
    """The number under the title R², where a cell may hold "mean ± error"."""
    numbers = [float(cell.split()[0]) for cell in CELL.findall(row.replace("−", "-"))]
    return numbers[CELL_TITLES.findall(titles).index("R²")]


def test_the_guide_runs(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert [kind for kind, _ in blocks] == ["python", "sh", "text", "sh", "text", "python"]
    namespace: dict[str, object] = {"__name__": "guide"}
    printed = ""
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, str(GUIDE), "exec"), namespace)
        elif kind == "sh":
            printed = "".join(run_line(line) for line in code.splitlines())
        else:
            assert_printed(code, printed)
    assert set(os.listdir()) == {
        "houses.csv", "new.csv", "houses.adacap", "report.html", "out.csv", "houses.onnx",
        "mine.adacap",
    }  # fmt: skip
    header, *rows = Path("out.csv").read_text(encoding="utf-8").splitlines()
    assert header == "id,prediction,lower,upper"
    assert [row.partition(",")[0] for row in rows] == [f"h{i}" for i in range(200, 220)]
