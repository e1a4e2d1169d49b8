"""The tutorial's training (C3) and the backbones past the paper's (N4)."""

from dataclasses import replace

import numpy as np
import pytest

from adacap.training.config import StepDecay
from adacap_bench.reproduce import items
from adacap_bench.reproduce.item import judged


def test_only_the_plain_net_has_the_tutorials_dropout():
    (grid,) = items()["c3"].grids(items()["c3"].scales["quick"])
    built = {method.name: method.build("multiclass", 0) for method in grid.methods}
    assert built["plain-convnet"].architecture.dropout == (0.25, 0.5)
    assert built["adacap-convnet"].architecture.dropout == (0.0, 0.0)
    assert built["plain-convnet"].max_iter == "14 epochs"
    assert built["adacap-convnet"].optimizer == ("adadelta", StepDecay(14, 0.7))
    assert built["plain-convnet-longer"].max_iter == 30
    assert built["plain-convnet-longer"].optimizer == ("adadelta", "constant")


@pytest.mark.parametrize(("gain", "verdict"), [(0.05, "reproduced"), (-0.05, "not reproduced")])
def test_claims_of_both_backbones_follow_the_numbers(gain, verdict, made_up):
    item = items()["n4"]
    results = made_up(item, item.scales["ledger"])
    rng = np.random.default_rng(0)
    for record in results.records:
        step = gain * ["plain", "tikhonov", "adacap"].index(record.job.method.split("-")[0])
        noise = float(rng.normal(0.0, 0.001))
        record.metrics.update(test_rmse=0.5 - step + noise, test_accuracy=0.5 + step + noise)
    claims = judged(item.summarise(results, item.scales["ledger"]).claims)
    assert [claim.verdict for claim in claims] == [verdict] * 6


@pytest.mark.parametrize(("place", "shape"), [(0, (3,)), (1, (1, 8, 8))])
def test_both_backbones_are_trained_under_every_scheme(place, shape, tmp_path, monkeypatch):
    monkeypatch.delenv("ADACAP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    item = items()["n4"]
    grid = item.grids(replace(item.scales["quick"], folder=tmp_path))[place]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, *shape)).astype(np.float32)
    y = rng.normal(size=30) if place == 0 else np.arange(30) % 3
    for method in grid.methods:
        model = method.build("regression" if place == 0 else "multiclass", 0)
        model.set_params(max_iter=2).fit(X, y)
        found = model.predict(X) if place == 0 else model.predict_proba(X)
        assert np.isfinite(found).all()
        assert len(np.unique(found)) > 1
    assert [method.category for method in grid.methods] == ["DNN", "Tikhonov", "AdaCap"]
