"""Encodings and predictors of a file on NumPy: equal to torch's, refused where they do not fit."""

import re
from typing import Any

import numpy as np
import pytest
import torch

from adacap.encodings import Bins, Ranks, fit_encoding
from adacap.exceptions import ModelFileError
from adacap.modelfile.numpy_operations import NumpyOperations
from adacap.modelfile.predictors import Facts, PredictorGroup, describe, pack, read_encoding
from adacap.nn.predictors import EncodingModule, Frozen
from adacap.predictors import LINKS, Forest, Kernel, Linear, SymmetricTrees

K, D, C = 2, 3, 2
FACTS = Facts(shape=(D,), n_out=C, n_members=0, head={})
ROWS = np.random.default_rng(0).normal(size=(40, D)).astype(np.float32)
ENCODED = {name: fit_encoding(name, ROWS) for name in ("rank", "bins")}


def normal(*shape: int, kind: Any = np.float64) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(kind)


def forest(link: str = "identity") -> tuple[Forest, dict[str, Any]]:
    """Two trees of different depth in each of two folds: five nodes and three."""
    left, right = np.array([1, 1, 3, 3, 4, 6, 6, 7]), np.array([2, 1, 4, 3, 4, 7, 6, 7])
    left, right = np.concatenate([left, left + 8]), np.concatenate([right, right + 8])
    is_leaf = left == np.arange(16)
    arrays = {
        "root": np.array([[0, 5], [8, 13]]),
        "column": np.arange(16) % D,
        "threshold": normal(16, kind=np.float32),
        "left": left,
        "right": right,
        "leaf": normal(16, C, kind=np.float32) * is_leaf[:, None],
        "bias": normal(K, C),
    }
    return Forest(K, D, 2, 16, 2, C, link), arrays


def predictors() -> dict[str, tuple[Any, dict[str, Any]]]:
    trees = {
        "column": np.arange(K * 3 * 2).reshape(K, 3, 2) % D,
        "threshold": normal(K, 3, 2, kind=np.float32),
        "leaf": normal(K, 3, 4, C, kind=np.float32),
        "bias": normal(K, C),
    }
    kernel = {
        "rows": ROWS[:10].astype(np.float64),
        "scale": np.exp(normal(K, D)),
        "weight": normal(K, 10 + D, C),
        "bias": normal(K, C),
    }
    linear = {"weight": normal(K, D, C), "bias": normal(K, C)}
    return {
        "linear": (Linear(K, D, C), linear),
        "kernel": (Kernel(K, D, 10, C), kernel),
        "symmetric": (SymmetricTrees(K, D, 3, 2, C), trees),
        **{f"forest, {link}": forest(link) for link in LINKS},
    }


