"""Free text as features: the hashing and weighting of scikit-learn, in NumPy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.utils import murmurhash3_32

import adacap.lite
from adacap import AdaCapRegressor, TableEncoder, load
from adacap.tables.plan import Cells, ColumnPlan
from adacap.tables.table import read_table
from adacap.tables.words import N_BUCKETS, hashed, is_free_text, murmur3

RNG = np.random.default_rng(0)
FILLER = [f"word{k}" for k in range(300)]
EFFECTS = {
    "garden": 30.0,
    "garage": 18.0,
    "noisy": -25.0,
    "sunny": 12.0,
    "ruin": -40.0,
    "pool": 35.0,
}


def advertisements(n_rows):
    """Texts of seven to twelve words, and a price that depends on some of them."""
    texts, prices = [], []
    for _ in range(n_rows):
        said = [word for word in EFFECTS if RNG.random() < 0.3]
        words = [*said, *RNG.choice(FILLER, size=6)]
        texts.append(" ".join(RNG.permutation(words)).capitalize() + ".")
        prices.append(100 + sum(EFFECTS[word] for word in said) + RNG.normal(0, 5))
    return texts, np.array(prices)


@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_murmur3_is_that_of_scikit_learn(data, seed):
    assert murmur3(data, seed) == murmurhash3_32(data, seed=seed)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_words_are_hashed_as_scikit_learn_does(texts):
    expected = HashingVectorizer(n_features=N_BUCKETS, norm=None).transform(texts).toarray()
    found = np.zeros_like(expected)
    for i, text in enumerate(texts):
        for bucket, count in hashed(text).items():
            found[i, bucket] = count
    np.testing.assert_array_equal(found, expected)


def test_features_are_those_of_scikit_learn():
    texts, _ = advertisements(200)
    frame = pd.DataFrame({"text": texts})
    (plan,) = TableEncoder().fit(frame[:150]).columns_
    part = plan.parts[0]
    hashing = HashingVectorizer(n_features=N_BUCKETS, norm=None)
    weigh, svd = TfidfTransformer(), TruncatedSVD(part.n_axes, random_state=0)
    train = texts[:150]
    counts = hashing.transform(train)
    buckets = np.unique(counts.indices)
    svd.fit(weigh.fit_transform(counts)[:, buckets])
    new = [*texts[150:], "never seen words, all of them", ""]
    expected = svd.transform(weigh.transform(hashing.transform(new))[:, buckets])
    np.testing.assert_allclose(part.project(new), expected, atol=1e-6)


def test_a_price_that_depends_on_words_is_learnt_and_predicted_without_scikit_learn(tmp_path):
    texts, prices = advertisements(600)
    frame = pd.DataFrame({"advertisement": texts, "rooms": RNG.integers(1, 6, size=600)})
    X, X_test, y, y_test = train_test_split(frame, prices, random_state=0)
    model = AdaCapRegressor(random_state=0).fit(X, y)
    assert model.score(X_test, y_test) >= 0.8
    assert model.encoder_.summary()[0]["read_as"] == "text"
    model.save(tmp_path / "m.adacap")
    X_test = pd.concat([X_test, pd.DataFrame({"advertisement": [None, "of other words"]})])
    expected = model.predict(X_test)
    np.testing.assert_array_equal(load(tmp_path / "m.adacap").predict(X_test), expected)
    found = adacap.lite.load(tmp_path / "m.adacap").predict(X_test)
    assert (np.abs(found - expected) / model.codec_.scale).max() <= 1e-6
    with pytest.warns(UserWarning, match="'advertisement'"):  # what it was before
        plain = AdaCapRegressor(random_state=0, preprocessing={"read_text": False}).fit(X, y)
    assert plain.score(X_test[:-2], y_test) < 0.1


def test_words_weigh_more_only_where_they_go_with_the_target():
    texts, prices = advertisements(300)
    frame = pd.DataFrame({"text": texts})
    plain, noise, told = (
        TableEncoder().fit(frame, y).columns_[0].parts[0]
        for y in (None, RNG.normal(size=300), prices)
    )
    assert noise == plain
    assert told != plain


@pytest.mark.parametrize(
    ("texts", "free"),
    [
        ([f"a flat of {k} rooms with a view of garden {k}" for k in range(60)], True),
        ([f"a flat of {k % 9} rooms with a view" for k in range(60)], False),
        ([f"id-{k}" for k in range(60)], False),
        ([f"Name Surname{k}" for k in range(60)], False),
        ([f"a flat of {k} rooms with a view of garden {k}" for k in range(20)], False),
    ],
)
def test_free_text_is_long_and_mostly_distinct(texts, free):
    column = read_table(np.array(texts, dtype=object)[:, None]).columns[0]
    assert is_free_text(Cells.read(column, "categorical")) is free


def test_a_malformed_part_contradicts_itself():
    texts, prices = advertisements(60)
    (plan,) = TableEncoder().fit(pd.DataFrame({"text": texts}), prices).columns_
    data = plan.to_dict()
    assert ColumnPlan.from_dict(data) == plan
    for name, value in (("n_axes", 3), ("idf", ""), ("buckets", "AAAA"), ("axes", "no base64")):
        broken = {**data, "parts": [{**data["parts"][0], name: value}]}
        assert not ColumnPlan.from_dict(broken).is_consistent, name
