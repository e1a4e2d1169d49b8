"""How far something long has come, on a terminal and elsewhere."""

import io

import pytest

from adacap import progress
from adacap.progress import Steps


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines():
    stream = io.StringIO()
    with Steps("Reading", total=10, stream=stream, every_seconds=0) as steps:
        steps.update(5, text="ridge")
        steps.update(10)
    first, second = stream.getvalue().splitlines()
    assert first.startswith("Reading: 5 of 10 rows, 50 %")
    assert first.endswith("ridge")
    assert second == "Reading: 10 of 10 rows, 100 %"


def test_without_a_total_it_goes_by_share():
    stream = io.StringIO()
    with Steps("Reading", stream=stream, every_seconds=0) as steps:
        steps.update(5, 0.25)
    assert stream.getvalue().startswith("Reading: 5 rows, 25 %")


def test_bytes_are_shown_as_sizes():
    stream = io.StringIO()
    with Steps("abalone", unit="bytes", stream=stream, every_seconds=0) as steps:
        steps.update(500)
        steps.total = 2_000_000
        steps.update(1_500_000)
    first, second = stream.getvalue().splitlines()
    assert first == "abalone: 0.5 kB"
    assert second.startswith("abalone: 1.5 MB of 2.0 MB, 75 %")


def test_a_terminal_gets_a_bar():
    stream = Terminal()
    with Steps("Reading", total=10, stream=stream) as steps:
        steps.update(5)
    assert "Reading" in stream.getvalue()
    assert "rows, 50 %" not in stream.getvalue()


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_told_now_and_then(clock):
    stream = io.StringIO()
    steps = Steps("Reading", total=4, stream=stream)
    clock[0] = 10.0
    steps.update(1)
    clock[0] = 12.0
    steps.update(2)
    assert stream.getvalue() == "Reading: 1 of 4 rows, 25 %, about 30 s left\n"


def test_what_was_done_before_does_not_count_as_speed(clock):
    stream = io.StringIO()
    steps = Steps("Reading", total=100, start=50, stream=stream)
    clock[0] = 10.0
    steps.update(60)
    assert "about 40 s left" in stream.getvalue()


def test_silence():
    stream = Terminal()
    with Steps("Reading", total=2, stream=stream, leave=True, show=False) as steps:
        steps.say("a word")
        steps.update(2)
    assert stream.getvalue() == ""


def test_the_last_line_stays_if_asked():
    stream = io.StringIO()
    with Steps("Reading", total=2, stream=stream, leave=True) as steps:
        steps.update(1, text="one")
        steps.total = 1
    assert stream.getvalue() == "Reading: 1 of 1 rows, 100 %  one\n"


def test_a_sentence_stands_above_the_bar():
    stream = Terminal()
    with Steps("Reading", total=2, stream=stream, leave=True) as steps:
        steps.say("row 3 [has] no target")
        steps.update(2)
    text = stream.getvalue()
    assert "row 3 [has] no target" in text
    assert "2 of 2 rows" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(12.4, "12 s"), (61, "1 min 01 s"), (7384, "2 h 03 min")]
)
def test_durations(seconds, text):
    assert progress._duration(seconds) == text
