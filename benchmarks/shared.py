"""What the studies share: records that go on where they stopped, and their places in the pages."""

import csv
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2

from adacap._typing import Floats
from adacap_bench.markdown import place

ROOT = Path(__file__).parents[1]
RECORDS, DOCS = ROOT / "benchmarks" / "records", ROOT / "docs"
GUIDES, DEFAULTS, README = DOCS / "guides", DOCS / "DEFAULTS.md", ROOT / "README.md"

Row = dict[str, Any]

# ------------------------------------------------------------------------------- records


def read_records(path: Path) -> list[Row]:
    """What has been measured: an object of JSON per line."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_down(path: Path, *rows: Row) -> None:
    """Add records to a file, at once."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def print_left(done: int, total: int, start: float) -> None:
    """How far a study is that was started at a moment of ``time.perf_counter``."""
    minutes = (time.perf_counter() - start) / done * (total - done) / 60
    print(f"{done} of {total} cells, {minutes:.0f} min left", flush=True)


def read_csv(path: Path) -> list[dict[str, str]]:
    """Results that were exported, as text."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, names: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Export results."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*names])
        writer.writeheader()
        writer.writerows(rows)


def number_of(task: str) -> int:
    """By which the paper's tasks are sorted."""
    return int(task.split("-")[1])


# --------------------------------------------------------------------------------- pages


def place_all(study: str, made: Mapping[str, Iterable[str]], *pages: Path) -> None:
    """Put tables between the marks of their names, on each page that has them."""
    for name, lines in made.items():
        marks, body = (f"<!-- {study}: {name} -->", f"<!-- {study}: end {name} -->"), [*lines]
        for page in pages:
            if marks[0] in page.read_text(encoding="utf-8"):
                place(page, marks, "\n".join(body))


def error_of(values: Any) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5)


def pyplot() -> Any:
    """Matplotlib without a window."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    return plt


# ---------------------------------------------------------------------------------- data


def friedman1(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Smooth, ten features of which five count, noise of a fifth of the deviation."""
    return make_friedman1(n, noise=1.0, random_state=int(rng.integers(2**31)))


def friedman2(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Smooth, four features on very different scales, noise of a fifth of the deviation."""
    return make_friedman2(n, noise=75.0, random_state=int(rng.integers(2**31)))


def heavy_tailed(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Student's t with two and a half degrees of freedom as noise."""
    X = rng.standard_normal((n, 5))
    return X, X[:, 0] + np.tanh(2 * X[:, 1]) * X[:, 2] + 0.3 * rng.standard_t(2.5, n)
