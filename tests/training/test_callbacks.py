"""Callbacks that come with the package."""

import io
import re

import numpy as np
import pytest

from adacap.training import Callback, EarlyStopping, ProgressBar, TrainingConfig

CONFIG = TrainingConfig(max_iter=7, batch_size=32)


def test_base_callback_does_nothing(problem):
    task = problem()
    bare, watched = task.run(CONFIG), task.run(CONFIG, callbacks=[Callback()])
    assert bare.histories[0]["loss"] == watched.histories[0]["loss"]


# ---------------------------------------------------------------------------- early stopping

LONG = TrainingConfig(max_iter=300, max_lr=0.1)


@pytest.mark.parametrize("patience", [1, 3, 8])
def test_early_stopping_waits_for_a_better_score(patience, problem):
    result = problem(n_train=20).run(LONG, callbacks=[EarlyStopping(patience)])
    (history,), (best,) = result.histories, result.best_step
    assert len(history) < 300
    assert len(history) == best + patience + 1
    assert best == int(np.argmax(history["valid_score"]))


def test_a_bag_goes_on_while_any_net_gets_better(problem):
    result = problem(n_train=20, k=4).run(LONG, callbacks=[EarlyStopping(5)])
    assert len({len(history) for history in result.histories}) == 1
    assert len(set(result.best_step)) > 1
    assert len(result.histories[0]) == max(result.best_step) + 6 < 300


def test_stopping_leaves_the_steps_before_it_alone(problem):
    task = problem(n_train=20)
    stopped, whole = task.run(LONG, callbacks=[EarlyStopping(3)]), task.run(LONG)
    n = len(stopped.histories[0])
    assert stopped.histories[0]["loss"] == whole.histories[0]["loss"][:n]


def test_one_callback_serves_one_training_after_another(problem):
    task, callback = problem(n_train=20), EarlyStopping(3)
    lengths = [len(task.run(LONG, callbacks=[callback]).histories[0]) for _ in range(2)]
    assert lengths[0] == lengths[1]


def test_without_validation_rows_nothing_stops(problem):
    result = problem(n_valid=0).run(CONFIG, callbacks=[EarlyStopping(1)])
    assert len(result.histories[0]) == 7


@pytest.mark.parametrize("patience", [0, -3, 1.5, float("nan")])
def test_patience_below_one_step_is_refused(patience):
    text = rf"patience must be an integer of at least 1, got {patience}\."
    with pytest.raises(ValueError, match=text):
        EarlyStopping(patience)


# ---------------------------------------------------------------------------------- progress


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
