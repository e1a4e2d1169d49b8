"""Callbacks that come with the package."""

import io
import re

import numpy as np
import pytest
import torch

from adacap.core import effective_dof
from adacap.nn import MLP
from adacap.training import Callback, DofTrace, ProgressBar, TrainingConfig

CONFIG = TrainingConfig(max_iter=7, batch_size=32)


class Watch(Callback):
    """Keep hidden features, weights and λ of each step."""

    def __init__(self):
        self.seen = []

    def on_step(self, state):
        lam = torch.tensor(state.record["lambda"], dtype=state.hidden.dtype)
        self.seen.append((state.hidden.detach(), state.batch.weight, lam))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_members", [1, 2])
@pytest.mark.parametrize("loss", ["rmse", "bce"])  # with the factor of the step, and without
@pytest.mark.parametrize(("width", "n_train"), [(16, 60), (64, 40), (130, 140)])
def test_dof_is_the_trace_of_the_smoother(
    fit_intercept, weighted, n_members, loss, width, n_train, problem
):
    task = problem(
        lambda: MLP(4, width=width),
        n_members=n_members, n_train=n_train, loss=loss,
        fit_intercept=fit_intercept, weighted=weighted, dtype=torch.float64,
    )  # fmt: skip
    watch = Watch()
    trace = DofTrace(every=3, fit_intercept=fit_intercept)
    results = task.run(CONFIG, callbacks=[watch, trace])
    for k, result in enumerate(results):
        found = result.history["effective_dof"]
        assert [step for step in range(7) if not np.isnan(found[step])] == [0, 3, 6]
        for step in (0, 3, 6):
            hidden, weight, lam = watch.seen[step]
            A = hidden[k]
            root = torch.ones(len(A), 1).to(A) if weight is None else weight[k].sqrt().unsqueeze(1)
            if fit_intercept:
                A = A - (root.square() * A).sum(0) / root.square().sum()
            assert found[step] == pytest.approx(effective_dof(root * A, lam[k]).item())


def test_dof_is_left_out_where_there_is_no_tikhonov_layer(problem):
    (result,) = problem(scheme="plain").run(CONFIG, callbacks=[DofTrace(every=1)])
    assert "effective_dof" not in result.history.columns()


def test_base_callback_does_nothing(problem):
    task = problem()
    (bare,) = task.run(CONFIG)
    (watched,) = task.run(CONFIG, callbacks=[Callback()])
    assert bare.history["loss"] == watched.history["loss"]


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
