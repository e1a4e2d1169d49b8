"""Coverage and width of 90 % prediction intervals over many random splits.

    ADACAP_DATA=<folder> python benchmarks/coverage.py [--splits 200] [--sets friedman1,diabetes]
    python benchmarks/coverage.py --write       (the table of docs/guides/intervals.md)
    python benchmarks/coverage.py --inflation   (what leave-one-out errors must be multiplied by)

Each cell (set, split) fits three models on the same training rows: a bag of five folds for ``cv+``,
the same bag with a quarter of the rows set aside for ``split``, a single net for ``loo``; on the
first 50 splits also ``AdaCapRegressor()`` as it is, and a random forest under MAPIE's CV+ with five
folds. Records go to
``benchmarks/records/coverage.jsonl`` as they come; what is there already is not run again. Sets of
the paper need ADACAP_DATA and are left out, with the reason, where it does not name a folder.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import shared
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import adacap
from adacap._typing import Floats
from adacap.estimators.intervals import LOO_INFLATION
from adacap_bench.markdown import markdown_lines, place

RESULTS, GUIDE = shared.RECORDS / "coverage.jsonl", shared.GUIDES / "intervals.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
COVERAGE, N_TRAIN, N_TEST, STEPS = 0.9, 100, 400, 100
FEWER_SPLITS = 50  # of the default and the forest, which take longer than the three others
SMOOTH = ("friedman1", "friedman2")
WANTED = {"default": (88.0, 93.0), "cv+": (88.0, 97.0), "split": (88.0, 97.0)}  # per cent, mean
LEAST = 80.0


class Split(NamedTuple):
    """Rows to train on and rows to count on."""

    X: Any
    y: Floats
    X_test: Any
    y_test: Floats


# ---------------------------------------------------------------------------------- data


def drawn(make: Callable[[int, np.random.Generator], tuple[Floats, Floats]]) -> Any:
    """Fresh rows for every split, from a known distribution."""

    def split(seed: int) -> Split:
        X, y = make(N_TRAIN + N_TEST, np.random.default_rng(seed))
        return Split(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])

    return split


def heteroscedastic(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Noise that grows with the first feature."""
    X = rng.uniform(0, 1, (n, 5))
    y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + (0.05 + X[:, 0]) * 0.5 * rng.standard_normal(n)
    return X, y


def fixed(load: Callable[[], tuple[Any, Floats]], n_train: int) -> Any:
    """Another choice of training rows for every split; all others are counted on."""

    def split(seed: int) -> Split:
        X, y = load()
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[n_train:]
        return Split(_take(X, train), y[train], _take(X, test), y[test])

    return split


