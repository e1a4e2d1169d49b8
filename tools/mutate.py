"""Mutation testing: change one place of a module at a time, and see whether its tests notice.

python tools/mutate.py core --mutants 150 --seconds 900
python tools/mutate.py loaders --mutants 150 --seconds 1800
python tools/mutate.py loaders --only src/adacap/modelfile/signing.py:64

Each mutant is written to a copy of the package that stands first on the path, and the tests of its
module run there until one fails. A child is forked for each with the large packages imported, so
that a mutant costs what its tests cost. Survivors are printed with file, line and change; those
that docs/MUTANTS.md explains are told apart. Ends with 1 if a survivor is not explained.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPLAINED = ROOT / "docs" / "MUTANTS.md"
_FILES = "tests/modelfile/test_files.py"
_ARGUMENTS = {_FILES: ["-k", "not wrong_value"]}  # what is left out takes most of the time
_LITE = "tests/modelfile/test_lite.py"
TARGETS: dict[str, dict[str, list[str]]] = {
    "core": {
        "core/diagnostics.py": ["tests/core/test_diagnostics.py"],
        "core/dither.py": ["tests/core/test_dither.py"],
        "core/lambda_init.py": ["tests/core/test_lambda_init.py"],
        "core/linalg.py": ["tests/core/test_linalg.py", "tests/core/test_ridge.py"],
        "core/losses.py": ["tests/core/test_mlr.py"],
        "core/matern.py": ["tests/core/test_matern.py"],
        "core/mlr.py": ["tests/core/test_mlr.py"],
        "core/permutation.py": ["tests/core/test_permutation.py"],
        "core/ridge.py": ["tests/core/test_ridge.py"],
        "core/ridge_path.py": ["tests/core/test_ridge_path.py"],
    },
    "loaders": {
        "modelfile/archive.py": ["tests/modelfile/test_archive.py", _FILES],
        "modelfile/schema.py": ["tests/modelfile/test_schema.py", _FILES],
        "modelfile/contents.py": ["tests/modelfile/test_contents.py", _FILES],
        "modelfile/loading.py": [_FILES, "tests/modelfile/test_blends.py"],
        "modelfile/lite.py": [_LITE, "tests/modelfile/test_same_intervals.py"],
        "modelfile/signing.py": ["tests/modelfile/test_signing.py"],
        "modelfile/versions.py": ["tests/modelfile/test_versions.py"],
    },
}
"""Modules under src/adacap, and the tests that must notice a change of them, the quickest first."""

_COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COUNTED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.Mod: ast.Mult, ast.FloorDiv: ast.Mult, ast.MatMult: ast.Mult,
}  # fmt: skip
_CHECKS = {"require", "refuse", "check", "check_version", "check_signature"}
_NOTHING_TO_TEST = {"__all__"}


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Attributes
    ----------
    module : str
        Path under src/adacap.
    line : int
    before, after : str
        The code that is changed, on one line.
    source : str
        The module with the change.
    """

    module: str
    line: int
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """As docs/MUTANTS.md lists it; without the line, which other changes move."""
        return f"{self.module}: `{self.before}` → `{self.after}`"

    def __str__(self) -> str:
        return f"src/adacap/{self.module}:{self.line}: {self.before}  →  {self.after}"


# --------------------------------------------------------------------------------- changes


