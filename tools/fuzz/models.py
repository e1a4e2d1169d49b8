"""Hostile model files, given to ``adacap.load`` and ``adacap.lite.load``: ``make fuzz-models``.

A case takes a good file, damages it (bytes, zip, JSON, header or numbers of the tensors), and asks
both readers. Both must refuse it by ``ModelFileError``, or both must read it and predict the same
finite numbers. What they predict may be other numbers than before: whoever can write the file can
give it other weights.
"""

from __future__ import annotations

import base64
import copy
import functools
import io
import json
import os
import random
import struct
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from harness import MEMORY, main

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor, Architecture, lite
from adacap.estimators.blending import BUDGETS, Budget, weighing
from adacap.estimators.mlr_net import MLRNetClassifier, MLRNetRegressor
from adacap.exceptions import ModelFileError
from adacap.members.boosting import BoostingSettings
from adacap.members.kernel import KernelSettings
from adacap.nn.predictors import Blend
from adacap.tables.table import read_table

DESCRIPTION, WEIGHTS = "model.json", "weights.safetensors"
N = 40
_FAR = 1e5  # numbers beside which float64 loses digits of distances and of angles
_CLOSE = 1e-3  # of the largest prediction; the readers compute in float32 and in float64


# ------------------------------------------------------------------------------- good files


class Source(NamedTuple):
    """A good file: its parts, and rows to predict with what both readers say of them."""

    name: str
    text: bytes
    weights: bytes
    rows: Any
    expected: Any


def table() -> pd.DataFrame:
    """Every kind of column, with missing cells and text that spells numbers."""
    rng = np.random.default_rng(0)
    words = ["a small house", "near the sea", "with a garden and trees", "third floor, quiet"]
    return pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "gaps": np.where(rng.random(N) < 0.25, np.nan, 1e6 + rng.lognormal(size=N)),
            "rooms": rng.integers(1, 5, N),
            "sold": rng.random(N) < 0.5,
            "colour": rng.choice(["red", "green", "blue", None], N),
            "city": rng.choice([f"city{i}" for i in range(15)], N),
            "price": [f"{k},5 €" for k in range(N)],
            "said": [" ".join(rng.choice(words, 3)) + f" number {k}" for k in range(N)],
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), "h"),
            "same": 1.0,
        }
    )


def models() -> dict[str, tuple[Any, Any]]:
    """Small fitted models of every kind, with rows to predict."""
    frame = table()
    one, two = frame[["size"]], frame[["size", "gaps"]]
    y = np.asarray(frame["size"] + 0.1 * np.arange(N) % 3)
    thirds = np.array(["low", "mid", "top"])[np.arange(N) % 3]
    tiny: dict[str, Any] = {"width": 4, "max_iter": 2, "random_state": 0}
    bag: Any = [Architecture("glu", dropout=0.1), Architecture("resblock", batch_norm=True)]
    own: dict[str, Any] = {"random_state": 0, "n_estimators": 2}
    first = ["nets:bins", "kernel:rank", "boosting", "trees", "ridge", "fourier"]
    second = ["nets:rank", "kernel", "boosting", "trees", "ridge:bins"]
    return {
        "bag": (AdaCapRegressor(**tiny, n_estimators=2, architecture=bag).fit(frame, y), frame),
        "plain": (AdaCapRegressor(**tiny, scheme="plain", preprocessing="none").fit(one, y), one),
        "targets": (AdaCapRegressor(**tiny).fit(two, np.column_stack([y, -y])), two),
        "classes": (AdaCapClassifier(**tiny).fit(two, thirds), two),
        "blend": (AdaCapRegressor(**own, quality=first).fit(two, y), two),
        "class blend": (AdaCapClassifier(**own, quality=second).fit(two, thirds), two),
        "two classes": (AdaCapClassifier(**own, quality=first).fit(two, y > 0), two),
        "mlr net": (MLRNetRegressor(**tiny, depth=1).fit(two, y), two),
        "mlr classes": (MLRNetClassifier(**tiny, depth=1).fit(two, thirds), two),
    }  # fmt: skip


