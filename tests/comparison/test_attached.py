"""Methods of other distributions: found by entry point, imported once, named if broken."""

import sys
from importlib.metadata import EntryPoint

import pytest

from adacap.comparison import METHODS, MethodError, expand_methods, load_attached, register_group

PLUGIN = """
from sklearn.linear_model import HuberRegressor
from adacap.comparison import Method, register
register(Method("huber", "Linear", {"regression"}, lambda kind, seed: HuberRegressor()))
"""


@pytest.fixture
def attach(monkeypatch, tmp_path):
    """Maker of an installed module of methods; all is as before after the test."""
    before = dict(METHODS)

    def install(source: str) -> None:
        (tmp_path / "some_methods.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        entry = EntryPoint("some", "some_methods", "adacap.methods")
        monkeypatch.setattr(
            "adacap.comparison.registry.entry_points",
            lambda group: [entry] if group == "adacap.methods" else [],
        )
        load_attached.cache_clear()

    yield install
    sys.modules.pop("some_methods", None)
    METHODS.clear()
    METHODS.update(before)
    load_attached.cache_clear()


def test_methods_of_another_distribution_join(attach):
    attach(PLUGIN)
    assert "huber" not in METHODS
    assert load_attached() == ("some",)
    assert load_attached() == ("some",)  # not registered twice
    assert [method.name for method in expand_methods(["huber", "ridge"])] == ["huber", "ridge"]


def test_one_that_cannot_be_imported_is_named(attach):
    attach("import no_such_package")
    with pytest.raises(MethodError, match="methods of some_methods cannot be imported: No module"):
        load_attached()


def test_without_other_distributions_nothing_is_loaded(monkeypatch):
    monkeypatch.setattr("adacap.comparison.registry.entry_points", lambda group: [])
    load_attached.cache_clear()
    assert load_attached() == ()
    load_attached.cache_clear()


def test_a_group_is_looked_up_when_it_is_asked_for(monkeypatch):
    monkeypatch.setattr("adacap.comparison.registry._groups", {})
    members = ["ridge"]
    register_group("mine", lambda: tuple(members))
    members.append("ols")
    found = expand_methods(["lasso", "mine", "ols"])
    assert [method.name for method in found] == ["lasso", "ridge", "ols"]


@pytest.mark.parametrize("name", ["ridge", "mine"])
def test_a_name_is_given_once(monkeypatch, name):
    monkeypatch.setattr("adacap.comparison.registry._groups", {"mine": tuple})
    with pytest.raises(MethodError, match=f"'{name}' is the name of a method or group already"):
        register_group(name, tuple)
