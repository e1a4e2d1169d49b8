"""The list of methods as a Markdown table.

``python -m adacap_bench.methods.listing docs/METHODS.md`` puts the table of today into a document.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from adacap.comparison.registry import Method
from adacap.files.atomic import write_text
from adacap_bench.jobs import KINDS

__all__ = ["methods_table", "with_table"]

_START, _END = "<!-- methods: start -->", "<!-- methods: end -->"

_HEAD = ("method", "category", "kinds", "package", "extra", "note")


def methods_table(methods: Iterable[Method]) -> str:
    """Markdown table, one line per method, the same on every machine.

    Parameters
    ----------
    methods : iterable of Method

    Examples
    --------
    >>> from adacap_bench.methods import find_method
    >>> print(methods_table([find_method("ols")]))
    | method | category | kinds | package | extra | note |
    |---|---|---|---|---|---|
    | `ols` | Linear | regression | sklearn |  |  |
    """
    lines = [_line(_HEAD), "|" + "---|" * len(_HEAD)]
    return "\n".join([*lines, *(_line(_cells(method)) for method in methods)])


def with_table(text: str, table: str) -> str:
    r"""A document with its table of methods replaced.

    Parameters
    ----------
    text : str
        Holds one line ``<!-- methods: start -->`` and, further down, ``<!-- methods: end -->``.
    table : str

    Examples
    --------
    >>> old = "<!-- methods: start -->\n| old |\n<!-- methods: end -->"
    >>> print(with_table(old, "| new |"))
    <!-- methods: start -->
    | new |
    <!-- methods: end -->
    """
    head, start, rest = text.partition(_START)
    _, end, tail = rest.partition(_END)
    if not (start and end):
        raise ValueError(f"The document needs the lines {_START} and {_END}, got neither or one.")
    return f"{head}{start}\n{table}\n{end}{tail}"


def _cells(method: Method) -> tuple[str, ...]:
    kinds = (
        "all" if method.kinds == set(KINDS) else ", ".join(k for k in KINDS if k in method.kinds)
    )
    limit = f"up to {method.max_rows} rows" if method.max_rows else ""
    note = "; ".join(part for part in (method.note, limit) if part)
    packages = ", ".join(method.packages)
    return f"`{method.name}`", method.category, kinds, packages, method.extra or "", note


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    from adacap_bench.methods import METHODS

    _path = Path(sys.argv[1])
    _text = with_table(_path.read_text(encoding="utf-8"), methods_table(METHODS.values()))
    write_text(_path, _text, force=True)
