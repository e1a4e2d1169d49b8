"""Backbones past the paper's: attention over columns, residual convolutions."""

import pytest
import torch
from torch import nn

from adacap_bench.reproduce.studies.further_nets import ColumnAttention, ResidualConvNet


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
