"""The tutorial's training (C3) and the backbones past the paper's (N4)."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from adacap_bench.reproduce import items
from adacap_bench.reproduce.item import judged
from adacap_bench.reproduce.nets import ColumnAttention, ResidualConvNet
from adacap_bench.reproduce.studies.few_shot import step_each_epoch


def test_the_rate_falls_by_the_tutorials_factor_after_each_epoch():
    optimizer = torch.optim.Adadelta([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = step_each_epoch(optimizer, 14 * 3)
    rates = []
    for _ in range(14 * 3):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert rates == pytest.approx([0.7**epoch for epoch in range(14) for _ in range(3)])


def test_only_the_plain_net_has_the_tutorials_dropout():
    (grid,) = items()["c3"].grids(items()["c3"].scales["quick"])
    built = {method.name: method.build("multiclass", 0) for method in grid.methods}
    assert built["plain-convnet"].architecture.dropout == (0.25, 0.5)
    assert built["adacap-convnet"].architecture.dropout == (0.0, 0.0)
    assert built["plain-convnet"].max_iter == "14 epochs"
    assert built["plain-convnet-longer"].max_iter == 30
    assert built["plain-convnet-longer"].optimizer == ("adadelta", "constant")


def test_attention_does_not_know_the_order_of_columns():
    """Columns swapped together with their tokens give the same features."""
    torch.manual_seed(0)
    net, rows = ColumnAttention(4, depth=2), torch.randn(6, 4)
    before = net(rows)
    order = torch.tensor([2, 0, 3, 1])
    with torch.no_grad():
        net.scale.copy_(net.scale[order])
        net.shift.copy_(net.shift[order])
    torch.testing.assert_close(net(rows[:, order]), before)


def test_attention_lets_columns_act_on_each_other():
    """A sum over columns would have no mixed second differences."""
    torch.manual_seed(0)
    net = ColumnAttention(2).double()
    net.last = nn.Identity()  # the mean of the tokens
    at = [net(torch.tensor([[a, b]]).double()) for a in (0.0, 1.0) for b in (0.0, 1.0)]
    assert float((at[3] - at[2] - at[1] + at[0]).detach().abs().max()) > 1e-4


def test_heads_must_divide_the_size_of_a_token():
    with pytest.raises(ValueError, match="got heads=3 and size=32"):
        ColumnAttention(2, heads=3)


@pytest.mark.parametrize(("batch_norm", "n_norms"), [(False, 0), (True, 10)])
def test_a_residual_net_halves_the_image_where_channels_grow(batch_norm, n_norms):
    net = ResidualConvNet((1, 28, 28), batch_norm=batch_norm)
    sizes = []
    for layer in net.features:
        layer.register_forward_hook(lambda _, __, out: sizes.append(tuple(out.shape[1:])))
    assert net(torch.zeros(2, 1, 28, 28)).shape == (2, 128)
    assert sizes[3:6] == [(16, 14, 14), (32, 7, 7), (64, 4, 4)]
    assert sum(isinstance(layer, nn.BatchNorm2d) for layer in net.modules()) == n_norms


def test_a_block_adds_its_input():
    net = ResidualConvNet((1, 8, 8), channels=(2,), width=3)
    block, images = net.features[3], torch.randn(2, 2, 4, 4)
    with torch.no_grad():
        for parameter in block.body.parameters():
            parameter.zero_()
    torch.testing.assert_close(block(images), block.skip(images).relu())


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
