"""Plugins: run once, carried as text, taken back when they fail."""

import pickle

import pytest

from adacap_bench.methods import METHODS, find_method
from adacap_bench.plugins import Plugin, PluginError, load_plugin

SOURCE = """
from sklearn.linear_model import HuberRegressor
from adacap_bench.methods import Method, register

class Own(HuberRegressor):
    pass

register(Method("huber", "Linear", {"regression"}, lambda kind, seed: Own()))
"""


def test_a_plugin_registers_once(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    plugin = Plugin.read(tmp_path / "mine.py")
    assert load_plugin(plugin) == load_plugin(plugin) == ("huber",)
    assert find_method("huber").category == "Linear"


def test_an_edited_plugin_replaces_the_one_before():
    load_plugin(Plugin("mine.py", SOURCE))
    load_plugin(Plugin("mine.py", SOURCE.replace("Linear", "Peer")))
    assert find_method("huber").category == "Peer"


def test_estimators_of_a_plugin_can_be_pickled():
    load_plugin(Plugin("mine.py", SOURCE))
    estimator = find_method("huber").build("regression", 0)
    assert type(pickle.loads(pickle.dumps(estimator))) is type(estimator)


def test_the_digest_follows_the_source():
    assert Plugin("a.py", "x = 1").digest == Plugin("b.py", "x = 1").digest
    assert Plugin("a.py", "x = 1").digest != Plugin("a.py", "x = 2").digest


def test_what_a_failing_plugin_registered_is_taken_back():
    with pytest.raises(PluginError, match=r"Plugin bad.py failed: ZeroDivisionError: division"):
        load_plugin(Plugin("bad.py", SOURCE + "1 / 0"))
    assert "huber" not in METHODS


def test_a_taken_name_is_refused_with_the_file():
    with pytest.raises(PluginError, match=r"Plugin mine.py failed: .*already a method 'ridge'"):
        load_plugin(Plugin("mine.py", SOURCE.replace('"huber"', '"ridge"')))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PluginError, match=r"no plugin file .*absent.py"):
        Plugin.read(tmp_path / "absent.py")


def test_a_plugin_that_ends_the_program_is_an_error():
    with pytest.raises(PluginError, match=r"Plugin bad.py failed: SystemExit"):
        load_plugin(Plugin("bad.py", SOURCE + "raise SystemExit"))
    assert "huber" not in METHODS


def test_a_file_that_is_no_text_is_named(tmp_path):
    (tmp_path / "bad.py").write_bytes(b"x = '\xff'")
    with pytest.raises(PluginError, match=r"Plugin .*bad\.py cannot be read as text in UTF-8"):
        Plugin.read(tmp_path / "bad.py")