def stored(one: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    return {f"predictor.{name}": array for name, array in pack(one, arrays).items()}


def read(one: Any, tensors: dict[str, Any], **changes: Any) -> PredictorGroup:
    described = {**describe(one), **changes}
    return PredictorGroup.read(
        {"kind": "predictor", "predictor": described, "encoding": None}, tensors, FACTS
    )


@pytest.mark.parametrize("name", predictors())
def test_predictors_compute_what_torch_does(name: str) -> None:
    one, arrays = predictors()[name]
    group = read(one, stored(one, arrays))
    expected = Frozen(one, arrays).each(torch.from_numpy(ROWS)).numpy()
    found = one.apply(ROWS.astype(np.float64), group.arrays, NumpyOperations())
    np.testing.assert_allclose(found, expected, 1e-10, 1e-12)
    np.testing.assert_allclose(group.total(ROWS.astype(np.float64)), expected.sum(0), 1e-10, 1e-12)
    for key, array in group.arrays.items():
        np.testing.assert_array_equal(array, arrays[key])


@pytest.mark.parametrize("name", ENCODED)
def test_encodings_compute_what_torch_does(name: str) -> None:
    one, arrays = ENCODED[name]
    tensors = {f"encoding.{key}": array for key, array in pack(one, arrays).items()}
    found, rest = read_encoding(describe(one), {**tensors, "other": ROWS}, (D,))
    assert list(rest) == ["other"]
    assert found is not None
    assert found.encoding == one
    for key, array in found.arrays.items():
        np.testing.assert_array_equal(array, arrays[key])
    expected = EncodingModule(ENCODED[name])(torch.from_numpy(ROWS)).numpy()
    rows = one.apply(ROWS.astype(np.float64), found.arrays, NumpyOperations())
    np.testing.assert_allclose(rows, expected, atol=1e-6)


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        ("linear", "kind", "Tree", "there is no predictor 'Tree'"),
        ("linear", "kind", ["Linear"], "there is no predictor"),
        ("linear", "more", 1, "predictor Linear is not described by"),
        ("linear", "k", 0, "predictor Linear has k 0"),
        ("linear", "k", True, "predictor Linear has k True"),
        ("linear", "k", 2.0, r"predictor Linear has k 2\.0"),
        ("linear", "k", 10**299, "predictor Linear has k 1000"),
        ("linear", "d_in", 4, "a predictor maps 4 columns to 2 outputs"),
        ("linear", "n_out", 1, "a predictor maps 3 columns to 1 outputs"),
        ("kernel", "n_rows", 11, r"predictor.rows is float32 of shape \(10, 3\), not .*\(11, 3\)"),
        ("kernel", "n_rows", 2**40, "predictor.rows is float32 of shape"),
        ("symmetric", "depth", 0, "has 0 levels, not 1 to 16"),
        ("symmetric", "depth", 2**39, "levels, not 1 to 16"),
        ("symmetric", "n_trees", 4, "predictor.column is int16 of shape"),
        ("forest, log", "link", "probit", "has link 'probit'"),
        ("forest, log", "link", None, "has link None"),
        ("forest, log", "depth", 1, "no tree has 1 levels"),
        ("forest, log", "depth", 3, "no tree has 3 levels"),
        ("forest, log", "depth", -1, "has depth -1"),
        ("forest, log", "n_nodes", 17, "predictor.column is int16 of shape"),
        ("forest, log", "n_trees", 1, "predictor.root is int16 of shape"),
    ],
)
def test_descriptions_that_do_not_fit(name: str, field: str, value: Any, message: str) -> None:
    one, arrays = predictors()[name]
    with pytest.raises(ModelFileError, match=message):
        read(one, stored(one, arrays), **{field: value})


