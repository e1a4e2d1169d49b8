"""Who may import whom in the benchmark: datasets < benchmark < reproduce < cli; never torch."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import adacap_bench

PACKAGE = Path(adacap_bench.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
RANK = {"datasets": 1, "benchmark": 2, "reproduce": 3, "cli": 4}


def layer_of(parts: tuple[str, ...]) -> str:
    """Layer of a module by its path below the package; all but three folders are the benchmark."""
    return parts[0] if parts and parts[0] in RANK else "benchmark"


def imported(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """Dotted paths a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the package"
            yield from ((*str(node.module).split("."), alias.name) for alias in node.names)


def violations(source: str, path: Path) -> list[str]:
    """What the module at `path`, relative to the package, imports against the order."""
    layer, found = layer_of(path.with_suffix("").parts), []
    for target in imported(ast.parse(source)):
        is_own = target[0] == "adacap_bench" and target[1:] != ("__version__",)
        if target[0] == "torch" or (is_own and RANK[layer_of(target[1:])] > RANK[layer]):
            found.append(f"{path}: {layer} must not import {'.'.join(target)}")
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_order(module):
    assert violations(module.read_text(encoding="utf-8"), module.relative_to(PACKAGE)) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("datasets/own.py", "from adacap_bench.methods import METHODS"),
        ("runner.py", "from adacap_bench.reproduce import items"),
        ("reproduce/running.py", "def late():\n    import adacap_bench.cli.bench"),
        ("worker.py", "import torch"),
    ],
)
def test_a_reversed_import_is_seen(path, source):
    assert len(violations(source, Path(path))) == 1
