"""Numbers as people write them: one convention per column, and what is no number."""

import numpy as np
import pytest

from adacap.tables.numerals import Convention, find_convention, is_word_for_missing

NAN = float("nan")
COLUMNS = [
    (["1,234.50", "12", "1,234,567"], [1234.5, 12, 1234567]),
    (["1.234,50", "12", "1.234.567"], [1234.5, 12, 1234567]),
    (["1 234,5", "9 999"], [1234.5, 9999]),
    (["1\u202f234,5", "9\u00a0999", "1\u2009000"], [1234.5, 9999, 1000]),
    (["1'234.5", "12’000"], [1234.5, 12000]),
    (["12,34,567", "1,234"], [1234567, 1234]),
    (["0,512", "1,234", "12,100"], [0.512, 1.234, 12.1]),
    (["12,5", "1,234"], [12.5, 1.234]),
    (["1.234", "2.345.678"], [1234, 2345678]),
    (["$1,200.50", "$ 900", "-$5", "8"], [1200.5, 900, -5, 8]),
    (["1.200,50 €", "900€"], [1200.5, 900]),
    (["USD 1,200", "usd 900.5"], [1200, 900.5]),
    (["Rs. 500", "Rs 1,50,000"], [500, 150000]),
    (["86.9%", "12 %", "-3%"], [86.9, 12, -3]),
    (["86 m²", "90m²"], [86, 90]),
    (["12kg", "13 KG", "1.5 kg."], [12, 13, 1.5]),
    (["15 km/h", "20 km/h"], [15, 20]),
    (["(300)", "(1,200.5)", "7"], [-300, -1200.5, 7]),
    (["\u2212 5", "-6", "+7", "8-"], [-5, -6, 7, -8]),
    (["1.5e-3", "2E5", "-1e+2"], [0.0015, 200000, -100]),
    (["  5 ", "\t6", ".5", "7."], [5, 6, 0.5, 7]),
]


@pytest.mark.parametrize(("cells", "expected"), COLUMNS, ids=[cells[0] for cells, _ in COLUMNS])
def test_numbers_are_read_as_a_person_reads_them(cells, expected):
    found = find_convention(cells, np.ones(len(cells), dtype=np.intp))
    assert found.is_number
    assert found.values.tolist() == expected
    assert found.convention.read(cells).tolist() == expected


@pytest.mark.parametrize(
    "cells",
    [
        ["red", "blue"],
        ["A12", "B13"],
        ["2021-01-03", "2021-01-04"],
        ["08:00", "09:30"],
        ["1.2.3", "1.2.4"],
        ["3 BHK", "4 Bedroom"],
        ["555-123-4567", "555-123-9999"],
        ["$5", "€7"],
        ["12%", "0.5"],
        ["5/10", "6/10"],
        ["inf", "-inf"],
    ],
    ids=lambda cells: cells[0],
)
def test_what_is_no_column_of_numbers(cells):
    found = find_convention(cells, np.ones(len(cells), dtype=np.intp))
    assert found is None or not found.is_number


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["00123", "04711", "99999"], "leading zeros"),
        (["+33612345678", "+4930123456"], "telephone"),
    ],
)
def test_codes_that_look_like_numbers_are_none(cells, reason):
    found = find_convention(cells, np.ones(len(cells), dtype=np.intp))
    assert reason in found.why_not
    assert not found.is_number


def test_zero_itself_is_a_number():
    assert find_convention(["0", "0.5", "00"], np.array([90, 9, 1])).is_number


def test_a_few_ranges_and_words_are_no_numbers_among_the_others():
    cells = ["1200", "2100 - 2850", "34.46Sq. Meter", "about 5"]
    found = find_convention(cells, np.array([97, 1, 1, 1]))
    assert found.is_number
    assert np.isnan(found.values).tolist() == [False, True, True, True]
    assert not find_convention(cells, np.array([94, 2, 2, 2])).is_number


def test_ambiguous_thousands_are_said():
    alone = find_convention(["1,234", "5,678"], np.array([1, 1]))
    assert alone.values.tolist() == [1234, 5678]
    assert alone.doubt.startswith("1,234 is taken for 1234")
    points = find_convention(["1.234", "5.678"], np.array([1, 1]))
    assert points.values.tolist() == [1.234, 5.678]
    assert points.doubt.startswith("1.234 is taken for 1.234")
    decided = find_convention(["1,234", "5,678.5"], np.array([1, 1]))
    assert decided.doubt == ""


def test_a_convention_reads_no_other():
    cells = ["1,5", "1.5", "1,500", "5 kg", "5"]
    np.testing.assert_array_equal(Convention(",", ".").read(cells), [1.5, NAN, 1.5, NAN, 5])
    np.testing.assert_array_equal(Convention(".", ",").read(cells), [NAN, 1.5, 1500, NAN, 5])
    np.testing.assert_array_equal(Convention(unit="%").read(["5%", "5"]), [5, NAN])


def test_words_for_missing():
    for word in ("", " ", "NA", "n/a", "-", "–", "unknown", "None", "#DIV/0!", "not available"):
        assert is_word_for_missing(word), word
    for word in ("0", "no", "x", "Nan City"):
        assert not is_word_for_missing(word), word
