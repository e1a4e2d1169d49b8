"""Outputs of a trained network, a chunk of rows at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from adacap.estimators.inputs import as_input
from adacap.training.members import is_mode_free
from adacap.training.threads import in_threads, one_thread, stop_asked

__all__ = ["chunked_outputs"]

_WORK_AT_ONCE = 2**26  # multiplications of one layer
_STILL_WHEN_EVALUATED = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)


def chunked_outputs(
    network: nn.Module, encoded: npt.NDArray[np.float32], sample_shape: tuple[int, ...] | None
) -> npt.NDArray[np.float32]:
    """Outputs of a network in evaluation mode.

    Every chunk is padded to the same number of rows: products of one shape round alike, so that a
    row's prediction does not depend on its company. For the same reason a chunk is the work of one
    thread, whether or not others take further chunks beside it. A net with layers of unknown
    habits takes chunk after chunk, each with all threads.

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
    fill = partial(_fill, network, encoded, sample_shape, device, size)
    starts = range(0, len(encoded), size)
    shares = device.type == "cpu" and _can_share(network)
    n_threads = min(torch.get_num_threads(), len(starts)) if shares else 1
    if n_threads > 1:
        found = _room(network, encoded, sample_shape, device)
        pending = deque(starts)  # a thread that is held up leaves more to the others
        in_threads([partial(fill, _taken_from(pending), found) for _ in range(n_threads)])
    else:
        with one_thread() if shares else nullcontext():
            found = fill(starts)
    result: npt.NDArray[np.float32] = found.numpy()
    return result


@torch.inference_mode()
def _fill(
    network: nn.Module,
    encoded: npt.NDArray[np.float32],
    sample_shape: tuple[int, ...] | None,
    device: torch.device,
    size: int,
    starts: Iterable[int],
    found: Tensor | None = None,
) -> Tensor:
    """Write the outputs of the chunks that begin at ``starts`` where they belong."""
    for start in starts:
        x = as_input(encoded[start : start + size], sample_shape, device)
        if n_missing := size - len(x):
            x = torch.cat([x, x.new_zeros(n_missing, *x.shape[1:])])
        output = network(x)
        if found is None:  # a list of outputs would lie between what one chunk frees for the next
            found = _like(output, len(encoded))
        found[start : start + size] = output[: len(encoded) - start]
    assert found is not None  # there is a row at least
    return found


@torch.inference_mode()
def _room(
    network: nn.Module,
    encoded: npt.NDArray[np.float32],
    sample_shape: tuple[int, ...] | None,
    device: torch.device,
) -> Tensor:
    """Memory for the outputs of all rows, of which the first tells the shape."""
    return _like(network(as_input(encoded[:1], sample_shape, device)), len(encoded))


def _like(output: Tensor, n_rows: int) -> Tensor:
    return torch.empty(n_rows, *output.shape[1:], dtype=output.dtype)


def _taken_from(pending: deque[int]) -> Iterator[int]:
    """What is left, each taken by one of the threads that ask, unless they are to stop."""
    while not stop_asked():
        try:
            yield pending.popleft()
        except IndexError:
            return


def _can_share(network: nn.Module) -> bool:
    """Whether several threads can be in the network at once: no layer of it keeps anything."""
    return all(
        (is_mode_free(layer) or isinstance(layer, _STILL_WHEN_EVALUATED))
        and not (layer._forward_hooks or layer._forward_pre_hooks)
        for layer in network.modules()
    )


def _rows_at_once(network: nn.Module) -> int:
    """Enough rows to make calls few, and few enough to stay in cache."""
    widths = [layer.out_features for layer in network.modules() if isinstance(layer, nn.Linear)]
    return max(512, min(1024, _WORK_AT_ONCE // max(widths, default=256) ** 2))
