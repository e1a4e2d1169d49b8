"""The README's code and commands run as printed, from top to bottom."""

import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import adacap

SOURCE = str(Path(adacap.__file__).parents[1])  # also where the tests run uninstalled
README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```python(?P<mark>[^\n]*)\n(?P<code>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code_blocks(text: str) -> list[tuple[str, str]]:
    """(mark, code) of each Python block; blank lines in front keep the line numbers of the file."""
    return [
        (match["mark"].strip(), "\n" * text.count("\n", 0, match.start("code")) + match["code"])
        for match in FENCE.finditer(text)
    ]


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = code_blocks(README.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    n_run = 0
    for mark, code in blocks:
        assert mark in {"", "no-run"}, (
            f"unknown mark {mark!r} on a python block, use no-run or none"
        )
        program = compile(code, str(README), "exec")
        if not mark:
            exec(program, namespace)
            n_run += 1
    assert n_run > 0, "README.md has no python block that runs"


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next one of its level."""
    _, _, rest = text.partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0]


def command_lines(text: str) -> list[list[str]]:
    """Arguments of each line of the shell blocks, the program first."""
    lines = [line for block in SHELL.findall(text) for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines]


def test_ten_lines_are_about_ten() -> None:
    ((_, code), *_) = code_blocks(section(README.read_text(encoding="utf-8"), "Ten lines"))
    lines = [line for line in code.splitlines() if line and "import" not in line]
    assert 5 <= len(lines) <= 10


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pyarrow", "onnxruntime"):
        pytest.importorskip(package, reason="needs the extras files and onnx")
    monkeypatch.chdir(tmp_path)
    text = section(README.read_text(encoding="utf-8"), "On the command line")
    for _, code in code_blocks(text):
        exec(compile(code, str(README), "exec"), {"__name__": "readme"})
    lines = command_lines(text)
    assert [line[:2] for line in lines] == [
        ["adacap", name] for name in ("fit", "predict", "explain", "evaluate", "inspect", "export")
    ]
    printed = {}
    for _, name, *arguments in lines:
        result = subprocess.run(
            [sys.executable, "-m", "adacap", name, *arguments],
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": SOURCE},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert result.returncode == 0, f"adacap {name}\n{result.stdout}\n{result.stderr}"
        printed[name] = result.stdout
    made = {"patients.csv", "new.csv", "patients.adacap", "report.html", "out.csv", "patients.onnx"}
    assert set(os.listdir()) == {*made, "why.csv"}
    with open("out.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 42
    assert all(float(row["lower"]) < float(row["prediction"]) < float(row["upper"]) for row in rows)
    assert "adacap against" in printed["evaluate"]
    assert "effective degrees of freedom" in printed["inspect"]


@pytest.mark.parametrize("command", ["make demo", "make test", "make docs"])
def test_commands_are_shown(command: str) -> None:
    assert command in README.read_text(encoding="utf-8")


def test_blocks_are_found_with_their_mark_and_line() -> None:
    text = "# t\n\n```python\na = 1\n```\n```bash\nls\n```\n```python no-run\nb = 2\n```\n"
    assert code_blocks(text) == [("", "\n\n\na = 1\n"), ("no-run", "\n" * 9 + "b = 2\n")]


def test_a_section_and_its_commands_are_found() -> None:
    text = (
        "# t\n\n## A\n```sh\nx\n```\n\n## B\n```sh\ny 'a b'  # why\nz\n```\n\n## C\n```sh\nw\n```\n"
    )
    assert command_lines(section(text, "B")) == [["y", "a b"], ["z"]]
