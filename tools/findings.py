"""Table of the findings of the trust attack: what happened before, tests, and their result.

python tools/findings.py            # runs the tests that carry @pytest.mark.finding
python tools/findings.py --collect  # lists them without running
python tools/findings.py --write    # puts the list into docs/TRUST.md

Exit code 1 if a test fails, or if a finding has none.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adacap_bench.markdown import markdown_lines, place

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "TRUST.md"
MARKS = "<!-- findings: begin -->", "<!-- findings: end -->"
FINDINGS = [f"{kind}{k + 1}" for kind, n in zip("HML", (3, 10, 17), strict=True) for k in range(n)]


class Marked(NamedTuple):
    """A test that closes a finding."""

    finding: str
    before: str
    test: str


def marked() -> list[Marked]:
    """Every mark there is, by finding."""
    folders = [ROOT / "tests", *ROOT.glob("packages/*/tests")]
    paths = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    found = [one for path in paths for one in _marks(path)]
    known = {name: place for place, name in enumerate(FINDINGS)}
    return sorted(found, key=lambda one: (known.get(one.finding, len(known)), one.test))


def _marks(path: Path) -> Iterator[Marked]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for mark in getattr(node, "decorator_list", ()):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.finding":
                name = f"{path.relative_to(ROOT)}::{node.name}"  # type: ignore[attr-defined]
                words = {key.arg: ast.literal_eval(key.value) for key in mark.keywords}
                yield Marked(ast.literal_eval(mark.args[0]), words.get("before", ""), name)


def without_test(found: list[Marked]) -> list[str]:
    """Findings that no test closes."""
    closed = {one.finding for one in found}
    return [name for name in FINDINGS if name not in closed]


def table(found: list[Marked], results: dict[str, set[str]] | None = None) -> str:
    """Markdown, with the results of a run if there was one."""
    titles = ["finding", "before", "test", *(["now"] if results is not None else [])]
    rows = []
    for finding, before, test in found:
        now = [] if results is None else [", ".join(sorted(results[test])) or "not run"]
        rows.append((finding, before.replace("|", "/"), f"`{test}`", *now))
    return "\n".join(markdown_lines(titles, rows))


def write(found: list[Marked]) -> None:
    """Put the list between the two marks of the page."""
    place(PAGE, MARKS, f"\n{table(found)}\n")


class Results:
    """Plugin of pytest: what came of each test."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the outcome of a test; that of its set-up only where it failed."""
        if report.when == "call" or report.failed:
            self.found[report.nodeid.partition("[")[0]].add(report.outcome)


def main(words: list[str]) -> int:
    """Run or list; 1 if anything failed or is missing."""
    found, code, plugin = marked(), 0, Results()
    if "--write" in words:
        write(found)
    elif "--collect" in words:
        print(table(found))
    else:
        import pytest

        code = pytest.main(["-q", "--no-header", "-m", "finding"], plugins=[plugin])
        print(table(found, plugin.found))
    if missing := without_test(found):
        print(f"No test closes {', '.join(missing)}.")
    return int(bool(code) or bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
