"""Unknown names: the nearest known ones, and never a long list."""

import ast
from pathlib import Path

import pytest

import adacap
from adacap.exceptions import did_you_mean, nearest, suggest


def test_few_names_are_all_told():
    names = ["b", "a", "c"]
    assert suggest("x", names, "kind") == "Unknown kind 'x'. Known: a, b, c."


COLUMNS = [f"column_{k}" for k in range(1000)]


def test_of_many_names_three_are_told():
    text = suggest("column_7x", COLUMNS, "column")
    assert "Nearest of 1000: " in text
    assert text.count("column_") <= 5  # three, the question, and the name itself


@pytest.mark.parametrize("name", ["", "?", 3, None, "price"])
def test_where_none_is_near_none_is_told_but_how_to_list_them(name):
    text = suggest(name, COLUMNS, "column")
    assert text == f"Unknown column {name!r}. None of 1000 is near."
    text = suggest(name, COLUMNS, "column", "See: adacap inspect")
    assert text == f"Unknown column {name!r}. None of 1000 is near. See: adacap inspect"


def test_where_none_is_near_a_short_list_is_told():
    names = "abcdefgh"
    assert suggest("zzz", names, "kind") == f"Unknown kind 'zzz'. Known: {', '.join(names)}."
    assert (
        suggest("zzz", names, "kind", "See: x") == "Unknown kind 'zzz'. None of 8 is near. See: x"
    )


def test_the_question_is_about_the_nearest():
    assert did_you_mean("widht", ["depth", "width"]) == " Did you mean 'width'?"
    assert did_you_mean("zzz", ["depth", "width"]) == ""
    assert nearest("widht", ["with", "width", "depth"], n=2) == ["width", "with"]


def test_nobody_else_looks_for_near_names():
    package = Path(adacap.__file__).parent
    others = []
    for path in package.rglob("*.py"):
        place = path.relative_to(package)
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in [getattr(node, "module", None) or node.names[0].name]
        }
        others += [str(place)] * ("difflib" in imported)
    assert others == ["exceptions.py"]