def changes(node: ast.AST) -> Iterator[ast.AST | None]:
    """What may stand in the place of a node; None for nothing at all."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        for k, op in enumerate(node.ops):
            ops: list[ast.cmpop] = list(node.ops)
            ops[k] = _COMPARED[type(op)]()
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _COUNTED:
        yield ast.BinOp(node.left, _COUNTED[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Raise):
        yield None
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        named = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if named in _CHECKS:
            yield None
    elif isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)


def _other_constants(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
    elif isinstance(value, float):
        yield ast.Constant(value * 2 if value else 1.0)


def mutants_of(module: str, source: str) -> list[Mutant]:
    """All changes of a module, in the order of their places.

    Examples
    --------
    >>> [
    ...     f"{one.before} → {one.after}"
    ...     for one in mutants_of("m.py", "def f(a):\\n    return a < 1")
    ... ]
    ['return a < 1 → return None', 'a < 1 → a <= 1', '1 → 2']
    """
    tree = ast.parse(source)
    found: list[Mutant] = []
    for path in _places(tree, ()):
        node = _at(tree, path)
        for change in changes(node):
            changed = copy.deepcopy(tree)
            _put(changed, path, change)
            text = ast.unparse(ast.fix_missing_locations(changed))
            after = "nothing" if change is None else _brief(change)
            found.append(Mutant(module, getattr(node, "lineno", 0), _brief(node), after, text))
    return found


_Step = tuple[str, int | None]


def _places(node: ast.AST, path: tuple[_Step, ...]) -> Iterator[tuple[_Step, ...]]:
    """Ways to every node whose change a test could notice."""
    if path:
        yield path
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "msg"):
            continue
        if isinstance(node, ast.Raise) or (_is_message(node) and field == "args"):
            continue  # the words of an error are for the tests that match them
        for k, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _is_left_out(child):
                yield from _places(child, (*path, (field, k)))


def _is_message(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("refuse", "shown", "warn")
    )


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        named = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return isinstance(named, ast.Name) and named.id in _NOTHING_TO_TEST
    return False


def _at(tree: ast.AST, path: Sequence[_Step]) -> ast.AST:
    for field, k in path:
        value = getattr(tree, field)
        tree = value if k is None else value[k]
    return tree


def _put(tree: ast.AST, path: Sequence[_Step], change: ast.AST | None) -> None:
    *way, (field, k) = path
    parent = _at(tree, way)
    new = ast.Pass() if change is None else copy.deepcopy(change)
    if k is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[k] = new


def _brief(node: ast.AST, most: int = 90) -> str:
    if isinstance(node, ast.If):
        node = ast.If(node.test, [ast.Expr(ast.Constant(...))], [])
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= most else text[: most - 1] + "…"


# ------------------------------------------------------------------------------------ tests


# By the exit code of pytest; 2 and 4 are a package that can no longer be imported.
_OUTCOMES = {0: "survived", 1: "killed", 2: "killed", 4: "killed", 5: "none"}


def run_tests(tests: Sequence[str], package: Path, seconds: float) -> str:
    """What comes of tests with this package first on the path: killed, survived, timeout …"""
    child = os.fork()
    if child == 0:
        os.setsid()
        _run_in_child(tests, package)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return _OUTCOMES.get(code, "broken")
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _run_in_child(tests: Sequence[str], package: Path) -> None:
    code = 3
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.path.insert(0, str(package))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
        sys.dont_write_bytecode = True
        import pytest

        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]))
    finally:
        os._exit(code)


def explained(text: str) -> set[str]:
    """Names of the mutants that a page lists, each as ``- module: `before` → `after`: reason``."""
    found = set()
    for line in text.splitlines():
        if line.startswith("- ") and "` → `" in line:
            head, _, rest = line[2:].partition("` → `")
            found.add(f"{head}` → `{rest.partition('`')[0]}`")
    return found


def sample(mutants: Sequence[Mutant], n: int, seed: int) -> list[Mutant]:
    """So many of them by a seed, those of one module after another."""
    chosen = random.Random(seed).sample(range(len(mutants)), min(n, len(mutants)))
    return [mutants[k] for k in sorted(chosen)]


def hunt(
    mutants: Sequence[Mutant],
    tests: dict[str, list[str]],
    *,
    seconds: float,
    case_seconds: float,
    say: Callable[[str], None] = print,
) -> tuple[Counter[str], list[Mutant]]:
    """Run the tests of each mutant until the time is over: counts, and those that survived."""
    counts: Counter[str] = Counter()
    survivors: list[Mutant] = []
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder)
        shutil.copytree(ROOT / "src" / "adacap", package / "adacap", ignore=_no_caches)
        for module in dict.fromkeys(mutant.module for mutant in mutants):
            outcome = run_tests(_arguments(tests[module]), package, 4 * case_seconds)
            if outcome != "survived":
                raise RuntimeError(f"The tests of {module} do not pass as it is: {outcome}.")
        for mutant in mutants:
            if time.monotonic() > end:
                counts["not run"] = len(mutants) - counts.total()
                break
            place = package / "adacap" / mutant.module
            original = place.read_text(encoding="utf-8")
            place.write_text(mutant.source, encoding="utf-8")
            outcome = run_tests(_arguments(tests[mutant.module]), package, case_seconds)
            place.write_text(original, encoding="utf-8")
            counts[outcome] += 1
            if outcome not in ("killed", "timeout"):
                survivors.append(mutant)
                say(f"{outcome}  {mutant}")
    return counts, survivors


def _arguments(tests: Sequence[str]) -> list[str]:
    return [each for test in tests for each in (test, *_ARGUMENTS.get(test, ()))]


_no_caches = shutil.ignore_patterns("__pycache__")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Mutation testing of core and the loaders.")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--mutants", type=int, default=150, help="how many of all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all of them")
    parser.add_argument("--case-seconds", type=float, default=180.0, help="for one")
    parser.add_argument("--only", default="", help="those whose file:line begins so")
    options = parser.parse_args(arguments)
    tests = TARGETS[options.target]
    folder = ROOT / "src" / "adacap"
    every = [
        mutant
        for module in tests
        for mutant in mutants_of(module, (folder / module).read_text(encoding="utf-8"))
    ]
    chosen = sample(every, options.mutants, options.seed)
    if options.only:
        chosen = [one for one in every if str(one).startswith(options.only)]
    os.chdir(ROOT)
    _import_the_large()
    started = time.monotonic()
    counts, survivors = hunt(
        chosen, tests, seconds=options.seconds, case_seconds=options.case_seconds,
        say=lambda line: print(line, flush=True),
    )  # fmt: skip
    known = explained(EXPLAINED.read_text(encoding="utf-8")) if EXPLAINED.exists() else set()
    new = [one for one in survivors if one.name not in known]
    print(
        f"{options.target}: {len(chosen)} of {len(every)} mutants, seed {options.seed}; "
        + ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
        + f"; {len(new)} survivors not explained; {time.monotonic() - started:.0f} s"
    )
    for one in new:
        print(f"- {one.name}:")
    return 1 if new else 0


def _import_the_large() -> None:
    """What every test needs of other projects: a child has it at once."""
    import pandas
    import scipy.linalg
    import scipy.stats
    import sklearn.base
    import torch

    assert all((pandas, scipy.linalg, scipy.stats, sklearn.base))
    torch.set_num_threads(1)
    assert not any(name.partition(".")[0] == "adacap" for name in sys.modules)


if __name__ == "__main__":
    sys.exit(main())
