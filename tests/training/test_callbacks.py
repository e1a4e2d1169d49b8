"""Callbacks that come with the package."""

import io
import re

import pytest

from adacap.training import Callback, ProgressBar, TrainingConfig

CONFIG = TrainingConfig(max_iter=7, batch_size=32)


def test_base_callback_does_nothing(problem):
    task = problem()
    bare, watched = task.run(CONFIG), task.run(CONFIG, callbacks=[Callback()])
    assert bare.histories[0]["loss"] == watched.histories[0]["loss"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("scheme", ["adacap", "plain"])
def test_progress_lines_without_a_terminal(scheme, problem):
    stream = io.StringIO()
    problem(scheme=scheme).run(CONFIG, callbacks=[ProgressBar("boston", stream, every_seconds=0)])
    lines = stream.getvalue().splitlines()
    assert len(lines) == 7
    assert re.match(r"boston: 3 of 7 steps, 43 %.*  valid ", lines[2])
    assert ("λ" in lines[2]) is (scheme == "adacap")


def test_progress_is_quiet_between_lines(problem):
    stream = io.StringIO()
    problem().run(CONFIG, callbacks=[ProgressBar(stream=stream, every_seconds=3600)])
    assert stream.getvalue() == ""


def test_progress_goes_to_standard_error(problem, capsys):
    problem().run(CONFIG, callbacks=[ProgressBar(every_seconds=0)])
    captured = capsys.readouterr()
    assert "Training: 7 of 7 steps" in captured.err
    assert captured.out == ""


def test_progress_bar_on_a_terminal(problem):
    stream = Terminal()
    bar = ProgressBar("boston", stream)
    problem().run(CONFIG, callbacks=[bar])
    assert "boston" in stream.getvalue()
    assert bar._steps is None  # closed


def test_progress_bar_closes_when_training_fails(problem):
    class Fail(Callback):
        def on_step(self, state):
            raise KeyError("broken")

    bar = ProgressBar("boston", Terminal())
    with pytest.raises(KeyError, match="broken"):
        problem().run(CONFIG, callbacks=[bar, Fail()])
    assert bar._steps is None
