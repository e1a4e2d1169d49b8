"""How many functions of adacap stand between a call of fit and the training loop."""

import sys

import numpy as np
import pytest

from adacap import AdaCapRegressor
from adacap.training.loop import Trainer


class Arrived(Exception):
    """The loop was reached; carries the functions on the way."""


def from_fit_to_the_loop(monkeypatch, **options):
    def arrive(_):
        frame, names = sys._getframe(1), []
        while not names or names[-1] != "AdaCapBase.fit":
            if frame.f_globals["__name__"].startswith("adacap."):
                names.append(frame.f_code.co_qualname)
            frame = frame.f_back
        raise Arrived(names[::-1])

    monkeypatch.setattr(Trainer, "run", arrive)
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(Arrived) as found:
        AdaCapRegressor(random_state=0, **options).fit(X, X[:, 0])
    return found.value.args[0]


def test_a_bag_of_nets_is_five_calls_from_its_loop(monkeypatch):
    names = from_fit_to_the_loop(monkeypatch, quality="nets")
    assert len(names) <= 5, names


def test_a_blend_adds_only_the_calls_that_choose_a_member(monkeypatch):
    names = from_fit_to_the_loop(monkeypatch, quality=["ridge", "nets"])
    assert len(names) <= 10, names
