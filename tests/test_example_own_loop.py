"""The head and loss in one's own training loop: short, and it learns; the guide shows the same."""

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "own_training_loop.py"
GUIDE = ROOT / "docs" / "guides" / "own_net.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_training_loop", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_predicts_rows_it_has_not_seen(example, capsys):
    example.main()
    r2 = float(capsys.readouterr().out.removeprefix("test R2 "))
    assert r2 > 0.9


def test_the_result_is_an_ordinary_network(example, seed):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(40, 3, generator=generator)
    network = example.train(X, X[:, :1], n_steps=3)
    assert type(network[-1]) is torch.nn.Linear
    assert network(X[:2]).shape == (2, 1)


def test_the_loop_takes_about_twenty_lines(example):
    lines = [line for line in inspect.getsource(example.train).splitlines() if line.strip()]
    assert len(lines) <= 20


def test_the_guide_shows_the_example():
    assert SCRIPT.read_text(encoding="utf-8") in BLOCK.findall(GUIDE.read_text(encoding="utf-8"))


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for code in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        exec(compile(code, str(GUIDE), "exec"), {"__name__": "guide"})
    assert float(capsys.readouterr().out) > 0.5
