"""Whatever the table: a finite prediction of the right shape, or our own clear error.

Hypothesis makes up tables of any mix of dtypes, names, sizes, scales, missing cells, constants and
duplicates, with targets and weights, good and bad: 2,000 in ``make test``, 50,000 in
``make test-deep``, shared by eight tests so that several processes can run them.
"""

import datetime as dt
import os
import resource
import sys
import time
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import adacap
from adacap import AdaCapClassifier, AdaCapRegressor
from adacap.exceptions import AdaCapError

N_EXAMPLES = int(os.environ.get("ADACAP_PROPERTY_EXAMPLES", "2000"))

SCALES = (1e-320, 1e-300, 1e-30, 1e-8, 1.0, 1e3, 1e8, 1e30, 1e38, 1e39, 1e150, 1e300, 1.7e308)
NAMES = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["y", "x0", "size", "size", "a=b", "\u202e", "=1+1", "", " ", "a\nb", "0", "\0"]
    ),
)
TEXT = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["", " ", "nan", "NA", "1,5", "1.234,5", "12 %", "2024-01-05", "5 m²", "007",
                     "1e400", "inf", "-", "true", "\x00", "\ud7ff", "x" * 200]),
)  # fmt: skip
ODD_CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.binary(max_size=3),
    st.dates(), st.datetimes(), st.decimals(), st.fractions(),
    st.sampled_from([10**400, Decimal("sNaN"), pd.NA, pd.NaT, np.float32(1), np.datetime64("NaT"),
                     Fraction(1, 3), 1j, object(), [1], dt.time(1), dt.timedelta(1)]),
)  # fmt: skip


@st.composite
def numbers(draw, n):
    """Numbers of one scale with an offset; some missing, some constant, some repeated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from(SCALES))
    kind = draw(st.sampled_from(["normal", "heavy", "few", "constant", "step", "sorted"]))
    values = {
        "normal": rng.normal(size=n),
        "heavy": rng.standard_cauchy(size=n),
        "few": rng.integers(0, 3, size=n).astype(float),
        "constant": np.ones(n),
        "step": (np.arange(n) == n // 2).astype(float),
        "sorted": np.arange(n, dtype=float),
    }[kind]
    values = np.clip(values, -1e6, 1e6) / max(1.0, np.abs(values).max(initial=0)) * scale
    if draw(st.booleans()):
        with np.errstate(over="ignore"):
            values = np.clip(values + draw(st.sampled_from([1.0, 1e6, 1.7e12])) * scale,
                             -1.7e308, 1.7e308)  # fmt: skip
    return values


@st.composite
def column(draw, n):
    """One column of any kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(
        ["float", "float", "float32", "int", "uint8", "bool", "text", "levels", "dates", "odd",
         "empty", "infinite", "category", "nullable"]
    ))  # fmt: skip
    if kind in ("float", "float32", "infinite", "nullable"):
        values = draw(numbers(n))
        if draw(st.booleans()):
            values[rng.random(n) < draw(st.sampled_from([0.1, 0.9]))] = np.nan
        if kind == "infinite":
            values[rng.integers(n)] = draw(st.sampled_from([np.inf, -np.inf]))
        if kind == "nullable":
            return pd.array(np.where(np.isnan(values), None, values), dtype="object")
        with np.errstate(over="ignore"):
            return values.astype(np.float32) if kind == "float32" else values
    if kind == "int":
        return rng.integers(-(2**62), 2**62, n) if draw(st.booleans()) else rng.integers(0, 4, n)
    if kind == "uint8":
        return rng.integers(0, 255, n).astype(np.uint8)
    if kind == "bool":
        return rng.random(n) < 0.5
    if kind == "dates":
        return np.datetime64("2024-01-01") + rng.integers(-(10**6), 10**4, n)
    if kind == "empty":
        return np.full(n, None, dtype=object)
    if kind in ("levels", "category"):
        levels = draw(st.lists(TEXT, min_size=1, max_size=4))
        values = np.array(levels, dtype=object)[rng.integers(0, len(levels), n)]
        return pd.Categorical(values) if kind == "category" else values
    pool = draw(st.lists(TEXT if kind == "text" else ODD_CELLS, min_size=1, max_size=n))
    values = np.empty(n, dtype=object)
    for i in range(n):
        values[i] = pool[i % len(pool)]
    return values


