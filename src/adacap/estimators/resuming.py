"""What tells one fit from another, and members of a blend as a checkpoint keeps them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from adacap._version import __version__
from adacap.checkpoint import Checkpoint
from adacap.members.kernel import FittedKernel
from adacap.predictors import Forest, Kernel, Linear, Predictor, SymmetricTrees
from adacap.training.callbacks import keeps_state
from adacap.training.data import MemberRows

if TYPE_CHECKING:
    from adacap.estimators.preparing import Prepared

__all__ = ["GOING_ON", "fingerprint", "kept_member", "kept_seconds", "same_seeds"]

GOING_ON = (
    "checkpoint is for a fit that starts anew, while warm_start=True goes on with the nets of the "
    "last fit. Leave checkpoint out, or set warm_start=False."
)
_NOT_OF_THE_FIT = {"callbacks", "random_state", "verbose", "warm_start"}
_KINDS: dict[str, Any] = {one.__name__: one for one in (Linear, Kernel, SymmetricTrees, Forest)}


# ------------------------------------------------------------------------ what a fit depends on


def same_seeds(estimator: Any, seeds: list[int], checkpoint: Checkpoint | None) -> list[int]:
    """Seeds of a fit: where chance decides, those that it had drawn before it was killed."""
    before = [] if checkpoint is None else checkpoint.seeds
    is_chance = estimator.random_state is None and len(before) == len(seeds)
    return before if is_chance else seeds


def fingerprint(estimator: Any, data: Prepared, members: Sequence[MemberRows]) -> dict[str, str]:
    """All that the outcome of a fit depends on, by names that a user knows.

    What a function or class of the user's own does is known by its name alone.

    Returns
    -------
    dict of str to str
    """
    samples, others = data.samples, (data.valid, data.aside)
    columns = [(c.kind, c.values, c.levels) for c in samples.table.columns]
    of_net, rest = [(m.train, m.valid) for m in members], samples.dependence
    parameters = {
        name: _word(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _NOT_OF_THE_FIT
    }
    return {
        "estimator": type(estimator).__name__,
        "X": _hash([columns, samples.table.names, data.rows.x]),
        "y": _hash([samples.y, data.rows.targets]),
        "sample_weight": _hash([samples.weight]),
        "validation rows": _hash([[r.x, r.targets, r.weight] for r in others if r is not None]),
        "split into folds": _hash([of_net]),
        "groups or time": _hash([rest and [rest.group, rest.time]]),
        "random_state": _hash([[m.seed for m in members]]),
        "callbacks": _hash(
            [[_word(one) for one in filter(keeps_state, estimator.callbacks or ())]]
        ),
        "device": str(data.rows.x.device),
        "version of adacap": __version__,
        "version of torch": str(torch.__version__),
        **parameters,
    }


def _word(value: Any) -> str:
    """A parameter as text that is the same in every process."""
    if isinstance(value, np.ndarray | Tensor):
        return _hash([value])
    if keeps_state(value):  # a callback, known by what it was told
        public = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return f"{type(value).__name__}({public})"
    text = getattr(value, "__qualname__", None) or repr(value)
    return re.sub(r" at 0x[0-9a-f]+", "", f"{text}")


def _hash(value: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in _bytes(value):
        digest.update(part)
    return digest.hexdigest()


def _bytes(value: Any) -> Iterator[bytes | memoryview]:
    if isinstance(value, list | tuple):
        yield f"[{len(value)}".encode()
        for part in value:
            yield from _bytes(part)
        return
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OT":
        yield f"{value.dtype} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    else:
        yield repr(value.tolist() if isinstance(value, np.ndarray) else value).encode()


# --------------------------------------------------------------------------- members of a blend


def kept_seconds(checkpoint: Checkpoint | None, key: str, seconds: float) -> float:
    """Seconds that a member took when it was trained; now is when it is done."""
    if checkpoint is None:
        return seconds
    before = checkpoint.get(f"seconds {key}")
    if before is None:
        checkpoint.put(f"seconds {key}", seconds, now=True)
    return seconds if before is None else float(before)


def kept_member(
    checkpoint: Checkpoint | None, key: str, fit: Callable[[], Any], device: torch.device
) -> Any:
    """A member that is no net: what the checkpoint has, or what ``fit`` gives.

    Returns
    -------
    tuple (predictor, arrays), or FittedKernel
    """
    if checkpoint is None:
        return fit()
    found = _member(checkpoint.get(f"member {key}"), device)
    if found is not None:
        return found
    member = fit()
    predictor, arrays = member[:2]
    checkpoint.put(
        f"member {key}",
        {
            "kind": type(predictor).__name__,
            "fields": asdict(predictor),
            "arrays": {name: torch.as_tensor(array) for name, array in arrays.items()},
            "logs": member.logs.values if isinstance(member, FittedKernel) else None,
        },
    )
    return member


def _member(found: Any, device: torch.device) -> Any:
    """A member as ``fit`` would give it; None for anything that is not one."""
    if not isinstance(found, dict) or found.get("kind") not in _KINDS:
        return None
    kind, given = _KINDS[found["kind"]], found["fields"]
    if {field.name for field in fields(kind)} != given.keys():
        return None
    predictor: Predictor = kind(**given)
    arrays: dict[str, Tensor] = {name: a.to(device) for name, a in found["arrays"].items()}
    if {name: tuple(a.shape) for name, a in arrays.items()} != predictor.tensors:
        return None
    if isinstance(predictor, Kernel):
        return FittedKernel.of(predictor, arrays, found["logs"].to(device))
    return predictor, arrays
