"""What identifies a fit, and members of a blend as a checkpoint keeps them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from torch import Tensor

from adacap._version import __version__
from adacap.checkpoint import Checkpoint, is_number
from adacap.members.kernel import FittedKernel
from adacap.predictors import LINKS, Forest, Kernel, Linear, Predictor, SymmetricTrees
from adacap.training.callbacks import keeps_state
from adacap.training.data import MemberRows

if TYPE_CHECKING:
    from adacap.estimators.preparing import Prepared

__all__ = ["NO_CHECKPOINT", "fingerprint", "kept_member", "kept_seconds", "same_seeds"]

NO_CHECKPOINT = (
    "checkpoint is for a fit that starts fresh, while warm_start=True continues with the nets of "
    "the last fit. Leave checkpoint out, or set warm_start=False."
)
_NOT_OF_THE_FIT = {"callbacks", "random_state", "verbose", "warm_start"}
_PLACES = {"column", "root", "left", "right"}
_MOST_LEVELS = 31  # of symmetric trees
_KINDS: dict[str, Any] = {one.__name__: one for one in (Linear, Kernel, SymmetricTrees, Forest)}


# ------------------------------------------------------------------------ what a fit depends on


def same_seeds(estimator: Any, seeds: list[int], checkpoint: Checkpoint | None) -> list[int]:
    """Seeds of a fit: where chance decides, those that it had drawn before it was killed."""
    before = [] if checkpoint is None else checkpoint.seeds
    is_chance = estimator.random_state is None and len(before) == len(seeds)
    return before if is_chance else seeds


def fingerprint(estimator: Any, data: Prepared, members: Sequence[MemberRows]) -> dict[str, str]:
    """All that the outcome of a fit depends on, by names that a user knows.

    A user's own function or class is identified by its name alone.
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
    if keeps_state(value):  # a callback, identified by its arguments
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
    if before is not None and not is_number(before, 0, 1e12):
        checkpoint.discard("seconds")
        before = None
    if before is None:
        checkpoint.put(f"seconds {key}", seconds, now=True)
    return seconds if before is None else float(before)


def kept_member(
    checkpoint: Checkpoint | None,
    key: str,
    fit: Callable[[], Any],
    sizes: Mapping[str, int],
    device: torch.device,
) -> Any:
    """A predictor and its arrays, or a FittedKernel: from the checkpoint, or from ``fit``.

    ``key`` identifies it within the fit, ``sizes`` has the ``k``, ``d_in`` and ``n_out`` that it
    must have.
    """
    if checkpoint is None:
        return fit()
    if (kept := checkpoint.get(f"member {key}")) is not None:
        if (found := _member(kept, sizes, device)) is not None:
            checkpoint.accept()
            return found
        checkpoint.discard("member")
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


def _member(found: Any, sizes: Mapping[str, int], device: torch.device) -> Any:
    """A member as ``fit`` would give it; None for anything that is not one."""
    if not isinstance(found, dict) or found.keys() != {"kind", "fields", "arrays", "logs"}:
        return None
    kind = _KINDS.get(found["kind"]) if isinstance(found["kind"], str) else None
    given, arrays, logs = found["fields"], found["arrays"], found["logs"]
    if kind is None or not _are_fields(kind, given, sizes) or not isinstance(arrays, dict):
        return None
    predictor: Predictor = kind(**given)
    shapes = predictor.tensors
    if arrays.keys() != shapes.keys():
        return None
    if not all(_is_array(predictor, name, arrays[name], shapes[name]) for name in shapes):
        return None
    arrays = {name: array.to(device) for name, array in arrays.items()}
    if not isinstance(predictor, Kernel):
        return predictor, arrays
    d_in, k = sizes["d_in"], sizes["k"]
    if not isinstance(logs, Tensor) or (logs.shape, logs.dtype) != ((k, d_in + 3), torch.float64):
        return None
    if not logs.isfinite().all():
        return None
    return FittedKernel.of(predictor, arrays, logs.to(device))


def _are_fields(kind: Any, given: Any, sizes: Mapping[str, int]) -> bool:
    """Whether these sizes fit a predictor of this kind and the rows and folds of this fit."""
    if not isinstance(given, dict) or given.keys() != {field.name for field in fields(kind)}:
        return False
    whole = {name: value for name, value in given.items() if name != "link"}
    return (
        given.get("link", LINKS[0]) in LINKS
        and all(type(value) is int and 0 <= value < 2**31 for value in whole.values())
        and all(given[name] == size for name, size in sizes.items())
        and given.get("depth", 0) <= (given["n_nodes"] if "n_nodes" in given else _MOST_LEVELS)
    )


def _is_array(
    predictor: Predictor, name: str, array: Any, shape: tuple[int, ...]
) -> TypeGuard[Tensor]:
    """Whether an array has its shape and type; one of places points to where something is."""
    if not isinstance(array, Tensor) or tuple(array.shape) != shape:
        return False
    if name not in _PLACES:
        is_usable = array.isnan().logical_not() if name == "threshold" else array.isfinite()
        return array.is_floating_point() and bool(is_usable.all())
    ends = {"column": predictor.d_in, "n_nodes": getattr(predictor, "n_nodes", 0)}
    end = ends["column" if name == "column" else "n_nodes"]
    is_whole = array.dtype in (torch.int16, torch.int32, torch.int64)
    return is_whole and bool(((array >= 0) & (array < end)).all())
