"""Kill commands at random moments, again and again, and look at what is left.

    python tools/kill_matrix.py --kills 100 save fit predict bench reproduce

A process that has imported everything and started no thread forks one child per try. The child does
the work, and is killed by SIGKILL at a moment drawn uniformly over the time that the work takes. A
kill counts if the child was still at work. Then:

- save: the file holds the old model or the new one, whole;
- fit: no half model; the same command with its checkpoint ends in the model of a fit at one go, to
  the bit, and leaves nothing behind;
- predict: no half output; ``--resume`` ends in the output of a run at one go;
- bench, reproduce: the store is sound and holds no job twice; the same command ends with every job
  once and with the same scores.

Exit code 1 if anything of this fails, or if there were fewer kills than asked for. The seed is
printed, and fixes the moments in parts of the time that the work takes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import numpy as np
import torch

import adacap
from adacap import checkpoint
from adacap.cli import app
from adacap.modelfile import archive

LIBRARIES = (
    "pandas", "pyarrow.csv", "pyarrow.dataset", "pyarrow.feather", "pyarrow.parquet",
    "sklearn.ensemble", "sklearn.linear_model",
)  # fmt: skip
CHANGING = {"seconds", "provenance", "fit_seconds", "created"}


def import_everything() -> None:
    """So that a child begins to work at once."""
    modules = pkgutil.walk_packages(adacap.__path__, "adacap.")
    own = [module.name for module in modules if not module.name.endswith("__main__")]
    for name in [*own, *LIBRARIES]:
        importlib.import_module(name)


def command(*words: object) -> None:
    """Run a command in this process; SystemExit with its code if that is not 0."""
    try:
        app([str(word) for word in words])
    except SystemExit as end:
        if end.code:
            raise


def in_child(folder: Path, work: Callable[[], None]) -> int:
    """Start work in a forked process, in this folder, with what it says in ``said.txt``.

    The process has begun with the work when this returns.
    """
    sys.stdout.flush()
    begun, begin = os.pipe()
    child = os.fork()
    if child:
        os.close(begin)
        os.read(begun, 1)
        os.close(begun)
        return child
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.write(begin, b"!")
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(folder: Path, work: Callable[[], None], seconds: float = 600.0) -> float:
    """Do the work in a child to its end; the time that it took."""
    child = in_child(folder, work)
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            said = (folder / "said.txt").read_text(errors="replace")
            check(status == 0, f"ended with {status}: {said[-2000:]}")
            return time.perf_counter() - start
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Wrong(f"hangs after {seconds:.0f} s")


def killed(folder: Path, work: Callable[[], None], after: float) -> bool:
    """Kill the work after a time; whether it was still going on."""
    child = in_child(folder, work)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


class Wrong(Exception):
    """What is left after a kill is not what it should be."""


def check(fact: bool, message: str) -> None:
    """Raise Wrong unless this is a fact."""
    if not fact:
        raise Wrong(message)


# ------------------------------------------------------------------------------------- cases


class Case:
    """A command, and what must hold after it was killed and after it was run again."""

    work: Callable[[], None]
    """The work, in its folder: a method of each case."""
    left_over = 0  # files that nobody needs

    def __init__(self, home: Path) -> None:
        self.home = home
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(40, 4))
        self.y = self.X[:, 0] * self.X[:, 1] + np.sin(self.X[:, 2]) + 0.1 * rng.normal(size=40)

    def csv(self, folder: Path, repeats: int = 1) -> None:
        table = np.tile(np.c_[self.X, self.y], (repeats, 1))
        np.savetxt(folder / "d.csv", table, delimiter=",", header="a,b,c,d,y", comments="")

    def prepare(self, folder: Path) -> None:
        """What the work needs, in a fresh folder."""

    def again(self) -> None:
        """What is called after a kill."""
        self.work()

    def after_kill(self, folder: Path) -> None:
        """Look at what a kill left."""

    def at_the_end(self, folder: Path) -> None:
        """Look at the outcome; the first one is what all others are compared with."""


class Save(Case):
    """Save a model over another one."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.models = []
        for seed in range(2):
            run(home, lambda seed=seed: self._fit(seed, home / f"{seed}.adacap"))
            self.models.append(adacap.load(home / f"{seed}.adacap"))
        self.bytes = [(home / f"{seed}.adacap").read_bytes() for seed in range(2)]

    def _fit(self, seed: int, path: Path) -> None:
        adacap.AdaCapRegressor(random_state=seed, max_iter=5).fit(self.X, self.y).save(path)

    def prepare(self, folder: Path) -> None:
        (folder / "m.adacap").write_bytes(self.bytes[0])

    def work(self) -> None:
        self.models[1].save("m.adacap", force=True)

    def after_kill(self, folder: Path) -> None:
        check((folder / "m.adacap").read_bytes() in self.bytes, "neither the old nor the new file")
        self.left_over += len(list(folder.glob(".m.*")))

    def at_the_end(self, folder: Path) -> None:
        check((folder / "m.adacap").read_bytes() == self.bytes[1], "not the new file")


