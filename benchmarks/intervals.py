"""Coverage and width of 90 % intervals of blends, at 300 and at 20,000 rows, over many splits.

    python benchmarks/intervals.py [--rows 300] [--splits 100] [--sets step,level]
    python benchmarks/intervals.py --write      (tables and picture of docs/guides/intervals.md)

A cell (set, rows, split) fits one blend and asks it for intervals of adaptive and of constant width
(``cv+``), and again after ``calibrate`` on 200 fresh rows (``split``). Beside it stands
conformalised quantile regression of the package MAPIE around scikit-learn's boosted trees, where
MAPIE is installed. Records go to ``benchmarks/records/intervals.jsonl`` as they come; what is there
already is not run again, so the study can be stopped and started at will; cells that were run
without MAPIE are completed once it is installed. At 20,000 rows a cell has 5,000 rows to test on.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import shared
from shared import Row
from sklearn.datasets import load_diabetes

import adacap
from adacap._typing import Floats
from adacap_bench.markdown import markdown_lines, place

Make = Callable[[int, np.random.Generator], tuple[Floats, Floats]]

RESULTS = shared.RECORDS / "intervals.jsonl"
GUIDE, PICTURE = shared.GUIDES / "intervals.md", shared.DOCS / "intervals.png"
MARKS = "<!-- blends: begin -->", "<!-- blends: end -->"
COVERAGE, N_FRESH = 0.9, 200
N_TEST = {300: 1000, 20_000: 5000}
QUALITY = "fast"
"""What is blended: members that a hundred splits can afford."""
METHODS = ("adaptive", "constant", "split", "cqr")
HEADS = ("`cv+`, adaptive", "`cv+`, constant", "`split`, adaptive", "MAPIE CQR, boosted trees")

# ---------------------------------------------------------------------------------- data


def skewed(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Errors that are large on one side only."""
    X = rng.standard_normal((n, 5))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.exponential(1.0, n)


