"""Small real tables: AdaCap-SNN beside CatBoost, and what each part of AdaCap adds.

The measurement is benchmarks/small_tables.py; figures are printed, ``pytest -s`` shows them.
"""

import runpy
from pathlib import Path

import pandas as pd
import pytest

STUDY = runpy.run_path(str(Path(__file__).parents[4] / "benchmarks" / "small_tables.py"))
ALL = tuple(STUDY["TABLES"])


def compare(folder, n_splits, tables):
    """Errors by split, one column per method; prints their means."""
    pytest.importorskip("catboost")
    errors = STUDY["compare"](folder, n_splits, tables, n_jobs=1)  # the suite has both cores busy
    print(f"\n{STUDY['summary'](errors, STUDY['COMPARED']).round(4)}")
    return errors.unstack("method")


def assert_not_worse(errors: pd.DataFrame, table: str) -> None:
    """AdaCap is below CatBoost, or above by less than the standard error of the difference."""
    difference = (errors["adacap-snn"] - errors["catboost"]).loc[table]
    assert difference.mean() < difference.sem()


@pytest.mark.parametrize(("table", "share"), [("slump", 0.5), ("hardware", 1.0)])
def test_three_splits_are_enough_to_see_it(data_folder, table, share):
    mean = compare(data_folder, 3, [table]).mean()
    assert mean["adacap-snn"] < share * mean["catboost"]


def test_on_yacht_three_splits_see_no_difference(data_folder):
    """Per split the error varies fourfold for both; over ten splits AdaCap is a little lower."""
    assert_not_worse(compare(data_folder, 3, ["yacht"]), "yacht")


@pytest.mark.slow
def test_ten_splits(data_folder):
    errors = compare(data_folder, 10, ALL)
    mean = errors.groupby("table").mean()
    assert mean.loc["slump", "adacap-snn"] <= 0.13
    assert mean.loc["slump", "adacap-snn"] < 0.5 * mean.loc["slump", "catboost"]
    for table in ("hardware", "yacht"):
        assert mean.loc[table, "adacap-snn"] < mean.loc[table, "catboost"]


@pytest.mark.slow
def test_each_part_of_adacap_earns_its_place(data_folder):
    """Twenty seeds on one split: the closed form wins much, permuted labels then lose nothing."""
    table = STUDY["summary"](STUDY["ablate"](data_folder, 20), STUDY["ABLATION"]).loc["slump"]
    print(f"\n{table.round(4)}")
    plain, tikhonov, adacap = (table.loc[name] for name in ("snn", "tikhonov-snn", "adacap-snn"))
    assert plain["mean"] > tikhonov["mean"] + plain["standard error"]
    assert adacap["mean"] < tikhonov["mean"] + adacap["standard error"]
