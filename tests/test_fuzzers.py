"""The fuzzers, in a small bounded run: no foreign error, nothing left behind."""

import importlib
from pathlib import Path

import pytest

from adacap.estimators.blending import BUDGETS

TOOLS = Path(__file__).parents[1] / "tools" / "fuzz"


@pytest.mark.filterwarnings("ignore")  # of readers about files that are odd on purpose
@pytest.mark.parametrize(
    ("name", "cases"), [("tables", 150), ("stores", 80), ("cli", 25), ("checkpoints", 60)]
)
def test_a_short_run_finds_nothing(name, cases, monkeypatch):
    if name == "stores":
        pytest.importorskip("adacap_bench")
    for quality, budget in BUDGETS.items():  # which the fuzzers cut
        monkeypatch.setitem(BUDGETS, quality, budget)
    monkeypatch.syspath_prepend(TOOLS)
    harness, fuzzer = importlib.import_module("harness"), importlib.import_module(name)
    budget = harness.Budget(cases=cases, seconds=600, memory_mb=0, case_seconds=300)
    found = harness.fuzz(name, fuzzer.case, budget, harness.kept(name))
    assert not found.failures, found.failures[0].text
    assert found.cases >= cases / 2
