"""Who may import whom: the table ``MAY_IMPORT`` holds every edge there is between packages.

An import inside a function counts like one at the top, and so does a module that is imported by its
name as text. To add an edge, add a word to the table; to add a package, add a line.
"""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "adacap"
EVERYTHING = "*"
PAGE = Path(__file__).parents[1] / "docs" / "ARCHITECTURE.md"

# Every package and module directly under adacap, with what it may import of adacap.
MAY_IMPORT = {
    # Leaves: nothing but the standard library, or NumPy.
    "_version": "",
    "exceptions": "",
    "operations": "",
    "method": "",
    "text": "",
    "progress": "text",
    "layers": "operations",
    "architectures": "exceptions layers",
    "encodings": "exceptions operations",
    "predictors": "operations",
    "conformal": "",
    "widths": "",
    # The method, from the formula to the loop, which goes on from a checkpoint.
    "core": "exceptions",
    "nn": "architectures core encodings exceptions layers operations predictors",
    "checkpoint": "exceptions files",
    "training": "checkpoint core exceptions nn progress",
    "members": "core predictors",
    # Tables, in memory and on disk.
    "tables": "exceptions text",
    "files": "exceptions tables",
    # The scikit-learn face.
    "estimators": (
        "_version architectures checkpoint conformal core encodings exceptions layers members nn "
        "predictors progress tables text training widths"
    ),
    "model_selection": "exceptions",
    "comparison": "estimators exceptions tables text",
    "explain": "core estimators exceptions members nn predictors text",
    "advice": "comparison core encodings estimators members nn tables text",
    "drift": "core estimators exceptions predictors tables text",
    # Saved models; lite and export are its doors.
    "modelfile": (
        "_version architectures conformal core encodings estimators exceptions files layers nn "
        "operations predictors tables training widths"
    ),
    "lite": "modelfile",
    "export": "modelfile",
    # Pages about models.
    "page": "exceptions files",
    "report": "_version comparison estimators exceptions explain files page text training",
    # What people start.
    "demo": "comparison estimators text training",
    "cli": EVERYTHING,
    "__main__": "cli",
    "__init__": EVERYTHING,
}
# A method whose work is done above it: function of a package, and what it may import there.
LATE = {
    ("estimators", "save", "modelfile"),
    ("estimators", "report", "report"),
    *(
        ("estimators", name, "explain")
        for name in ("effects", "explain", "feature_importances_", "importance", "influence")
    ),
}

# Libraries that a package does without, wherever they are imported.
WITHOUT = {
    "core": "sklearn",
    "nn": "sklearn",
    "training": "sklearn",
    "tables": "torch",
    "files": "sklearn torch",
    "page": "sklearn torch",
    "lite": "sklearn torch",
    "model_selection": "torch",
    "comparison": "torch",
}


def package_of(name: str) -> str:
    assert name in MAY_IMPORT, (
        f"adacap.{name} has no line in MAY_IMPORT of tests/test_layers.py: say what it may import."
    )
    return name


class Imports(ast.NodeVisitor):
    """Dotted paths that a module imports, anywhere in it, with the function they stand in."""

    def __init__(self, tree: ast.Module, package: list[str]) -> None:
        self.package, self.function = package, ""
        self.found: list[tuple[str, str]] = []
        names = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
        self.by_text = any(
            re.fullmatch(r"(.*\.)?(import_module|__import__)", ast.unparse(n)) for n in names
        )
        self.visit(tree)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self.function = self.function, self.function or node.name
        self.generic_visit(node)
        self.function = outer

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(alias.name, self.function) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = self.package[: len(self.package) - node.level + 1] if node.level else []
        base = base + ([node.module] if node.module else [])
        self.found += [(".".join([*base, alias.name]), self.function) for alias in node.names]

    def visit_Constant(self, node: ast.Constant) -> None:
        """Text that names a module, where modules are imported by their names."""
        if self.by_text and re.fullmatch(r"adacap(\.\w*)+", str(node.value)):
            self.found.append((str(node.value), self.function))


