"""Who may import whom: the table ``MAY_IMPORT`` holds every edge there is between packages.

An import inside a function counts like one at the top, and so does a module that is imported by its
name as text; code from text is refused. To add an edge, add a word to the table; to add a package,
add a line.
"""

import ast
import graphlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "adacap"
EVERYTHING = "*"
Imports = runpy.run_path(str(PACKAGE.parents[1] / "tools" / "imports.py"))["Imports"]
PAGE = Path(__file__).parents[1] / "docs" / "ARCHITECTURE.md"

# Every package and module directly under adacap, with what it may import of adacap.
MAY_IMPORT = {
    # Leaves: nothing but the standard library, or NumPy.
    "_version": "",
    "_typing": "",
    "exceptions": "",
    "operations": "",
    "method": "",
    "text": "",
    "progress": "text",
    "layers": "exceptions operations",
    "architectures": "exceptions layers",
    "encodings": "_typing exceptions operations",
    "predictors": "operations",
    "conformal": "_typing",
    "widths": "_typing",
    # The method, from the formula to the loop, which goes on from a checkpoint.
    "core": "exceptions",
    "nn": "architectures core encodings exceptions layers operations predictors",
    "checkpoint": "exceptions files",
    "training": "checkpoint core exceptions nn progress",
    "members": "_typing core predictors",
    # Tables, in memory and on disk.
    "tables": "_typing exceptions text",
    "files": "exceptions tables",
    # The scikit-learn face.
    "estimators": (
        "_typing _version architectures checkpoint conformal core encodings exceptions layers "
        "members nn predictors progress tables text training widths"
    ),
    "model_selection": "_typing exceptions",
    "comparison": "_typing estimators exceptions tables text",
    "explain": "_typing core estimators exceptions members nn predictors text",
    "advice": "_typing comparison core encodings estimators members nn tables text",
    "drift": "_typing core estimators exceptions predictors tables text",
    # Saved models; lite and export are its doors.
    "modelfile": (
        "_typing _version architectures conformal core encodings estimators exceptions files "
        "layers nn operations predictors tables training widths"
    ),
    "lite": "modelfile",
    "export": "modelfile",
    # Pages about models.
    "page": "exceptions files",
    "report": (
        "_typing _version comparison estimators exceptions explain files page text training"
    ),
    # What people start.
    "demo": "_typing comparison estimators text training",
    "cli": EVERYTHING,
    "__main__": "cli",
    "__init__": EVERYTHING,
}
# A method whose work is done above it: file, function, and what it may import there.
LATE = {
    ("estimators/_base.py", "save", "modelfile"),
    ("estimators/inspection.py", "report", "report"),
    *(
        ("estimators/inspection.py", name, "explain")
        for name in ("effects", "explain", "feature_importances_", "importance", "influence")
    ),
}
# Functions that import a module whose name they are given.
BY_NAME = {
    ("__init__.py", "__getattr__"),
    ("comparison/__init__.py", "__getattr__"),
    ("comparison/factory.py", "__call__"),
    ("estimators/__init__.py", "__getattr__"),
    ("exceptions.py", "need"),
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


def imports_of(source: str, path: Path) -> Any:
    return Imports(source, ".".join(("adacap", *path.parent.parts)))


def part_of(name: str) -> tuple[str, str]:
    """Library of an import, and the package of adacap if it is one."""
    library, _, rest = name.partition(".")
    if library != "adacap":
        return library, ""
    first = rest.partition(".")[0]
    exists = any((PACKAGE / f"{first}{end}").exists() for end in ("", ".py"))
    return library, package_of(first if first in MAY_IMPORT or (first and exists) else "__init__")


def violations(source: str, path: str | Path) -> list[str]:
    """What the module at `path`, relative to the package, imports against the table."""
    path = Path(path)
    package, imports = package_of(path.with_suffix("").parts[0]), imports_of(source, path)
    allowed, found = MAY_IMPORT[package].split(), []
    for name, function in imports.found:
        library, other = part_of(name)
        if not other:
            if library in ("adacap_bench", *WITHOUT.get(package, "").split()):
                found.append(f"{path}: {package} must not import {library}")
        elif other != package and other not in allowed and allowed != [EVERYTHING]:
            if (path.as_posix(), function, other) not in LATE:
                found.append(f"{path}: {package} must not import adacap.{other}")
    for function in imports.unknown:
        if (path.as_posix(), function) not in BY_NAME:
            found.append(f"{path}: {function or 'the module'} must name the module it imports")
    found += [f"{path}: {function or 'the module'} runs text as code" for function in imports.code]
    return list(dict.fromkeys(found))


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
        'from importlib import import_module as im\nim("adacap.report")',
        'import importlib as il\nil.import_module("adacap.report")',
        'import importlib\nget = importlib.import_module\nget("adacap.report")',
        'from importlib import import_module\nimport_module(".report", "adacap")',
        'from importlib import import_module\nimport_module(package="adacap", name=".report")',
        'from importlib import import_module\nimport_module("..report", __package__)',
        'from importlib import import_module\nimport_module(f".{input()}", "adacap")',
        'import builtins\nbuiltins.__import__("adacap.report")',
        'from importlib import import_module as im\nim("adacap_bench.methods")',
    ],
)
def test_a_module_imported_by_its_name_counts(source: str) -> None:
    found = [text for text in violations(source, "core/mlr.py") if "must not import" in text]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("core/mlr.py", "sklearn.base"),
        ("lite.py", "torch"),
        ("model_selection/score.py", "torch.nn"),
        ("estimators/rows.py", "adacap_bench"),
    ],
)
@pytest.mark.parametrize("call", ["importlib.import_module", "__import__"])
def test_a_library_imported_by_its_name_counts(path: str, library: str, call: str) -> None:
    source = f'import importlib\n\ndef late():\n    {call}("{library}")'
    assert violations(source, path) == [
        f"{path}: {path.partition('/')[0].removesuffix('.py')} must not import "
        f"{library.partition('.')[0]}"
    ]


