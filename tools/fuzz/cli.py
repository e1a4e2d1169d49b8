"""Odd command lines: each ends with exit code 0, 1 or 2 and a sentence, never a traceback.

Commands, options, files and values are put together at random; what a command writes goes to its
own folder.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import main
from typer.testing import CliRunner

import adacap.cli
from adacap import AdaCapRegressor

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where files cost least
OPTIONS = {
    "fit": ("--target", "--output", "--report", "--task", "--method", "--n-estimators", "--drop",
            "--time-limit", "--weight", "--test-size", "--no-refit", "--max-rows", "--seed",
            "--force", "--separator", "--decimal", "--encoding", "--date-format", "--json"),
    "predict": ("--output", "--interval", "--id", "--keep-columns", "--resume", "--time-limit",
                "--batch-rows", "--force", "--separator", "--decimal", "--encoding",
                "--escape-formulas", "--json"),
    "evaluate": ("--target", "--json", "--splits", "--seed", "--separator", "--methods"),
    "inspect": ("--json",),
    "export": ("--output", "--force", "--json"),
    "bench": ("--json", "--methods", "--splits", "--suite", "--store", "--output", "--force"),
}  # fmt: skip
FLAGS = ("--no-refit", "--force", "--keep-columns", "--resume", "--escape-formulas", "--json",
         "--help", "--unheard-of")  # fmt: skip
VALUES = (
    "price", "size", "town", "", " ", ",", "price,size", "nothing", "-1", "0", "1", "2", "0.5",
    "0.9", "1e9", "nan", "inf", "-inf", "1e400", "9" * 30, "auto", "regression", "classification",
    "fast-nets", "ridge", "utf-8", "utf-16", "no-such", ";", "tab", "\\", "%", "%d/%m/%Y", "\u202e",
    "out.csv", "out.parquet", "out.adacap", "out.xlsx", "out.onnx", "page.html", ".", "..", "/",
    "nowhere/out.csv", "/dev/null", "t.csv", "m.adacap", "x" * 300, "=1+1", "--", "-", "é",
)  # fmt: skip
FILES = ("t.csv", "m.adacap", "empty.csv", "nothing.csv", "odd.csv", "s.sqlite", ".", "nowhere/x")
COMMANDS = {
    "fit": 1, "predict": 2, "evaluate": 1, "inspect": 1, "export": 1, "bench": 2, "demo-x": 0, "": 0
}  # fmt: skip


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """A folder with a table, a model, an empty file, noise and a damaged store."""
    made = tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY)
    rows = "\n".join(f"{20 + 3 * i},{'Ulm' if i % 2 else 'Bonn'},{100 + 7 * i}" for i in range(12))
    fresh(Path(made.name), rows)
    return made


@cache
def model() -> bytes:
    fitted = AdaCapRegressor(quality="nets", n_estimators=1, max_iter=2, width=8, random_state=0)
    fitted.fit([[float(i), i % 3] for i in range(12)], [float(i) for i in range(12)])
    with tempfile.TemporaryDirectory() as name:
        fitted.save(Path(name, "m.adacap"))
        return Path(name, "m.adacap").read_bytes()


def fresh(where: Path, rows: str) -> None:
    (where / "t.csv").write_text(f"size,town,price\n{rows}\n", encoding="utf-8")
    (where / "m.adacap").write_bytes(model())
    (where / "empty.csv").write_bytes(b"")
    (where / "odd.csv").write_bytes(bytes(range(256)) * 4)
    (where / "s.sqlite").write_bytes(b"SQLite format 3\0" + bytes(2000))


def words(draw: random.Random) -> list[str]:
    """A command line."""
    command = draw.choice(sorted(COMMANDS))
    found = [command] if command else []
    if command == "bench":
        found.append(draw.choice(("status", "report", "import", "methods", "run-x")))
    found += [draw.choice(FILES) for _ in range(COMMANDS[command] + draw.choice((0, 0, 0, -1, 1)))]
    for _ in range(draw.choice((0, 1, 2, 4))):
        option = draw.choice((*OPTIONS.get(command, ("--json",)), draw.choice(FLAGS)))
        found.append(option)
        if option not in FLAGS and draw.random() < 0.95:
            found.append(draw.choice(VALUES))
    if command == "fit":  # cheap, where it comes to training
        found += ["--method", "fast-nets", "--n-estimators", "1", "--time-limit", "0.5"]
    if command in ("fit", "evaluate") and draw.random() < 0.7:
        found += ["--target", "price"]
    if draw.random() < 0.05:
        draw.shuffle(found)
    return found


def case(draw: random.Random) -> str:
    """Run one command line in a folder of its own."""
    where = Path(folder().name)
    before = os.getcwd()
    os.chdir(where)
    outside = set(where.parent.glob("out.*"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = words(draw)
            result = CliRunner().invoke(adacap.cli.app, arguments)
    finally:
        os.chdir(before)
        _tidy(where)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments}: {result.exception!r}") from result.exception
    if result.exit_code not in (0, 1, 2) or "Traceback" in result.output:
        raise AssertionError(f"{arguments}: exit {result.exit_code}: {result.output[-500:]}")
    if set(where.parent.glob("out.*")) != outside:
        raise AssertionError(f"{arguments}: wrote outside")
    return f"exit {result.exit_code}"


def _tidy(where: Path) -> None:
    import shutil

    for entry in where.iterdir():
        if entry.name not in FILES:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for name in ("t.csv", "m.adacap", "empty.csv", "odd.csv", "s.sqlite"):
        if not (where / name).is_file():
            folder.cache_clear()
            return
    if (where / "m.adacap").read_bytes() != model():
        (where / "m.adacap").write_bytes(model())


if __name__ == "__main__":
    sys.exit(main("cli", case))
