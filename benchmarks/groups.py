"""Coverage of 90 % intervals for rows of unseen groups, and for later rows.

    python benchmarks/groups.py [--draws 50]      (some minutes; records go on where they stopped)
    python benchmarks/groups.py --write           (table and picture of docs/guides/groups.md)

Each draw makes a table, fits the same model with and without ``groups=`` (or ``time=``), and counts
on fresh rows. Records go to ``benchmarks/records/groups.jsonl``.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from shared import DOCS, GUIDES, RECORDS, Row, error_of, pyplot, read_records, write_down

import adacap
from adacap._typing import Floats
from adacap_bench.markdown import markdown_lines, place

RESULTS = RECORDS / "groups.jsonl"
GUIDE, PICTURE = GUIDES / "groups.md", DOCS / "groups.png"
MARKS = "<!-- groups: begin -->", "<!-- groups: end -->"
N_GROUPS, N_NEW = 20, 100
MEMBERS = ["ridge", "ridge:bins"]  # a cheap blend: the question is the split
RANGE = (88.0, 93.0)  # per cent, what is to be shown


class Draw(NamedTuple):
    """Rows to train on with what they depend by, and rows to count on."""

    X: Floats
    y: Floats
    given: dict[str, Any]
    X_new: Floats
    y_new: Floats


def _by_group(X: Floats, y: Floats, group: npt.NDArray[Any]) -> Draw:
    old = group < N_GROUPS
    return Draw(X[old], y[old], {"groups": group[old]}, X[~old], y[~old])


def sites(rng: np.random.Generator) -> Draw:
    """Ten rows of each site, two columns that are constant in a site, a strong level of its own."""
    n_groups = N_GROUPS + N_NEW
    group = np.repeat(np.arange(n_groups), 10)
    own = rng.normal(size=(n_groups, 2))[group]
    X = np.column_stack([rng.normal(size=(len(group), 3)), own])
    level = 1.5 * rng.normal(size=n_groups)[group]
    y = X[:, 0] + np.sin(2 * X[:, 1]) + level + 0.5 * rng.normal(size=len(group))
    return _by_group(X, y, group)


def subjects(rng: np.random.Generator) -> Draw:
    """Three to 17 visits of each subject, with a level and a slope of its own."""
    n_groups = N_GROUPS + N_NEW
    group = np.repeat(np.arange(n_groups), rng.integers(3, 18, n_groups))
    n = len(group)
    age, sex = rng.uniform(20, 80, n_groups)[group], rng.integers(0, 2, n_groups)[group]
    before, visit, dose = (
        rng.normal(size=n_groups)[group],
        rng.uniform(0, 5, n),
        rng.uniform(size=n),
    )
    level, slope = rng.normal(size=n_groups)[group], 0.3 * rng.normal(size=n_groups)[group]
    y = 0.02 * age + before + level + (slope - 0.3) * visit + dose * sex
    X = np.column_stack([age, sex, before, visit, dose])
    return _by_group(X, y + 0.4 * rng.normal(size=n), group)


def drift(rng: np.random.Generator) -> Draw:
    """A level that wanders from row to row; the next tenth of the rows is to be predicted."""
    n, n_new = 240, 24
    X = np.column_stack([rng.normal(size=(n + n_new, 3)), np.arange(n + n_new) / n])
    level = 0.15 * np.cumsum(rng.normal(size=n + n_new))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + level + 0.5 * rng.normal(size=n + n_new)
    return Draw(X[:n], y[:n], {"time": np.arange(n)}, X[n:], y[n:])


TABLES = {"sites": sites, "subjects": subjects, "drift": drift}


def measure(table: str, seed: int) -> Iterator[Row]:
    """Coverage and width with the split that fits the rows, and with random folds."""
    draw = TABLES[table](np.random.default_rng(seed))
    for split, given in (("own", draw.given), ("random", {})):
        model = adacap.AdaCapRegressor(quality=MEMBERS, random_state=seed)
        model.fit(draw.X, draw.y, **given)
        lower, upper = model.predict_interval(draw.X_new).T
        inside = (lower <= draw.y_new) & (draw.y_new <= upper)
        error = np.sqrt(np.mean((model.predict(draw.X_new) - draw.y_new) ** 2))
        yield {
            "table": table, "seed": seed, "split": split, "coverage": float(inside.mean()),
            "width": float(np.mean(upper - lower)), "rmse": float(error),
        }  # fmt: skip


def run(n_draws: int) -> None:
    """Measure what is not there yet."""
    done = {(one["table"], one["seed"]) for one in read_records(RESULTS)}
    for seed in range(n_draws):
        for table in TABLES:
            if (table, seed) not in done:
                write_down(RESULTS, *measure(table, seed))


def gathered() -> dict[tuple[str, str], dict[str, Floats]]:
    """Measured values by table and split."""
    found: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
    for one in read_records(RESULTS):
        for name in ("coverage", "width", "rmse"):
            found[one["table"], one["split"]][name].append(one[name])
    return {key: {n: np.array(v) for n, v in own.items()} for key, own in found.items()}


def lines() -> list[str]:
    """The table of the guide."""
    cells = gathered()
    titles = ("table", "draws", "coverage, rows split as they depend", "coverage, random folds",
              "width")  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for table in TABLES:
        own, drawn = cells[table, "own"], cells[table, "random"]
        texts = [f"{_mean(100 * one['coverage'])} %" for one in (own, drawn)]
        widths = f"{own['width'].mean():.1f}, random {drawn['width'].mean():.1f}"
        rows.append((table, len(own["width"]), *texts, widths))
    return list(markdown_lines(titles, rows, "lr"))


def _mean(values: Floats) -> str:
    return f"{values.mean():.1f} ± {error_of(values):.1f}"


def draw_picture() -> None:
    """Coverage of every draw, beside what was asked for."""
    cells = gathered()
    figure, axes = pyplot().subplots(1, len(TABLES), figsize=(8, 3), sharey=True)
    for ax, table in zip(axes, TABLES, strict=True):
        parts = [100 * cells[table, split]["coverage"] for split in ("own", "random")]
        ax.boxplot(parts, showmeans=True, widths=0.6)
        ax.axhspan(*RANGE, color="tab:green", alpha=0.15)
        ax.axhline(90, color="tab:green", lw=1)
        own = "time=" if table == "drift" else "groups="
        ax.set_xticks([1, 2], [own, "random folds"])
        ax.set_title(table)
    axes[0].set_ylabel("rows inside 90 % intervals, %")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        place(GUIDE, MARKS, "\n".join(lines()))
        draw_picture()
        return
    run(options.draws)
    print("\n".join(lines()))


if __name__ == "__main__":
    main()
