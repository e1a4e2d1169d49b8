"""Outputs of a trained network: few rows at once, many in chunks shared among threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from adacap.estimators.inputs import as_input, usual_torch
from adacap.exceptions import NonFiniteError
from adacap.nn.adapter import keeps_nothing
from adacap.nn.predictors import Frozen
from adacap.training.threads import (
    after_fork,
    in_threads,
    is_shared_out,
    no_team,
    one_thread,
    stop_asked,
)

__all__ = ["chunked_outputs", "refuse_non_finite"]

_CHUNK_NUMBERS = 2**19  # of the largest hidden layer of all nets: about what a cache holds
_FROZEN_NUMBERS = 4  # that a frozen member takes for each it holds: two arrays of float64
_LEAST_CHUNK = 128
_FEW = 8  # rows of a call that is answered as fast as can be
_LEAST_PRODUCT = 400  # multiplications from which torch leaves a product to BLAS
_MULTIPLE = 32  # multiple of rows in a product, so that BLAS rounds every row the same way


@after_fork()
@usual_torch()
def chunked_outputs(
    network: nn.Module, encoded: npt.NDArray[np.float32], sample_shape: tuple[int, ...] | None
) -> npt.NDArray[np.float32]:
    """Outputs of a network in evaluation mode.

    Rows are padded to a multiple of 32, so that BLAS rounds each of them the same way: a prediction
    then does not depend on the other rows of the call, to the last bit. Calls of at most 8 rows are
    padded to 8 only, to be fast; they agree with the others at least up to rounding, about 1e-6 of
    the spread of the outputs. Many rows are cut into chunks, which threads take in turn.

    Examples
    --------
    >>> chunked_outputs(nn.Identity(), np.ones((3, 2), dtype=np.float32), None).shape
    (3, 2)
    """
    tensors = chain(network.parameters(), network.buffers())
    device = next((tensor.device for tensor in tensors), torch.device("cpu"))
    size, n_rows = _rows_at_once(network), len(encoded)
    multiple = _FEW if n_rows <= _FEW and _is_large(network) else _MULTIPLE

    def outputs(part: slice, multiple: int = _MULTIPLE) -> Tensor:
        return _outputs(network, encoded[part], sample_shape, device, multiple)

    with no_team():
        first = outputs(slice(size), multiple)
    if n_rows <= size:
        return first.numpy()
    starts = range(0, n_rows, size)
    found = torch.empty(n_rows, *first.shape[1:], dtype=first.dtype)
    found[:size] = first
    pending = deque(starts[1:])
    shares = device.type == "cpu" and keeps_nothing(network)
    n_threads = min(torch.get_num_threads(), len(pending)) if shares else 1

    def fill() -> None:
        """Write the outputs of the chunks that are left where they belong."""
        for start in _taken_from(pending):
            part = slice(start, start + size)
            found[part] = outputs(part)

    if n_threads > 1 and not is_shared_out():
        in_threads([fill] * n_threads)
    elif n_threads > 1:
        with one_thread():
            fill()
    else:
        fill()
    result: npt.NDArray[np.float32] = found.numpy()
    return result


def refuse_non_finite(outputs: npt.NDArray[np.float32], encoded: npt.NDArray[np.float32]) -> None:
    """Refuse predictions that are not finite, naming the rows.

    Examples
    --------
    >>> refuse_non_finite(np.float32([[1], [np.inf]]), np.float32([[1], [1e38]]))
    Traceback (most recent call last):
    adacap.exceptions.NonFiniteError: The predictions of 1 of 2 rows are not finite (row 1 is ...
    """
    finite = np.isfinite(outputs)
    if finite.all():
        return
    rows = np.flatnonzero(~finite.reshape(len(outputs), -1).all(axis=1))
    largest = float(np.abs(encoded[rows]).max(initial=0.0))
    raise NonFiniteError(
        f"The predictions of {len(rows)} of {len(outputs)} rows are not finite (row {rows[0]} is "
        f"the first, counted from 0). The network is given numbers up to {largest:.3g} there: "
        "rescale the columns, or use preprocessing='default', which bounds outliers."
    )


@torch.inference_mode()
def _outputs(
    network: nn.Module,
    encoded: npt.NDArray[np.float32],
    sample_shape: tuple[int, ...] | None,
    device: torch.device,
    multiple: int,
) -> Tensor:
    x = as_input(encoded, sample_shape, device)
    if n_missing := -len(x) % multiple:
        x = torch.cat([x, x.new_zeros(n_missing, *x.shape[1:])])
    found: Tensor = network(x)[: len(encoded)].cpu()
    return found


def _taken_from(pending: deque[int]) -> Iterator[int]:
    """Remaining chunks, each taken by one of the threads, unless they are to stop."""
    while not stop_asked():
        try:
            yield pending.popleft()
        except IndexError:
            return


def _is_large(network: nn.Module) -> bool:
    """Whether a product of a few rows goes to BLAS; torch multiplies very small matrices itself."""
    sizes = [p.shape[-2] * p.shape[-1] for p in network.parameters() if p.ndim > 1]
    return _FEW * min(sizes, default=1) >= _LEAST_PRODUCT


def _rows_at_once(network: nn.Module) -> int:
    """Enough rows to make calls few, and few enough to stay in cache."""
    widest = max((p[..., 0, :].numel() for p in network.parameters() if p.ndim > 1), default=1)
    frozen = [m.predictor for m in network.modules() if isinstance(m, Frozen)]
    held = [_FROZEN_NUMBERS * predictor.held_per_row for predictor in frozen]
    return max(_LEAST_CHUNK, _CHUNK_NUMBERS // max(widest, *held, 1) // _MULTIPLE * _MULTIPLE)
