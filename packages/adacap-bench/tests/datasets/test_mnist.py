"""MNIST from idx files, and the small digits instead of it."""

import gzip
import struct

import numpy as np
import pytest

from adacap_bench.datasets import DataError, MissingDataError, load_digit_images, load_mnist

NAMES = {
    "train-images-idx3-ubyte": (3, 28, 28),
    "train-labels-idx1-ubyte": (3,),
    "t10k-images-idx3-ubyte": (2, 28, 28),
    "t10k-labels-idx1-ubyte": (2,),
}


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def arrays(write, no_data, seed):
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, 256, shape).astype(np.uint8) for shape in NAMES.values()]
    for name, array in zip(NAMES, made, strict=True):
        packed = name.startswith("train")
        content = gzip.compress(idx(array)) if packed else idx(array)
        write(f"mnist/{name}{'.gz' if packed else ''}", content)
    return made


def test_idx_files(arrays, tmp_path):
    for found, expected in zip(load_mnist(tmp_path), arrays, strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.uint8


def test_damaged_files(arrays, tmp_path, write):
    write("mnist/t10k-labels-idx1-ubyte", idx(np.zeros(3, np.uint8)))
    with pytest.raises(DataError, match="MNIST has 2 test images, but 3 labels"):
        load_mnist(tmp_path)
    write("mnist/t10k-labels-idx1-ubyte", idx(np.zeros(3, np.uint8))[:-1])
    with pytest.raises(DataError, match=r"is damaged: 2 values for the shape \(3,\)"):
        load_mnist(tmp_path)
    write("mnist/t10k-labels-idx1-ubyte", b"<html>")
    with pytest.raises(DataError, match="not an idx file of bytes: it starts with b'<htm'"):
        load_mnist(tmp_path)


def test_absent(no_data):
    with pytest.raises(MissingDataError, match=r"adacap data fetch mnist.*load_digit_images"):
        load_mnist()


def test_small_digits():
    X_train, y_train, X_test, y_test = load_digit_images(n_test=100)
    assert X_train.shape == (1697, 8, 8)
    assert X_test.shape == (100, 8, 8)
    assert (X_train.min(), X_train.max()) == (0, 255)
    assert set(y_train) == set(y_test) == set(range(10))


def test_real_files(data_folder):
    X_train, y_train, X_test, y_test = load_mnist(data_folder)
    assert X_train.shape == (60_000, 28, 28)
    assert X_test.shape == (10_000, 28, 28)
    assert np.bincount(y_train).tolist()[:3] == [5923, 6742, 5958]  # as is well known
    assert np.bincount(y_test).tolist()[:3] == [980, 1135, 1032]
