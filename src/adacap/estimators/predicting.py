"""Outputs of a trained network, a chunk of rows at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from adacap.estimators.inputs import as_input

__all__ = ["chunked_outputs"]

_WORK_AT_ONCE = 2**27  # multiplications of one layer


@torch.inference_mode()
def chunked_outputs(
    network: nn.Module, encoded: npt.NDArray[np.float32], sample_shape: tuple[int, ...] | None
) -> npt.NDArray[np.float32]:
    """Outputs of a network in evaluation mode.

    Every chunk is padded to the same number of rows: products of one shape round alike, so that a
    row's prediction does not depend on its company.

    Parameters
    ----------
    network : nn.Module
    encoded : ndarray of shape (n, d)
    sample_shape : tuple of int or None
        Shape of one sample, where it is not a row of a table.

    Returns
    -------
    ndarray of shape (n, ...)

    Examples
    --------
    >>> chunked_outputs(nn.Identity(), np.ones((3, 2), dtype=np.float32), None).shape
    (3, 2)
    """
    size = _rows_at_once(network)
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    found: torch.Tensor | None = None
    for start in range(0, len(encoded), size):
        x = as_input(encoded[start : start + size], sample_shape, device)
        if n_missing := size - len(x):
            x = torch.cat([x, x.new_zeros(n_missing, *x.shape[1:])])
        output = network(x)
        if found is None:  # a list of outputs would lie between what one chunk frees for the next
            found = torch.empty(len(encoded), *output.shape[1:], dtype=output.dtype)
        found[start : start + size] = output[: len(encoded) - start]
    assert found is not None  # there is a row at least
    result: npt.NDArray[np.float32] = found.numpy()
    return result


def _rows_at_once(network: nn.Module) -> int:
    """Enough rows to make calls few, and few enough to stay in cache."""
    widths = [layer.out_features for layer in network.modules() if isinstance(layer, nn.Linear)]
    return max(1024, min(2048, _WORK_AT_ONCE // max(widths, default=256) ** 2))
