"""What a reader has to read to follow one training step: the files that run in it."""

import ast
import inspect
import io
import sys
import tokenize
from pathlib import Path

import numpy as np

from adacap import AdaCapRegressor
from adacap.training import Trainer, TrainingData

PACKAGE = Path(__file__).parents[1] / "src" / "adacap"


def lines_of_code(path: Path) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    text = path.read_text(encoding="utf-8")
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = set()
    for token in tokens:
        if token.type not in empty and token.type != tokenize.ENDMARKER:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - skipped)


def files_of_a_step(monkeypatch) -> set[Path]:
    """Files of the package that run in a step or to take its batch."""
    found: set[Path] = set()

    def tracer(frame, event, arg):
        file = Path(frame.f_code.co_filename)
        if PACKAGE in file.parents:
            found.add(file)
        return None

    step, batches = Trainer.step, TrainingData.batches

    def traced_step(self, batch):
        sys.setprofile(tracer)
        try:
            return step(self, batch)
        finally:
            sys.setprofile(None)

    def traced_batches(self, size):
        for batch in batches(self, size):
            found.add(Path(inspect.getfile(TrainingData)))
            yield batch

    monkeypatch.setattr(Trainer, "step", traced_step)
    monkeypatch.setattr(TrainingData, "batches", traced_batches)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 10))
    AdaCapRegressor(random_state=0, max_iter=12).fit(X, X[:, 0] * X[:, 1])
    return found


def test_a_step_is_six_files_and_700_lines_at_most(monkeypatch):
    files = files_of_a_step(monkeypatch)
    counts = {str(file.relative_to(PACKAGE)): lines_of_code(file) for file in sorted(files)}
    assert {"training/loop.py", "core/ridge.py", "core/mlr.py", "nn/modules.py"} <= set(counts)
    assert len(counts) <= 6, counts
    assert sum(counts.values()) <= 700, counts