CONTAINERS = ("pandas", "pandas", "numpy", "list", "arrow", "polars")


@st.composite
def table(draw, n):
    """A table of n rows in any container, and how to take some of its rows."""
    d = draw(st.sampled_from([1, 1, 2, 3, 6]))
    columns = [draw(column(n)) for _ in range(d)]
    if draw(st.integers(0, 4)) == 0 and d > 1:
        columns[1] = columns[0]  # the same column twice
    names = draw(st.lists(NAMES, min_size=d, max_size=d, unique=draw(st.integers(0, 9)) > 0))
    return contained(draw(st.sampled_from(CONTAINERS)),
                     columns, names)  # fmt: skip


def contained(container, columns, names):
    """Columns in a container, or in a frame of pandas if that container takes them not."""
    try:
        frame = pd.DataFrame(dict(enumerate(columns)))
    except OverflowError:  # pandas 2.2 looks for dates among integers beyond float64
        frame = pd.DataFrame({i: pd.Series(one, dtype=one.dtype) for i, one in enumerate(columns)})
    frame.columns = names
    try:
        if container == "numpy":
            return frame.to_numpy()
        if container == "list":
            return frame.to_numpy(dtype=object).tolist()
        if container == "arrow":
            return pa.Table.from_pandas(frame, preserve_index=False)
        if container == "polars":
            return pl.from_pandas(frame)
    except (Exception, pl.exceptions.PanicException):  # the container's own limits are not tested
        return frame
    return frame


def rows_of(X, index):
    """Some rows of a table, in its container."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[index]
    if isinstance(X, list):
        return [X[i] for i in index]
    return X.take(index) if isinstance(X, pa.Table) else X[list(index)]


WEIGHTS = ("none", "none", "none", "ones", "random", "some zero", "tiny", "huge", "mixed",
           "negative", "nan", "zero", "text", "short")  # fmt: skip


def weights_of(kind, n, rng):
    """Row weights, good and bad."""
    return {
        "none": None, "ones": np.ones(n), "random": rng.random(n) + 0.1,
        "some zero": (rng.random(n) < 0.8).astype(float), "tiny": rng.random(n) * 1e-300,
        "huge": (rng.random(n) + 0.1) * 1e300, "mixed": 10.0 ** rng.uniform(-300, 300, n),
        "negative": -rng.random(n), "nan": np.full(n, np.nan), "zero": np.zeros(n),
        "text": ["a"] * n, "short": np.ones(max(n - 1, 0)),
    }[kind]  # fmt: skip


# ------------------------------------------------------------------------------------ the promise

BLENDS = (["ridge"], ["kernel"], ["trees"], ["boosting"], ["ridge:bins"], ["kernel:rank"])
NETS = {"quality": "nets", "n_estimators": 1, "width": 8, "max_iter": 3, "random_state": 0}


@st.composite
def settings_of(draw):
    """A cheap estimator of any kind."""
    policy = draw(st.sampled_from(["default", "default", "default", "paper", "none"]))
    if draw(st.integers(0, 5)) == 0:
        quality = draw(st.sampled_from(BLENDS))
        return {"quality": quality, "random_state": 0, "preprocessing": policy}
    return {
        **NETS,
        "preprocessing": policy,
        "scheme": draw(st.sampled_from(["auto", "adacap", "tikhonov", "plain"])),
        "architecture": draw(st.sampled_from(["auto", "mlp", "snn", "glu", "resblock"])),
        "validation": draw(st.sampled_from(["auto", 0.0, 0.3])),
    }


@st.composite
def targets(draw, n, is_class):
    """A target: numbers of any scale, several of them, labels, or something wrong."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wrong = draw(st.integers(0, 19))
    if wrong == 0:
        return draw(st.sampled_from([None, [], [None] * n, ["a"] * n, [np.nan] * n, [[]] * n,
                                     np.ones((n, 1, 1)), [10**400] * n, range(n + 1)]))  # fmt: skip
    if is_class:
        labels = draw(st.sampled_from([["a", "b"], [0, 1], ["x", "y", "z"], [True, False],
                                       [1.0, 2.0, 3.0], ["", "=1"], ["only"]]))  # fmt: skip
        return np.array(labels, dtype=object if isinstance(labels[0], str) else None)[
            rng.integers(0, len(labels), n)
        ]
    if draw(st.integers(0, 5)) == 0:
        return np.column_stack([draw(numbers(n)) for _ in range(2)])
    return draw(numbers(n))


