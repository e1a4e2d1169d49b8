"""What a module imports, wherever in it and by whatever means, read from its source.

The layer tests of both distributions ask :class:`Imports`. As a command it prints the modules that
only one other module imports: candidates to go home into that one.

    python tools/imports.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCES = {
    "adacap": ROOT / "src" / "adacap",
    "adacap_bench": ROOT / "packages" / "adacap-bench" / "src" / "adacap_bench",
}
_BY_NAME = {"import_module", "__import__"}
_CODE = {"exec", "eval"}
# Text that may name a module, in a file that imports modules by their names.
_MODULE = re.compile(r"(adacap|adacap_bench)(\.\w*)+|(torch|sklearn)(\.\w*)*")


class Found(NamedTuple):
    """A dotted path that is imported, and the outermost function it happens in."""

    name: str
    function: str


class Imports(ast.NodeVisitor):
    """All that the source of a module imports.

    Attributes
    ----------
    found : list of Found
        Each once, in order; relative ones are resolved.
    unknown : list of str
        Functions that import a module whose name is not written in the call.
    code : list of str
        Functions that call ``exec`` or ``eval``.

    Examples
    --------
    >>> source = 'from importlib import import_module as im\\nim(".report", "adacap")'
    >>> Imports(source, "adacap.estimators").found[1:]
    [Found(name='adacap.report', function='')]
    >>> Imports("def run(text):\\n    exec(text)", "adacap").code
    ['run']
    """

    def __init__(self, source: str, package: str) -> None:
        tree = ast.parse(source)
        self.package, self._function = package, ""
        self.found: list[Found] = []
        self.unknown: list[str] = []
        self.code: list[str] = []
        self._importers = {*_BY_NAME, *_other_names(tree)}
        self._modules = {"importlib", *_module_names(tree)}
        self._is_by_name = bool(_BY_NAME & set(_words(tree)))
        self.visit(tree)

    def _add(self, name: str) -> None:
        one = Found(name, self._function)
        if one not in self.found:
            self.found.append(one)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self._function = self._function, self._function or node.name
        self.generic_visit(node)
        self._function = outer

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_Import(self, node: ast.Import) -> None:
        """``import a.b``."""
        for alias in node.names:
            self._add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """``from .a import b``."""
        home = resolve_name("." * node.level + (node.module or ""), self.package)
        for alias in node.names:
            self._add(f"{home}.{alias.name}")

    def visit_Call(self, node: ast.Call) -> None:
        """``import_module("a")`` under any name, ``exec`` and ``eval``."""
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in self._importers and _owner(node.func) in ("", "builtins", *self._modules):
            return self._visit_import(node)
        if called in _CODE and _owner(node.func) in ("", "builtins"):
            self.code.append(self._function)
        self.generic_visit(node)

    def _visit_import(self, node: ast.Call) -> None:
        given = {word.arg: word.value for word in node.keywords}
        name, home = (*node.args, given.get("name"))[0], (*node.args[1:], given.get("package"))[0]
        package = home.value if isinstance(home, ast.Constant) and home.value else self.package
        if isinstance(name, ast.Constant):
            self._add(resolve_name(str(name.value), str(package)))
            return
        self.unknown.append(self._function)
        if package != self.package:
            self._add(str(package))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Text that names a module, where modules are imported by their names."""
        if self._is_by_name and _MODULE.fullmatch(str(node.value)):
            self._add(str(node.value))


def _owner(function: ast.expr) -> str:
    """Whose attribute a function is, empty for a plain name."""
    return ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""


def _other_names(tree: ast.AST) -> Iterator[str]:
    """Names that the functions of importlib are imported or bound as."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("importlib", "builtins"):
            yield from (a.asname for a in node.names if a.asname and a.name in _BY_NAME)
        elif isinstance(node, ast.Assign) and _BY_NAME & set(_words(node.value)):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _module_names(tree: ast.AST) -> Iterator[str]:
    """Names that importlib itself is imported as."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.asname for a in node.names if a.asname and a.name == "importlib")


def _words(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def package_of(path: Path) -> str:
    """Dotted path of the package that a file of either distribution is in."""
    for name, folder in SOURCES.items():
        if path.is_relative_to(folder):
            return ".".join((name, *path.relative_to(folder).parent.parts))
    raise ValueError(f"{path} is in neither distribution.")


def importers() -> dict[str, set[str]]:
    """Modules of both distributions, and those that import them, their own packages aside."""
    paths = [path for folder in SOURCES.values() for path in sorted(folder.rglob("*.py"))]
    names = {path: f"{package_of(path)}.{path.stem}" for path in paths}
    by: dict[str, set[str]] = {n: set() for n in names.values() if not n.endswith(".__init__")}
    for path, name in names.items():
        for found in Imports(path.read_text(encoding="utf-8"), package_of(path)).found:
            for module in (found.name, found.name.rpartition(".")[0]):
                if module in by and module != name:
                    by[module].add(name)
    return by


def main() -> None:
    """Print the modules with one importer."""
    alone = {name: min(by) for name, by in importers().items() if len(by) == 1}
    for name, by in sorted(alone.items()):
        print(f"{name:60} {by}")
    for package in SOURCES:
        print(package, sum(name.partition(".")[0] == package for name in alone))


if __name__ == "__main__":
    main()
