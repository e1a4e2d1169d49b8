"""How many hands a fit passes through before a net is trained."""

import sys
from pathlib import Path

import numpy as np
import pytest

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.training import Callback

PACKAGE = Path(adacap.__file__).parent


class Frames(Callback):
    """The functions of the library between ``fit`` and the loop, both included."""

    def __init__(self):
        self.names = []

    def on_start(self, state):
        frame, names = sys._getframe(1), []
        while frame is not None:
            if PACKAGE in Path(frame.f_code.co_filename).parents:
                names.append(frame.f_code.co_qualname)
            frame = frame.f_back
        self.names = self.names or names[::-1]


def frames_of(estimator):
    seen = Frames()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] * X[:, 1]
    if isinstance(estimator, AdaCapClassifier):
        y = y > 0
    estimator.set_params(callbacks=[seen], random_state=0).fit(X, y)
    return seen.names


def test_nets_alone_are_two_frames_below_fit():
    names = frames_of(AdaCapRegressor(quality="nets", max_iter=5))
    assert names == ["AdaCapBase.fit", "BagTraining.fit", "Trainer.run"]


@pytest.mark.parametrize("quality", ["auto", "nets"])
@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_a_fit_reaches_the_loop_in_five_frames_at_most(kind, quality):
    names = frames_of(kind(quality=quality))
    assert names[0] == "AdaCapBase.fit"
    assert names[-1] == "Trainer.run"
    assert len(names) <= 5, names