OURS = Path(adacap.__file__).parent, Path(sklearn.__file__).parent / "utils"


def is_ours(error):
    """Whether we, or scikit-learn's checks, raised the error, of a closed list and not a word."""
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    if not any(raised_in.is_relative_to(folder) for folder in OURS):
        return False
    return len(str(error)) > 20 and (
        type(error) in (ValueError, TypeError) or isinstance(error, AdaCapError)
    )


FOREIGN = ("could not convert", "truth value", "unorderable", "not supported between", "mat1",
           "invalid literal", "NoneType", "object has no attribute", "cannot reshape",
           "operands could not", "zero-size array", "real number", "unhashable")  # fmt: skip


def judge(kind, X, y, weight, options, n):
    """Fit and predict; raise AssertionError unless all is well."""
    model = kind(**options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            model.fit(X, y, sample_weight=weight)
            found = model.predict(X)
            few = model.predict(rows_of(X, [0]))
    except Exception as error:
        text = str(error)
        named = "sample_weight" in text or "y " in text or "y=" in text
        if not is_ours(error) or (not named and any(sign in text for sign in FOREIGN)):
            raise AssertionError(f"not an error of ours: {type(error).__name__}: {text}") from error
        return
    shape = (n, *np.shape(y)[1:]) if kind is AdaCapRegressor else (n,)
    assert found.shape == shape, (found.shape, shape)
    assert few.shape == (1, *shape[1:])
    if kind is AdaCapRegressor:
        assert np.isfinite(found).all()
        return
    shares = model.predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)
    assert np.isin(found, model.classes_).all()


SECONDS: list[float] = []  # of each example of a test


@pytest.fixture(autouse=True)
def cost(record_property):
    """How many examples a test ran, the longest, and the most memory its process has had."""
    SECONDS.clear()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak /= 2**20 if sys.platform == "darwin" else 2**10
    told = {"examples": len(SECONDS), "longest_seconds": max(SECONDS, default=0), "peak_mb": peak}
    for name, value in told.items():
        record_property(name, round(value, 2))


@settings(
    deadline=None,
    derandomize=N_EXAMPLES <= 2000,  # one tree, one verdict; a deep run looks further each time
    max_examples=-(-N_EXAMPLES // 8),
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],  # an example that fails is shown as drawn: to shrink it takes minutes
    print_blob=True,
)
@given(data=st.data())
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kind", [AdaCapRegressor, AdaCapClassifier])
def test_any_frame_gives_a_finite_prediction_or_our_own_error(kind, part, data):
    n = data.draw(st.sampled_from([(1, 2, 3, 30), (4, 5, 8), (12, 20, 40), (16, 60)][part]))
    X = data.draw(table(n))
    y = data.draw(targets(n, kind is AdaCapClassifier))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    weight = weights_of(data.draw(st.sampled_from(WEIGHTS)), n, rng)
    options = data.draw(settings_of())
    begun = time.perf_counter()
    judge(kind, X, y, weight, options, n)
    SECONDS.append(time.perf_counter() - begun)