def imported(source: str, path: Path) -> Iterator[tuple[str, str, str]]:
    """Library, package of adacap if it is one, and function, of every import of a module."""
    for name, function in Imports(ast.parse(source), ["adacap", *path.parent.parts]).found:
        library, _, rest = name.partition(".")
        if library != "adacap":
            yield library, "", function
            continue
        first = rest.partition(".")[0]
        exists = any((PACKAGE / f"{first}{end}").exists() for end in ("", ".py"))
        is_module = first in MAY_IMPORT or (first and exists)
        yield library, package_of(first if is_module else "__init__"), function


def violations(source: str, path: str | Path) -> list[str]:
    """What the module at `path`, relative to the package, imports against the table."""
    path = Path(path)
    package = package_of(path.with_suffix("").parts[0])
    allowed, found = MAY_IMPORT[package].split(), []
    for library, other, function in imported(source, path):
        if not other:
            if library in ("adacap_bench", *WITHOUT.get(package, "").split()):
                found.append(f"{path}: {package} must not import {library}")
        elif other != package and other not in allowed and allowed != [EVERYTHING]:
            if (package, function, other) not in LATE:
                found.append(f"{path}: {package} must not import adacap.{other}")
    return found


def test_every_import_is_in_the_table() -> None:
    found = []
    for module in sorted(PACKAGE.rglob("*.py")):
        found += violations(module.read_text(encoding="utf-8"), module.relative_to(PACKAGE))
    assert found == []


def test_the_table_has_no_cycle() -> None:
    edges = {name: set(row.split()) - {EVERYTHING} for name, row in MAY_IMPORT.items()}
    assert list(graphlib.TopologicalSorter(edges).static_order())


def test_the_table_names_packages_only() -> None:
    named = {name for row in MAY_IMPORT.values() for name in row.split()} - {EVERYTHING}
    assert named | set(WITHOUT) <= set(MAY_IMPORT)


def edges_drawn(page: str) -> dict[str, set[str]]:
    """What the diagram of the page lets each package import: lines ``a → b c``."""
    diagram = page.partition("## Who imports whom")[2].split("```")[1]
    found = re.findall(r"(\w+) *→(.*)$", diagram, re.M)
    return {name: set(others.split()) for name, others in found}


def test_the_page_draws_every_edge_and_no_other() -> None:
    table = {name: set(row.split()) for name, row in MAY_IMPORT.items()}
    assert edges_drawn(PAGE.read_text(encoding="utf-8")) == table


def test_core_is_functions_only() -> None:
    for module in (PACKAGE / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                assert "Module" not in bases, f"{module.name}: {node.name} belongs in adacap.nn"


# ------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/mlr.py", "from adacap.files import open_table"),
        ("core/mlr.py", "from adacap.comparison import compare"),
        ("nn/heads.py", "from adacap.page import Page"),
        ("training/loop.py", "from adacap.lite import load"),
        ("tables/plan.py", "from adacap.core import mlr_loss"),
        ("lite.py", "import sklearn.base"),
        ("lite.py", "from adacap.core import ridge_coef"),
        ("model_selection/score.py", "import torch"),
        ("estimators/regressor.py", "from adacap.modelfile import save"),
        ("estimators/regressor.py", 'import importlib\nimportlib.import_module("adacap.report")'),
    ],
    ids=lambda text: text.replace("\n", "; "),
)
def test_an_import_that_a_total_order_let_pass_is_refused(path: str, source: str) -> None:
    assert len(violations(source, path)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/mlr.py", "from adacap.nn import heads"),
        ("core/mlr.py", "from ..training.loop import train"),
        ("core/mlr.py", "from .. import estimators"),
        ("core/mlr.py", "from adacap import AdaCapRegressor"),
        ("core/__init__.py", "from ..nn import heads"),
        ("exceptions.py", "import adacap.core.mlr"),
        ("files/text.py", "from adacap.estimators import TableEncoder"),
        ("estimators/_base.py", "from adacap.modelfile import save"),
        ("report/writing.py", "from adacap.cli import main"),
        ("cli/evaluate.py", "from adacap_bench import methods"),
    ],
)
def test_an_import_upwards_is_refused(path: str, source: str) -> None:
    assert len(violations(source, path)) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("nn/heads.py", "import sklearn.linear_model"),
        ("core/mlr.py", "from adacap.estimators import AdaCapRegressor"),
        ("estimators/_base.py", "from adacap.modelfile import save"),
        ("estimators/_base.py", "from adacap.report import write_report"),
    ],
)
def test_an_import_inside_a_function_counts(path: str, body: str) -> None:
    for function in ("def late():\n    ", "class A:\n    def late(self):\n        "):
        assert len(violations(f"{function}{body}", path)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'from importlib import import_module\nimport_module("adacap.nn.heads")',
        'import importlib\n\ndef late(name):\n    importlib.import_module(f"adacap.{name}")',
        'import importlib\nHOME = {"a": "adacap.cli"}\nimportlib.import_module(HOME["a"])',
        '__import__("adacap.cli")',
    ],
)
def test_a_module_imported_by_its_name_counts(source: str) -> None:
    assert len(violations(source, "core/mlr.py")) == 1


