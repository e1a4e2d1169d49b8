"""One name per concept: no two classes of the library share one, but for a short list."""

import ast
from collections import defaultdict
from pathlib import Path

import adacap

PACKAGE = Path(adacap.__file__).parent
# What two classes may both be called, and why.
ACCEPTED = {
    "Column": {"page/table.py", "tables/columns.py"},  # of a table on a page, and of data
    "Table": {"page/table.py", "tables/table.py"},
}


def classes() -> dict[str, set[str]]:
    """Files that define a class, by its name."""
    found = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].add(path.relative_to(PACKAGE).as_posix())
    return found


def test_a_class_name_stands_for_one_thing() -> None:
    twice = {name: files for name, files in classes().items() if len(files) > 1}
    assert twice == ACCEPTED
