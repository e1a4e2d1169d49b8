"""Who may import whom: exceptions < core < nn < training < estimators < (bench, report) < cli.

`datasets`, `tables`, `files`, `page` and `lite` stand beside the method: they know neither a tensor
nor an estimator.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "adacap"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A layer imports itself and what stands before it; bench and report stand side by side.
RANK = {
    "exceptions": 0,
    "core": 1,
    "nn": 2,
    "training": 3,
    "datasets": 1,
    "page": 1,
    "estimators": 4,
    "bench": 5,
    "report": 5,
    "reproduce": 6,
    "cli": 7,
}
# Every package and module directly under adacap, with its layer.
LAYER_OF = {
    "_version": "exceptions",
    "exceptions": "exceptions",
    "progress": "exceptions",
    "layers": "exceptions",
    "architectures": "exceptions",
    "core": "core",
    "nn": "nn",
    "training": "training",
    "estimators": "estimators",
    "persistence": "estimators",
    "model_selection": "estimators",
    "export": "estimators",
    "datasets": "datasets",
    "lite": "datasets",
    "files": "datasets",
    "tables": "datasets",
    "page": "page",
    "__init__": "estimators",
    "bench": "bench",
    "report": "report",
    "reproduce": "reproduce",
    "cli": "cli",
    "demo": "cli",
    "__main__": "cli",
}
# Libraries a layer does without: the method needs no estimator, a measurement no tensor.
FORBIDDEN = {
    "core": "sklearn",
    "nn": "sklearn",
    "training": "sklearn",
    "datasets": "torch",
    "page": "torch",
    "bench": "torch",
    "reproduce": "torch",
}


def layer_of(name: str) -> str:
    assert name in LAYER_OF, (
        f"adacap.{name} has no layer. Add it to LAYER_OF in tests/test_layers.py, "
        f"with one of: {', '.join(RANK)}."
    )
    return LAYER_OF[name]


def imported(tree: ast.Module, package: list[str]) -> Iterator[tuple[str, ...]]:
    """Dotted paths a module imports, anywhere in it; `package` is where it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            yield from ((*base, alias.name) for alias in node.names)


def is_module(target: tuple[str, ...]) -> bool:
    """Whether a path below adacap starts with a module, not with a name that the root exports."""
    name = target[0] if target else "__init__"
    return name in LAYER_OF or any((PACKAGE / f"{name}{end}").exists() for end in ("", ".py"))


def violations(source: str, path: Path) -> list[str]:
    """What the module at `path`, relative to the package, imports against the order."""
    layer = layer_of(path.with_suffix("").parts[0])
    found = []
    for target in imported(ast.parse(source), ["adacap", *path.parent.parts]):
        if target[0] == FORBIDDEN.get(layer):
            found.append(f"{path}: {layer} must not import {target[0]}")
        elif target[0] == "adacap":
            other = layer_of(target[1] if is_module(target[1:]) else "__init__")
            if RANK[other] > RANK[layer]:
                found.append(f"{path}: {layer} must not import {'.'.join(target)} ({other})")
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_order(module: Path) -> None:
    assert violations(module.read_text(encoding="utf-8"), module.relative_to(PACKAGE)) == []


def test_core_is_functions_only() -> None:
    for module in (PACKAGE / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                assert "Module" not in bases, f"{module.name}: {node.name} belongs in adacap.nn"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/mlr.py", "from adacap.nn import heads"),
        ("core/mlr.py", "from ..training.loop import train"),
        ("core/mlr.py", "from .. import estimators"),
        ("core/mlr.py", "from adacap import AdaCapRegressor"),
        ("nn/heads.py", "def late():\n    import sklearn.linear_model"),
        ("exceptions.py", "import adacap.core.mlr"),
        ("core/__init__.py", "from ..nn import heads"),
    ],
)
def test_a_reversed_import_is_seen(path: str, source: str) -> None:
    assert len(violations(source, Path(path))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/mlr.py", "from .losses import rmse\nfrom adacap.exceptions import AdaCapError"),
        ("nn/heads.py", "import torch\nfrom ..core import tikhonov"),
        ("__init__.py", "from ._version import __version__\nfrom .estimators import regressor"),
    ],
)
def test_a_proper_import_passes(path: str, source: str) -> None:
    assert violations(source, Path(path)) == []


def test_a_module_without_layer_is_named() -> None:
    with pytest.raises(AssertionError, match=r"adacap\.novelty has no layer. Add it to LAYER_OF"):
        violations("", Path("novelty.py"))
