"""What makes an estimator easy to live with: devices in words, progress, notebooks, callbacks."""

import re

import numpy as np
import pytest

from adacap import AdaCapClassifier, AdaCapRegressor, load
from adacap.estimators.sklearn_callbacks import HAS_CALLBACKS
from adacap.exceptions import OutputExistsError

TINY = {"width": 8, "max_iter": 6, "random_state": 0}
X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(
    ("device", "what"),
    [
        ("cuda:99", "device='cuda:99' needs a GPU that torch can use, which this machine lacks"),
        ("gpu", "device must be None or the name of a torch device such as 'cpu'.*, got 'gpu'"),
    ],
)
def test_a_device_that_is_not_there_is_told_in_words(device, what):
    with pytest.raises(ValueError, match=what):
        AdaCapRegressor(device=device, **TINY).fit(X, X[:, 0])


def test_verbose_says_something_off_a_terminal(capsys):
    AdaCapRegressor(verbose=1, **TINY).fit(X, X[:, 0])
    shown = capsys.readouterr().err
    assert re.search(r"AdaCapRegressor: 6 of 6 steps, 100 %  valid \S+  λ \S+\n", shown)
    assert "left" not in shown
    AdaCapRegressor(verbose=0, **TINY).fit(X, X[:, 0])
    assert capsys.readouterr().err == ""


def test_save_keeps_a_file_unless_told(tmp_path):
    model = AdaCapRegressor(**TINY).fit(X, X[:, 0])
    path = tmp_path / "m.adacap"
    path.write_text("mine")
    with pytest.raises(OutputExistsError, match=r"m\.adacap exists\. .*force=True"):
        model.save(path)
    assert path.read_text() == "mine"
    model.save(path, force=True)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_a_notebook_shows_scores_and_settings():
    model = AdaCapRegressor(**TINY)
    before = model._repr_html_()
    assert "fitted on" not in before
    model.fit(X, X[:, 0])
    shown = text_of(model._repr_html_())
    assert "fitted on 40 rows, 3 columns" in shown
    mean = np.mean([member.best_score for member in model.members_])
    assert f"R² of the rows held out {mean:.4g}" in shown
    assert f"λ {model.capacity().lam:.4g}" in shown
    assert "settings" in shown
    assert "width 8" in shown
    assert "fitted on 40 rows" in text_of(model._repr_mimebundle_()["text/html"])


def test_a_notebook_of_classes_escapes_what_it_shows():
    labels = np.where(X[:, 0] > 0, "<script>", "b")
    model = AdaCapClassifier(**TINY).fit(X, labels)
    shown = model._repr_html_()
    assert "cross-entropy of the rows held out" in text_of(shown)
    assert "<td style='text-align:left'><" not in shown


class Recorder:
    """A callback as scikit-learn's protocol asks for."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.told: list[str] = []
        self.stop_after = stop_after
        self.fitted = None

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append(f"end {context.task_name}")
        self.fitted = fitted_estimator
        steps = self.told.count("end training step")
        return self.stop_after is not None and steps >= self.stop_after


needs_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="needs scikit-learn 1.9")


@needs_callbacks
def test_callbacks_of_scikit_learn_are_told_of_every_step():
    recorder = Recorder()
    model = AdaCapRegressor(n_estimators=1, refit="head", **TINY)
    assert model.set_callbacks(recorder) is model
    model.fit(X, X[:, 0])
    steps = ["begin training step", "end training step"] * 6
    assert recorder.told == ["setup", "begin fit", *steps, "end fit", "teardown"]
    np.testing.assert_array_equal(recorder.fitted.predict(X), model.predict(X))


@needs_callbacks
def test_a_callback_of_scikit_learn_may_end_training():
    recorder = Recorder(stop_after=3)
    model = AdaCapRegressor(n_estimators=1, refit="head", **TINY).set_callbacks(recorder)
    assert model.fit(X, X[:, 0]).n_iter_ == 3


@needs_callbacks
def test_callbacks_are_taken_down_where_a_fit_fails():
    recorder = Recorder()
    model = AdaCapRegressor(**TINY).set_callbacks(recorder)
    with pytest.raises(ValueError, match=r"inconsistent|same length"):
        model.fit(X, X[:-1, 0])
    assert recorder.told[-1] == "teardown"


def test_results_do_not_depend_on_callbacks():
    model = AdaCapRegressor(**TINY)
    plain = model.fit(X, X[:, 0]).predict(X)
    if HAS_CALLBACKS:
        model.set_callbacks(Recorder())
    np.testing.assert_array_equal(model.fit(X, X[:, 0]).predict(X), plain)
