"""The harness of the fuzzers: it sees every kind of failure, and gives each by its seed."""

import importlib.util
import random
import re
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FUZZ = Path(__file__).parents[2] / "tools" / "fuzz"


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_harness", FUZZ / "harness.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fuzz_harness", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SEEDS", tmp_path / "seeds")
    return module


def test_cases_are_counted_by_what_came_of_them(harness: Any) -> None:
    budget = harness.Budget(cases=50, seed=3)
    found = harness.fuzz("dice", lambda draw: str(draw.randrange(2)), budget)
    again = harness.fuzz("dice", lambda draw: str(draw.randrange(2)), budget)
    assert found.cases == 50
    assert set(found.outcomes) == {"0", "1"}
    assert found.outcomes == again.outcomes
    assert "dice: 50 cases" in str(found)


def test_an_exception_is_a_failure_that_its_numbers_give_again(
    harness: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def case(draw: random.Random) -> str:
        number = draw.randrange(10)
        assert number, "nothing to divide by"
        return "fine"

    assert harness.main("dice", case, ["--cases", "30", "--seed", "5"]) == 1
    assert "nothing to divide by" in capsys.readouterr().out
    pairs = harness.kept("dice")
    assert pairs
    with pytest.raises(AssertionError, match="nothing to divide by"):
        harness.main("dice", case, ["--seed", str(pairs[0][0]), "--only", str(pairs[0][1])])


def test_a_failure_is_run_first_from_then_on(harness: Any) -> None:
    first = harness.draw_of(5, 7).random()
    harness.SEEDS.mkdir()
    (harness.SEEDS / "dice.txt").write_text("# found once\n5 7\n")
    seen: list[float] = []
    harness.main("dice", lambda draw: seen.append(draw.random()) or "seen", ["--cases", "2"])
    assert seen[0] == first
    assert len(seen) == 3


def test_a_case_that_hangs_is_a_failure(harness: Any) -> None:
    def case(draw: random.Random) -> str:
        try:
            time.sleep(60)
        except Exception:  # what a library may do
            return "slept"
        return "slept"

    found = harness.fuzz("slow", case, harness.Budget(cases=1, case_seconds=0.05))
    assert "TooSlow" in found.failures[0].text


def test_a_case_that_takes_much_memory_is_a_failure(harness: Any) -> None:
    def case(draw: random.Random) -> str:
        return str(np.ones(2**30).sum())  # 8 GB

    found = harness.fuzz("large", case, harness.Budget(cases=1, memory_mb=256))
    assert "MemoryError" in found.failures[0].text


def test_time_ends_a_run(harness: Any) -> None:
    found = harness.fuzz("long", lambda draw: "fine", harness.Budget(cases=10**9, seconds=0.1))
    assert 0 < found.cases < 10**9


def test_fewer_cases_than_asked_for_are_a_failure(
    harness: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert harness.main("brief", lambda draw: "fine", ["--cases", "3"]) == 0
    assert harness.main("brief", lambda draw: "fine", ["--cases", "3", "--seconds", "-1"]) == 1
    assert "brief: only 0 of 3 cases ran" in capsys.readouterr().out


def test_the_longest_case_and_the_peak_of_memory_are_told(harness: Any) -> None:
    def case(draw: random.Random) -> str:
        time.sleep(0.2 if draw.random() == harness.draw_of(4, 2).random() else 0)
        return str(len(bytes(200 * 2**20)))

    found = harness.fuzz("slow", case, harness.Budget(cases=4, seed=4))
    assert found.longest[1:] == (4, 2)
    assert re.search(r"longest \d\.\d\d s \(seed 4, case 2\), peak memory \+\d+ MB", str(found))
