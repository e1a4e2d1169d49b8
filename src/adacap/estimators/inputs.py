"""What the user gives, as training takes it: rows, weights, seeds, a device, a grid of λ, torch."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor

from adacap._typing import Floats
from adacap.core.lambda_init import lambda_grid
from adacap.estimators.encoder import TableEncoder
from adacap.tables.columns import narrowed, values_by_row
from adacap.tables.table import Table, read_table

__all__ = [
    "as_input", "device_of", "feature_names", "grids_of", "member_seeds", "read_input",
    "refuse_other_shape", "row_weights", "usual_torch",
]  # fmt: skip


def read_input(X: Any, policy: str) -> tuple[Table, tuple[int, ...] | None]:
    """Table of X, and the shape of one sample where it is not a plain row."""
    if policy == "none" and getattr(X, "ndim", 2) > 2:
        array = np.asarray(X)
        return read_table(array.reshape(len(array), -1)), array.shape[1:]
    return read_table(X), None


def feature_names(encoder: TableEncoder) -> npt.NDArray[np.object_]:
    """Column names as scikit-learn keeps them."""
    return np.array(encoder.names_, dtype=object)


def row_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Weights of the rows, checked; None counts each once."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, np.ma.MaskedArray):
        sample_weight = np.ma.filled(sample_weight.astype(np.float64), np.nan)
    elif isinstance(sample_weight, Tensor):
        sample_weight = sample_weight.detach().cpu()
    given = values_by_row(sample_weight, "sample_weight")
    try:
        if given.ndim == 0 or given.dtype.kind in "cmM":
            what = reprlib.repr(given.item()) if given.ndim == 0 else str(given.dtype)
            raise TypeError(f"got {what}")
        if given.ndim > 2:
            raise TypeError(f"got an array of shape {given.shape}")
        numbers = narrowed(given).astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be one number per row: {error}.") from error
    weight: Floats = _check_sample_weight(numbers, np.empty((n_rows, 1)), dtype=np.float64)
    if not np.isfinite(weight).all():  # as scikit-learn says unless it is set to assume_finite
        raise ValueError("Input sample_weight contains NaN or infinity.")
    if weight.min() < 0:
        raise ValueError(f"sample_weight must be 0 or more for every row, got {weight.min():g}.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row: nothing is left to train on.")
    return weight


def member_seeds(random_state: Any, n_members: int) -> list[int]:
    """One seed per member; member 0 of an ensemble is the single net of the same state."""
    if random_state is None:
        root = int(np.random.SeedSequence().generate_state(1)[0])
    elif isinstance(random_state, Integral) and int(random_state) >= 0:
        root = int(random_state)
    elif isinstance(random_state, np.random.Generator):
        root = int(random_state.integers(2**31))
    elif isinstance(random_state, np.random.RandomState):
        root = int(random_state.randint(2**31 - 1))
    else:
        raise ValueError(
            "random_state must be None, an integer >= 0, a numpy Generator or RandomState, got "
            f"{random_state!r}."
        )
    return [
        int(np.random.SeedSequence([root, k]).generate_state(1)[0]) & 0x7FFFFFFF
        for k in range(n_members)
    ]


def grids_of(lambda_init: Any) -> tuple[Tensor, Tensor | None]:
    """Values of λ that the rule looks at, and those that it returns where they are others.

    ``"published"`` is the rule of the code of 2021: it looks for the greatest rise over 11 values
    from 0.1 to 10⁴ and returns the value of that rank among 10 from 0.1 to 10⁴.

    Examples
    --------
    >>> looked_at, returned = grids_of("published")
    >>> len(looked_at), round(float(returned[6]), 2)
    (11, 215.44)
    >>> grids_of((1.0, 2.0))
    (tensor([1., 2.], dtype=torch.float64), None)
    """
    if lambda_init == "published":
        return lambda_grid(n_points=11), lambda_grid(n_points=10)
    if isinstance(lambda_init, tuple):
        return torch.tensor(lambda_init, dtype=torch.float64), None
    return lambda_grid(), None


def device_of(name: str | None) -> torch.device:
    """Device by name; a GPU if there is one and none is named.

    A ``ValueError`` if this machine, or this installation of torch, has no such device.
    """
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        is_gpu = str(name).partition(":")[0] in ("cuda", "mps", "xpu")
        what = (
            "needs a GPU that torch can use, which this machine lacks" if is_gpu else "is unknown"
        )
        raise ValueError(
            f"device={name!r} {what}. Use device='cpu', or device=None for a GPU where there is "
            "one."
        ) from error
    return device


def as_input(
    encoded: npt.NDArray[np.float32], sample_shape: tuple[int, ...] | None, device: torch.device
) -> Tensor:
    """Encoded rows as the network takes them; without any column left, one column of zeros."""
    if encoded.shape[1] == 0:
        encoded = np.zeros((len(encoded), 1), dtype=np.float32)
    x = torch.from_numpy(encoded).to(device)
    return x if sample_shape is None else x.reshape(len(x), *sample_shape)


def refuse_other_shape(
    name: str, shape: tuple[int, ...] | None, fitted: tuple[int, ...] | None
) -> None:
    """Refuse samples of another shape than those of training."""
    if shape is not None and shape != fitted:
        expected = "rows of a table" if fitted is None else f"samples of shape {fitted}"
        raise ValueError(f"{name} holds samples of shape {shape}, but training had {expected}.")


@contextmanager
def usual_torch(*, grad: bool = False) -> Iterator[None]:
    """Inside the block, torch's defaults, regardless of what the caller has switched on.

    Without autocast, with new tensors on the CPU, and with gradients for training.

    Examples
    --------
    >>> with torch.inference_mode(), torch.device("meta"), usual_torch(grad=True):
    ...     x = torch.ones(1, requires_grad=True)
    >>> str(x.device), x.is_inference()
    ('cpu', False)
    """
    with ExitStack() as stack:
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if grad:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
        yield