def sources() -> list[Source]:
    """Good files of small models; blends with little of each member."""
    cheap = Budget(KernelSettings(n_steps=2), BoostingSettings(n_trees=2, depth=2), n_trees=2)
    usual, weigh = dict(BUDGETS), weighing.blend_weights
    BUDGETS.update(dict.fromkeys(usual, cheap))
    weighing.blend_weights = lambda r, w: np.full(len(r), 1 / len(r))  # type: ignore[assignment]
    try:
        return [_source(name, *pair) for name, pair in models().items()]
    finally:
        BUDGETS.update(usual)
        weighing.blend_weights = weigh


def _source(name: str, model: Any, rows: Any) -> Source:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.adacap")
        model.save(path)
        with zipfile.ZipFile(path) as archive:
            parts = archive.read(DESCRIPTION), archive.read(WEIGHTS)
    rows = rows.iloc[:6]
    return Source(name, *parts, rows, predicted(model, rows))


def predicted(model: Any, rows: Any) -> Any:
    """Numbers that a model predicts."""
    return np.asarray(getattr(model, "predict_proba", model.predict)(rows), dtype=np.float64)


# ------------------------------------------------------------------------------------ damage


def zipped(text: bytes, weights: bytes, **options: Any) -> bytes:
    """A file of these parts, with right checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as archive:
        archive.writestr(DESCRIPTION, text)
        archive.writestr(WEIGHTS, weights)
    return out.getvalue()


def bytes_changed(draw: random.Random, content: bytes) -> bytes:
    """A few bytes flipped, written over, taken out, put in or said twice."""
    found = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 8])):
        at, length = draw.randrange(len(found) + 1), draw.choice([1, 1, 2, 4, 8, 64])
        match draw.randrange(6):
            case 0 if at < len(found):
                found[at] ^= 1 << draw.randrange(8)
            case 1:
                found[at : at + length] = draw.randbytes(length)
            case 2:
                del found[at : at + length]
            case 3:
                found[at:at] = draw.choice(
                    [draw.randbytes(length), bytes(length), b"\xff" * length]
                )
            case 4:
                del found[at:]
            case _:
                found[at:at] = found[draw.randrange(len(found) + 1) :][:length]
    return bytes(found)


def of_bytes(draw: random.Random, source: Source) -> bytes:
    """The file with other bytes; most end at the checksum of the zip."""
    content = zipped(source.text, source.weights)
    if draw.random() < 0.5:  # its directory, where the sizes stand
        at = content.rindex(b"PK\x01\x02", 0, content.rindex(b"PK\x01\x02"))
        return content[:at] + bytes_changed(draw, content[at:])
    return bytes_changed(draw, content)


def of_zip(draw: random.Random, source: Source) -> bytes:
    """The parts in a zip that is put together otherwise."""
    parts = [(DESCRIPTION, source.text), (WEIGHTS, source.weights)]
    more = [("../evil", b"x"), ("/etc/evil", b"x"), (DESCRIPTION, b"{}"), ("C:\\evil", b""),
            ("sub/", b""), ("model.json\0.txt", b"{}"), ("signature", b"")]  # fmt: skip
    action = draw.randrange(7)
    if action == 0:
        parts.insert(draw.randrange(3), draw.choice(more))
    elif action == 1:
        parts.pop(draw.randrange(2))
    elif action == 2:
        parts.reverse()
    out = io.BytesIO()
    kinds = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    kind = draw.choice(kinds) if action == 3 else zipfile.ZIP_STORED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        with zipfile.ZipFile(out, "w", kind) as archive:
            for name, content in parts:
                archive.writestr(zipfile.ZipInfo(name) if action != 3 else name, content)
            if action == 4:
                archive.comment = draw.randbytes(draw.randrange(200))
    found = bytearray(out.getvalue())
    if action == 5:  # flags, sizes, offsets in the directory, or the number of parts
        at = found.rindex(draw.choice([b"PK\x01\x02", b"PK\x05\x06", b"PK\x03\x04"]))
        struct.pack_into("<H", found, at + draw.randrange(4, 20), draw.randrange(2**16))
    if action == 6:
        return draw.choice([b"PK\x03\x04", b"MZ" * 40, zipped(b"{}", b"")]) + bytes(found)
    return bytes(found)


# ------------------------------------------------------------------------------- description

TOKENS = [
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"9" * 60, b"-" + b"9" * 310, b"1E5",
    b"0.0", b"-0", b"1e-320", b"true", b"null", b'"\\ud800"', b'"\\u0000"', b"{}", b"[]",
    b'{"float":"nan"}', b'{"float":"inf"}', b"[" * 2000, b"[" * 400 + b"]" * 400,
    b'{"a":' * 300 + b"1" + b"}" * 300, b"18446744073709551616", b"0x10", b"1_0", b"\xef\xbb\xbf",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 2**31, 2**53 + 1, 2**63, 10**60, 10**299, 0.0, 0.5, -0.5,
    1e-300, 1e300, -1e300, 1e38, {"float": "nan"}, {"float": "inf"}, {"float": "-inf"},
    {"float": "no"}, "", "text", "\u202e", "\x00", "x" * 3000, [], [None], [[]], [0.0], [1] * 50,
    {}, {"no": "such"},
    {"kind": "Forest"}, "nan", "AAAA", "Dense", "nets", "auto", "\ud800",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value."""
    items = list(value.items()) if isinstance(value, dict) else []
    items = list(enumerate(value)) if isinstance(value, list) else items
    return [path, *(p for key, item in items for p in places(item, (*path, key)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """The value at the end of a way."""
    return functools.reduce(lambda item, key: item[key], path, value)


@functools.cache
def described(text: bytes) -> tuple[Any, list[tuple[Any, ...]]]:
    """Description and the ways in it; those of training records count once."""
    model = json.loads(text)
    return model, [p for p in places(model) if p and "history" not in p[:-1]]


def node_changed(draw: random.Random, source: Source) -> bytes:
    """A value of the description that is another, gone, twice, or that of another place."""
    model, ways = described(source.text)
    top = copy.deepcopy(model)
    for _ in range(draw.choice([1, 1, 1, 2])):
        path = draw.choice(ways)
        try:
            _change(draw, at(top, path[:-1]), path[-1], at(top, draw.choice(ways)))
        except (LookupError, TypeError):
            continue  # the place is gone by now
    return json.dumps(top).encode("utf-8", "surrogatepass")


def _change(draw: random.Random, place: Any, key: Any, other: Any) -> None:
    old = place[key]
    action = draw.randrange(8)
    if action == 0:
        del place[key]
    elif action == 1:
        place[key] = copy.deepcopy(other)
    elif action == 2 and isinstance(old, list) and old:
        old.insert(draw.randrange(len(old)), copy.deepcopy(draw.choice(old)))
    elif action == 3 and isinstance(old, list) and old:
        draw.choice([old.reverse, old.pop, lambda: draw.shuffle(old)])()
    elif action == 4 and type(old) in (int, float):
        place[key] = draw.choice([-old, old + 1, old * 10**6, old / 3, 1 - old])
    elif action == 5 and isinstance(old, str) and len(old) > 40:
        place[key] = _packed_otherwise(draw, old)
    elif action == 6 and isinstance(place, dict):
        place[draw.choice(["more", "part", "kind", ""])] = copy.deepcopy(other)
    else:
        place[key] = copy.deepcopy(draw.choice(VALUES))


def _packed_otherwise(draw: random.Random, text: str) -> str:
    """Numbers that are packed in text, some of them others."""
    try:
        content = bytearray(base64.b64decode(text, validate=True))
    except ValueError:
        return text[::-1]
    size = draw.choice([4, 8])
    number = struct.pack("<d" if size == 8 else "<f", draw.choice(NUMBERS))
    start = draw.randrange(max(1, len(content) // size)) * size
    content[start : start + size] = number
    return base64.b64encode(content).decode()


def of_description(draw: random.Random, source: Source) -> bytes:
    """A description that is damaged as text or as data, in a good zip."""
    if draw.random() < 0.7:
        return zipped(node_changed(draw, source), source.weights)
    if draw.random() < 0.5:
        return zipped(bytes_changed(draw, source.text), source.weights)
    text = source.text
    start = text.index(b":", draw.randrange(len(text) - 1000)) + 1
    ends = [text.find(sign, start) for sign in (b",", b"}", b"]")]
    end = min(end for end in ends if end >= 0)
    return zipped(text[:start] + draw.choice(TOKENS) + text[end:], source.weights)


# ----------------------------------------------------------------------------------- tensors

NUMBERS = [
    float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 1e-38, 1e-30, 1e10, -1e10,
    1e20, 1e30, 1e38, -3e38, 0.5, 2.0, 100.0,
]  # fmt: skip
TYPES = [
    "F64",
    "F32",
    "F16",
    "BF16",
    "F8_E4M3",
    "I64",
    "I32",
    "I16",
    "I8",
    "U8",
    "BOOL",
    "C64",
    "F4",
]


def split_tensors(weights: bytes) -> tuple[Any, bytearray]:
    """Header and numbers."""
    length = int.from_bytes(weights[:8], "little")
    return json.loads(weights[8 : 8 + length]), bytearray(weights[8 + length :])


def joined(header: Any, numbers: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(numbers)


def header_changed(draw: random.Random, header: Any) -> None:
    """Another type, shape, place or name of a tensor."""
    name = draw.choice(list(header))
    entry, other = header[name], header[draw.choice(list(header))]
    match draw.randrange(9):
        case 0:
            entry["dtype"] = draw.choice(TYPES)
        case 1:
            entry["shape"] = draw.choice(
                [
                    other["shape"],
                    entry["shape"][::-1],
                    [*entry["shape"], 1],
                    [],
                    [0, 2**64],
                    [-1],
                    [2**40],
                ]
            )
        case 2:
            entry["data_offsets"] = draw.choice(
                [
                    other["data_offsets"],
                    [0, 0],
                    [0, 2**62],
                    entry["data_offsets"][::-1],
                    [0],
                    "no",
                    [0, 1.5],
                ]
            )
        case 3:
            header[draw.choice(["more", name + "x", name[:-1], "__metadata__"])] = header.pop(name)
        case 4:
            del header[name]
        case 5:
            entry.update(other)
        case 6:
            header[name] = draw.choice([None, [], "text", 3, {}])
        case 7:
            entry["more"] = 1
        case _:
            swapped = draw.choice(list(header))
            header[name], header[swapped] = header[swapped], entry


_SIZES = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "I16": "h"}


def numbers_changed(draw: random.Random, header: Any, numbers: bytearray) -> None:
    """Other numbers in a tensor: one, some or all."""
    entry = header[draw.choice(list(header))]
    start, end = entry["data_offsets"]
    if end == start:
        return
    if draw.random() < 0.25:
        numbers[draw.randrange(start, end)] ^= 1 << draw.randrange(8)
        return
    code = _SIZES[entry["dtype"]]
    size = struct.calcsize("<" + code)
    whole = code not in "fd"
    value: Any = draw.choice([0, 1, -1, 2, 7, 1000, 2**15 - 1, -(2**15)] if whole else NUMBERS)
    content = struct.pack("<" + code, value)
    count = (end - start) // size
    if draw.random() < 0.3:
        numbers[start:end] = content * count
    else:
        place = start + size * draw.randrange(count)
        numbers[place : place + size] = content


def of_tensors(draw: random.Random, source: Source) -> bytes:
    """Tensors that are others than those that were saved, in a good zip."""
    header, numbers = split_tensors(source.weights)
    if draw.random() < 0.1:
        return zipped(source.text, bytes_changed(draw, source.weights))
    for _ in range(draw.choice([1, 1, 2])):
        if draw.random() < 0.35:
            header_changed(draw, header)
            return zipped(source.text, joined(header, numbers))
        numbers_changed(draw, header, numbers)
    return zipped(source.text, joined(header, numbers))


DAMAGE: list[Callable[[random.Random, Source], bytes]] = [
    of_bytes, of_zip, of_description, of_description, of_description, of_tensors, of_tensors,
]  # fmt: skip


# ----------------------------------------------------------------------------------- verdicts


class Verdict(NamedTuple):
    """What a reader makes of a file: a refusal, or numbers."""

    refusal: str
    values: Any = None
    model: Any = None
    inputs: Any = 0.0  # rows as the members see them
    largest: float = 0.0  # number that predictions are made with


def verdict(read: Callable[[Path], Any], path: Path, rows: Any) -> Verdict:
    """Verdict of one reader. Only ModelFileError may come out of it, whatever the file holds."""
    try:
        model = read(path)
    except ModelFileError as error:
        return Verdict(str(error))
    try:
        return Verdict("", predicted(model, rows), model, *inside(model, rows))
    except ValueError as error:  # rows that do not have the columns of this model
        return Verdict(f"rows: {error}")


def inside(model: Any, rows: Any) -> tuple[Any, float]:
    """Rows as a model of ``adacap.lite`` encodes them, and the largest number in its members."""
    if not hasattr(model, "_parts"):
        return 0.0, 0.0
    inputs = model._encoder.encode(read_table(rows))
    groups = [group for part in model._parts for group in part.groups]
    arrays = [array for group in groups for array in arrays_of(group)]
    return inputs, max(float(np.abs(array).max(initial=0)) for array in [inputs, *arrays])


def arrays_of(group: Any) -> list[Any]:
    """Arrays of a group, of nets or not."""
    found = [] if group.encoding is None else list(group.encoding.arrays.values())
    if hasattr(group, "arrays"):
        return [*found, *group.arrays.values()]
    return [*found, group.weight, group.bias, *leaves(group.tree)]


def leaves(tree: Any) -> list[Any]:
    """Arrays in mappings within mappings."""
    if not hasattr(tree, "values"):
        return [tree]
    return [leaf for branch in tree.values() for leaf in leaves(branch)]


def judged(first: Verdict, second: Verdict, source: Source) -> str:
    """A word for what both readers say; an AssertionError where they contradict each other."""
    assert first.refusal == second.refusal, f"{first.refusal!r} against {second.refusal!r}"
    if first.refusal:
        return "refused rows" if first.refusal.startswith("rows:") else "refused"
    if not np.isfinite(first.inputs).all():
        return "rows beyond float32"  # what these cells are to this model
    assert np.isfinite(first.values).all(), f"lite predicts {first.values}"
    assert np.isfinite(second.values).all(), f"load predicts {second.values}, lite {first.values}"
    assert first.values.shape == second.values.shape
    room = _CLOSE * max(1.0, float(abs(first.values).max()))
    if not np.allclose(first.values, second.values, 0, room):
        assert is_rounding(first, second, source.rows, room), f"{first.values} {second.values}"
        return "digits lost"
    same = first.values.shape == source.expected.shape
    return "equal" if same and np.allclose(first.values, source.expected, 1e-3, 1e-3) else "other"


def is_rounding(light: Verdict, full: Verdict, rows: Any, room: float) -> bool:
    """Whether the full model predicts as the light one does, once it computes in float64 as well.

    Kernels and Fourier features, which blends hold, lose digits of large numbers there too.
    """
    model = full.model
    model.network_ = InFloat64(model.network_)
    if np.allclose(light.values, predicted(model, rows), 0, room):
        return True
    is_blend = any(isinstance(module, Blend) for module in model.network_.modules())
    return is_blend and light.largest > _FAR


class InFloat64(torch.nn.Module):
    """A network that computes in float64."""

    def __init__(self, network: torch.nn.Module) -> None:
        super().__init__()
        self.network = network.double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Outputs of rows."""
        found: torch.Tensor = self.network(x.double())
        return found


def load_here(path: Path) -> Any:
    """The full reader, on the processor that is there."""
    return adacap.load(path, device="cpu")


class Fuzzer:
    """Cases from good files, which are made once; hostile ones are written to a folder."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.sources = sources()
        self.path = folder / "m.adacap"

    def __call__(self, draw: random.Random) -> str:
        """One case."""
        source = draw.choice(self.sources)
        self.path.write_bytes(draw.choice(DAMAGE)(draw, source))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = [verdict(read, self.path, source.rows) for read in (lite.load, load_here)]
        assert os.listdir(self.path.parent) == [self.path.name], "a reader has written a file"
        return judged(found[0], found[1], source)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        sys.exit(main("models", Fuzzer(Path(name))))
