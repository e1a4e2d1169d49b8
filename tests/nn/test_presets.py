"""The architecture table of the paper, row by row."""

import dataclasses

import pytest
import torch

from adacap.architectures import Architecture
from adacap.exceptions import suggest
from adacap.layers import Dense, Residual
from adacap.nn import Backbone
from adacap.nn.presets import ARCHITECTURES, PRESET_SCHEMES, PRESETS, ArchitectureSpec

# name: backbone, blocks, width, iterations, epochs, batch size, max lr, seconds
TABLE = {
    "fast-mlp": ("mlp", 2, 256, 200, None, 2048, 1e-2, None),
    "mlp": ("mlp", 2, 512, 500, None, 2048, 1e-2, None),
    "batch-mlp": ("mlp", 2, 512, None, 20, 256, 1e-2, 3600),
    "fast-snn": ("snn", 2, 256, 200, None, 2048, 1e-2, None),
    "snn": ("snn", 2, 512, 500, None, 2048, 1e-2, None),
    "resblock": ("resblock", 2, 512, 500, None, 2048, 1e-2, None),
    "batch-resblock": ("resblock", 2, 512, None, 50, 256, 1e-2, 3600),
    "glu-mlp": ("glu", 3, 512, 500, None, 2048, 1e-2, None),
}


@pytest.mark.parametrize("name", TABLE)
def test_row_of_the_table(name):
    assert dataclasses.astuple(ARCHITECTURES[name]) == TABLE[name]


def test_no_other_row():
    assert set(ARCHITECTURES) == set(TABLE)


def test_each_row_under_each_scheme():
    assert PRESET_SCHEMES == ("adacap", "tikhonov", "plain")
    assert len(PRESETS) == 24
    for name, spec in ARCHITECTURES.items():
        for preset, scheme in ((name, "plain"), *((f"{s}-{name}", s) for s in PRESET_SCHEMES[:2])):
            assert PRESETS[preset].architecture is spec
            assert PRESETS[preset].scheme == scheme


@pytest.mark.parametrize("name", PRESETS)
def test_preset_builds(name):
    spec = PRESETS[name].architecture
    architecture = Architecture(spec.backbone)
    net = Backbone(architecture.layers(3, width=spec.width, depth=spec.depth))
    assert net(torch.zeros(2, 3)).shape == (2, spec.width)
    assert spec.depth == architecture.default_depth


def test_residual_blocks_have_depth_two():
    layers = Architecture("resblock").layers(3, width=4)
    blocks = [layer.block for layer in layers if isinstance(layer, Residual)]
    assert [sum(isinstance(layer, Dense) for layer in block) for block in blocks] == [2, 2]


def test_rows_cannot_be_edited():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ARCHITECTURES["mlp"].width = 1
    assert ArchitectureSpec("mlp", 2) == ARCHITECTURES["mlp"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adacap-snnn", "Did you mean 'adacap-snn'? Nearest of {n}: "),
        ("zzz", "None of {n} is near."),
        (3, "None of {n} is near."),
    ],
)
def test_unknown_name_gets_a_suggestion(name, text):
    told = f"Unknown architecture {name!r}. {text.format(n=len(PRESETS))}"
    assert suggest(name, PRESETS, "architecture").startswith(told)
