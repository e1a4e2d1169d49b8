"""Odd command lines: each ends with exit code 0, 1 or 2 and a sentence, never a traceback.

Commands, options, files and values are put together at random. A command runs in a folder of its
own, with the place for temporary files beside it: what is beside that folder must stay as it was.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
from harness import MEMORY, main
from typer.testing import CliRunner

import adacap.cli
from adacap import AdaCapRegressor

READING = ("--separator", "--decimal", "--encoding", "--date-format")
ROWS = ("--target", "--task", "--drop", "--seed")
TRAINING = ("--method", "--n-estimators", "--target-transform", "--time-limit", "--weight",
            "--group", "--time", "--keep", "--test-size", "--max-rows")  # fmt: skip
OPTIONS = {
    "fit": (*ROWS, *TRAINING, *READING, "--output", "--report", "--no-refit", "--checkpoint",
            "--checkpoint", "--checkpoint-every", "--key-file", "--force", "--json"),
    "predict": (*READING, "--output", "--interval", "--quantiles", "--set", "--id",
                "--keep-columns", "--resume", "--time-limit", "--batch-rows", "--key-file",
                "--force", "--escape-formulas", "--json"),
    "evaluate": (*ROWS, *TRAINING, *READING, "--against", "--splits", "--json"),
    "calibrate": ("--output", "--target", "--group", "--key-file", "--force", "--json"),
    "explain": (*READING, "--output", "--rows-from", "--id", "--method", "--permutations",
                "--seed", "--key-file", "--force", "--json"),
    "advise": (*ROWS, *READING, "--json"),
    "check": (*READING, "--alpha", "--strict", "--key-file", "--json"),
    "inspect": ("--no-capacity", "--key-file", "--json"),
    "export": ("--onnx", "--data", "--dtype", "--missing-text", "--interval", "--key-file",
               "--force", "--json"),
    "bench": ("--json", "--splits", "--methods", "--suite", "--store", "--output", "--force"),
    "bench run": ("--methods", "--splits", "--seeds", "--threads", "--engine", "--store",
                  "--plugin", "--time-limit", "--retries", "--data", "--quick", "--raw-target",
                  "--retry-failed", "--suite", "--json"),
    "data": ("--folder", "--json"),
    "reproduce": ("--quick", "--full", "--scale", "--splits", "--seeds", "--methods", "--output",
                  "--page", "--readme", "--store", "--state", "--jobs", "--engine", "--data",
                  "--time-limit", "--max-hours", "--json"),
}  # fmt: skip
FLAGS = ("--no-refit", "--force", "--keep-columns", "--resume", "--escape-formulas", "--json",
         "--strict", "--no-capacity", "--quick", "--full", "--help", "--unheard-of")  # fmt: skip
VALUES = (
    "price", "size", "town", "", " ", ",", "price,size", "nothing", "-1", "0", "1", "2", "0.5",
    "0.9", "1e9", "nan", "inf", "-inf", "1e400", "9" * 30, "auto", "regression", "classification",
    "fast-nets", "ridge", "utf-8", "utf-16", "no-such", ";", "tab", "\\", "%", "%d/%m/%Y", "\u202e",
    "out.csv", "out.parquet", "out.adacap", "out.xlsx", "out.onnx", "page.html", ".", "..", "/",
    "nowhere/out.csv", "/dev/null", "t.csv", "m.adacap", "x" * 300, "=1+1", "--", "-", "é",
    "log", "yeo-johnson", "none", "exact", "permutation", "quick", "paper", "float32", "0.5,0.9",
    "key.bin", "c.checkpoint", "s.sqlite", "odd.csv",
)  # fmt: skip
FITTING = {  # values that an option may take, so that commands get beyond their parser
    "--target": ("price", "price", "town", "size,price"),
    "--task": ("auto", "regression", "classification"),
    "--drop": ("town", "size,town", "nothing"),
    "--seed": ("0", "7", "9" * 30),
    "--method": ("fast-nets", "ridge", "exact", "permutation", "auto"),
    "--target-transform": ("log", "yeo-johnson", "none", "auto"),
    "--weight": ("size", "price", "town"),
    "--group": ("town", "size"),
    "--time": ("size", "town"),
    "--keep": ("town", "size", "town,size"),
    "--test-size": ("0", "0.5", "0.9", "nan"),
    "--max-rows": ("2", "5", "9" * 30),
    "--separator": (",", ";", "tab", "space", '"', "\n"),
    "--decimal": (".", ",", "5", "\0"),
    "--encoding": ("utf-8", "latin-1", "utf-16", "rot13", "idna", "undefined", "utf-7"),
    "--date-format": ("%d/%m/%Y", "%", "%Q", ""),
    "--output": ("out.csv", "out.parquet", "out.feather", "out.xlsx"),
    "--report": ("page.html", ".", "t.csv"),
    "--checkpoint": ("c.checkpoint", "new.checkpoint", "m.adacap", "t.csv", ".", "nowhere/c"),
    "--checkpoint-every": ("0", "0.001", "inf"),
    "--key-file": ("key.bin", "key.bin", "empty.csv", "t.csv", "nowhere/key", "."),
    "--interval": ("0.9", "0.5,0.9", "1", "nan", "1e-300", "0.9,0.9"),
    "--quantiles": ("0.1,0.5", "0", "nan", "0.5,0.5"),
    "--set": ("0.9", "1"),
    "--id": ("town", "price,size", "nothing"),
    "--time-limit": ("0.1", "inf", "nan"),
    "--batch-rows": ("1", "5", "9" * 30),
    "--rows-from": ("t.csv", "empty.csv", "m.adacap"),
    "--permutations": ("4", "200"),
    "--alpha": ("0.5", "0", "1", "nan", "-1", "1e-320"),
    "--onnx": ("out.onnx", "m.adacap"),
    "--data": ("t.csv", "empty.csv", "."),
    "--dtype": ("float64", "float32"),
    "--missing-text": ("", "Ulm"),
    "--folder": (".", "nowhere", "t.csv"),
    "--against": ("ridge", "ridge,ridge", "mean"),
    "--splits": ("1", "2"),
    "--scale": ("quick", "ledger", "paper"),
    "--store": ("s.sqlite", "new.sqlite"),
    "--state": ("s.sqlite", "new.sqlite"),
    "--jobs": ("1",),
    "--engine": ("local", "dask"),
    "--suite": ("builtin-diabetes", "t.csv", "t.csv:town", "odd.toml", "", "builtin-iris,t.csv"),
    "--methods": ("intercept", "ridge,intercept", "nothing", "", "ols"),
    "--seeds": ("1", "2", "0", "9" * 30),
    "--threads": ("1", "0"),
    "--retries": ("0", "1", "-1"),
    "--plugin": ("end.py", "odd.csv", "fine.py", "nowhere/p.py", "."),
}  # fmt: skip
FILES = ("t.csv", "m.adacap", "signed.adacap", "empty.csv", "nothing.csv", "odd.csv", "s.sqlite",
         "c.checkpoint", ".", "nowhere/x")  # fmt: skip
KINDS = {
    "model": ("m.adacap", "m.adacap", "signed.adacap"),
    "table": ("t.csv",),
    "store": ("s.sqlite", "new.sqlite"),
    "key": ("paper-6", "forest-fires", "t.csv", "é"),
}
COMMANDS = {  # and what it takes
    "fit": ("table",), "predict": ("model", "table"), "evaluate": ("table",),
    "calibrate": ("model", "table"), "explain": ("model", "table"), "advise": ("table",),
    "check": ("model", "table"), "inspect": ("model",), "export": ("model",),
    "bench": ("store", "table"), "bench status": ("store",), "data show": ("key",),
    "reproduce list": (), "demo-x": (), "": (),
}  # fmt: skip
CHEAP = {  # where it comes to training; the first may be drawn otherwise, the last may not
    "bench run": (
        ("--suite", "t.csv", "--methods", "intercept"),
        ("--jobs", "1", "--splits", "1", "--time-limit", "2"),
    ),
    "fit": (("--method", "fast-nets"), ("--n-estimators", "1", "--time-limit", "0.5")),
    "evaluate": (
        ("--method", "fast-nets", "--against", "ridge"),
        ("--n-estimators", "1", "--time-limit", "0.5", "--splits", "1"),
    ),
}


# ------------------------------------------------------------------------------- the folders


@cache
def contents() -> dict[str, bytes]:
    """What the working folder holds at the start of each case, by name."""
    rows = [(20 + 3 * i, "Ulm" if i % 2 else "Bonn", 100 + 7 * i) for i in range(36)]
    frame = pd.DataFrame(rows, columns=["size", "town", "price"])
    fitted = AdaCapRegressor(quality="nets", n_estimators=1, max_iter=2, width=8, random_state=0)
    fitted.fit(frame[["size", "town"]], frame["price"])
    key = bytes(range(32))
    with tempfile.TemporaryDirectory() as name:
        fitted.save(Path(name, "m.adacap"))
        fitted.save(Path(name, "signed.adacap"), key=key)
        models = {path.name: path.read_bytes() for path in Path(name).iterdir()}
    return {
        **models,
        "t.csv": frame.to_csv(index=False).encode(),
        "key.bin": key,
        "empty.csv": b"",
        "odd.csv": bytes(range(256)) * 4,
        "odd.toml": b'[[tasks]]\nname = "T"\npath = "t.csv"\ntarget = "price"\nseed = 1\n',
        "end.py": b"import sys\nsys.exit()\n",
        "fine.py": b"x = 1\n",
        "s.sqlite": b"SQLite format 3\0" + bytes(2000),
        "c.checkpoint": models["m.adacap"][:-100],
    }


@cache
def parent() -> tempfile.TemporaryDirectory[str]:
    """A folder of ours alone: the working folder, the one for temporary files, a file between."""
    made = tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY)
    for name in ("work", "temporary"):
        Path(made.name, name).mkdir()
    Path(made.name, "out.csv").write_text("beside\n", encoding="utf-8")
    return made


def beside(where: Path) -> dict[str, int]:
    """Size of all that is in the parent of a folder, the folder itself apart."""
    found = {}
    for folder, names, files in os.walk(where.parent):
        if Path(folder) == where.parent:
            names.remove(where.name)
        for name in (*names, *files):
            path = Path(folder, name)
            found[str(path)] = path.stat().st_size if name in files else -1
    return found


def _renew(where: Path) -> None:
    for entry in where.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name not in contents():
            entry.unlink()
    for name, content in contents().items():
        path = where / name
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


@contextmanager
def _within(where: Path) -> Iterator[None]:
    before, temporary = os.getcwd(), tempfile.tempdir
    os.chdir(where)
    tempfile.tempdir = str(where.parent / "temporary")
    try:
        yield
    finally:
        os.chdir(before)
        tempfile.tempdir = temporary


# ------------------------------------------------------------------------------------- cases


def words(draw: random.Random) -> list[str]:
    """A command line."""
    command = draw.choice(sorted(COMMANDS))
    if command == "bench":
        command += f" {draw.choice(('report', 'import', 'methods', 'run-x', 'run', 'run', 'run'))}"
    found, name = command.split(), command.partition(" ")[0]
    takes = () if command == "bench run" else COMMANDS[command if command in COMMANDS else name]
    name = command if command in OPTIONS else name
    first, last = CHEAP.get(command, ((), ()))
    found += [_file(draw, kind) for kind in takes]
    if draw.random() < 0.1:
        found = draw.choice((found[:-1], [*found, draw.choice(FILES)]))
    found += first
    if "--target" in OPTIONS.get(name, ()) and draw.random() < 0.7:
        found += ["--target", "price"]
    if command in ("predict", "explain") and draw.random() < 0.7:
        found += ["--output", draw.choice(FITTING["--output"])]
    for _ in range(draw.choice((0, 1, 2, 4))):
        known = OPTIONS.get(name, FLAGS) if draw.random() < 0.95 else FLAGS
        option = draw.choice(known)
        found.append(option)
        if option not in FLAGS and draw.random() < 0.95:
            found.append(_value(draw, option))
    found += last
    if draw.random() < 0.05:
        draw.shuffle(found)
    return found


def _file(draw: random.Random, kind: str) -> str:
    return draw.choice(KINDS[kind] if draw.random() < 0.8 else FILES)


def _value(draw: random.Random, option: str) -> str:
    return draw.choice(FITTING[option] if option in FITTING and draw.random() < 0.7 else VALUES)


def case(draw: random.Random) -> str:
    """Run one command line in a folder of its own."""
    where = Path(parent().name, "work")
    _renew(where)
    old = beside(where)
    with _within(where), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = words(draw)
        result = CliRunner().invoke(adacap.cli.app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments}: {result.exception!r}") from result.exception
    code, said = result.exit_code, result.output
    if code not in (0, 1, 2) or "Traceback" in said:
        raise AssertionError(f"{arguments}: exit {code}: {said[-500:]}")
    del result  # its traceback holds tables, and these their temporary files
    if changed := _changed(where, old):
        parent.cache_clear()
        raise AssertionError(f"{arguments}: changed outside: {', '.join(changed)}")
    return f"exit {code}"


def _changed(where: Path, old: dict[str, int]) -> list[str]:
    if beside(where) != old:
        gc.collect()
    return sorted({name for name, _ in beside(where).items() ^ old.items()})


def warm() -> None:
    """Take the address space that libraries reserve once, before a cap counts what a case takes."""
    work = Path(parent().name, "work")
    _renew(work)
    with _within(work):
        CliRunner().invoke(adacap.cli.app, ["predict", "m.adacap", "t.csv", "-o", "out.parquet"])


if __name__ == "__main__":
    warm()
    sys.exit(main("cli", case))
