"""How far a run has come, on a terminal and elsewhere."""

import io

from adacap_bench.jobs import Job, Record
from adacap_bench.runner import Display


def record(status="ok", traceback=None):
    return Record(Job("paper-1", 3, "ridge"), status, "a", "regression", traceback=traceback)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Display(2, stream=stream) as display:
        display.add(record())
        display.add(record("failed", "Traceback ...\nValueError: no\n"))
    assert stream.getvalue().splitlines() == [
        "failed: ridge on paper-1, split 3, seed 0: ValueError: no",
        "Running: 2 of 2 jobs, 100 %  1 without result",
    ]


def test_the_first_job_tells_the_time_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("adacap.progress.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    display = Display(4, stream=stream)
    now[0] = 10.0
    display.add(record())
    assert stream.getvalue() == "Running: 1 of 4 jobs, 25 %, about 30 s left\n"


def test_nothing_to_do_is_nothing_to_say():
    stream = io.StringIO()
    with Display(2, stream=stream) as display:
        display.leave_out(2)
    assert stream.getvalue() == ""


def test_jobs_left_out_shorten_the_way():
    stream = io.StringIO()
    with Display(5, stream=stream) as display:
        display.leave_out(3)
    assert stream.getvalue() == "Running: 0 of 2 jobs, 0 %\n"


def test_silence():
    stream = Terminal()
    with Display(1, show=False, stream=stream) as display:
        display.add(record("failed", "why"))
    assert stream.getvalue() == ""


def test_a_bar_on_a_terminal():
    stream = Terminal()
    with Display(3, stream=stream) as display:
        display.add(record())
        display.add(record("timeout", "Stopped at the time limit of 1 s."))
        display.leave_out(1)
    text = stream.getvalue()
    assert "timeout: ridge on paper-1, split 3, seed 0: Stopped at the time limit" in text
    assert "2 of 2 jobs" in text
    assert "1 without result" in text
