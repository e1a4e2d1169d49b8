"""A user's rows with their targets and weights, on the way to what the nets are trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_consistent_length

from adacap._typing import Floats, Index
from adacap.estimators.choosing import choose_transforms
from adacap.estimators.dependence import (
    Dependence,
    dependent_hold_out,
    merge_dependent,
    read_dependence,
)
from adacap.estimators.encoder import TableEncoder
from adacap.estimators.held_out import Rows
from adacap.estimators.inputs import (
    as_input,
    device_of,
    read_input,
    refuse_other_shape,
    row_weights,
)
from adacap.estimators.preprocessing import Preprocessing, encoder_options
from adacap.estimators.rows import hold_out, merge_rows
from adacap.estimators.targets import ClassCodec, RegressionCodec
from adacap.estimators.transforms import TargetTransform, fit_transform
from adacap.tables.table import Table, read_texts

__all__ = ["Codec", "Given", "Preparation", "Prepared", "Samples", "read_samples"]

Codec: TypeAlias = RegressionCodec | ClassCodec


class Given(NamedTuple):
    """What ``fit`` is given."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_val: Any = None
    y_val: Any = None
    groups: Any = None
    time: Any = None


@dataclass(frozen=True, eq=False)
class Samples:
    """Different rows of positive weight, in an order that depends on content alone."""

    table: Table
    y: npt.NDArray[Any]  # (n,) or (n, c), as the user gave it
    weight: Floats | None  # None if all are 1
    origin: Index  # the first row of the user's table that each stands for
    sample_shape: tuple[int, ...] | None  # where it is not a row of a table
    n_given: int  # rows of the user's table
    columns: tuple[int, ...] = ()  # in an order that depends on content alone
    sign: Floats | None = None  # -1 for a regression target whose sign is flipped
    dependence: Dependence | None = None

    def take(self, index: Index) -> Samples:
        """Some of the rows."""
        return replace(
            self,
            table=self.table.take(index),
            y=self.y[index],
            weight=None if self.weight is None else self.weight[index],
            origin=self.origin[index],
            dependence=None if self.dependence is None else self.dependence.take(index),
        )


def read_samples(
    given: Given, policy: str, codec: type[Codec], read_text: bool | str = True
) -> Samples:
    """Rows that count, checked: those of weight 0 left out, equal ones merged.

    Text is read before rows are compared, so that they are the same in every container. Rows of
    different groups or times are not merged.

    Examples
    --------
    >>> given = Given([[1.0], [2.0], [1.0]], [5, 6, 5])
    >>> samples = read_samples(given, "default", RegressionCodec)
    >>> sorted(zip(samples.origin.tolist(), samples.weight.tolist()))
    [(0, 1.333...), (1, 0.666...)]
    """
    table, sample_shape = read_input(given.X, policy)
    table = read_texts(table, read_text if policy == "default" else False)
    n_given = table.n_rows
    y = codec.check(given.y)
    check_consistent_length(np.empty(n_given), y)
    weight = row_weights(given.sample_weight, n_given)
    dependence = read_dependence(given.groups, given.time, n_given)
    samples = Samples(
        table, y, weight, np.arange(n_given), sample_shape, n_given, dependence=dependence
    )
    if weight is not None and not weight.all():  # a row of weight 0 is absent
        samples = samples.take(np.flatnonzero(weight))
    rows = samples.table, codec.numbers(samples.y), samples.weight
    kept = samples.dependence
    if kept is None:
        merged = merge_rows(*rows)
    else:
        kept.check()
        merged, kept = merge_dependent(*rows, kept)
    return replace(
        samples.take(merged.index),
        weight=merged.weight,
        columns=merged.columns,
        sign=merged.sign,
        dependence=kept,
    )


@dataclass(frozen=True, eq=False)
class Prepared:
    """What training sees of the samples, and how it was made from them."""

    rows: Rows  # to train on
    valid: Rows | None  # given by the caller to choose iterations on
    aside: Rows | None  # used neither in training nor for any choice
    samples: Samples  # those of ``rows``
    strata: Index | None  # class of each row
    codec: Codec
    encoder: TableEncoder
    samples_aside: Samples | None = None  # those of ``aside``

    @property
    def n_rows(self) -> int:
        """Rows to train on."""
        return len(self.samples.y)

    @property
    def dependences(self) -> tuple[Dependence | None, Dependence | None]:
        """Groups and times of the rows to train on, and of those set aside."""
        aside = self.samples_aside
        return self.samples.dependence, None if aside is None else aside.dependence


