"""Backbones by name, from the size of a row to layers, and layers as plain data."""

import copy
import json
import pickle
import subprocess
import sys

import pytest

from adacap.architectures import (
    BACKBONES,
    Architecture,
    describe,
    glu,
    mlp,
    register,
    resnet,
    restore,
    snn,
)
from adacap.layers import (
    ACTIVATIONS,
    Activation,
    BatchNorm,
    Dense,
    Dropout,
    Gate,
    Residual,
    run,
    tensors,
)

NAMED = pytest.mark.parametrize("name", ["mlp", "snn", "glu", "resblock"])
EVERYTHING = {
    name: Architecture(name, dropout=0.2, batch_norm=True).layers(5, width=8) for name in BACKBONES
}


@pytest.fixture
def cube():
    """A backbone made known by a user, for the time of a test."""

    @register("cube")
    def cube(d_in, *, width, depth=3, gate="tanh"):
        return (*(Dense(width if i else d_in, width) for i in range(depth)), Activation(gate))

    yield cube
    del BACKBONES["cube"]


def of_kind(layers, kind):
    """All layers of one kind, those inside of residual blocks too."""
    found = [layer for layer in layers if isinstance(layer, kind)]
    for layer in layers:
        found += of_kind(layer.block, kind) if isinstance(layer, Residual) else []
    return found


# ------------------------------------------------------------------------------ the backbones


@pytest.mark.parametrize(
    ("backbone", "n_dense", "activations"),
    [(mlp, 2, {"relu"}), (snn, 2, {"selu"}), (glu, 3, set()), (resnet, 5, {"relu", "identity"})],
)
def test_defaults(backbone, n_dense, activations):
    layers = backbone(5)
    dense = of_kind(layers, Dense)
    assert len(dense) == n_dense
    assert dense[0].d_in == 5
    assert dense[-1].d_out == (1024 if backbone is glu else 512)
    assert {layer.name for layer in of_kind(layers, Activation)} == activations


@NAMED
def test_dropout_and_batch_norm_only_when_asked(name):
    bare = Architecture(name).layers(5, width=8)
    assert not of_kind(bare, Dropout)
    assert not of_kind(bare, BatchNorm)
    n_dense = len(of_kind(bare, Dense))
    normed = Architecture(name, batch_norm=True).layers(5, width=8)
    assert len(of_kind(normed, BatchNorm)) == n_dense
    dropped = of_kind(Architecture(name, dropout=0.2).layers(5, width=8), Dropout)
    assert dropped == [Dropout(0.2)] * n_dense


@NAMED
@pytest.mark.parametrize("activation", sorted({*ACTIVATIONS} - {"identity"}))
def test_the_activation_asked_for_is_used_alone(name, activation):
    layers = Architecture(name, activation=activation).layers(5, width=8)
    found = {layer.name for layer in of_kind(layers, Activation)}
    found |= {layer.activation for layer in of_kind(layers, Gate)}
    assert found - {"identity"} == {activation}


@pytest.mark.parametrize("block_depth", [1, 2, 3])
def test_block_depth_counts_the_dense_layers_of_a_block(block_depth):
    layers = resnet(5, width=8, depth=3, block_depth=block_depth)
    assert len(of_kind(layers, Dense)) == 1 + 3 * block_depth
    assert len(of_kind(layers, Residual)) == 3


@pytest.mark.parametrize("make", [Activation, Gate])
def test_unknown_activation_is_named(make):
    with pytest.raises(ValueError, match=r"Unknown activation 'rleu'\. Did you mean 'relu'\?"):
        make("rleu")


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_dropout_is_a_share(rate):
    with pytest.raises(ValueError, match=f"at least 0 and below 1, got {rate}"):
        Dropout(rate)


# ------------------------------------------------------------------------------------ by name


@pytest.mark.parametrize(
    ("name", "depth"), [("mlp", 2), ("snn", 2), ("glu", 3), ("resblock", 2), ("fourier", 1)]
)
def test_depth_where_none_is_given(name, depth):
    architecture = Architecture(name)
    assert architecture.default_depth == depth
    assert architecture.layers(5, width=8) == architecture.layers(5, width=8, depth=depth)
    assert architecture.layers(5, width=8) != architecture.layers(5, width=8, depth=depth + 1)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        (
            "mpl",
            {},
            r"Unknown architecture 'mpl'\. Did you mean 'mlp'\? Known: fourier, glu, mlp, ",
        ),
        ("mlp", {"dropuot": 0.1}, r"option of architecture 'mlp' 'dropuot'\. Did you mean 'dropou"),
        ("snn", {"batchnorm": True}, r"'snn' 'batchnorm'\. Did you mean 'batch_norm'\?"),
        ("mlp", {"block_depth": 2}, "Unknown option of architecture 'mlp' 'block_depth'"),
        ("mlp", {"width": 8}, "Unknown option of architecture 'mlp' 'width'"),
        ("glu", {"depth": 8}, "Unknown option of architecture 'glu' 'depth'"),
        ("snn", {"options": {}}, "Unknown option of architecture 'snn' 'options'"),
    ],
)
def test_unknown_names_and_options_are_refused(name, options, text):
    with pytest.raises(ValueError, match=text):
        Architecture(name, **options)