def at(place: Any, value: Any) -> Any:
    """A change of single numbers."""

    def change(array: Any) -> Any:
        array = array.copy()
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "tensor", "change", "message"),
    [
        ("linear", "bias", lambda a: a.astype(np.float16), "predictor.bias is float16"),
        ("linear", "bias", lambda a: a.astype(int), "predictor.bias is int64"),
        ("linear", "bias", at(0, np.nan), "predictor.bias holds NaN, infinite or huge values"),
        ("linear", "weight", at(0, np.inf), "predictor.weight holds NaN, infinite or huge values"),
        ("linear", "weight", lambda a: a[:, :1], r"predictor.weight is float64 of shape"),
        ("kernel", "scale", at(0, 0.0), "predictor.scale is not above 0"),
        ("kernel", "scale", at(0, -1.0), "predictor.scale is not above 0"),
        ("symmetric", "column", at(0, D), "predictor.column is not within 0 and 2"),
        ("symmetric", "column", at(0, -1), "predictor.column is not within 0 and 2"),
        ("symmetric", "column", lambda a: a.astype(np.uint8), "predictor.column is uint8"),
        ("symmetric", "threshold", lambda a: a.astype(np.float64), "threshold is float64"),
        ("symmetric", "leaf", at(0, np.nan), "predictor.leaf holds NaN"),
        ("forest, logit", "column", at(5, D), "predictor.column is not within"),
        ("forest, logit", "root", at((0, 0), 1), "does not lead to one tree after another"),
        ("forest, logit", "root", at((1, 1), 16), "does not lead to one tree after another"),
        ("forest, logit", "root", at((0, 1), 8), "does not lead to one tree after another"),
        ("forest, logit", "root", at((0, 1), -5), "predictor.root is not within"),
        ("forest, logit", "left", at(0, 0), "a node of predictor has one child"),
        ("forest, logit", "left", at(2, -1), "predictor.left is not within"),
        ("forest, logit", "left", at(0, 2), "not children of one other node each"),
        ("forest, logit", "right", at(0, 5), "a child outside its tree"),
        ("forest, logit", "right", at(13, 2**15 - 1), "a child outside its tree"),
        ("forest, logit", "left", lambda a: a.astype(np.int64) + 2**62, "has one child|outside"),
    ],
)
def test_tensors_that_do_not_fit(name: str, tensor: str, change: Any, message: str) -> None:
    one, arrays = predictors()[name]
    tensors = stored(one, arrays)
    key = f"predictor.{tensor}"
    with pytest.raises(ModelFileError, match=message):
        read(one, {**tensors, key: change(tensors[key])})
    with pytest.raises(ModelFileError, match=re.escape(f"the file has no tensor {key}")):
        read(one, {name: array for name, array in tensors.items() if name != key})


def test_tensors_of_no_meaning() -> None:
    one, arrays = predictors()["linear"]
    for more in ("predictor.more", "encoding.column", "probe"):
        with pytest.raises(ModelFileError, match=f"Linear has no tensor {more}"):
            read(one, {**stored(one, arrays), more: ROWS})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_in": 4}, "an encoding of 4 columns is for samples of"),
        ({"kind": "Kernel"}, "there is no encoding 'Kernel'"),
        ({"n_ramps": -1}, "has n_ramps -1"),
        ({"n_ramps": 2**40}, r"encoding.column is int16 of shape"),
        ({"n_ramps": 7}, r"encoding.column is int16 of shape"),
    ],
)
def test_encodings_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    one, arrays = ENCODED["rank"]
    tensors = {f"encoding.{key}": array for key, array in pack(one, arrays).items()}
    with pytest.raises(ModelFileError, match=message):
        read_encoding({**describe(one), **change}, tensors, (D,))


@pytest.mark.parametrize(
    ("tensor", "value", "message"),
    [
        ("column", D, "encoding.column is not within 0 and 2"),
        ("slope", 0.0, "encoding.slope is not above 0"),
        ("start", np.nan, "encoding.start holds NaN"),
        ("shift", np.inf, "encoding.shift holds NaN, infinite"),
    ],
)
@pytest.mark.parametrize("name", ENCODED)
def test_ramps_that_do_not_fit(name: str, tensor: str, value: Any, message: str) -> None:
    one, arrays = ENCODED[name]
    tensors = {f"encoding.{key}": array for key, array in pack(one, arrays).items()}
    tensors[f"encoding.{tensor}"][0] = value
    with pytest.raises(ModelFileError, match=message):
        read_encoding(describe(one), tensors, (D,))


def test_an_encoding_of_two_valued_columns_has_no_ramps() -> None:
    one, arrays = fit_encoding("bins", np.array([[0.0], [1.0], [1.0]]))
    assert isinstance(one, Bins)
    assert one.n_ramps == 0
    tensors = {f"encoding.{key}": array for key, array in pack(one, arrays).items()}
    found, _ = read_encoding(describe(one), tensors, (1,))
    assert found is not None
    rows = found.encoding.apply(np.ones((2, 1)), found.arrays, NumpyOperations())
    assert rows.tolist() == [[1.0], [1.0]]
    assert isinstance(fit_encoding("rank", np.ones((3, 1))).encoding, Ranks)
