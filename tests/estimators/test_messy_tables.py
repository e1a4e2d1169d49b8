"""One untidy table in every container gives one model; a real one is read as by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.model_selection import train_test_split

import adacap.lite
from adacap import AdaCapRegressor, load
from adacap.files import open_table

N = 120
CONTAINERS = ["pandas", "polars", "arrow", "t.csv", "t.parquet", "t.xlsx", "t.jsonl", "objects"]


@pytest.fixture(scope="module")
def messy():
    """Untidy columns as text, and a target that depends on them."""
    rng = np.random.default_rng(0)
    size, paid = rng.uniform(30, 200, size=N), rng.uniform(500, 9000, size=N)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, size=N), unit="D")
    words = ["garden", "garage", "sunny", "noisy", "quiet", "central", "old", "new", "large"]
    frame = pd.DataFrame(
        {
            "size": [f"{x:.1f} m²" for x in size],
            "paid": [f"${x:,.2f}" for x in paid],
            "share": [f"{x:.0f}%" for x in rng.uniform(0, 100, size=N)],
            "balance": [f"({x:.0f})" if x % 2 > 1 else f"{x:.0f}" for x in paid],
            "sold": days.strftime("%d/%m/%Y"),
            "signed": days.strftime("%d %b %Y"),
            "colour": rng.choice(["red", "blue ", "green", "NA"], size=N),
            "zip": [f"{k:05d}" for k in rng.choice([123, 4711, 80331], size=N)],
            "rooms": [str(k) for k in rng.integers(1, 6, size=N)],
            "text": [" ".join(rng.choice(words, size=6)) for _ in range(N)],
        }
    )
    frame.loc[[3, 50], "size"] = ["2100 - 2850", "unknown"]
    return frame, size / 10 + paid / 1000 + rng.normal(0, 0.1, size=N)


def contained(frame, name, folder):
    """The same table in another container."""
    path = folder / name
    match name:
        case "pandas":
            return frame
        case "polars":
            return pl.DataFrame(frame.to_dict("list"))
        case "arrow":
            return pa.table(frame.to_dict("list"))
        case "objects":
            return frame.astype(object)
        case "t.csv":
            frame.to_csv(path, index=False)
        case "t.parquet":
            pyarrow.parquet.write_table(pa.table(frame.to_dict("list")), path)
        case "t.xlsx":
            frame.to_excel(path, index=False)
        case "t.jsonl":
            frame.to_json(path, orient="records", lines=True)
    return open_table(path).read()


def small_model():
    return AdaCapRegressor(width=8, max_iter=10, n_estimators=1, random_state=0)


def test_one_untidy_table_gives_one_model_in_every_container(messy, tmp_path):
    frame, y = messy
    first = small_model().fit(frame, y)
    read_as = {row["column"]: row["read_as"] for row in first.encoder_.summary()}
    assert read_as == {
        "size": "number", "paid": "number", "share": "number", "balance": "number",
        "sold": "date", "signed": "date", "colour": "category", "zip": "category",
        "rooms": "number", "text": "text",
    }  # fmt: skip
    assert first.encoder_.summary()[0]["examples"] == ["2100 - 2850"]
    expected = first.predict(frame)
    first.save(tmp_path / "m.adacap")
    lite = adacap.lite.load(tmp_path / "m.adacap")
    for name in CONTAINERS:
        X = contained(frame, name, tmp_path)
        np.testing.assert_array_equal(small_model().fit(X, y).predict(X), expected, err_msg=name)
        np.testing.assert_array_equal(first.predict(X), expected, err_msg=name)
        np.testing.assert_allclose(lite.predict(X), expected, rtol=1e-5, err_msg=name)
    assert np.array_equal(load(tmp_path / "m.adacap").predict(frame), expected)


def test_text_targets_are_the_same_numbers(messy):
    frame, y = messy
    text = [f"{value:,.6f} €" for value in 1000 * y]
    numbers = [float(f"{value:.6f}") for value in 1000 * y]
    first, second = (small_model().fit(frame, target).predict(frame) for target in (text, numbers))
    np.testing.assert_array_equal(first, second)


def test_columns_that_fit_has_not_seen_are_ignored_with_a_word(messy, tmp_path):
    frame, y = messy
    model = small_model().fit(frame[["size", "paid"]], y)
    expected = model.predict(frame[["size", "paid"]])
    model.save(tmp_path / "m.adacap")
    for one in (model, adacap.lite.load(tmp_path / "m.adacap")):
        with pytest.warns(UserWarning, match="Columns not seen in fit are ignored: 'colour'"):
            found = one.predict(frame[["colour", "paid", "size"]])
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_column_that_the_model_dropped_may_be_absent(messy, tmp_path):
    frame, y = messy
    with_constant = frame[["size", "paid"]].assign(same="x")
    model = small_model().fit(with_constant, y)
    model.save(tmp_path / "m.adacap")
    expected = model.predict(with_constant)
    for one in (model, adacap.lite.load(tmp_path / "m.adacap")):
        np.testing.assert_allclose(one.predict(frame[["size", "paid"]]), expected, rtol=1e-5)
        with pytest.raises(ValueError, match="now missing:\n- size"):
            one.predict(frame[["paid"]])


def test_house_prices_are_learnt_as_well_as_after_to_numeric(data_folder):
    path = data_folder / "raw" / "bangalore-real-estate" / "blr_real_estate_prices.csv.gz"
    if not path.is_file():
        pytest.skip("needs the file bangalore-real-estate/blr_real_estate_prices.csv.gz")
    frame = pd.read_csv(path)
    X, y = frame.drop(columns="price"), frame["price"]
    by_hand = X.assign(total_sqft=pd.to_numeric(X["total_sqft"], errors="coerce"))
    scores = []
    for table in (X, by_hand):
        parts = train_test_split(table, y, test_size=0.2, random_state=0)
        model = adacap.make("fast", random_state=0).fit(parts[0], parts[2])
        scores.append(model.score(parts[1], parts[3]))
    assert scores[0] >= scores[1] - 0.01, scores
