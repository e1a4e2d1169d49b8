"""Try the wheels in the environment they were installed in: ``make test-wheels``.

    python tools/try_wheels.py library    # the library with the extra `files`, and nothing else
    python tools/try_wheels.py both       # after the benchmark's wheel was added

Run by the Python of that environment, outside the repository's folders.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

NOT_NEEDED = ("adacap_bench", "pandas", "ray", "catboost", "lightgbm", "xgboost", "matplotlib")
ADACAP = Path(sys.executable).with_name("adacap")


def adacap(*words: str, code: int = 0) -> str:
    """What a command prints; it must end with the exit code."""
    done = subprocess.run([ADACAP, *words], capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"adacap {' '.join(words)} ended with {done.returncode}, not {code}:\n"
                 f"{done.stdout}{done.stderr}")  # fmt: skip
    print(f"adacap {' '.join(words)}: exit code {code}")
    return done.stdout + done.stderr


def expect(fact: bool, text: str) -> None:
    """End with the text if the fact does not hold."""
    if not fact:
        sys.exit(text)


def library() -> None:
    """The library alone: what is not there, fit, predict and inspect of a CSV, and the way out."""
    there = [name for name in NOT_NEEDED if importlib.util.find_spec(name)]
    expect(there == [], f"The library's wheel brought {', '.join(there)}.")
    home = importlib.util.find_spec("adacap")
    expect(home is not None and str(home.origin).startswith(sys.prefix), f"adacap is {home}.")
    rows = [(k % 17, "north" if k % 3 else "south", 3 * (k % 17) + k % 3) for k in range(120)]
    with Path("houses.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("size", "side", "price"), *rows])
    adacap("fit", "houses.csv", "--target", "price", "-o", "m.adacap", "--no-refit")
    adacap("predict", "m.adacap", "houses.csv", "-o", "out.csv")
    found = Path("out.csv").read_text(encoding="utf-8").splitlines()
    expect(len(found) == 121, f"{len(found) - 1} predictions for 120 rows.")
    facts = json.loads(adacap("inspect", "m.adacap", "--json"))
    expect(isinstance(facts, dict) and bool(facts), f"inspect tells {facts!r}.")
    told = adacap("bench", "run", code=2)
    expect("pip install adacap-bench" in told, f"adacap bench run does not say how:\n{told}")
    adacap("demo")


def both() -> None:
    """With the benchmark's wheel its commands are there."""
    adacap("data", "show", "friedman1")
    adacap("bench", "run", "--suite", "builtin-iris", "--methods", "intercept", "--splits", "1")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        {"library": library, "both": both}[sys.argv[1]]()