def grows(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Noise that grows with the first feature."""
    X = rng.uniform(0, 1, (n, 5))
    y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + (0.02 + X[:, 0] ** 2) * rng.standard_normal(n)
    return X, y


def level(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Noise in proportion to what is predicted."""
    X = rng.uniform(0, 1, (n, 8))
    mean = np.exp(2.5 * X[:, 0] + 1.5 * X[:, 1] - X[:, 2])
    return X, mean * (1 + 0.3 * rng.standard_normal(n))


def step(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Two kinds of rows, one noisy."""
    X = rng.standard_normal((n, 6))
    noise = np.where(X[:, 3] > 0.3, 1.0, 0.15)
    return X, X[:, 0] + np.tanh(2 * X[:, 1]) * X[:, 2] + noise * rng.standard_normal(n)


def both_ends(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Noise at both ends of a feature."""
    X = rng.standard_normal((n, 6))
    return X, X[:, 0] - X[:, 1] + (0.05 + 0.5 * X[:, 2] ** 2) * rng.standard_normal(n)


def diabetes(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Measured rows, 442 of them."""
    X, y = load_diabetes(return_X_y=True)
    order = rng.permutation(len(y))
    return X[order], y[order]


SETS: dict[str, Make] = {
    "friedman1": shared.friedman1, "friedman2": shared.friedman2,
    "heavy-tailed": shared.heavy_tailed, "skewed": skewed, "grows": grows, "level": level,
    "step": step, "both-ends": both_ends, "diabetes": diabetes,
}  # fmt: skip
UNEVEN = ("grows", "level", "step", "both-ends")
FEW_ROWS = ("diabetes",)  # not to be had at 20,000

# ------------------------------------------------------------------------------- methods


def intervals(
    name: str, rows: int, seed: int, which: set[str]
) -> Iterator[tuple[str, Floats, Floats, float]]:
    """Method, bounds, targets and seconds of the fit; ``which`` names the fits that are missing."""
    total = rows + N_FRESH + N_TEST[rows]
    X, y = SETS[name](total, np.random.default_rng(seed))
    n_fresh = N_FRESH if len(y) == total else 0
    n_train = min(rows, len(y) - 100)
    fresh = slice(n_train, n_train + n_fresh)
    X_test, y_test = X[n_train + n_fresh :], y[n_train + n_fresh :]
    if "blend" in which:
        start = time.perf_counter()
        model = adacap.AdaCapRegressor(quality=QUALITY, random_state=seed)
        model.fit(X[:n_train], y[:n_train])
        seconds = time.perf_counter() - start
        yield "adaptive", model.predict_interval(X_test, COVERAGE), y_test, seconds
        even = model.predict_interval(X_test, COVERAGE, width="constant")
        yield "constant", even, y_test, seconds
        if n_fresh:
            model.calibrate(X[fresh], y[fresh])
            yield "split", model.predict_interval(X_test, COVERAGE), y_test, seconds
    if "cqr" in which:
        start = time.perf_counter()
        found = by_mapie(X[:n_train], y[:n_train], X_test, seed)
        yield "cqr", found, y_test, time.perf_counter() - start


def by_mapie(X: Floats, y: Floats, X_test: Floats, seed: int) -> Floats:
    """Conformalised quantile regression, a quarter of the rows for the conformal step."""
    from mapie.regression import ConformalizedQuantileRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor

    n_fit = len(y) * 3 // 4
    trees = HistGradientBoostingRegressor(loss="quantile", quantile=0.5, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ConformalizedQuantileRegressor(trees, confidence_level=COVERAGE)
        model.fit(X[:n_fit], y[:n_fit]).conformalize(X[n_fit:], y[n_fit:])
        _, found = model.predict_interval(X_test)
    return np.asarray(found, dtype=np.float64)[:, :, 0]


def record(bounds: Floats, y: Floats) -> Row:
    """Coverage, width in deviations, width at exactly 90 %, coverage by fifths of the width."""
    lower, upper = bounds.T
    inside, width = (lower <= y) & (y <= upper), upper - lower
    half = np.maximum(width / 2, 1e-12)
    factor = float(np.quantile(np.abs(y - (lower + upper) / 2) / half, COVERAGE))
    fifth = np.argsort(np.argsort(width, kind="stable"), kind="stable") * 5 // len(y)
    shares = [round(float(inside[fifth == k].mean()), 4) for k in range(5)]
    mean = float(width.mean() / y.std())
    return {
        "coverage": round(float(inside.mean()), 5),
        "width": round(mean, 5),
        "width_at_90": round(mean * factor, 5),
        "fifths": shares,
    }


# ------------------------------------------------------------------------------- running


def run(names: list[str], sizes: list[int], n_splits: int, most_seconds: float) -> None:
    """Run what is missing, all sets side by side, so that an early look at the table is fair."""
    done = {(r["set"], r["rows"], r["split"], r["method"]) for r in shared.read_records(RESULTS)}
    fits = {"adaptive": "blend"} | ({"cqr": "cqr"} if find_spec("mapie") else {})
    cells = [
        (name, rows, seed, which)
        for rows in sizes
        for seed in range(n_splits)
        for name in names
        if (which := {fit for m, fit in fits.items() if (name, rows, seed, m) not in done})
        and not (rows > 1000 and name in FEW_ROWS)
    ]
    start = time.perf_counter()
    for i, (name, rows, seed, which) in enumerate(cells, 1):
        if time.perf_counter() - start > most_seconds:
            print(f"{i - 1} of {len(cells)} cells run: the time is over.")
            return
        found = [
            {"set": name, "rows": rows, "split": seed, "method": method}
            | record(bounds, y) | {"seconds": round(seconds, 2)}
            for method, bounds, y, seconds in intervals(name, rows, seed, which)
        ]  # fmt: skip
        shared.write_down(RESULTS, *found)
        if i % 20 == 0 or i == len(cells):
            shared.print_left(i, len(cells), start)


# ------------------------------------------------------------------------------ reporting


def summary(records: list[Row], rows: int) -> dict[str, dict[str, dict[str, Any]]]:
    """Per set and method: means over splits, and their number."""
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for one in records:
        if one["rows"] == rows:
            cells[one["set"], one["method"]].append(one)
    table: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for (name, method), found in cells.items():
        keys = ("coverage", "width", "width_at_90", "fifths")
        means = {key: np.mean([one[key] for one in found], axis=0) for key in keys}
        table[name][method] = means | {"n": len(found)}
    return {name: table[name] for name in SETS if name in table}


def lines_of(records: list[Row], rows: int) -> list[str]:
    """A table of coverage and width at one number of rows."""
    table = summary(records, rows)
    head = ["data set", "splits", *HEADS, "narrower", "farthest fifth"]
    lines: list[list[Any]] = []
    for name, row in table.items():
        cells = [
            f"{100 * row[m]['coverage']:.1f} % · {row[m]['width']:.2f}" if m in row else "–"
            for m in METHODS
        ]
        n_splits = row["adaptive"]["n"]
        title = f"{name} (uneven)" if name in UNEVEN else name
        ends = [f"{narrower(row):.0f} %", f"{off(row['adaptive']):+.1f}"]
        lines.append([title, n_splits, *cells, *ends])
    means = []
    for m in METHODS:
        found = [100 * row[m]["coverage"] for row in table.values() if m in row]
        means.append(f"{np.mean(found):.1f} %" if found else "–")
    uneven = [narrower(table[name]) for name in UNEVEN if name in table]
    last = f"{np.mean(uneven):.0f} % if uneven" if uneven else "–"
    lines.append(["**mean**", "", *means, last, ""])
    return [f"At {rows:,} rows:", "", *markdown_lines(head, lines)]


def narrower(row: dict[str, dict[str, Any]]) -> float:
    """How much narrower adaptive intervals are at equal coverage, in per cent."""
    return float(100 - 100 * row["adaptive"]["width_at_90"] / row["constant"]["width_at_90"])


def off(one: dict[str, Any]) -> float:
    """Coverage within a fifth of the widths that is farthest from 90 %, in points."""
    apart = 100 * (np.asarray(one["fifths"]) - COVERAGE)
    return float(apart[np.abs(apart).argmax()])


def draw() -> None:
    """Intervals of a table whose noise grows: adaptive beside constant."""
    X, y = grows(1300, np.random.default_rng(0))
    X[:, 1:] = np.where(np.arange(1300)[:, None] < 300, X[:, 1:], 0.5)
    model = adacap.AdaCapRegressor(quality="fast", random_state=0).fit(X[:300], y[:300])
    rows = X[300:][np.argsort(X[300:, 0])]
    figure, axes = shared.pyplot().subplots(1, 3, figsize=(11, 3.2), sharey=True)
    for axis, width in zip(axes, ("auto", "constant"), strict=False):
        bounds = model.predict_interval(rows, [0.5, 0.9], width=width)
        for k, shade in enumerate((0.45, 0.25)):
            axis.fill_between(rows[:, 0], *bounds[:, k].T, alpha=shade, color="C0", lw=0)
        axis.set_title(f'width="{width}"')
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    axes[2].plot(rows[:, 0], model.predict_quantiles(rows, levels), lw=1)
    axes[2].set_title(f"quantiles {levels}", fontsize=9)
    for axis in axes:
        axis.plot(X[:300, 0], y[:300], "k.", ms=2)
        axis.set_xlabel("first feature")
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="300,20000")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--most-seconds", type=float, default=float("inf"))
    parser.add_argument("--write", action="store_true", help="write the guide from the records")
    parser.add_argument("--draw", action="store_true", help="draw the picture of the guide")
    options = parser.parse_args()
    if not (options.write or options.draw):
        sizes = [int(size) for size in options.rows.split(",")]
        run(options.sets.split(","), sizes, options.splits, options.most_seconds)
    records = shared.read_records(RESULTS)
    sizes = sorted({one["rows"] for one in records})
    tables = ["\n".join(lines_of(records, rows)) for rows in sizes]
    print(*(f"{table}\n" for table in tables), sep="\n")
    if options.write:
        place(GUIDE, MARKS, "\n\n".join(tables))
    if options.draw:
        draw()


if __name__ == "__main__":
    main()
