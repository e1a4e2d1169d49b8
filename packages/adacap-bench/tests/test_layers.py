"""Who may import whom in the benchmark: the table ``MAY_IMPORT`` holds every edge.

Torch is imported by one module, the nets of a study, and only when such a net is built.

Imports are found as in the library's test: also inside functions, and by name as text.
"""

import graphlib
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import adacap_bench

PACKAGE = Path(adacap_bench.__file__).parent
TOOL = Path(__file__).parents[3] / "tools" / "imports.py"
Imports = runpy.run_path(str(TOOL))["Imports"]

# Every package and module directly under adacap_bench, with what it may import of it.
MAY_IMPORT = {
    # Data, methods, jobs: what a run is made of.
    "_version": "",
    "__init__": "_version",
    "datasets": "",
    "jobs": "",
    "markdown": "",
    "methods": "jobs markdown",
    "metrics": "",
    "plugins": "methods",
    "split": "datasets",
    "sources": "jobs split",
    "settings": "datasets jobs methods plugins sources split",
    "plan": "datasets jobs methods plugins settings sources",
    # The run and its store.
    "store_rows": "jobs",
    "store_schema": "",
    "claims": "jobs store_schema",
    "store": "claims jobs store_rows store_schema",
    "worker": "jobs methods plan plugins split",
    "engines": "jobs plan split worker",
    "runner": "datasets engines jobs methods plan plugins settings sources split store",
    "imports": "datasets jobs methods store",
    "packing": "jobs store store_rows",
    "verify": "datasets",
    # What is told of it.
    "tables_text": "markdown",
    "tables": "jobs metrics tables_text",
    "status": "jobs methods metrics store tables tables_text",
    "report_data": "metrics tables",
    "report": "datasets methods metrics report_data store tables",
    "reproduce": "datasets jobs markdown methods metrics plan runner sources split store",
    "cli": (
        "datasets imports methods packing plan plugins report reproduce runner status store verify"
    ),
}
TORCH = {"reproduce/studies/further_nets.py"}
CODE = {("plugins.py", "_execute")}  # runs text as code: that of a plugin


def part_of(name: str) -> str:
    """Package or module directly under adacap_bench that an import names."""
    first = (*name.split(".")[1:], "__init__")[0]
    exists = any((PACKAGE / f"{first}{end}").exists() for end in ("", ".py"))
    return first if exists else "__init__"


def violations(source: str, path: str | Path) -> list[str]:
    """What the module at `path`, relative to the package, imports against the table."""
    path = Path(path)
    own = path.with_suffix("").parts[0]
    imports = Imports(source, ".".join(("adacap_bench", *path.parent.parts)))
    if own not in MAY_IMPORT:
        return [f"{path}: has no line in MAY_IMPORT of tests/test_layers.py"]
    allowed, found = [own, "__init__", *MAY_IMPORT[own].split()], []
    for name, _ in imports.found:
        library = name.partition(".")[0]
        if library == "torch" and path.as_posix() in TORCH:
            continue
        if library == "torch" or (library == "adacap_bench" and part_of(name) not in allowed):
            found.append(f"{path}: {own} must not import {name}")
    found += [f"{path}: {function} must name the module it imports" for function in imports.unknown]
    found += [
        f"{path}: {function} runs text as code"
        for function in imports.code
        if (path.as_posix(), function) not in CODE
    ]
    return found


def test_every_import_is_in_the_table():
    found = []
    for module in sorted(PACKAGE.rglob("*.py")):
        found += violations(module.read_text(encoding="utf-8"), module.relative_to(PACKAGE))
    assert found == []


def test_the_table_has_no_cycle_and_names_what_is_there():
    edges = {name: row.split() for name, row in MAY_IMPORT.items()}
    assert list(graphlib.TopologicalSorter(edges).static_order())
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py"}
    there |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(MAY_IMPORT) == there
    assert {name for row in edges.values() for name in row} <= there


def test_listing_the_studies_loads_no_torch():
    code = "import sys, adacap_bench.reproduce as r; r.items(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("datasets/own.py", "from adacap_bench.methods import METHODS"),
        ("datasets/own.py", "from ..methods import METHODS"),
        ("runner.py", "from adacap_bench.reproduce import items"),
        ("runner.py", "from adacap_bench import report"),
        ("methods/peers.py", "from adacap_bench.datasets import load_table"),
        ("reproduce/running.py", "def late():\n    import adacap_bench.cli.bench"),
        ("worker.py", "import torch"),
        ("worker.py", 'def late():\n    __import__("torch")'),
        ("jobs.py", 'from importlib import import_module as im\nim("adacap_bench.cli")'),
        ("jobs.py", 'from importlib import import_module as im\nim(".cli", "adacap_bench")'),
        ("jobs.py", "import importlib\n\ndef late(name):\n    importlib.import_module(name)"),
        ("plugins.py", "def other(text):\n    exec(text)"),
        ("novelty.py", ""),
    ],
)
def test_a_reversed_import_is_seen(path, source):
    assert len(violations(source, path)) == 1


def test_a_proper_import_passes():
    source = "import adacap\nfrom adacap_bench import __version__\nfrom .jobs import Job"
    assert violations(source, "plan.py") == []