def test_an_architecture_is_a_value():
    one = Architecture("mlp", dropout=0.2, activation="tanh")
    assert one == Architecture("mlp", activation="tanh", dropout=0.2)
    assert one != Architecture("mlp", dropout=0.2)
    assert repr(one) == "Architecture('mlp', activation='tanh', dropout=0.2)"
    assert eval(repr(one)) == one
    assert {one: 1}[copy.deepcopy(one)] == 1
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_registered_backbone_is_known_by_its_name(cube):
    assert BACKBONES["cube"] is cube
    architecture = Architecture("cube", gate="relu")
    assert architecture.default_depth == 3
    assert architecture.layers(5, width=8, depth=1) == (Dense(5, 8), Activation("relu"))
    with pytest.raises(ValueError, match=r"'cube' 'gaet'\. Did you mean 'gate'\? Known: gate, "):
        Architecture("cube", gaet="relu")
    assert restore(describe(architecture.layers(5, width=8))) == architecture.layers(5, width=8)


# ------------------------------------------------------------------------------ what they hold


def test_tensors_have_dotted_names():
    layers = (Dense(3, 2), Residual((BatchNorm(2), Gate(), Dense(1, 2))), Dropout(0.5))
    assert tensors(layers) == {
        "0.weight": (3, 2), "0.bias": (2,),
        "1.0.weight": (2,), "1.0.bias": (2,), "1.0.running_mean": (2,), "1.0.running_var": (2,),
        "1.2.weight": (1, 2), "1.2.bias": (2,),
    }  # fmt: skip


class Spelled:
    """Operations that write down what is computed."""

    def affine(self, x, weight, bias):
        return f"({x}·{weight}+{bias})"

    def batch_norm(self, x, tensors):
        return f"norm({x}; {tensors['weight']})"

    def activation(self, name, x):
        return f"{name}({x})"

    def halves(self, x):
        return f"{x}[a]", f"{x}[b]"

    def glu(self, x):
        return f"glu({x})"

    def multiply(self, x, y):
        return f"{x}*{y}"

    def add(self, x, y):
        return f"{x}+{y}"

    def dropout(self, x, rate):
        return f"drop({x}; {rate})"


@pytest.mark.parametrize(
    ("layers", "held", "text"),
    [
        ((Dense(1, 1),), {"0": {"weight": "W", "bias": "b"}}, "(x·W+b)"),
        ((BatchNorm(1),), {"0": {"weight": "g"}}, "norm(x; g)"),
        ((Activation("tanh"), Dropout(0.5)), {"0": {}, "1": {}}, "drop(tanh(x); 0.5)"),
        ((Gate(),), {"0": {}}, "glu(x)"),
        ((Gate("relu"),), {"0": {}}, "relu(x[a])*sigmoid(x[b])"),
        (
            (Activation("relu"), Residual((Dense(1, 1),))),
            {"0": {}, "1": {"0": {"weight": "W", "bias": "b"}}},
            "relu(x)+(relu(x)·W+b)",
        ),
    ],
)
def test_what_a_layer_computes(layers, held, text):
    assert run(layers, "x", held, Spelled()) == text


# ------------------------------------------------------------------------------ as plain data


@pytest.mark.parametrize("layers", EVERYTHING.values(), ids=EVERYTHING)
def test_layers_come_back_from_plain_data(layers):
    assert restore(json.loads(json.dumps(describe(layers)))) == layers


def nested(depth):
    data = [{"kind": "Dense", "d_in": 1, "d_out": 1}]
    for _ in range(depth):
        data = [{"kind": "Residual", "block": data}]
    return data


DENSE = {"kind": "Dense", "d_in": 3, "d_out": 2}


@pytest.mark.parametrize(
    "data",
    [
        None, "Dense", {"0": DENSE}, [DENSE] * 1001, nested(12),
        [{**DENSE, "kind": "Sense"}], [{**DENSE, "kind": ["Dense"]}], [{**DENSE, "kind": {}}],
        [{"d_in": 3, "d_out": 2}], [{**DENSE, "bias": True}], [["Dense", 3, 2]], [None],
        [{**DENSE, "d_in": 0}], [{**DENSE, "d_in": -1}], [{**DENSE, "d_in": 3.0}],
        [{**DENSE, "d_in": "3"}], [{**DENSE, "d_in": True}], [{**DENSE, "d_in": None}],
        [{"kind": "Activation", "name": 3}], [{"kind": "Activation", "name": "rleu"}],
        [{"kind": "Gate", "activation": "rleu"}], [{"kind": "Dropout", "rate": 1.5}],
        [{"kind": "Dropout", "rate": float("nan")}], [{"kind": "Dropout", "rate": "0.5"}],
        [{"kind": "Residual", "block": DENSE}], [{"kind": "Residual", "block": [None]}],
        [{"kind": "Layer"}], [{"kind": "_NoTensors"}],
    ],
)  # fmt: skip
def test_data_that_describes_no_layers_is_refused(data):
    with pytest.raises(
        ValueError, match=r"does not describe a layer|is not a list of at most|must be|Unknown act"
    ):
        restore(data)


def test_blocks_inside_of_blocks_come_back():
    assert describe(restore(nested(5))) == nested(5)


def test_neither_layers_nor_architectures_need_torch():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from adacap.architectures import Architecture, describe\n"
        "print(len(describe(Architecture('glu').layers(3, width=4))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "6", done.stderr
