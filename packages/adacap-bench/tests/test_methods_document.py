"""docs/METHODS.md says what the register holds, and its recipe runs as printed."""

import re
from pathlib import Path

import numpy as np

from adacap_bench.markdown import placed
from adacap_bench.methods import GROUPS, METHODS, expand_methods, find_method, unavailable
from adacap_bench.methods.listing import MARKS, methods_table
from adacap_bench.plugins import Plugin, load_plugin

DOCUMENT = Path(__file__).parents[3] / "docs" / "METHODS.md"


def test_the_document_lists_what_is_registered():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert placed(text, MARKS, methods_table(METHODS.values())) == text, (
        "run: python -m adacap_bench.methods.listing docs/METHODS.md"
    )


def test_the_document_names_every_group():
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Groups")[2]
    assert [name for name in GROUPS if f"`{name}`" not in section] == []


def recipe():
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return code


def test_the_recipe_is_short_and_runs(seed):
    lines = recipe().splitlines()
    assert len(lines) <= 15
    exec(compile(recipe(), str(DOCUMENT), "exec"), {"__name__": "recipe"})
    X = np.random.default_rng(seed).normal(size=(60, 4))
    y = X[:, 0]
    (method,) = expand_methods(["huber"])
    assert unavailable(method) is None
    model = method.build("regression", 0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=0.1)
    assert "huber" in GROUPS["linear"]


def test_the_recipe_runs_as_a_plugin(tmp_path):
    file = tmp_path / "my_methods.py"
    file.write_text(recipe(), encoding="utf-8")
    assert load_plugin(Plugin.read(file)) == ("huber",)
    assert find_method("huber").kinds == {"regression"}
