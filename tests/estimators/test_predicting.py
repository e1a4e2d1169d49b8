"""Outputs in chunks: the same for a row alone and in company, on one thread and on several."""

import threading

import numpy as np
import pytest
import torch
from torch import nn

from adacap.estimators import predicting
from adacap.estimators.predicting import chunked_outputs
from adacap.nn import GLU, MLP


@pytest.fixture
def threads_used(monkeypatch):
    """How many threads each prediction was divided among."""
    used = []
    real = predicting.in_threads
    monkeypatch.setattr(
        predicting, "in_threads", lambda tasks: used.append(len(tasks)) or real(tasks)
    )
    return used


def rows(n, d=6):
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def net():
    return nn.Sequential(GLU(6, width=256), nn.Linear(256, 2)).eval()


def test_many_rows_are_divided_among_threads(two_threads, threads_used):
    network, x = net(), rows(9 * 1024 + 5)
    found = chunked_outputs(network, x, None)
    assert threads_used == [2]
    with torch.inference_mode():
        expected = network(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_three_chunks_take_two_threads(two_threads, threads_used):
    """The first tells the shape of the outputs, the others are shared."""
    network, x = net(), rows(2 * 1024 + 1)
    assert chunked_outputs(network, x, None).shape == (2049, 2)
    assert threads_used == [2]


def test_few_rows_take_none(two_threads, threads_used):
    assert chunked_outputs(net(), rows(100), None).shape == (100, 2)
    assert threads_used == []


def test_a_row_has_one_prediction(two_threads, threads_used):
    network, x = net(), rows(9 * 1024)
    together = chunked_outputs(network, x, None)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(chunked_outputs(network, x, None), together)
    torch.set_num_threads(2)
    for part in (slice(0, 9), slice(1023, 1100), slice(5000, 5777), slice(9210, None), slice(7)):
        found = chunked_outputs(network, x[part], None)
        if len(found) > 8:
            np.testing.assert_array_equal(found, together[part])
        else:  # the fast way for a few rows rounds differently
            np.testing.assert_allclose(found, together[part], rtol=0, atol=1e-6)


class Counter(nn.Module):
    """A layer that keeps something: how many calls are under way."""

    def __init__(self):
        super().__init__()
        self.n_inside = self.n_most = 0

    def forward(self, x):
        self.n_inside += 1
        self.n_most = max(self.n_most, self.n_inside)
        threading.Event().wait(0.001)
        self.n_inside -= 1
        return x


def hooked():
    layer = nn.Linear(512, 2)
    layer.register_forward_hook(lambda *_: None)
    return layer


@pytest.mark.parametrize("layer", [Counter(), hooked()], ids=["unknown", "hooked"])
def test_a_net_that_may_keep_something_takes_chunk_after_chunk(two_threads, threads_used, layer):
    network = nn.Sequential(MLP(6, width=512), layer).eval()
    x = rows(20 * 1024) if isinstance(layer, Counter) else rows(2048)
    found = chunked_outputs(network, x, None)
    assert threads_used == []
    assert len(found) == len(x)
    assert getattr(layer, "n_most", 1) == 1


def test_batch_norm_and_dropout_are_still_when_evaluated(two_threads, threads_used):
    network = nn.Sequential(MLP(6, width=16, batch_norm=True, dropout=0.5), nn.Linear(16, 1)).eval()
    chunked_outputs(network, rows(90 * 1024), None)
    assert threads_used == [2]


def test_an_interrupted_prediction_leaves_the_rest(two_threads, monkeypatch):
    chunks = []
    real = predicting.as_input
    monkeypatch.setattr(predicting, "as_input", lambda *a: chunks.append(1) or real(*a))

    def interrupted(futures):
        raise KeyboardInterrupt

    monkeypatch.setattr("adacap.training.threads.wait", interrupted)
    network = nn.Sequential(MLP(6, width=256), nn.Linear(256, 1)).eval()
    with pytest.raises(KeyboardInterrupt):
        chunked_outputs(network, rows(400 * 1024), None)
    assert len(chunks) < 400
