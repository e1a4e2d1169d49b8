"""Table of the findings of the trust attack: what happened before, tests, and their result.

python tools/findings.py            # runs the tests that carry @pytest.mark.finding
python tools/findings.py --collect  # lists them without running
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import pytest


class Findings:
    """Plugin of pytest that gathers the marked tests."""

    def __init__(self) -> None:
        self.tests: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.results: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.get_closest_marker("finding")]
        for item in items:
            for mark in item.iter_markers("finding"):
                name = item.nodeid.partition("[")[0]
                self.tests[mark.args[0], mark.kwargs.get("before", "")].add(name)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.failed:
            self.results[report.nodeid.partition("[")[0]].add(report.outcome)

    def table(self) -> str:
        """Markdown."""
        lines = ["| finding | before | test | now |", "|---|---|---|---|"]
        for (finding, before), names in sorted(self.tests.items(), key=_order):
            for name in sorted(names):
                now = ", ".join(sorted(self.results[name])) or "not run"
                lines.append(f"| {finding} | {before.replace('|', '/')} | `{name}` | {now} |")
        return "\n".join(lines)


def _order(entry: tuple[tuple[str, str], Any]) -> tuple[int, str, str]:
    (finding, before), _ = entry
    return ("HML".find(finding[0]) % 4, finding[1:].zfill(3), before)


if __name__ == "__main__":
    plugin = Findings()
    options = ["--collect-only"] if "--collect" in sys.argv else []
    code = pytest.main(["-q", "--no-header", *options], plugins=[plugin])
    print(plugin.table())
    sys.exit(code)
