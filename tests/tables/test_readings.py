"""What the text of a column spells, and what is said of it."""

import numpy as np
import pandas as pd
import pytest

from adacap import AdaCapRegressor, TableEncoder, load
from adacap.tables.columns import Column, read_column
from adacap.tables.plan import ColumnPlan
from adacap.tables.readings import Reading, find_reading
from adacap.tables.telling import lost_columns, tell_column, told_table


def column(*cells):
    return read_column(np.array(cells, dtype=object), "column 'x'")


def test_a_column_of_numbers_says_how_many_cells_are_none():
    cells = [str(k) for k in range(100)] + ["2100 - 2850", "4 acres", "?", None]
    reading = find_reading(column(*cells))
    assert (reading.sort, reading.n_cells, reading.n_bad) == ("number", 102, 2)
    assert reading.bad == ("2100 - 2850", "4 acres")
    values = reading.read(column(*cells)).values
    assert values[:100].tolist() == list(range(100))
    assert np.isnan(values[100:]).all()


def test_a_column_that_its_container_calls_categorical_stays():
    declared = read_column(np.array(["1", "2"], dtype=object), "column 'x'", as_levels=True)
    assert find_reading(declared) is None
    assert find_reading(declared.take([0])) is None


def test_numbers_and_text_in_one_column():
    reading = find_reading(column(1.5, "2,000", 3, "unknown", None))
    assert reading.read(column(1.5, "2,000", 3, "unknown", None)).values[:3].tolist() == [
        1.5, 2000, 3
    ]  # fmt: skip


def test_too_few_numbers_are_remarked():
    reading = find_reading(column("1", "2", "3", "many"))
    assert reading.sort == "category"
    assert reading.remark == "75 % of the cells are numbers, below 95 %; others are 'many'"


def test_unclear_dates_are_remarked_with_both_formats():
    reading = find_reading(column("01/02/2021", "03/04/2021"))
    assert reading.sort == "category"
    assert "'%d/%m/%Y' or '%m/%d/%Y'" in reading.remark


def test_categories_lose_blanks_and_words_for_missing():
    reading = find_reading(column("red", " red", "NA", "blue ", ""))
    tidy = reading.read(column("red", " red", "NA", "blue ", ""))
    assert tidy.levels == ("red", "blue")
    assert tidy.values.tolist() == [0, 0, -1, 1, -1]
    assert find_reading(column("red", "blue")) is None


def test_new_cells_that_cannot_be_read_are_warned_of():
    reading = Reading("number", ",", ".", n_cells=10)
    with pytest.warns(UserWarning, match=r"Column 'x' holds text that is not a number .* '1\.5'"):
        reading.read(column("1,5", "1.5"), "column 'x'")
    reading.read(column("1,5", "unknown"), "column 'x'")  # no warning: it says that it is missing


def test_a_reading_travels_with_its_plan():
    reading = Reading("number", ",", ".", "€", "", 100, 2, ("a", "b"), "so")
    plan = ColumnPlan("price", "numeric", dropped="constant", reading=reading)
    assert ColumnPlan.from_dict(plan.to_dict()) == plan
    assert not ColumnPlan("price", "categorical", reading=reading).is_consistent
    assert not ColumnPlan("d", "datetime", reading=Reading("date", format="day")).is_consistent


FRAME = pd.DataFrame(
    {
        "price": [f"${1000 + 7.5 * k:,.2f}" for k in range(60)],
        "sold": [f"{k % 28 + 1:02d}/{k % 12 + 1:02d}/2021" for k in range(60)],
        "size": [f"{40 + k} m²" for k in range(57)] + ["2100 - 2850", "large", None],
        "colour": ["red", "blue", "NA"] * 20,
        "name": [f"flat {k}x" for k in range(60)],
        "rooms": np.arange(60) % 7,
    }
)


