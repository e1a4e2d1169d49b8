"""Warm starts, callbacks and what a fit prints."""

import io
import itertools
import re
import sys

import numpy as np
import pandas as pd
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.training.callbacks import Callback

SMALL = {"width": 16, "max_iter": 20, "random_state": 0}
ONE = SMALL | {"n_estimators": 1}


def fit(data, kind=AdaCapRegressor, /, **options):
    return kind(**ONE | options).fit(data.X, data.target(kind))


def test_warm_start_goes_on(kind, data):
    y = data.target(kind)
    model = kind(warm_start=True, **ONE).fit(data.X, y)
    history, encoder, net = model.history_, model.encoder_, model.members_[0].group.nets
    model.fit(data.X, y)
    assert model.n_iter_ == len(model.history_) == 40
    assert model.history_[:20] == history
    assert model.encoder_ is encoder
    assert model.best_iter_ >= 20
    assert model.members_[0].group.nets is not net


def test_warm_start_starts_from_the_weights_it_has(data):
    model = AdaCapRegressor(warm_start=True, **ONE | {"max_iter": 100}).fit(data.X, data.y)
    fresh, kept, lam = model.history_[0], model.history_[model.best_iter_], model.lambda_
    going_on = model.fit(data.X, data.y).history_[100]
    assert abs(going_on["loss"] - kept["loss"]) < 0.1 * abs(kept["loss"] - fresh["loss"])
    assert going_on["lambda"] == pytest.approx(lam, rel=1e-4)


def test_warm_start_does_not_lose_what_was_learnt(data):
    options = {"max_iter": 50, "refit": "head"}
    warm = AdaCapRegressor(warm_start=True, **ONE | options).fit(data.X[:45], data.y[:45])
    first = warm.members_[0].best_score
    warm.fit(data.X[:45], data.y[:45])
    assert warm.members_[0].best_score > first - 0.02


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"scheme": "plain"}, "scheme cannot change from 'adacap' to 'plain'. Set warm_start=Fal"),
        ({"n_estimators": 2}, "n_estimators cannot change from 1 to 2"),
        ({"width": 32}, "width cannot change from 16 to 32"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_warm_start_refuses_other_nets(change, match, data):
    model = AdaCapRegressor(warm_start=True, **ONE).fit(data.X, data.y)
    with pytest.raises(ValueError, match=match):
        model.set_params(**change).fit(data.X, data.y)


def test_warm_start_refuses_other_data(data):
    model = AdaCapRegressor(warm_start=True, **ONE).fit(data.X, data.y)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.fit(data.X[:, :3], data.y)
    with pytest.raises(ValueError, match="y has 2 targets, but there were 1"):
        model.fit(data.X, np.c_[data.y, data.y])
    classes = AdaCapClassifier(warm_start=True, **SMALL).fit(data.X, data.binary)
    with pytest.raises(ValueError, match="classes unseen in training"):
        classes.fit(data.X, data.multiclass)


def test_warm_start_keeps_the_names_it_was_fitted_with(data):
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    model = AdaCapRegressor(warm_start=True, **ONE).fit(frame, data.y)
    model.fit(frame[list("dcba")], data.y)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_callbacks_are_called(data):
    class Log(Callback):
        def __init__(self):
            self.calls = []

        def on_start(self, state):
            self.calls.append("start")

        def on_step(self, state):
            self.calls.append(state.step)
            state.record["mine"] = [42.0]
            state.stop = state.step >= 4

        def on_end(self, state):
            self.calls.append("end")

    log = Log()
    model = fit(data, callbacks=[log], refit="head")
    assert log.calls == ["start", 0, 1, 2, 3, 4, "end"]
    assert model.history_["mine"] == [42.0] * 5
    assert model.n_iter_ == 5


def test_verbose_prints_lines_where_there_is_no_terminal(data, capsys, monkeypatch):
    seconds = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))
    fit(data, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(r"AdaCapRegressor: \d+ of 20 steps, .*  valid \S+  λ \S+", captured.err)


def test_verbose_draws_a_bar_on_a_terminal(data, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    fit(data, verbose=True)
    assert "AdaCapRegressor" in terminal.getvalue()
    assert "20" in terminal.getvalue()


def test_silent_by_default(data, capsys):
    fit(data)
    assert capsys.readouterr() == ("", "")


def test_blends_cannot_go_on(data):
    model = AdaCapRegressor(quality=["kernel", "ridge"], random_state=0).fit(data.X, data.y)
    text = r"the nets of the last fit, which was a blend of .*\. Fit with quality='nets' first"
    with pytest.raises(ValueError, match=text):
        model.set_params(warm_start=True).fit(data.X, data.y)