def test_a_package_without_a_line_is_named() -> None:
    with pytest.raises(AssertionError, match=r"adacap\.novelty has no line in MAY_IMPORT"):
        violations("", "novelty.py")


# --------------------------------------------------------------------------- what is fine


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/mlr.py", "from .losses import rmse\nfrom adacap.exceptions import AdaCapError"),
        ("nn/heads.py", "import torch\nfrom ..core import ridge"),
        ("__init__.py", "from ._version import __version__\nfrom .estimators import regressor"),
        (
            "estimators/any.py",
            "def save(self):\n    from adacap.modelfile import save",
        ),
        ("files/errors.py", 'import importlib\nimportlib.import_module("pyarrow")'),
    ],
)
def test_a_proper_import_passes(path: str, source: str) -> None:
    assert violations(source, path) == []


# ------------------------------------------------- what one module reaches by importing it


def at_import(path: Path) -> Iterator[str]:
    """Modules that importing a module imports: not those in functions or for types alone."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            package = ["adacap", *path.relative_to(PACKAGE).parent.parts]
            yield from (name for name, _ in Imports(ast.Module([node], []), package).found)


def reached(start: str) -> dict[str, str]:
    """Libraries that importing a module imports, and the module that does."""
    waiting, seen, found = [PACKAGE / start], set(), {}
    while waiting:
        path = waiting.pop()
        if path in seen or not path.exists():
            continue
        seen.add(path)
        for name in at_import(path):
            library, *parts = name.split(".")
            if library != "adacap":
                found.setdefault(library, str(path.relative_to(PACKAGE)))
            for length in range(1, len(parts) + 1):
                place = PACKAGE.joinpath(*parts[:length])
                waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


@pytest.mark.parametrize("start", ["lite.py", "modelfile/contents.py", "tables/encoder.py"])
def test_a_saved_model_is_read_without_torch_and_scikit_learn(start: str) -> None:
    heavy = {"torch", "sklearn", "scipy", "pandas", "narwhals", "safetensors", "pyarrow"}
    assert {name: by for name, by in reached(start).items() if name in heavy} == {}


def test_what_is_reached_is_seen() -> None:
    assert reached("modelfile/loading.py")["torch"]
    assert reached("export.py")["sklearn"]


# ------------------------------------------------------------- what is loaded, in earnest

LOAD_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}."):
    importlib.import_module(module.name)
print(*{"sklearn", "torch"} & set(sys.modules))
"""


@pytest.mark.parametrize(
    ("package", "absent"),
    [
        ("adacap.core", {"sklearn"}),
        ("adacap.nn", {"sklearn"}),
        ("adacap.training", {"sklearn"}),
        ("adacap.lite", {"sklearn", "torch"}),
        ("adacap.tables", {"torch"}),
        ("adacap.files", {"sklearn", "torch"}),
        ("adacap.page", {"sklearn", "torch"}),
        ("adacap.model_selection", {"torch"}),
    ],
)
def test_all_modules_of_a_package_load_without(package: str, absent: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ALL, package], capture_output=True, text=True, check=True
    )
    assert not absent & set(done.stdout.split())
