"""Encodings of a row: ranks and bins against what scikit-learn and NumPy say."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer

from adacap.encodings import ENCODINGS, fit_encoding
from adacap.modelfile.numpy_operations import NumpyOperations
from adacap.nn.predictors import EncodingModule

NAMES = tuple(ENCODINGS)


def encode(name, X, new=None, weight=None):
    found = EncodingModule(fit_encoding(name, X, weight))
    rows = torch.as_tensor(np.asarray(X if new is None else new), dtype=torch.float32)
    return found(rows).numpy()


@pytest.fixture
def X(seed):
    """A normal, a skewed, a binary, a constant and a repeating column."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.normal(size=200),
            np.exp(2 * rng.normal(size=200)),
            rng.integers(0, 2, size=200),
            np.full(200, 3.0),
            rng.integers(0, 5, size=200),
        ]
    ).astype(np.float32)


# ----------------------------------------------------------------------------------- ranks


def test_ranks_become_normal_scores(X):
    """With fewer values than knots, the very scores of the middle ranks, standardised."""
    x = X[:60, :2]
    scores = norm.ppf((rankdata(x, axis=0) - 0.5) / len(x)).clip(-3, 3)
    np.testing.assert_allclose(encode("rank", x), scores / scores.std(0), atol=1e-5)


def test_many_values_go_by_the_knots_as_in_scikit_learn(X):
    """Within the middle nine tenths, where both interpolate between quantiles."""
    x = X[:, :2]
    reference = QuantileTransformer(n_quantiles=200, output_distribution="normal")
    expected = reference.fit_transform(x)
    found = encode("rank", x)
    inner = np.abs(expected) < 1.6
    np.testing.assert_allclose(found[inner], expected[inner], atol=0.1)


def test_ranks_do_not_care_for_the_scale_of_a_column(X):
    x = X[:60, :1]
    np.testing.assert_allclose(encode("rank", np.exp(x)), encode("rank", x), atol=1e-5)


def test_ties_share_their_middle_rank(X):
    x = X[:, 4:]
    scores = norm.ppf((rankdata(x, axis=0) - 0.5) / len(x))
    np.testing.assert_allclose(
        encode("rank", x), (scores - scores.mean()) / scores.std(), atol=1e-5
    )


# ------------------------------------------------------------------------------------ bins


def test_bins_stand_beside_the_columns(X):
    found = encode("bins", X)
    np.testing.assert_array_equal(found[:, :5], X)


@pytest.mark.skipif(
    "quantile_method" not in KBinsDiscretizer().get_params(), reason="needs scikit-learn 1.7"
)
def test_bins_end_at_the_quantiles(X):
    x = X[:, :1]
    arrays = fit_encoding("bins", x).arrays
    reference = KBinsDiscretizer(
        8, encode="ordinal", quantile_method="hazen", subsample=None
    ).fit(x)  # fmt: skip
    np.testing.assert_allclose(arrays["start"], reference.bin_edges_[0][:-1], atol=1e-5)


def test_a_ramp_rises_from_one_quantile_to_the_next(X):
    """Of a row in bin b, ramps below b are full, those above empty, its own is the share gone."""
    x = X[:, :1].astype(np.float64)
    fitted = fit_encoding("bins", x)
    edges = np.append(fitted.arrays["start"], x.max())
    new = np.linspace(x.min(), x.max(), 50)[:, None]
    expected = np.column_stack(
        [np.interp(new[:, 0], edges[b : b + 2], [0, 1]) for b in range(len(edges) - 1)]
    )
    np.testing.assert_allclose(
        encode("bins", x, new)[:, 1:] - fitted.arrays["shift"], expected, atol=1e-4
    )


def test_ramps_are_centred(X):
    np.testing.assert_allclose(encode("bins", X)[:, 5:].mean(0), 0, atol=1e-5)


# ------------------------------------------------------------------------------------ both


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_column_stays_constant(name):
    found = encode(name, np.full((9, 1), 7.0), np.array([[7.0], [-50.0], [1e6]]))
    assert np.isfinite(found).all()
    if name == "rank":
        assert found.tolist() == [[0.0]] * 3
    else:
        assert found.shape == (3, 1)  # the column alone


def test_a_binary_column_is_standardised_or_left():
    x = np.array([[0.0], [0.0], [0.0], [1.0]])
    expected = (x - 0.25) / np.sqrt(3 / 16)
    np.testing.assert_allclose(encode("rank", x), expected, atol=1e-6)
    np.testing.assert_array_equal(encode("bins", x), x)


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_of_two_is_the_row_twice(name, X, seed):
    times = np.random.default_rng(seed).integers(1, 4, size=len(X))
    weighted = fit_encoding(name, X, times)
    repeated = fit_encoding(name, np.repeat(X, times, axis=0))
    assert weighted.encoding == repeated.encoding
    for key, values in weighted.arrays.items():
        np.testing.assert_allclose(values, repeated.arrays[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@given(
    x=arrays(np.float32, st.integers(2, 80), elements=st.floats(-1e4, 1e4, width=32)),
    new=arrays(np.float32, 30, elements=st.floats(-1e6, 1e6, width=32)),
)
def test_columns_are_monotone_and_finite_everywhere(name, x, new):
    new = np.sort(new)[:, None]
    found = encode(name, x[:, None], new)
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=0) >= -1e-5 * np.abs(found).max()).all()


@pytest.mark.parametrize("name", NAMES)
def test_beyond_the_ends_ramps_are_flat(name, X):
    x = X[:, :2]
    ends = np.stack([x.min(0), x.max(0)])
    found, far = encode(name, x, ends), encode(name, x, ends + np.array([[-1e3], [1e3]]))
    start = 0 if name == "rank" else 2
    np.testing.assert_allclose(found[:, start:], far[:, start:], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_plays_no_part(name, X, seed):
    mixed = np.random.default_rng(seed).permutation(X)
    one, other = fit_encoding(name, X), fit_encoding(name, mixed)
    for key, values in one.arrays.items():
        np.testing.assert_allclose(values, other.arrays[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_arrays_are_those_described(name, X):
    encoding, found = fit_encoding(name, X)
    assert {key: values.shape for key, values in found.items()} == encoding.tensors
    assert encode(name, X).shape == (len(X), encoding.d_out)


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(ValueError, match=r"Unknown encoding 'rnak'\. Did you mean 'rank'"):
        fit_encoding("rnak", np.zeros((2, 1)))


def test_ranks_of_a_wide_table_take_memory_in_proportion_to_its_columns():
    X = np.random.default_rng(0).normal(size=(50, 1500)).astype(np.float32)
    tracemalloc.start()
    found = fit_encoding("rank", X)
    lite = found.encoding.apply(X, found.arrays, NumpyOperations())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**27  # a matrix of ramps by columns has 49 · 1,500² numbers, 882 MB
    np.testing.assert_allclose(EncodingModule(found)(torch.as_tensor(X)).numpy(), lite, atol=1e-5)
