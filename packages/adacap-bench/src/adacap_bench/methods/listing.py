"""The list of methods as a Markdown table.

``python -m adacap_bench.methods.listing docs/METHODS.md`` puts the table of today into a document.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from adacap.comparison.registry import Method
from adacap_bench.jobs import KINDS
from adacap_bench.markdown import markdown_lines, place

__all__ = ["MARKS", "methods_table"]

MARKS = "<!-- methods: start -->", "<!-- methods: end -->"

_HEAD = ("method", "category", "kinds", "package", "extra", "note")


def methods_table(methods: Iterable[Method]) -> str:
    """Markdown table, one line per method, the same on every machine.

    Examples
    --------
    >>> from adacap_bench.methods import find_method
    >>> print(methods_table([find_method("ols")]))
    | method | category | kinds | package | extra | note |
    |---|---|---|---|---|---|
    | `ols` | Linear | regression | sklearn |  |  |
    """
    return "\n".join(markdown_lines(_HEAD, map(_cells, methods)))


def _cells(method: Method) -> tuple[str, ...]:
    kinds = (
        "all" if method.kinds == set(KINDS) else ", ".join(k for k in KINDS if k in method.kinds)
    )
    limit = f"up to {method.max_rows} rows" if method.max_rows else ""
    lowest = f"needs {method.lowest}" if method.lowest else ""
    note = "; ".join(part for part in (method.note, limit, lowest) if part)
    packages = ", ".join(method.packages)
    return f"`{method.name}`", method.category, kinds, packages, method.extra or "", note


if __name__ == "__main__":
    from adacap_bench.methods import METHODS

    place(Path(sys.argv[1]), MARKS, methods_table(METHODS.values()))
