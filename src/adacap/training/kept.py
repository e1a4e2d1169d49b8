"""Whether the run in a checkpoint belongs to the trainer that is to resume it.

A file may hold anything. Everything is checked against what this process builds itself: the nets,
one step of a fresh optimiser, the sizes of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from adacap.checkpoint.forms import is_alike, is_number
from adacap.training.callbacks import EarlyStopping, keeps_state
from adacap.training.loop import Trainer

__all__ = ["generators", "is_done", "is_under_way"]


def generators(trainer: Trainer) -> list[torch.Generator]:
    """Where dropout and dithering draw from; batches are drawn again and skipped."""
    of_nets = trainer.nets.backbone.generators or []
    return [*of_nets, *getattr(trainer.objective, "generators", ())]


def is_done(trainer: Trainer, found: dict[str, Any]) -> bool:
    """Whether these are the fields of a run that is done, in their forms."""
    k, trace, last = trainer.nets.k, found["trace"], trainer.config.max_iter - 1
    return (
        is_alike(found["nets"], _state(trainer))
        and _is_layer(trainer, found["coef"], found["intercept"])
        and _are_whole(found["best_step"], k, last)
        and _are_numbers(found["best_score"], k)
        and _is_list(found["histories"], k)
        and all(_are_records(one, is_number_or_nan) for one in found["histories"])
        and (trace is None or _is_trace(trainer, trace, 4))
    )


def is_under_way(trainer: Trainer, found: dict[str, Any]) -> bool:
    """Whether these are the fields of a run that is under way, in their forms."""
    k, step, kept, trace = trainer.nets.k, found["step"], found["kept"], found["trace"]
    is_step = type(step) is int and 0 <= step < trainer.config.max_iter
    return (
        is_step
        and is_number(found["seconds"], 0, 1e12)
        and is_alike(found["nets"], _state(trainer))
        and isinstance(kept, list)
        and is_alike(kept[:-2], _state(trainer))
        and _is_layer(trainer, *kept[-2:])
        and _is_best(found["best"], k, step)
        and _are_records(found["records"], lambda value: _are_numbers(value, k))
        and len(found["records"]) == step + 1
        and isinstance(trace, list)
        and all(_is_trace(trainer, one, 3) for one in trace)
        and is_alike(found["generators"], [one.get_state() for one in generators(trainer)])
        and _is_optimizer(trainer, found["optimizer"], found["scheduler"])
        and _are_callbacks(trainer, found["callbacks"])
    )


# ------------------------------------------------------------------------------ numbers and lists


def is_number_or_nan(value: Any) -> bool:
    """Whether a value is an integer or a float of any kind."""
    return type(value) in (int, float)


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _are_numbers(value: Any, k: int) -> bool:
    return _is_list(value, k) and all(map(is_number_or_nan, value))


def _are_whole(value: Any, k: int, most: int) -> bool:
    return _is_list(value, k) and all(type(one) is int and 0 <= one <= most for one in value)


def _are_records(value: Any, is_value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(record, dict)
        and all(isinstance(name, str) and is_value(one) for name, one in record.items())
        for record in value
    )


def _is_best(best: Any, k: int, step: int) -> bool:
    return (
        isinstance(best, dict)
        and best.keys() == {"score", "active", "step", "n_steps"}
        and _are_numbers(best["score"], k)
        and is_alike(best["active"], [True] * k)
        and _are_whole(best["step"], k, step)
        and _are_whole(best["n_steps"], k, step + 1)
    )


# ---------------------------------------------------------------------------------------- tensors


def _state(trainer: Trainer) -> list[Tensor]:
    return list(trainer.nets.state().values())


def _is_layer(trainer: Trainer, coef: Any = None, intercept: Any = None) -> bool:
    """Whether these are output layers of the nets; they define the number of features."""
    k, c, x = trainer.nets.k, trainer.data.labels.shape[-1], trainer.data.x[:1]
    with torch.no_grad():
        features = trainer.features(x.expand(k, *x.shape), training=False)
    shapes = [(k, features.shape[-1], c), (k, c)]
    return all(map(_is_float, (coef, intercept), shapes))


def _is_float(value: Any, shape: Iterable[int]) -> bool:
    is_one = isinstance(value, Tensor) and value.is_floating_point()
    return is_one and tuple(value.shape) == tuple(shape)


def _is_trace(trainer: Trainer, trace: Any, n_dims: int) -> bool:
    """Whether these are predictions of validation rows, of one step or of several."""
    valid = trainer.data.valid
    if valid is None or not isinstance(trace, Tensor) or trace.ndim != n_dims:
        return False
    k, m, c = valid.targets.shape
    several = trace.shape[1:-2]
    return math.prod(several) > 0 and _is_float(trace, (k, *several, min(m, trainer.n_traced), c))


# ------------------------------------------------------------------------- optimiser and callbacks


def _is_optimizer(trainer: Trainer, state: Any, schedule: Any) -> bool:
    """Whether these are states as those of a fresh optimiser and schedule after one step."""
    nets, config = trainer.nets, trainer.config
    fresh = [
        [torch.zeros_like(one, requires_grad=True) for one in part.parameters()]
        for part in (nets.backbone, nets.head)
    ]
    optimizer = config.make_optimizer(*fresh)
    scheduler = config.make_scheduler(optimizer)
    for one in (*fresh[0], *fresh[1]):
        one.grad = torch.zeros_like(one)
    optimizer.step()
    own = optimizer.state_dict()
    if not isinstance(state, dict) or state.keys() != own.keys():
        return False
    steps = state["state"]
    if not isinstance(steps, dict) or not steps.keys() <= own["state"].keys():
        return False
    return (
        is_alike(state["param_groups"], own["param_groups"])
        and [one["params"] for one in state["param_groups"]]
        == [one["params"] for one in own["param_groups"]]
        and all(is_alike(one, own["state"][place]) for place, one in steps.items())
        and is_alike(schedule, None if scheduler is None else scheduler.state_dict())
    )


def _are_callbacks(trainer: Trainer, states: Any) -> bool:
    """Whether there is a state for each callback that keeps one; a user's own knows its form."""
    callbacks = list(filter(keeps_state, trainer.callbacks))
    early: dict[str, Any] = {"best": [0.0] * trainer.nets.k, "waited": 0}
    return _is_list(states, len(callbacks)) and all(
        isinstance(state, dict)
        and (not isinstance(callback, EarlyStopping) or is_alike(state, early))
        for callback, state in zip(callbacks, states, strict=True)
    )
