"""The summary of training rows in a model file: optional, small, and checked."""

import numpy as np
import pytest

import adacap
from adacap.exceptions import ModelFileError
from adacap.modelfile.archive import read, read_tensors
from adacap.modelfile.contents import ModelFile


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Description and tensors of a file of nets with text and numbers."""
    rng = np.random.default_rng(0)
    table = {"size": rng.normal(size=60), "city": rng.choice(["Lyon", "Nice", "Paris"], 60)}
    path = tmp_path_factory.mktemp("seen") / "m.adacap"
    adacap.AdaCapRegressor(width=4, max_iter=2, random_state=0).fit(table, table["size"]).save(path)
    found = read(path)
    return found.text, read_tensors(found.weights)


def test_a_file_without_a_summary_is_read_as_before(parts):
    text, tensors = parts
    old = {name: array for name, array in tensors.items() if not name.startswith("seen.")}
    assert len(old) < len(tensors)
    assert ModelFile.of(text, old).seen == {}


def test_the_summary_is_small(parts):
    size = sum(array.nbytes for name, array in parts[1].items() if name.startswith("seen."))
    assert size < 2000


CHANGES = {
    "another shape": ("grid", lambda a: a[:, :5]),
    "another type": ("missing", lambda a: a.astype(np.float32)),
    "a share above one": ("below", lambda a: a + 1),
    "a count below zero": ("counts", lambda a: -a),
    "no rows": ("n_rows", lambda a: 0 * a),
    "rows that are no number": ("n_rows", lambda a: np.nan * a),
    "quantiles that fall": ("grid", lambda a: a[:, ::-1].copy()),
    "a variance below zero": ("variance", lambda a: -a),
    "hashes out of order": ("keys", lambda a: a[::-1].copy()),
    "hashes that are no integers": ("keys", lambda a: a.astype(np.float64)),
    "axes that are no numbers": ("axes", lambda a: np.full_like(a, np.inf)),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_summary_that_no_training_gives_is_refused(parts, change):
    name, altered = CHANGES[change]
    text, tensors = parts
    wrong = {**tensors, f"seen.{name}": altered(tensors[f"seen.{name}"])}
    with pytest.raises(ModelFileError, match=r"seen\.|summary of the training rows"):
        ModelFile.of(text, wrong)


@pytest.mark.parametrize("name", ["grid", "limits"])
def test_half_a_summary_is_refused(parts, name):
    text, tensors = parts
    wrong = {key: array for key, array in tensors.items() if key != f"seen.{name}"}
    with pytest.raises(ModelFileError, match="summary of the training rows"):
        ModelFile.of(text, wrong)


def test_a_tensor_of_no_meaning_is_refused(parts):
    text, tensors = parts
    with pytest.raises(ModelFileError, match="summary of the training rows"):
        ModelFile.of(text, {**tensors, "seen.more": np.zeros(1)})