class Fit(Case):
    """``adacap fit --checkpoint``, scores and model on all rows."""

    expected: Any = None

    def prepare(self, folder: Path) -> None:
        self.csv(folder)

    def work(self) -> None:
        command(
            "fit", "d.csv", "-t", "y", "--method", "fast", "-o", "m.adacap",
            "--checkpoint", "c.checkpoint", "--checkpoint-every", "0.02",
        )  # fmt: skip

    def again(self) -> None:
        if not Path("m.adacap").exists():
            self.work()

    def after_kill(self, folder: Path) -> None:
        if (folder / "m.adacap").exists():
            adacap.load(folder / "m.adacap")
        if (folder / "c.checkpoint").exists():
            checkpoint.read(folder / "c.checkpoint")

    def at_the_end(self, folder: Path) -> None:
        parts = archive.read(folder / "m.adacap")
        tensors = archive.read_tensors(parts.weights)
        found = json.dumps(without_times(json.loads(parts.text))), tensors
        if self.expected is None:
            self.expected = found
        said = (folder / "said.txt").read_text(errors="replace")
        check("not used" not in said, f"the checkpoint was not used: {said}")
        check(found[0] == self.expected[0], "another description")
        check(tensors.keys() == self.expected[1].keys(), "other tensors")
        for name, tensor in tensors.items():
            check(tensor.tobytes() == self.expected[1][name].tobytes(), f"another {name}")
        names = set(os.listdir(folder)) - {"d.csv", "said.txt", "m.adacap"}
        is_late = (folder / "c.checkpoint").exists()  # killed between saving and removing
        if is_late:
            self.left_over += 1
        drafts = [name for name in names if name.startswith(".m.")]
        self.left_over += len(drafts)
        rest = names - set(drafts) - {"c.checkpoint"}
        check(not rest, f"left behind: {sorted(rest)}")


def without_times(data: Any) -> Any:
    """JSON without what differs from run to run."""
    if isinstance(data, dict):
        return {k: without_times(v) for k, v in data.items() if k not in CHANGING}
    return [without_times(part) for part in data] if isinstance(data, list) else data


class Predict(Case):
    """``adacap predict -o --resume`` in many batches."""

    expected: bytes | None = None

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        run(home, self._fit)

    def _fit(self) -> None:
        model = adacap.AdaCapRegressor(random_state=0, max_iter=5)
        import pandas as pd

        model.fit(pd.DataFrame(self.X, columns=[*"abcd"]), self.y).save(self.home / "m.adacap")

    def prepare(self, folder: Path) -> None:
        self.csv(folder, repeats=50)

    def work(self) -> None:
        model = self.home / "m.adacap"
        command("predict", model, "d.csv", "-o", "out.csv", "--batch-rows", "50", "--resume")

    def again(self) -> None:
        if not Path("out.csv").exists():
            self.work()

    def after_kill(self, folder: Path) -> None:
        if (folder / "out.csv").exists():
            self.at_the_end(folder)

    def at_the_end(self, folder: Path) -> None:
        found = (folder / "out.csv").read_bytes()
        self.expected = self.expected or found
        check(found == self.expected, "another output")


