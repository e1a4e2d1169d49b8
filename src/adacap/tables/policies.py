"""How the plan of a column is learnt: one function per policy, and the statistics they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.model_selection import KFold
from sklearn.preprocessing import TargetEncoder

from adacap._typing import Floats
from adacap.tables.columns import ROUNDING
from adacap.tables.plan import (
    Binary,
    Cells,
    ColumnPart,
    Cycle,
    Frequency,
    Level,
    MissingFlag,
    Number,
    OneHot,
    TargetMean,
    Unchanged,
)
from adacap.tables.words import N_BUCKETS, Words, is_free_text, packed

__all__ = [
    "POLICIES", "Draft", "Policy", "Rules", "Weights", "cross_fit", "moments", "register_policy",
]  # fmt: skip

Weights: TypeAlias = Floats | None
Draft: TypeAlias = tuple[list[ColumnPart], str]  # parts, or the reason for having none

_CLIP = 8.0  # interquartile ranges from the median
_LARGEST = float(np.finfo(np.float64).max)
_LEAST_SHARE = 1e-6  # deviation over distance of the farthest row: of a row in 10¹²
_QUANTILE_ROWS = 100_000
_PEEK_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class Rules:
    """Everything a policy looks at besides the cells; every row has a positive weight."""

    max_levels: int
    one_hot_numeric: bool
    targets: Floats | None = None
    weights: Weights = None
    has_words: bool = True  # whether free text becomes features of its words


# ------------------------------------------------------------------------------ policies


def _plan_paper(cells: Cells, rules: Rules) -> Draft:
    if cells.kind == "datetime":
        return [], "datetime"
    levels = _levels(cells, rules.max_levels)
    if levels is not None and len(levels) == 1:
        return [], "constant"
    if levels is not None and len(levels) == 2:
        return [Binary(levels)], ""
    if cells.kind != "numeric":
        if levels is None or len(levels) > rules.max_levels:
            return [], "too many levels"
        return [OneHot(levels)], ""
    present = ~cells.missing
    mean, _ = moments(cells.values[present], _among(rules.weights, present))
    parts: list[ColumnPart] = [Number(fill=mean)]
    n_missing = int((~present).sum())
    # The authors' count: every missing cell is a value of its own.
    if levels is not None and len(levels) - bool(n_missing) + n_missing <= rules.max_levels:
        parts.append(OneHot(levels))
    return parts, ""


def _plan_default(cells: Cells, rules: Rules) -> Draft:
    if cells.kind in ("numeric", "datetime"):
        return _plan_quantity(cells, rules)
    levels = _levels(cells, rules.max_levels)
    if levels is None:
        return _plan_many_levels(cells, rules)
    if len(levels) == 1:
        return [], "constant"
    if len(levels) == 2:
        share = np.average(cells.match(levels), weights=rules.weights)
        return [Binary(levels, unseen=float(share))], ""
    return [OneHot(levels)], ""


def _plan_quantity(cells: Cells, rules: Rules) -> Draft:
    present = ~cells.missing
    x = cells.values[present]
    distinct = _distinct(x, rules.max_levels)
    parts: list[ColumnPart] = []
    if distinct is None or len(distinct) > 1:
        number = _robust_number(x, _among(rules.weights, present))
        parts.append(number)
        if cells.kind == "datetime":
            parts.extend(Cycle(period, number.center) for period in _periods(x))
    if x.size and not present.all():
        parts.append(MissingFlag())
    # Levels hold two rows on average: below that, one-hot would only number the rows.
    # Rows count whatever they weigh, since a heavy row is still a single one.
    if cells.kind == "numeric" and rules.one_hot_numeric and distinct is not None:
        if 3 <= len(distinct) <= len(x) / 2:
            parts.append(OneHot(tuple(distinct.tolist())))
    return parts, "" if parts else "constant"


def _plan_many_levels(cells: Cells, rules: Rules) -> Draft:
    """Features of words, or frequency and, given targets, the mean target of each level."""
    if rules.has_words and is_free_text(cells) and (words := learn_words(cells, rules.targets)):
        return [words], ""
    levels = _present_levels(cells)
    codes = cells.match(levels)
    counts = np.bincount(codes, minlength=len(levels))
    if counts[: len(levels) - (levels[-1] is None)].max() == 1:
        return [], "every value is unique"
    frequency = Frequency(levels, tuple(counts.astype(np.float64).tolist()))
    if rules.targets is None:
        return [frequency], ""
    fitted = [_target_encoder(codes, y) for y in rules.targets.T]
    means = tuple(tuple(encoder.encodings_[0].tolist()) for encoder in fitted)
    unseen = tuple(float(encoder.target_mean_) for encoder in fitted)
    return [TargetMean(levels, means, unseen), frequency], ""


Policy: TypeAlias = Callable[[Cells, Rules], Draft]
POLICIES: dict[str, Policy] = {
    "default": _plan_default,
    "paper": _plan_paper,
    "none": lambda cells, rules: ([Unchanged()], ""),
}


def register_policy(name: str) -> Callable[[Policy], Policy]:
    """Register a rule for columns under a name, for ``preprocessing={"policy": name}``.

    Parameters
    ----------
    name : str

    Returns
    -------
    callable
        Decorator of a function ``(cells, rules) -> (parts, reason)``: parts of
        :mod:`adacap.tables.plan`, or none and why the column is dropped. The parts it chooses are
        all that a model file holds: prediction needs no registration.

    Examples
    --------
    >>> from adacap import TableEncoder
    >>> @register_policy("whole")
    ... def whole(cells, rules):
    ...     is_number = cells.kind == "numeric"
    ...     return POLICIES["default"](cells, rules) if is_number else ([], "no number")
    >>> TableEncoder("whole").fit_transform([[1.0, "a"], [2.0, "b"], [4.0, "a"]]).shape
    (3, 1)
    >>> POLICIES.pop("whole") is whole  # as if it had never been
    True
    """
    if name in POLICIES:
        raise ValueError(f"There is already a policy {name!r}. Choose another name.")

    def keep(policy: Policy) -> Policy:
        POLICIES[name] = policy
        return policy

    return keep


def _robust_number(x: Floats, weights: Weights) -> Number:
    low, median, high = _quartiles(x, weights).tolist()
    scale = min(high - low, _LARGEST) or moments(x, weights)[1]
    return Number(fill=median, center=median, scale=scale, clip=_CLIP)


def _periods(days: Floats) -> list[str]:
    has_times = bool(np.any(days % 1.0))
    return ["year", "week", "day"] if has_times else ["year", "week"]


# -------------------------------------------------------------------------------- levels


def _levels(cells: Cells, most: int) -> tuple[Level, ...] | None:
    """Sorted levels, missing last; None if there are more than ``most``.

    Missing does not add to the count of a numeric column here.
    """
    if cells.kind == "categorical":
        levels = _present_levels(cells)
        return levels if len(levels) <= most else None
    missing = cells.missing
    distinct = _distinct(cells.values[~missing], most)
    if distinct is None:
        return None
    return (*distinct.tolist(), *([None] if missing.any() else []))


def _present_levels(cells: Cells) -> tuple[Level, ...]:
    """Sorted levels of text that rows hold, missing last."""
    counts = np.bincount(cells.codes + 1, minlength=len(cells.levels) + 1)
    present = [level for level, count in zip(cells.levels, counts[1:], strict=True) if count]
    return (*sorted(present), *([None] if counts[0] else []))


def _distinct(x: Floats, most: int) -> Floats | None:
    """Sorted distinct values, or None if there are more than ``most``."""
    if len(np.unique(x[:_PEEK_ROWS])) > most:
        return None
    distinct = np.unique(x)
    return distinct if len(distinct) <= most else None


# -------------------------------------------------------------------------- target means


def cross_fit(codes: npt.NDArray[np.intp], targets: Floats) -> Iterator[Floats]:
    """Target means of each row, learnt on the folds it does not belong to.

    ``codes`` are the levels of the rows; there is one output for each column of ``targets``.
    """
    folds = list(KFold(min(5, len(codes)), shuffle=True, random_state=0).split(codes))
    for y in targets.T:
        means = np.empty(len(codes))
        for learn, apply in folds:
            encoder = _target_encoder(codes[learn], y[learn])
            means[apply] = encoder.transform(codes[apply, None])[:, 0]
        yield means


def _target_encoder(codes: npt.NDArray[np.intp], y: Floats) -> Any:
    encoder = TargetEncoder(target_type="continuous").set_output(transform="default")
    return encoder.fit(codes[:, None], y)


# ------------------------------------------------------------------- weighted statistics


def moments(x: Floats, weights: Weights) -> tuple[float, float]:
    """Weighted mean and standard deviation; the latter is 1 for a constant.

    Weights of very different size can leave next to no deviation: it is at least a millionth of the
    largest distance from the mean, as it is without weights.
    """
    exponent = int(np.frexp(np.abs(x).max())[1]) - 1
    unit = 2.0**exponent
    z = np.ldexp(x, -exponent)  # squares neither overflow nor vanish
    first = z[0]
    z -= first  # exact where an offset is all that is large
    shift = np.average(z, weights=weights)
    sd = np.sqrt(np.average((z - shift) ** 2, weights=weights))
    farthest = np.abs(z - shift).max()
    if weights is not None:
        sd = max(sd, _LEAST_SHARE * farthest)
    mean = first + shift
    constant = sd <= ROUNDING * abs(mean) or sd * unit == 0.0
    return float(mean * unit), max(1.0, float(farthest * unit)) if constant else float(sd * unit)


def _quartiles(x: Floats, weights: Weights) -> Floats:
    """Weighted quartiles (inverse of the distribution function) of at most 100,000 values.

    Of more values, one per equal stretch of rows is used, drawn with a fixed seed.
    """
    if len(x) > _QUANTILE_ROWS:
        place = np.arange(_QUANTILE_ROWS) + np.random.default_rng(0).random(_QUANTILE_ROWS)
        rows = (place * (len(x) / _QUANTILE_ROWS)).astype(np.intp)
        x, weights = x[rows], None if weights is None else weights[rows]
    shares = np.array([0.25, 0.5, 0.75])
    if weights is None:
        return np.asarray(np.quantile(x, shares, method="inverted_cdf"))
    order = np.argsort(x)
    mass = np.cumsum(weights[order])
    shares *= 1.0 - 1e-9  # where weights just reach a share, rounding must not pass it by
    ranked: Floats = x[order[np.searchsorted(mass, shares * mass[-1])]]
    return ranked


def _among(weights: Weights, rows: npt.NDArray[np.bool_]) -> Weights:
    return None if weights is None else weights[rows]


# --------------------------------------------------------------------- axes of free text
# The axes of largest variance need not be those that matter. Given targets, words that go with them
# beyond chance get more weight before the axes are found: those whose correlation only one in a
# hundred columns of irrelevant words would show for any of them. That bound is strict enough for
# training rows to be encoded like new ones.

_MOST_AXES = 32
_ROWS_PER_AXIS = 8
_CHANCE = 0.01  # of stressing any word where none is related to the target
_OTHERS = 0.2  # weight of words that are not related to the target


def learn_words(cells: Cells, targets: Floats | None = None) -> Words | None:
    """Words of a column of free text; None if it has too few of them.

    Examples
    --------
    >>> texts = tuple(f"sunny flat {k} with garden or garage {k % 3}" for k in range(40))
    >>> cells = Cells("categorical", np.empty(0), np.arange(40, dtype=np.int32), texts)
    >>> learn_words(cells).title
    'words'
    """
    rows = np.flatnonzero(cells.codes >= 0)
    texts = [cells.levels[code] for code in cells.codes[rows]]
    counts = HashingVectorizer(n_features=N_BUCKETS, norm=None).transform(texts)
    weigh = TfidfTransformer().fit(counts)
    buckets = np.unique(counts.indices)
    n_axes = min(_MOST_AXES, len(texts) // _ROWS_PER_AXIS, len(buckets) - 1)
    if n_axes < 1:
        return None
    weights = weigh.transform(counts)[:, buckets]
    stress = _stress(weights, None if targets is None else targets[rows])
    svd = TruncatedSVD(n_axes, random_state=0).fit(weights.multiply(stress).tocsr())
    return Words(
        n_axes=n_axes,
        unseen_idf=float(np.log(1.0 + len(texts)) + 1.0),
        buckets=packed(buckets, "<i4"),
        idf=packed(weigh.idf_[buckets], "<f8"),
        axes=packed(svd.components_.T * stress[:, None], "<f4"),
    )


def _stress(weights: Any, targets: Floats | None) -> Floats:
    """Factor of each word: 1 where it is related to a target beyond chance, else small."""
    n_rows, n_words = weights.shape
    if targets is None:
        return np.ones(n_words)
    mean = np.asarray(weights.mean(axis=0)).ravel()
    square = np.asarray(weights.multiply(weights).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(square - mean**2, 1e-12))
    centred = targets - targets.mean(axis=0)
    scale = np.maximum(centred.std(axis=0), 1e-12)
    correlation = np.abs(weights.T @ (centred / scale) / n_rows / spread[:, None]).max(axis=1)
    beyond = correlation * np.sqrt(n_rows) > norm.isf(_CHANCE / 2 / n_words)
    return np.where(beyond, 1.0, _OTHERS) if beyond.any() else np.ones(n_words)
