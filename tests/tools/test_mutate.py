"""The mutator: its changes, and that it tells a test that notices from one that does not."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "mutate.py"


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutate", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutate", module)
    spec.loader.exec_module(module)
    return module


SOURCE = '''
def f(a, b):
    """Words are left alone: 1 < 2."""
    require(a, "nor messages")
    if not a and b >= 0.5:
        raise ValueError(f"{1 + 1}")
    return a * b
'''


def test_every_kind_of_change_is_made(mutate: ModuleType) -> None:
    found = {(one.before, one.after) for one in mutate.mutants_of("m.py", SOURCE)}
    assert found == {
        ("require(a, 'nor messages')", "nothing"),
        ("if not a and b >= 0.5: ...", "if not (not a and b >= 0.5): ..."),
        ("not a and b >= 0.5", "not a or b >= 0.5"),
        ("not a", "a"),
        ("b >= 0.5", "b > 0.5"),
        ("0.5", "1.0"),
        ("raise ValueError(f'{1 + 1}')", "nothing"),
        ("return a * b", "return None"),
        ("a * b", "a / b"),
    }


def test_each_mutant_is_another_module_that_compiles(mutate: ModuleType) -> None:
    sources = [one.source for one in mutate.mutants_of("m.py", SOURCE)]
    assert len(set(sources)) == len(sources)
    for source in sources:
        compile(source, "m.py", "exec")


def test_a_sample_is_given_by_its_seed(mutate: ModuleType) -> None:
    every = mutate.mutants_of("m.py", SOURCE)
    assert mutate.sample(every, 4, 1) == mutate.sample(every, 4, 1)
    assert len(mutate.sample(every, 100, 1)) == len(every)


def test_the_tests_it_names_are_there(mutate: ModuleType) -> None:
    named = {test for tests in mutate.TARGETS.values() for of in tests.values() for test in of}
    assert [test for test in sorted(named) if not (mutate.ROOT / test).is_file()] == []


def test_an_explained_mutant_is_told_apart(mutate: ModuleType) -> None:
    (first, *_) = mutate.mutants_of("core/m.py", SOURCE)
    page = f"# Words\n\n- {first.name}: no one can tell.\n- a list, with no change in it\n"
    assert mutate.explained(page) == {first.name}


_OUTCOME = """
import runpy, sys
run_tests = runpy.run_path(sys.argv[1])["run_tests"]
from pathlib import Path
print("outcome:", run_tests([sys.argv[2]], Path(sys.argv[3]), float(sys.argv[4])))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize(
    ("body", "seconds", "outcome"),
    [
        ("assert given_number.NUMBER == 1", 120, "killed"),
        ("assert given_number.NUMBER > 0", 120, "survived"),
        ("time.sleep(600)", 5, "timeout"),
    ],
)
def test_a_test_that_notices_kills_and_one_that_does_not_lets_live(
    tmp_path: Path, body: str, seconds: int, outcome: str
) -> None:
    """In a process of its own, as the tool runs: a fork of one with threads may wait for ever."""
    (tmp_path / "given_number.py").write_text("NUMBER = 2\n")
    test = tmp_path / "test_it.py"
    test.write_text(f"import time\nimport given_number\ndef test_it():\n    {body}\n")
    told = subprocess.run(
        [sys.executable, "-c", _OUTCOME, TOOL, test, tmp_path, str(seconds)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"outcome: {outcome}" in told.stdout
