"""The README's code runs as printed, from top to bottom."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```python(?P<mark>[^\n]*)\n(?P<code>.*?)^```\s*$", re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_commands_are_shown(command: str) -> None:
    assert command in README.read_text(encoding="utf-8")


def test_blocks_are_found_with_their_mark_and_line() -> None:
    text = "# t\n\n```python\na = 1\n```\n```bash\nls\n```\n```python no-run\nb = 2\n```\n"
    assert code_blocks(text) == [("", "\n\n\na = 1\n"), ("no-run", "\n" * 9 + "b = 2\n")]