class Bench(Case):
    """``adacap bench run``, two jobs at once."""

    expected: Any = None
    store = "s.sqlite"

    def work(self) -> None:
        command(
            "bench", "run", "--suite", "diabetes", "--methods", "intercept,ridge", "--splits", "3",
            "--jobs", "2", "--store", self.store,
        )  # fmt: skip

    def records(self, folder: Path) -> list[tuple[Any, ...]]:
        with sqlite3.connect(folder / self.store) as connection:
            (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
            check(sound == "ok", f"the store is damaged: {sound}")
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
            if ("records",) not in tables:
                return []
            found = connection.execute(
                "SELECT task, split, method, seed, status, metrics FROM records"
            ).fetchall()
        connection.close()
        keys = [record[:4] for record in found]
        check(len(set(keys)) == len(keys), "a job is there twice")
        return sorted(found)

    def after_kill(self, folder: Path) -> None:
        if (folder / self.store).exists():
            self.records(folder)

    def at_the_end(self, folder: Path) -> None:
        found = self.records(folder)
        self.expected = self.expected or found
        check({record[4] for record in found} == {"ok"}, "a job did not end well")
        check(found == self.expected, "other records")


class Reproduce(Bench):
    """``adacap reproduce`` of one quick item."""

    store = "out/state.sqlite"

    def work(self) -> None:
        command("reproduce", "c4", "--quick", "-o", "out", "--jobs", "2")


CASES = {"save": Save, "fit": Fit, "predict": Predict, "bench": Bench, "reproduce": Reproduce}


# --------------------------------------------------------------------------------- the matrix


def matrix(name: str, n_kills: int, seed: int, seconds: float) -> dict[str, Any]:
    """Kill one command so many times, within so many seconds; what was found."""
    rng, begin = random.Random(f"{seed} {name}"), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kill-") as home:
        case = CASES[name](Path(home))
        took = min(attempt(case, None)[1] for _ in range(3))
        span, kills, early, longest, failures, tries = took, 0, 0, took, [], 0
        while kills < n_kills and time.perf_counter() - begin < seconds and tries < 10 * n_kills:
            tries += 1
            part = rng.random()
            try:
                was_killed, last = attempt(case, part * span)
            except Wrong as wrong:
                was_killed, last = True, 0.0
                failures.append(f"after {part:.3f} of the time: {wrong}")
            kills += was_killed
            if sys.stderr.isatty():
                print(f"\r{name}: {kills} kills", end="", file=sys.stderr, flush=True)
            early += was_killed and part < 0.5
            longest = max(longest, last)
            span *= 1.03 if was_killed else 0.9  # the machine may be busier than it was
    return {
        "case": name, "kills": kills, "in the first half": early, "tries": tries,
        "failures": failures, "left over": case.left_over,
        "work seconds": round(took, 3),
        "longest seconds": round(longest, 3), "peak MB": round(peak_mb()),
        "seconds": round(time.perf_counter() - begin, 1),
    }  # fmt: skip


def peak_mb() -> float:
    """Most memory that any of the processes has had."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return max(resource.getrusage(one).ru_maxrss for one in whose) / unit


def attempt(case: Case, after: float | None) -> tuple[bool, float]:
    """Work that is killed after a time, or not, and then done to its end; the time of that."""
    with tempfile.TemporaryDirectory(prefix="kill-") as place:
        folder = Path(place)
        case.prepare(folder)
        was_killed = False
        if after is not None:
            was_killed = killed(folder, case.work, after)
            case.after_kill(folder)
        took = run(folder, case.work if after is None else case.again)
        case.at_the_end(folder)
        return was_killed, took


def main() -> int:
    """Parse, run, print; 1 if anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("cases", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3600.0, help="for each case at most")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    told = parser.parse_args()
    if unknown := set(told.cases) - set(CASES):
        parser.error(f"unknown {', '.join(sorted(unknown))}; known are {', '.join(CASES)}")
    torch.set_num_threads(1)
    import_everything()
    print(f"seed {told.seed}", flush=True)
    bad = False
    for name in told.cases:
        found = matrix(name, told.kills, told.seed, told.seconds)
        bad |= bool(found["failures"]) or found["kills"] < told.kills
        print(json.dumps(found), flush=True)
        if found["kills"] < told.kills:
            print(f"{name}: only {found['kills']} of {told.kills} kills. Give more --seconds.")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
