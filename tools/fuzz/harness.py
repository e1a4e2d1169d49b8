"""What all fuzzers share: cases from seeds, a budget, caps on memory and time, a summary line.

A fuzzer is a function of a ``random.Random`` that makes one hostile input, gives it to the library
and returns a word for what came of it, such as ``"refused"``. Whatever it raises is a failure. Case
number i of seed s is always the same, so that a failure can be run again by its two numbers::

    python tools/fuzz/models.py --cases 2000 --seed 7
    python tools/fuzz/models.py --seed 7 --only 1234

Seeds of failures are written to ``tools/fuzz/seeds/<fuzzer>.txt``. They are run before any new case
from then on: commit the file with the repair.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

__all__ = ["MEMORY", "Budget", "Failure", "Summary", "TooSlow", "fuzz", "main"]

SEEDS = Path(__file__).parent / "seeds"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where files cost least
_MOST_FAILURES = 20  # after so many, a run has nothing more to tell
_ARENA_MAX = -8  # of mallopt, see its manual page

Case = Callable[[random.Random], str]


class TooSlow(BaseException):
    """A case took longer than it may; no handler of the library's catches this."""


@dataclass(frozen=True)
class Budget:
    """How much a run may take.

    Attributes
    ----------
    cases : int
        Ends after so many.
    seconds : float
        Or after so long, whichever comes first.
    seed : int
        Of the cases.
    memory_mb : int
        What the process may take beyond what it has at the start; a case that wants more gets a
        MemoryError. 0 for no cap.
    case_seconds : float
        What a case may take.
    """

    cases: int = 1000
    seconds: float = 3600.0
    seed: int = 0
    memory_mb: int = 1024
    case_seconds: float = 10.0


@dataclass(frozen=True)
class Failure:
    """A case that ended in an exception: seed, number, and the traceback."""

    seed: int
    number: int
    text: str


@dataclass
class Summary:
    """What came of a run."""

    name: str
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    longest: tuple[float, int, int] = (0.0, 0, 0)  # seconds, seed, number
    peak_mb: float = 0.0  # beyond the start

    @property
    def cases(self) -> int:
        """Number of cases that ran."""
        return sum(self.outcomes.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{n:,} {word}" for word, n in sorted(self.outcomes.items()))
        slow, seed, number = self.longest
        return (
            f"{self.name}: {self.cases:,} cases in {self.seconds:.0f} s, "
            f"{len(self.failures)} failures, longest {slow:.2f} s (seed {seed}, case {number}), "
            f"peak memory +{self.peak_mb:.0f} MB; {counts}"
        )


def draw_of(seed: int, number: int) -> random.Random:
    """The source of chance of one case."""
    return random.Random(f"{seed}:{number}")


def fuzz(name: str, case: Case, budget: Budget, first: Iterable[tuple[int, int]] = ()) -> Summary:
    """Run cases until the budget is used up.

    Parameters
    ----------
    name : str
    case : callable
        From a ``random.Random`` to a word.
    budget : Budget
    first : iterable of (seed, number)
        Cases to begin with.
    """
    found = Summary(name)
    start, before = time.monotonic(), _peak_mb()
    with _capped_memory(budget.memory_mb):
        for seed, number in _numbers(budget, first):
            if time.monotonic() - start > budget.seconds or len(found.failures) >= _MOST_FAILURES:
                break
            _run(case, seed, number, budget.case_seconds, found)
    found.seconds, found.peak_mb = time.monotonic() - start, _peak_mb() - before
    return found


def _numbers(budget: Budget, first: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    yield from first
    yield from ((budget.seed, number) for number in range(budget.cases))


def _run(case: Case, seed: int, number: int, most: float, found: Summary) -> None:
    begun = time.monotonic()
    try:
        with _alarm(most):
            word = case(draw_of(seed, number))
    except (Exception, TooSlow):
        word = "FAILED"
        found.failures.append(Failure(seed, number, traceback.format_exc(limit=-12)))
    found.outcomes[word] += 1
    found.longest = max(found.longest, (time.monotonic() - begun, seed, number))


# -------------------------------------------------------------------------------------- caps


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"a case took more than {seconds:g} s")

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@contextmanager
def _capped_memory(more_mb: int) -> Iterator[None]:
    """Let the process take so much address space beyond what it has, where the system can."""
    held = _address_space()
    if more_mb == 0 or held is None:
        yield
        return
    _share_one_arena()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (held + more_mb * 2**20, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


def _share_one_arena() -> None:
    """Have glibc reserve no 64 MB of address space for each thread: the cap would count them."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def _address_space() -> int | None:
    """Bytes of address space; None where Linux does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return None
    return pages * resource.getpagesize()


def _peak_mb() -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


# ------------------------------------------------------------------------------ command line


def main(name: str, case: Case, arguments: Sequence[str] | None = None) -> int:
    """Run a fuzzer as its command line says.

    The exit code is 1 if there were failures, or fewer cases than were asked for.
    """
    options = _parse(name, arguments)
    if options.only is not None:
        print(case(draw_of(options.seed, options.only)))
        return 0
    keys = ("cases", "seconds", "seed", "memory_mb", "case_seconds")
    budget = Budget(**{key: getattr(options, key) for key in keys})
    first = kept(name)
    found = fuzz(name, case, budget, first)
    for failure in found.failures:
        print(f"seed {failure.seed}, case {failure.number}\n{failure.text}")
    if found.failures:
        _keep(name, found.failures)
    print(found, flush=True)
    wanted = budget.cases + len(first)
    if found.cases < wanted:
        print(f"{name}: only {found.cases:,} of {wanted:,} cases ran. Give more --seconds.")
    return 1 if found.failures or found.cases < wanted else 0


def _parse(name: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"tools/fuzz/{name}.py")
    usual = Budget()
    parser.add_argument("--cases", type=int, default=usual.cases)
    parser.add_argument("--seconds", type=float, default=usual.seconds)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--memory-mb", type=int, default=usual.memory_mb)
    parser.add_argument("--case-seconds", type=float, default=usual.case_seconds)
    parser.add_argument("--only", type=int, metavar="CASE", help="this case alone, uncapped")
    return parser.parse_args(arguments)


def kept(name: str) -> list[tuple[int, int]]:
    """Cases that failed once: a line of the file is a seed and a number."""
    path = SEEDS / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    return [(int(seed), int(number)) for seed, number in pairs]


def _keep(name: str, failures: Iterable[Failure]) -> None:
    pairs = sorted({*kept(name), *((one.seed, one.number) for one in failures)})
    text = "".join(f"{seed} {number}\n" for seed, number in pairs)
    SEEDS.mkdir(exist_ok=True)
    (SEEDS / f"{name}.txt").write_text(text, encoding="utf-8")