def _take(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def of_paper(key: str) -> Callable[[], tuple[Any, Floats]]:
    def load() -> tuple[Any, Floats]:
        from adacap_bench.datasets import load_table

        table = load_table(key)
        return table.X, np.asarray(table.y, dtype=np.float64)

    return load


SETS: dict[str, Callable[[int], Split]] = {
    "friedman1": drawn(shared.friedman1),
    "friedman2": drawn(shared.friedman2),
    "heteroscedastic": drawn(heteroscedastic),
    "heavy-tailed": drawn(shared.heavy_tailed),
    "diabetes": fixed(lambda: load_diabetes(return_X_y=True), N_TRAIN),
    "paper-1": fixed(of_paper("paper-1"), 80),
    "paper-12": fixed(of_paper("paper-12"), N_TRAIN),
}
TITLES = {"paper-1": "Concrete Slump Test (paper)", "paper-12": "Yacht Hydrodynamics (paper)"}

# ------------------------------------------------------------------------------- methods


def by_adacap(method: str, **options: Any) -> Callable[[Split, int], Floats]:
    def bounds(split: Split, seed: int) -> Floats:
        model = adacap.make("fast-nets", max_iter=STEPS, random_state=seed, **options).fit(
            split.X, split.y
        )
        found: Floats = model.predict_interval(split.X_test, COVERAGE, method)
        return found

    return bounds


def by_default(split: Split, seed: int) -> Floats:
    model = adacap.AdaCapRegressor(random_state=seed).fit(split.X, split.y)
    found: Floats = model.predict_interval(split.X_test, COVERAGE)
    return found


def by_forest(split: Split, seed: int) -> Floats:
    from mapie.regression import CrossConformalRegressor

    forest = RandomForestRegressor(100, random_state=seed)
    model = CrossConformalRegressor(
        forest, confidence_level=COVERAGE, method="plus", cv=5, random_state=seed
    )
    _, found = model.fit_conformalize(np.asarray(split.X), split.y).predict_interval(
        np.asarray(split.X_test)
    )
    return np.asarray(found, dtype=np.float64)[:, :, 0]


METHODS: dict[str, Callable[[Split, int], Floats]] = {
    "cv+": by_adacap("cv+"),
    "split": by_adacap("split", calibration_fraction=0.25),
    "loo": by_adacap("loo", n_estimators=1, validation=0.2),
    "default": by_default,
    "forest": by_forest,
}
HEADS = {
    "default": "`AdaCapRegressor()`", "cv+": "nets, `cv+`", "split": "nets, `split`",
    "loo": "nets, `loo`", "forest": "MAPIE CV+, forest",
}  # fmt: skip
SLOW = ("default", "forest")


# ------------------------------------------------------------------------------- running


def run_cell(name: str, seed: int, method: str) -> dict[str, Any]:
    """Coverage, and mean width in standard deviations of the target."""
    split = SETS[name](seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="mapie")
        lower, upper = METHODS[method](split, seed).T
    y, scale = split.y_test, np.concatenate([split.y, split.y_test]).std()
    return {
        "set": name,
        "split": seed,
        "method": method,
        "coverage": round(float(((lower <= y) & (y <= upper)).mean()), 5),
        "width": round(float((upper - lower).mean() / scale), 5),
        "seconds": round(time.perf_counter() - start, 3),
    }


def missing(names: list[str], n_splits: int, done: list[dict[str, Any]]) -> Iterator[Any]:
    """Cells to run, all sets side by side, so that an early look at the table is fair."""
    known = {(r["set"], r["split"], r["method"]) for r in done}
    for seed in range(n_splits):
        for name in names:
            for method in METHODS:
                is_enough = method in SLOW and seed >= FEWER_SPLITS
                if not is_enough and (name, seed, method) not in known:
                    yield name, seed, method


def usable(names: list[str]) -> list[str]:
    """Sets whose data are there; of the others, why not."""
    found = []
    for name in names:
        if name not in SETS:
            raise SystemExit(f"Unknown set {name!r}. Known: {', '.join(SETS)}.")
        try:
            SETS[name](0)
        except adacap.exceptions.AdaCapError as error:
            print(f"{name} is left out: {str(error).splitlines()[0]}")
        else:
            found.append(name)
    return found


def run(names: list[str], n_splits: int) -> None:
    cells = list(missing(usable(names), n_splits, shared.read_records(RESULTS)))
    start = time.perf_counter()
    for i, cell in enumerate(cells, 1):
        shared.write_down(RESULTS, run_cell(*cell))
        if i % 50 == 0 or i == len(cells):
            shared.print_left(i, len(cells), start)


# ------------------------------------------------------------------------------ reporting


def summary(records: list[dict[str, Any]]) -> dict[str, dict[str, tuple[float, float, int]]]:
    """Per set and method: mean coverage in per cent, mean width, splits."""
    cells: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for r in records:
        cells[r["set"], r["method"]].append((r["coverage"], r["width"]))
    table: dict[str, dict[str, tuple[float, float, int]]] = defaultdict(dict)
    for (name, method), values in cells.items():
        coverage, width = np.mean(values, axis=0)
        table[name][method] = (100 * float(coverage), float(width), len(values))
    return {name: table[name] for name in SETS if name in table}


def lines_of(table: dict[str, dict[str, tuple[float, float, int]]]) -> list[str]:
    lines: list[list[object]] = []
    for name, row in table.items():
        parts = [f"{row[m][0]:.1f} % · {row[m][1]:.2f}" if m in row else "–" for m in HEADS]
        lines.append([TITLES.get(name, name), max(n for _, _, n in row.values()), *parts])
    known = [m for m in HEADS if any(m in row for row in table.values())]
    means = {m: np.mean([row[m][0] for row in table.values() if m in row]) for m in known}
    cells = [f"{means[m]:.1f} %" if m in means else "–" for m in HEADS]
    lines.append(["**mean coverage**", "", *cells])
    return list(markdown_lines(["data set", "splits", *HEADS.values()], lines))


def verdicts(records: list[dict[str, Any]]) -> Iterator[str]:
    """What was to be shown, and whether it is."""
    table = summary(records)
    for method, (low, high) in WANTED.items():
        found = [row[method][0] for row in table.values() if method in row]
        if not found:
            continue
        mean, least = float(np.mean(found)), min(found)
        held = low <= mean <= high and least >= LEAST
        yield f"{method}: mean {mean:.1f} %, least {least:.1f} %: {'as wanted' if held else 'NOT'}"
    both = summary([r for r in records if r["split"] < FEWER_SPLITS])
    for name in SMOOTH:
        ours, other = both[name]["cv+"][1], both[name]["forest"][1]
        held = "as wanted" if ours <= other else "NOT"
        yield f"width on the same splits of {name}: cv+ {ours:.2f}, forest {other:.2f}: {held}"


def print_inflation(names: list[str], n_splits: int) -> None:
    """Errors over leave-one-out errors: of rows held out, and of test rows at the quantile used."""
    every = []
    for name in usable(names):
        found = []
        for seed in range(n_splits):
            split = SETS[name](seed)
            one = {"n_estimators": 1, "validation": 0.2, "max_iter": STEPS}
            model = adacap.make("fast-nets", random_state=seed, **one)
            model.fit(split.X, split.y)
            lower, upper = model.predict_interval(split.X_test, COVERAGE, "loo").T
            errors = np.abs(split.y_test - model.predict(split.X_test))
            own = float(model.intervals_.inflation[0])
            wanted = own * float(np.quantile(errors, COVERAGE) / ((upper - lower) / 2).mean())
            found.append((own, wanted))
        own, wanted = np.array(found).T
        every.append(np.median(wanted))
        spread = np.quantile(own, [0.1, 0.9]).round(2), np.quantile(wanted, [0.1, 0.9]).round(2)
        print(
            f"{name:16s} used {np.median(own):.2f} {spread[0]}, "
            f"would have been right {every[-1]:.2f} {spread[1]}, "
            f"correlation {np.corrcoef(np.log(found), rowvar=False)[0, 1]:.2f}",
            flush=True,
        )
    print(f"median over sets of what is right: {np.median(every):.2f}; in use: {LOO_INFLATION:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--write", action="store_true", help="write the table into the guide")
    parser.add_argument("--inflation", action="store_true", help="only measure the factor of loo")
    options = parser.parse_args()
    names = options.sets.split(",")
    if options.inflation:
        print_inflation(names, options.splits)
        return
    if not options.write:
        run(names, options.splits)
    records = shared.read_records(RESULTS)
    lines = lines_of(summary(records))
    print(*lines, *verdicts(records), sep="\n")
    if options.write:
        place(GUIDE, (BEGIN, END), "\n".join(lines))


if __name__ == "__main__":
    main()
