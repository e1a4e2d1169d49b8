"""A history is a list of records that can also be read by column."""

import math

import pytest

from adacap.training.history import History

RECORDS = [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5, "lr": 0.1}, {"step": 2, "loss": 0.2}]


def test_reads_as_a_list_of_records():
    history = History(RECORDS)
    assert len(history) == 3
    assert list(history) == RECORDS
    assert history[1] == RECORDS[1]
    assert history[-1] == RECORDS[2]
    with pytest.raises(IndexError):
        history[3]


def test_reads_as_columns():
    history = History(RECORDS)
    assert history["loss"] == [1.0, 0.5, 0.2]
    columns = history.columns()
    assert list(columns) == ["step", "loss", "lr"]
    assert columns["step"] == [0, 1, 2]
    assert columns["lr"][1] == 0.1
    assert math.isnan(columns["lr"][0])
    assert math.isnan(columns["lr"][2])


def test_slices_and_sums_are_histories():
    history = History(RECORDS)
    assert isinstance(history[1:], History)
    assert history[1:]["step"] == [1, 2]
    assert history[:1] + history[1:] == history
    assert history[:2] != history


def test_records_are_copied():
    record = {"step": 0.0}
    history = History([record])
    record["step"] = 9.0
    assert history["step"] == [0.0]


def test_empty():
    assert len(History()) == 0
    assert History().columns() == {}
    assert repr(History(RECORDS)) == "History(3 steps)"


def test_is_no_equal_of_other_types():
    assert History(RECORDS) != RECORDS
