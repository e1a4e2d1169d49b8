"""Parts of a plan applied to cells, without an encoder; plans as JSON."""

import json

import numpy as np
import pandas as pd
import pytest

from adacap.tables.plan import (
    Binary,
    Cells,
    ColumnPlan,
    Cycle,
    Frequency,
    MissingFlag,
    Number,
    OneHot,
    TargetMean,
    Unchanged,
)
from adacap.tables.table import read_table


def read(cells):
    table = read_table(pd.DataFrame({"x": pd.Series(cells)}))
    return Cells.read(table.columns[0], table.kind(0))


TEXT = ["a", "b", None, "new"]
NUMBERS = [1.0, 3.0, np.nan, 9.0]
DATES = pd.to_datetime(["1970-01-01 06:00", "1970-01-02 12:00", None])

# part, cells, one row of expected values per output, endings of their names
CASES = [
    (Unchanged(), [1.0, 3.0], [[1, 3]], [""]),
    (Number(fill=5.0), NUMBERS, [[1, 3, 5, 9]], [""]),
    (Number(fill=1.0, center=1.0, scale=2.0), NUMBERS, [[0, 1, 0, 4]], [""]),
    (Number(fill=3.0, clip=4.0), [3.0, np.nan, -1e300], [[2.4, 2.4, -4]], [""]),
    (MissingFlag(), NUMBERS, [[0, 0, 1, 0]], ["=<missing>"]),
    (MissingFlag(), TEXT, [[0, 0, 1, 0]], ["=<missing>"]),
    (Binary(("a", "b"), unseen=0.25), TEXT, [[0, 1, 0.25, 0.25]], ["=b"]),
    (Binary((1.0, None)), NUMBERS, [[0, 0, 1, 0]], ["=<missing>"]),
    (OneHot(("a", None)), TEXT, [[1, 0, 0, 0], [0, 0, 1, 0]], ["=a", "=<missing>"]),
    (OneHot((1.0, 2.5)), NUMBERS, [[1, 0, 0, 0], [0, 0, 0, 0]], ["=1", "=2.5"]),
    (Frequency(("a", "b"), (3.0, 1.0)), TEXT, [np.log([4, 2, 1, 1])], [":frequency"]),
    (
        TargetMean(("a", None), ((1.0, 2.0), (3.0, 4.0)), (8.0, 9.0)),
        TEXT,
        [[1, 8, 2, 8], [3, 9, 4, 9]],
        [":target0", ":target1"],
    ),
    (Cycle("day", fill=0.75), DATES, [[1, 0, -1], [0, -1, 0]], [":day_sin", ":day_cos"]),
]


@pytest.mark.parametrize(("part", "cells", "expected", "suffixes"), CASES)
def test_outputs_of_a_part(part, cells, expected, suffixes):
    np.testing.assert_allclose(list(part.outputs(read(cells))), expected, atol=1e-12)
    assert part.suffixes() == suffixes


def test_numbers_match_levels_up_to_float32_rounding():
    values = np.float64(np.float32([0.1, 0.2, 0.3]))
    np.testing.assert_array_equal(read(values).match([0.1, 0.2, 0.3]), [0, 1, 2])
    np.testing.assert_array_equal(read(values * (1 + 1e-6)).match([0.1, 0.2, 0.3]), [-1, -1, -1])


def test_nothing_matches_no_levels():
    np.testing.assert_array_equal(read(NUMBERS).match([]), [-1, -1, -1, -1])
    np.testing.assert_array_equal(read(NUMBERS).match([None]), [-1, -1, 0, -1])


def test_a_plan_of_every_part_survives_json():
    parts = tuple(part for part, *_ in CASES)
    plan = ColumnPlan("x", "numeric", parts, center=(0.1,), scale=(1e-300,))
    text = json.dumps(plan.to_dict(), allow_nan=False)
    assert ColumnPlan.from_dict(json.loads(text)) == plan


def test_treatment_names_each_part_once_or_the_reason_for_having_none():
    plan = ColumnPlan("x", "datetime", (Number(0.0), Cycle("year", 0.0), Cycle("week", 0.0)))
    assert plan.treatment == "number + cycle"
    assert plan.outputs == ["x", "x:year_sin", "x:year_cos", "x:week_sin", "x:week_cos"]
    dropped = ColumnPlan("x", "numeric", dropped="constant")
    assert dropped.treatment == "dropped: constant"
    assert dropped.outputs == []
