"""One name per concept, in the library and the benchmark together.

No two classes share a name, nor do a class and an alias of a type; aliases may if they say the
same. Options of the command line are apart: they are named as what they set.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import adacap

adacap_bench = pytest.importorskip("adacap_bench")
PACKAGES = [Path(package.__file__).parent for package in (adacap, adacap_bench)]
TYPE = re.compile(r"[A-Z]\w*[a-z]")  # a name as those of classes are


def named(source: str) -> Iterator[tuple[str, str]]:
    """Names of the classes and aliases of a module, each with what an alias stands for."""
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name):
                yield name, "a class"
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if TYPE.match(name):
                if not (said := ast.unparse(value)).startswith("Annotated["):
                    yield name, said


def found() -> dict[str, list[tuple[str, str]]]:
    """Files that define a name, each with its meaning."""
    names = defaultdict(list)
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            for name, meaning in named(path.read_text(encoding="utf-8")):
                names[name].append((path.relative_to(package.parent).as_posix(), meaning))
    return names


def is_one(places: list[tuple[str, str]]) -> bool:
    """Whether a name is defined once, or everywhere as the same alias."""
    meanings = {meaning for _, meaning in places}
    return len(places) == 1 or (len(meanings) == 1 and "a class" not in meanings)


def test_a_name_of_a_type_stands_for_one_thing() -> None:
    assert not {name: places for name, places in found().items() if not is_one(places)}


def test_what_counts_as_a_name() -> None:
    source = "class Row: ...\nRows = list[Row]\nLEAST = 3\nOption: X = Annotated[str, 1]\nA: X = B"
    assert dict(named(source)) == {"Row": "a class", "Rows": "list[Row]"}
