"""Dates as people write them, by looking at all rows."""

import numpy as np
import pytest

from adacap.tables.dates import find_format, read_dates


def found(cells, hint=None):
    return find_format(cells, np.ones(len(cells), dtype=np.intp), hint)


def as_text(values):
    return [None if np.isnan(v) else str(np.datetime64(int(v), "s")) for v in values]


@pytest.mark.parametrize(
    ("cells", "form", "first"),
    [
        (["13/01/2021", "01/02/2021"], "%d/%m/%Y", "2021-01-13T00:00:00"),
        (["01/13/2021", "02/01/2021"], "%m/%d/%Y", "2021-01-13T00:00:00"),
        (["13-01-21", "1-2-21"], "%d-%m-%y", "2021-01-13T00:00:00"),
        (["01.02.2021", "05.06.2021"], "%d.%m.%Y", "2021-02-01T00:00:00"),
        (["03 Feb 2021", "4 March 2021"], "%d %b %Y", "2021-02-03T00:00:00"),
        (["3-Feb-21", "14-Sep-99"], "%d-%b-%y", "2021-02-03T00:00:00"),
        (["Feb 3, 2021", "Sept. 14, 1999"], "%b %d, %Y", "2021-02-03T00:00:00"),
        (["2021/02/03", "2021/12/31"], "%Y/%m/%d", "2021-02-03T00:00:00"),
        (["2021-02-03T10:20:30Z", "2021-02-03 10:20"], "%Y-%m-%d", "2021-02-03T10:20:30"),
        (["2021-02-03T10:00:00+02:00", "2021-02-03"], "%Y-%m-%d", "2021-02-03T08:00:00"),
        (["13/02/2021 3:30 PM", "01/02/2021 11:00 am"], "%d/%m/%Y", "2021-02-13T15:30:00"),
        (["Wed, 03 Feb 2021 10:00:00 GMT"], "%a, %d %b %Y", "2021-02-03T10:00:00"),
        (["2021-02", "2021-03"], "%Y-%m", "2021-02-01T00:00:00"),
    ],
)
def test_clear_dates_need_no_hint(cells, form, first):
    dates = found(cells)
    assert dates.is_date
    assert dates.format == form
    assert as_text(dates.values)[0] == first
    np.testing.assert_array_equal(read_dates(cells, form), dates.values)


def test_one_cell_beyond_the_first_thousand_tells_day_from_month():
    cells = [f"{k % 12 + 1:02d}/{k % 11 + 1:02d}/{1900 + k % 120}" for k in range(1300)]
    assert found(list(dict.fromkeys(cells))).twin == "%m/%d/%Y"
    told = found([*dict.fromkeys(cells), "01/31/2021"])
    assert (told.format, told.is_date) == ("%m/%d/%Y", True)


def test_the_hint_decides_what_the_cells_leave_open():
    cells = ["01/02/2021", "03/04/2021"]
    assert not found(cells).is_date
    assert as_text(found(cells, "%m/%d/%Y").values) == [
        "2021-01-02T00:00:00",
        "2021-03-04T00:00:00",
    ]
    assert as_text(found(cells, "%d/%m/%Y").values)[0] == "2021-02-01T00:00:00"


def test_days_that_no_calendar_has_are_no_dates():
    cells = ["28.02.2021", "29.02.2021", "31.04.2021", "29.02.2020", "31.12.2020"]
    assert as_text(read_dates(cells, "%d.%m.%Y")) == [
        "2021-02-28T00:00:00", None, None, "2020-02-29T00:00:00", "2020-12-31T00:00:00"
    ]  # fmt: skip


def test_every_day_of_a_century_is_the_day_that_numpy_says():
    days = np.arange("1950-01-01", "2050-01-01", dtype="datetime64[D]")
    seconds = days.astype("datetime64[s]").astype(np.float64)
    np.testing.assert_array_equal(read_dates([str(day) for day in days], "%Y-%m-%d"), seconds)


@pytest.mark.parametrize("cells", [["red", "blue"], ["12", "13"], ["1.2.3.4", "5.6.7.8"]])
def test_what_is_no_column_of_dates(cells):
    dates = found(cells)
    assert dates is None or not dates.is_date
