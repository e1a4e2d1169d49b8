"""AutoGluon on splits of the benchmark, in an environment of its own.

    ADACAP_DATA=<folder> python benchmarks/peer_autogluon.py splits <folder of splits>
    <its environment>/bin/python benchmarks/peer_autogluon.py run <folder of splits> autogluon.csv
    adacap bench import autogluon.csv --store benchmarks/records/quality.sqlite
    python benchmarks/quality.py export

AutoGluon pins versions that the benchmark does not have, so it is not a method of the benchmark:
splits are written as arrays, and its results come in like anyone's. Its environment is made by
``pip install "autogluon.tabular[lightgbm,catboost,xgboost]"``. Every fit has one thread, the preset
``best_quality`` and a time limit; what the file of results holds is not run again.
"""

import argparse
import csv
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

SPLITS, MOST_ROWS, SECONDS = (70, 71), 500, 60
FIELDS = ("task", "split", "method", "score", "metric", "kind", "fit_seconds")


def write_splits(folder: Path) -> None:
    """Arrays of every small regression task and split."""
    from adacap_bench.datasets import find_tasks, load_table
    from adacap_bench.split import make_split

    folder.mkdir(parents=True, exist_ok=True)
    for task in find_tasks(["paper-regression-small"]):
        table = load_table(task.key)
        if 0.8 * len(table.y) > MOST_ROWS:
            continue
        for split in SPLITS:
            part = make_split(table, split)
            np.savez(
                folder / f"{task.key}_{split}.npz", X_train=part.X_train, X_test=part.X_test,
                y_train=part.y_train, y_test=part.y_test,
            )  # fmt: skip
    print(f"{len(list(folder.glob('*.npz')))} splits in {folder}")


def run(folder: Path, results: Path, seconds: int) -> None:
    """Fit AutoGluon on each split and write its test error."""
    known = set()
    if results.exists():
        with results.open(newline="", encoding="utf-8") as file:
            known = {(row["task"], row["split"]) for row in csv.DictReader(file)}
    with results.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        for path in sorted(folder.glob("*.npz")):
            task, split = path.stem.split("_")
            if (task, split) in known:
                continue
            error, spent = fit(dict(np.load(path)), seconds)
            values = (task, split, "autogluon", error, "rmse", "regression", spent)
            writer.writerow(dict(zip(FIELDS, values, strict=True)))
            file.flush()
            print(task, split, f"{error:.4f} in {spent:.0f} s", flush=True)


def fit(part: dict[str, np.ndarray], seconds: int) -> tuple[float, float]:
    """Root mean squared test error, and the seconds of the fit."""
    import pandas as pd
    from autogluon.tabular import TabularPredictor

    names = [f"x{j}" for j in range(part["X_train"].shape[1])]
    train = pd.DataFrame(part["X_train"], columns=names).assign(target=part["y_train"])
    folder = tempfile.mkdtemp()
    start = time.perf_counter()
    predictor = TabularPredictor("target", "regression", "rmse", path=folder, verbosity=0)
    predictor.fit(train, presets="best_quality", time_limit=seconds, num_cpus=1)
    spent = time.perf_counter() - start
    found = predictor.predict(pd.DataFrame(part["X_test"], columns=names)).to_numpy()
    shutil.rmtree(folder)
    return float(np.sqrt(np.mean((found - part["y_test"]) ** 2))), spent


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    splits = commands.add_parser("splits", help="write the splits; in the project's environment")
    splits.add_argument("folder", type=Path)
    runs = commands.add_parser("run", help="fit; in AutoGluon's environment")
    runs.add_argument("folder", type=Path)
    runs.add_argument("results", type=Path)
    runs.add_argument("--seconds", type=int, default=SECONDS)
    options = parser.parse_args()
    if options.command == "splits":
        write_splits(options.folder)
    else:
        run(options.folder, options.results, options.seconds)


if __name__ == "__main__":
    main()
