"""MNIST, and scikit-learn's small digits in the same form."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap_bench.datasets.catalogue import mnist_files
from adacap_bench.datasets.errors import DataError, MissingDataError
from adacap_bench.datasets.places import data_folders, locate, read_content

__all__ = ["load_digit_images", "load_mnist"]

Images = npt.NDArray[np.uint8]
_TYPE_UBYTE = 8


def load_mnist(folder: str | Path | None = None) -> tuple[Images, Images, Images, Images]:
    """The images and labels of MNIST.

    Parameters
    ----------
    folder : path, optional
        Data folder to look in before ``ADACAP_DATA`` and the cache; the four idx files lie
        in its folder ``mnist``, gzip'd or not.

    Returns
    -------
    X_train, y_train, X_test, y_test : ndarrays of uint8
        Images of shape (60000, 28, 28) and (10000, 28, 28), labels 0 to 9.

    Raises
    ------
    MissingDataError
        If a file is absent; ``adacap data fetch mnist`` brings it, and
        :func:`load_digit_images` needs none.
    """
    arrays = {}
    for name, file in mnist_files().items():
        path = locate(file, folder)
        if path is None:
            looked = ", ".join(str(base / file.path) for base in data_folders(folder))
            raise MissingDataError(
                f"MNIST is absent. Run: adacap data fetch mnist. Looked for: {looked}. Without "
                "it, load_digit_images() gives small digits that need no download."
            )
        arrays[name] = _read_idx(read_content(path, file.name), path)
    for part in ("train", "test"):
        images, labels = arrays[f"{part}-images"], arrays[f"{part}-labels"]
        if len(images) != len(labels):
            raise DataError(f"MNIST has {len(images)} {part} images, but {len(labels)} labels.")
    return (
        arrays["train-images"],
        arrays["train-labels"],
        arrays["test-images"],
        arrays["test-labels"],
    )


def load_digit_images(n_test: int = 360) -> tuple[Images, Images, Images, Images]:
    """Scikit-learn's 1797 digits of 8×8 pixels, in the form of :func:`load_mnist`.

    Grey values are stretched to 0..255. The test part is that of the last writers, so that
    no writer is in both parts.

    Parameters
    ----------
    n_test : int, default=360
        Rows of the test part.

    Examples
    --------
    >>> X_train, y_train, X_test, y_test = load_digit_images()
    >>> X_train.shape, X_train.dtype, X_test.shape
    ((1437, 8, 8), dtype('uint8'), (360, 8, 8))
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    X = np.round(digits.images * (255 / 16)).astype(np.uint8)
    y = digits.target.astype(np.uint8)
    return X[:-n_test], y[:-n_test], X[-n_test:], y[-n_test:]


def _read_idx(content: bytes, path: Path) -> Any:
    """Array of an idx file: two zero bytes, type, number of axes, sizes, values."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _TYPE_UBYTE:
        raise DataError(f"{path} is not an idx file of bytes: it starts with {content[:4]!r}.")
    n_axes = content[3]
    offset = 4 + 4 * n_axes
    shape = struct.unpack(f">{n_axes}I", content[4:offset])
    if len(content) - offset != np.prod(shape, dtype=np.int64):
        raise DataError(
            f"{path} is damaged: {len(content) - offset} values for the shape {shape}. Run: "
            "adacap data fetch --force mnist"
        )
    return np.frombuffer(content, np.uint8, offset=offset).reshape(shape)
