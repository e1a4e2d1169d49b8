"""Numbers and tables for people."""

import pytest

from adacap.text import number, plus_minus, size_of, table_lines


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.93241, "0.9324"), (18.284, "18.28"), (-0.5, "−0.5000"), (123456.7, "123,457"),
     (0, "0.0000"), (1.5e-7, "1.500e−07"), (0.00123456, "0.00123"), (-0.0316, "−0.0316"),
     (23_456_789.0, "23,456,789"), (float("nan"), "–"), (None, "–")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_an_error_has_the_decimals_of_its_mean():
    assert plus_minus(18.284, 5.019) == "18.28 ± 5.02"
    assert plus_minus(0.9, float("nan")) == "0.9000 ± –"


def test_sizes():
    assert (size_of(999_949), size_of(1_000_000)) == ("999.9 kB", "1.0 MB")


def test_numbers_stand_to_the_right_and_text_to_the_left():
    rows = [["paper-1", "103", "concrete"], ["own", "–", "mine"], ["b", "1,200 ± 3", ""]]
    assert table_lines(["key", "rows", "name"], rows) == [
        "key            rows   name",
        "paper-1         103   concrete",
        "own               –   mine",
        "b         1,200 ± 3",
    ]


def test_the_number_of_text_columns_can_be_said():
    lines = table_lines(["a", "b"], [["1", "x"], ["22", "yy"]], n_text=1, gap=1)
    assert lines == ["a   b", "1   x", "22 yy"]


def test_nothing_is_cut_and_a_row_stays_one_line():
    long = "x" * 200
    lines = table_lines(["name", "value"], [[long, "1"], ["two\nlines", "22"]])
    assert lines[1] == f"{long}       1"
    assert lines[2].startswith("two lines ")


def test_wide_signs_take_two_places_and_accents_none():
    lines = table_lines(["a", "b"], [["東京", "x"], ["e\u0301tat", "y"]])
    assert lines == ["a      b", "東京   x", "e\u0301tat   y"]


def test_a_table_without_rows_is_its_titles():
    assert table_lines(["a", "b"], []) == ["a   b"]
