"""Hostile checkpoints: a fit resumes from one, or warns that it is damaged and starts over.

A case takes the checkpoint of a fit that was interrupted, changes it (bytes, values of its JSON,
header or numbers of its tensors), gives it right checksums, and fits. A checkpoint that is not used
must lead to the model of a fit without one, to the bit. One that is used may lead to another model:
whoever can write the file can give it other weights.
"""

from __future__ import annotations

import copy
import io
import json
import os
import random
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from harness import MEMORY, main
from models import (
    TOKENS,
    VALUES,
    at,
    bytes_changed,
    header_changed,
    joined,
    numbers_changed,
    places,
    split_tensors,
)  # fmt: skip

from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.checkpoint import Checkpoint
from adacap.estimators.blending import BUDGETS, Budget
from adacap.exceptions import AdaCapError
from adacap.members.boosting import BoostingSettings
from adacap.members.kernel import KernelSettings
from adacap.training import Callback, EarlyStopping

TEXT, TENSORS = "checkpoint.json", "tensors.safetensors"
CHEAP = Budget(KernelSettings(n_steps=2), BoostingSettings(n_trees=2, depth=2), n_trees=2)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=24)
TINY: dict[str, Any] = {"width": 4, "max_iter": 4, "random_state": 0, "n_estimators": 2}


class Interrupted(BaseException):
    """Ends a fit; nothing catches this."""


class EndAt(Callback):
    """Ends everything at a step, counted over all nets."""

    def __init__(self, n: int) -> None:
        self._n = n

    def on_step(self, state: Any) -> None:
        """Count down."""
        self._n -= 1
        if self._n == 0:
            raise Interrupted


class Source(NamedTuple):
    """A fit, its checkpoint when it was interrupted, and what it predicts at one go."""

    make: Callable[..., Any]
    y: Any
    text: bytes
    tensors: bytes
    expected: Any


def _nets(**more: Any) -> Any:
    waits = [EarlyStopping(3), *more.pop("callbacks", ())]
    return AdaCapRegressor(quality="nets", callbacks=waits, **TINY, **more)


def _blend(**more: Any) -> Any:
    names = ["ridge:bins", "kernel:rank", "boosting", "trees", "nets"]
    return AdaCapRegressor(quality=names, **TINY, **more)


def _classes(**more: Any) -> Any:
    return AdaCapClassifier(quality=["kernel", "trees", "nets:bins"], **TINY, **more)


def fitted(make: Callable[..., Any], y: Any, path: Path | None, end: int = 0) -> Any:
    """Predictions of a fit, which may end at a step."""
    more = {"callbacks": [EndAt(end)]} if end else {}
    kept = None if path is None else Checkpoint(path, every_seconds=0.0)
    model = make(**more).fit(X, y, checkpoint=kept)
    return np.asarray(getattr(model, "predict_proba", model.predict)(X))


@cache
def sources() -> list[Source]:
    """Fits that were interrupted early and late."""
    BUDGETS.update(dict.fromkeys(BUDGETS, CHEAP))
    found = []
    ends = [(_nets, Y, 2), (_nets, Y, 3), (_blend, Y, 3), (_classes, Y > 0, 3)]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "c.checkpoint")
        for make, y, end in ends:
            try:
                fitted(make, y, path, end)
            except Interrupted:
                with zipfile.ZipFile(path) as archive:
                    parts = archive.read(TEXT), archive.read(TENSORS)
            path.unlink()
            found.append(Source(make, y, *parts, fitted(make, y, None)))
    return found


def text_changed(draw: random.Random, text: bytes) -> bytes:
    """A value of the JSON that is another, gone, twice, or that of another place."""
    top = json.loads(text)
    if draw.random() < 0.1:
        start = text.index(b":", draw.randrange(len(text) // 2)) + 1
        return text[:start] + draw.choice(TOKENS) + text[start:]
    ways = [way for way in places(top) if way]
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        way = draw.choice(ways)
        try:
            place, other = at(top, way[:-1]), at(top, draw.choice(ways))
            match draw.randrange(4):
                case 0:
                    del place[way[-1]]
                case 1:
                    place[way[-1]] = copy.deepcopy(other)
                case 2 if isinstance(place, list):
                    place.insert(way[-1], copy.deepcopy(other))
                case _:
                    place[way[-1]] = copy.deepcopy(draw.choice(VALUES))
        except (LookupError, TypeError):
            continue  # the place is gone by now
    return json.dumps(top).encode("utf-8", "surrogatepass")


def tensors_changed(draw: random.Random, tensors: bytes) -> bytes:
    """Other tensors than those that were written."""
    if draw.random() < 0.1:
        return bytes_changed(draw, tensors)
    header, numbers = split_tensors(tensors)
    header.pop("__metadata__", None)
    if draw.random() < 0.5:
        header_changed(draw, header)
    else:
        try:
            numbers_changed(draw, header, numbers)
        except KeyError:  # a type that has no numbers of its own to choose from
            numbers[draw.randrange(len(numbers))] ^= 1 << draw.randrange(8)
    return joined(header, numbers)


def changed(draw: random.Random, source: Source) -> bytes:
    """The file, with right checksums unless its bytes are changed at last."""
    text, tensors = source.text, source.tensors
    kind = draw.random()
    if kind < 0.6:
        text = text_changed(draw, text)
    elif kind < 0.9:
        tensors = tensors_changed(draw, tensors)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(TEXT), text)
        archive.writestr(zipfile.ZipInfo(TENSORS), tensors)
    return out.getvalue() if kind < 0.9 else bytes_changed(draw, out.getvalue())


def case(draw: random.Random) -> str:
    """One case."""
    source = draw.choice(sources())
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder, "c.checkpoint")
        path.write_bytes(changed(draw, source))
        with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            try:
                found = fitted(source.make, source.y, path)
            except AdaCapError:
                return "numbers beyond use"  # weights that are none, say
        left = os.listdir(folder)
    said = " ".join(str(one.message) for one in told)
    is_foreign = "is not a checkpoint of adacap" in said
    assert left == (["c.checkpoint"] if is_foreign else []), f"left behind: {left}"
    is_same = np.array_equal(found, source.expected)
    if "starts over" in said or is_foreign:
        return "not used" if is_same else other_pieces(said)
    assert found.shape == source.expected.shape
    return "same" if is_same else "other"


def other_pieces(said: str) -> str:
    """Pieces before the damaged one were taken up: that they are others can be no surprise."""
    assert "is damaged and not used" in said, said
    return "not used from a piece on"


if __name__ == "__main__":
    sys.exit(main("checkpoints", case))