@pytest.mark.parametrize("call", ["exec(text)", "eval(text)", "builtins.exec(text)"])
def test_code_from_text_is_refused(call: str) -> None:
    source = f"import builtins\n\ndef run(text):\n    {call}"
    assert violations(source, "cli/common.py") == ["cli/common.py: run runs text as code"]


def test_a_name_that_is_not_written_there_is_refused() -> None:
    source = "import importlib\n\ndef need(name):\n    importlib.import_module(name)"
    assert violations(source, "exceptions.py") == []
    for path in ("files/errors.py", "tables/exceptions.py"):
        assert violations(source, path) == [f"{path}: need must name the module it imports"]


@pytest.mark.parametrize(
    ("path", "function", "name"),
    [
        ("estimators/_base.py", "report", "modelfile"),  # another function
        ("estimators/rows.py", "save", "modelfile"),  # another file
        ("estimators/_base.py", "save", "report"),  # another package
    ],
)
def test_an_import_upwards_is_tied_to_its_file_and_function(
    path: str, function: str, name: str
) -> None:
    assert len(violations(f"def {function}():\n    import adacap.{name}", path)) == 1


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
            "estimators/_base.py",
            "def save(self):\n    from adacap.modelfile import save",
        ),
        ("files/errors.py", 'import importlib\nimportlib.import_module("pyarrow")'),
        ("estimators/bag.py", "def frozen(nets):\n    return nets.eval()"),
    ],
)
def test_a_proper_import_passes(path: str, source: str) -> None:
    assert violations(source, path) == []


# ------------------------------------------------- what one module reaches by importing it


def at_import(path: Path) -> Iterator[str]:
    """Modules that importing a module imports: not those in functions or for types alone."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = imports_of(ast.unparse(node), path.relative_to(PACKAGE)).found
            yield from (name for name, _ in found)


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