class Preparation:
    """Methods of both estimators that turn what ``fit`` was given into tensors."""

    _codec: type[Codec]
    codec_: Any
    encoder_: TableEncoder
    preprocessing: Preprocessing
    device: Any

    @property
    def _calibration_share(self) -> float:
        """Share of the rows to set aside; some estimators have no such parameter."""
        return float(getattr(self, "calibration_fraction", None) or 0.0)

    def _prepare(self, given: Given, seed: int, is_warm_start: bool) -> Prepared:
        """Check, merge, set aside, code and encode."""
        options = encoder_options(self.preprocessing)
        policy = self.encoder_.policy if is_warm_start else options["policy"]
        read_text = options.get("read_text", True)
        every = samples = read_samples(given, policy, self._codec, read_text)
        keep, later = self._set_aside(every, seed, is_warm_start)
        if len(later):
            samples = every.take(keep)
        # a class may have one row, set aside
        seen = every.y if self._codec is ClassCodec else samples.y
        codec: Codec = (
            self.codec_ if is_warm_start else self._codec.fit(seen, samples.weight, samples.sign)
        )
        coded = codec.encode(samples.y)
        if len(coded) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 different rows to permute labels, got "
                f"n_samples={len(coded)}."
            )
        if is_warm_start:
            encoder = self.encoder_
            encoded = encoder.encode(samples.table)
        else:
            encoder, encoded = self._encode(samples, coded, options)
            is_regression = isinstance(codec, RegressionCodec)
            if is_regression and (found := self._transforms(samples, encoded, seed)):
                codec = RegressionCodec.fit(samples.y, samples.weight, samples.sign, found)
                coded = codec.encode(samples.y)
                encoder, encoded = self._encode(samples, coded, options)
        shape = samples.sample_shape
        rows = self._rows(encoded, coded, samples.weight, shape)
        valid = aside = fresh = None
        if given.X_val is not None:
            valid_table, valid_shape = read_input(given.X_val, policy)
            refuse_other_shape("X_val", valid_shape, shape)
            valid_coded = codec.encode(given.y_val)
            check_consistent_length(np.empty(valid_table.n_rows), valid_coded)
            valid = self._rows(encoder.encode(valid_table), valid_coded, None, shape)
        if len(later):
            fresh = every.take(later)
            encoded = encoder.encode(fresh.table)
            aside = self._rows(encoded, codec.encode(fresh.y), fresh.weight, shape)
        strata = codec.strata(coded)
        return Prepared(rows, valid, aside, samples, strata, codec, encoder, fresh)

    def _encode(
        self, samples: Samples, coded: Floats, options: dict[str, Any]
    ) -> tuple[TableEncoder, npt.NDArray[np.float32]]:
        encoder = TableEncoder(**options)
        encoded = encoder.fit_encode(
            samples.table, coded, samples.weight,
            layout=self._layout(samples), owner=type(self).__name__,
        )  # fmt: skip
        return encoder, encoded

    def _transforms(self, samples: Samples, encoded: Any, seed: int) -> list[TargetTransform]:
        """Transforms of the targets; empty where none of them has one."""
        kind = getattr(self, "target_transform", "none")
        if kind == "none":
            return []
        columns = RegressionCodec.numbers(samples.y)
        kinds = [kind] * columns.shape[1]
        if kind == "auto":
            is_table = samples.sample_shape is None
            rows = (encoded, columns, samples.weight, seed, samples.dependence)
            kinds = choose_transforms(*rows) if is_table else []
        pairs = zip(columns.T, kinds, strict=False)
        found = [fit_transform(column, kind) for column, kind in pairs]
        return found if any(one.kind != "none" for one in found) else []

    def _layout(self, samples: Samples) -> tuple[int, ...] | None:
        """Order of the columns that the nets see.

        That of the user where nothing else is changed, and where a module of the user's own may
        depend on the position of columns.
        """
        is_own = callable(getattr(self, "architecture", None))
        as_given = encoder_options(self.preprocessing)["policy"] == "none" or is_own
        return None if as_given else samples.columns

    def _rows(
        self,
        encoded: npt.NDArray[np.float32],
        coded: Floats,
        weight: Floats | None,
        sample_shape: tuple[int, ...] | None,
    ) -> Rows:
        device = device_of(self.device)
        return Rows(
            as_input(encoded, sample_shape, device),
            torch.as_tensor(coded, dtype=torch.float32, device=device),
            None if weight is None else torch.as_tensor(weight, dtype=torch.float32, device=device),
        )

    def _set_aside(self, samples: Samples, seed: int, is_warm_start: bool) -> tuple[Index, Index]:
        """Rows to train with, and rows that nothing uses before the nets are done."""
        if is_warm_start and self._calibration_share > 0:
            raise ValueError(
                f"calibration_fraction={self._calibration_share:g} cannot set aside rows that "
                "the nets have not seen when warm_start=True continues with them. Set it to 0 and "
                "call calibrate(X, y) with fresh rows."
            )
        y, strata, share = samples.y, None, self._calibration_share
        if self._codec is ClassCodec:
            strata = self._codec.numbers(y)[:, 0].astype(np.intp)
        rng = np.random.default_rng([seed, 1])
        dependence = samples.dependence
        if dependence is None or not share:
            return hold_out(len(y), share, len(y), strata, rng)
        if len(dependence.by) == 2:
            raise ValueError(
                f"calibration_fraction={share:g} cannot set rows aside by groups and time at once "
                "without wasting most others. Set it to 0 and call calibrate(X, y, groups=...) "
                "with later rows of fresh groups."
            )
        keep, later = dependent_hold_out(dependence, share, len(y), strata, rng)
        dependence.take(keep).check()
        return keep, later