def test_what_became_of_each_column_is_told():
    summary = {row["column"]: row for row in TableEncoder().fit(FRAME).summary()}
    read_as = {name: row["read_as"] for name, row in summary.items()}
    assert read_as == {
        "price": "number", "sold": "date", "size": "number", "colour": "category",
        "name": "dropped", "rooms": "as it stands",
    }  # fmt: skip
    assert summary["price"]["note"] == "thousands comma, unit '$'"
    assert summary["sold"]["note"] == "format %d/%m/%Y"
    assert summary["size"]["bad_cells"] == 2
    assert summary["size"]["examples"] == ["2100 - 2850", "large"]
    assert "2 of 59 cells are not numbers" in summary["size"]["note"]
    assert summary["name"]["note"] == "every value is unique"


def test_text_stays_text_if_told():
    summary = TableEncoder(read_text=False).fit(FRAME).summary()
    assert [row["kind"] for row in summary[:3]] == ["categorical"] * 3
    assert summary[0]["read_as"] == "dropped"


def test_a_date_format_that_fits_nothing_is_refused_with_a_cell():
    with pytest.raises(ValueError, match=r"'%Y-%j' fits no column .* 'sold' holds '01/01/2021'"):
        TableEncoder(read_text="%Y-%j").fit(FRAME)
    with pytest.raises(ValueError, match="has no text"):
        TableEncoder(read_text="%Y-%j").fit(FRAME[["rooms"]])
    with pytest.raises(ValueError, match="read_text must be True, False or a date format"):
        AdaCapRegressor(preprocessing={"read_text": "day/month"}).fit([[1.0], [2.0]], [1.0, 2.0])


def test_fit_names_lost_columns_and_prints_the_table_if_verbose(capsys):
    model = AdaCapRegressor(max_iter=2, width=4, n_estimators=1, random_state=0)
    with pytest.warns(UserWarning, match=r"Not used: column 'name' \(every value is unique\)"):
        model.fit(FRAME, FRAME["rooms"])
    assert capsys.readouterr().out == ""
    with pytest.warns(UserWarning, match="Not used"):
        model.set_params(verbose=1).fit(FRAME, FRAME["rooms"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["column", "read", "as", "what", "to", "know"]
    assert lines[1].split()[:2] == ["name", "dropped"]
    assert lines[2].split()[:2] == ["size", "number"]


def test_a_column_without_content_is_told_but_not_warned_of():
    plan = ColumnPlan("same", "numeric", dropped="constant")
    assert tell_column(plan).read_as == "dropped"
    assert lost_columns([plan]) == ""


def test_a_table_of_many_columns_is_cut():
    told = [tell_column(ColumnPlan(f"c{k}", "numeric", dropped="constant")) for k in range(40)]
    assert told_table(told).splitlines()[-1].startswith("… and 15 more")


def test_text_targets_that_spell_numbers_are_learnt():
    y = [f"{1000 + k:,}" for k in range(60)]
    model = AdaCapRegressor(max_iter=2, width=4, n_estimators=1).fit(FRAME[["rooms"]], y)
    assert 1000 < model.codec_.mean[0] < 1060
    with pytest.raises(
        ValueError, match=r"1 of 60 cells cannot be converted, such as 'many' \(row 3, "
    ):
        model.fit(FRAME[["rooms"]], [*y[:3], "many", *y[4:]])


def test_infinite_targets_are_named_by_row():
    with pytest.raises(ValueError, match=r"in 2 of 4 rows\. .*: rows 1, 3, counted from 0"):
        AdaCapRegressor().fit([[1.0]] * 4, [1.0, np.inf, 2.0, np.nan])


def test_only_columns_of_text_are_read():
    numbers = Column("numeric", np.array([1.0]))
    assert find_reading(numbers) is None
    assert Reading("number").read(numbers) is numbers


def test_options_of_the_encoder_are_saved_with_the_model(tmp_path):
    options = {"read_text": "%d/%m/%Y", "max_levels": 5}
    model = AdaCapRegressor(max_iter=2, width=4, n_estimators=1, preprocessing=options)
    model.fit(FRAME.drop(columns="name"), FRAME["rooms"]).save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    assert again.preprocessing == options
    assert again.encoder_.read_text == "%d/%m/%Y"
    assert again.settings_.preprocessing == "default"
    with pytest.raises(ValueError, match=r"preprocessing must be .* or a dict of options"):
        model.set_params(preprocessing={"read": False}).fit(FRAME, FRAME["rooms"])
