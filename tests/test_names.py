"""One name per concept: no two classes share one, in the library and the benchmark together."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import adacap

adacap_bench = pytest.importorskip("adacap_bench")
PACKAGES = [Path(package.__file__).parent for package in (adacap, adacap_bench)]


def classes() -> dict[str, set[str]]:
    """Files that define a class, by its name."""
    found = defaultdict(set)
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    found[node.name].add(path.relative_to(package.parent).as_posix())
    return found


def test_a_class_name_stands_for_one_thing() -> None:
    assert not {name: files for name, files in classes().items() if len(files) > 1}
