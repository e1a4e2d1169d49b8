"""Model files for years: each version there was is read, or says who reads it."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adacap import lite, load
from adacap.exceptions import ModelFileError
from adacap.modelfile import versions
from adacap.modelfile.archive import FORMAT_VERSION
from adacap.modelfile.contents import read_model
from adacap.modelfile.nets import GROUPS
from adacap.modelfile.schema import _MODEL, PARAMETERS, _fields_of
from adacap.modelfile.versions import ADDED, OLDEST, Added, check_version, upgraded

FROZEN = Path(__file__).parents[1] / "data" / "modelfile"
OUTLINE = FROZEN / f"outline-{FORMAT_VERSION}.json"
FILES = sorted(path.stem for path in FROZEN.glob("v*.adacap"))
READ = [name for name in FILES if OLDEST <= int(name[1])]
OLD = [name for name in FILES if int(name[1]) < OLDEST]


def frozen(name: str) -> tuple[Path, pd.DataFrame, Any]:
    """A file, rows, and what the library that wrote the file predicted for them."""
    data = json.loads((FROZEN / f"{name}.json").read_text(encoding="utf-8"))
    rows = pd.DataFrame(data["rows"])
    rows["when"] = pd.to_datetime(rows["when"])
    rows["gaps"] = rows["gaps"].astype(float)
    return FROZEN / f"{name}.adacap", rows, np.array(data["predictions"])


def test_there_are_small_files_of_every_version() -> None:
    assert max(path.stat().st_size for path in FROZEN.iterdir()) < 60_000
    assert sorted({int(name[1]) for name in FILES}) == list(range(1, FORMAT_VERSION + 1))


@pytest.mark.parametrize("name", READ)
def test_a_file_of_a_version_that_is_read_predicts_what_it_did(name: str) -> None:
    path, rows, expected = frozen(name)
    for read in (load, lite.load):
        model: Any = read(path)
        found = getattr(model, "predict_proba", model.predict)(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert read_model(path).description["format_version"] == int(name[1])


@pytest.mark.parametrize("name", READ)
def test_a_file_of_an_earlier_version_is_saved_in_the_present_one(
    name: str, tmp_path: Path
) -> None:
    path, rows, _ = frozen(name)
    model = load(path)
    model.save(tmp_path / "m.adacap")
    again = load(tmp_path / "m.adacap")
    assert (again.predict(rows) == model.predict(rows)).all()
    assert read_model(tmp_path / "m.adacap").description["format_version"] == FORMAT_VERSION


@pytest.mark.parametrize("name", OLD)
def test_a_file_that_is_read_no_more_says_who_reads_it(name: str) -> None:
    path, _, _ = frozen(name)
    words = rf"format_version {name[1]}, and adacap .* at commit \w{{7}}, reads it\. Or fit the"
    for read in (load, lite.load, read_model):
        with pytest.raises(ModelFileError, match=words):
            read(path)


@pytest.mark.parametrize(
    ("entries", "needed"),
    [
        ({"needs": "3.2", "adacap_version": "4.0"}, "adacap>=3.2"),
        ({"adacap_version": "4.0rc1"}, "adacap>=4.0rc1"),
        ({"needs": "; rm -rf"}, "adacap>0.1"),
        ({"needs": 7}, "adacap>0.1"),
    ],
)
def test_a_newer_file_says_which_release_it_needs(entries: dict[str, Any], needed: str) -> None:
    with pytest.raises(ModelFileError, match=f"Upgrade: pip install '{needed}"):
        check_version({"format_version": FORMAT_VERSION + 1, **entries})


def test_what_came_later_is_added_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(ADDED) <= set(range(OLDEST + 1, FORMAT_VERSION + 1))
    later = {5: (Added(("codec", "unit"), None, ("AdaCapRegressor",)), Added(("needs",), "1"))}
    monkeypatch.setattr(versions, "ADDED", later)
    monkeypatch.setattr(versions, "FORMAT_VERSION", 5)
    old = {"format_version": 4, "estimator": "AdaCapRegressor", "needs": "9", "codec": {}}
    assert upgraded(old) == {**old, "codec": {"unit": None}}
    other = {"format_version": 4, "estimator": "AdaCapClassifier", "codec": {}}
    assert upgraded(other) == {**other, "codec": {}, "needs": "1"}


# ---------------------------------------------------------------------------- the number


def outline(kind: Any) -> Any:
    """The kinds of a description as plain data."""
    if isinstance(kind, dict):
        return {name: outline(kind[name]) for name in sorted(kind)}
    if isinstance(kind, set):
        return "one of " + ", ".join(sorted(kind))
    if isinstance(kind, list):
        return [outline(kind[0])]
    if hasattr(kind, "__dataclass_fields__"):
        return outline(_fields_of(kind))
    return str(kind).replace("typing.", "")


def present() -> Any:
    parameters = {name: sorted(PARAMETERS[name]) for name in sorted(PARAMETERS)}
    groups = {name: outline(kind.fields) for name, kind in GROUPS.items()}
    return {"model": outline(_MODEL), "groups": groups, "parameters": parameters}


def test_a_change_of_the_format_raises_its_number() -> None:
    """If it fails: raise FORMAT_VERSION and list what is new in ADDED of modelfile/versions.py.

    Then add small files of the new version beside the others, and write the outline:
    ``python tests/modelfile/test_versions.py``. While the present version is in no release, ADDED
    and the outline are enough.
    """
    assert present() == json.loads(OUTLINE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    OUTLINE.write_text(json.dumps(present(), indent=1) + "\n", encoding="utf-8")


def test_the_page_of_the_format_ends_at_this_version() -> None:
    page = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\| (yes|no);?[^|]*\|[^|]*\|$", page, flags=re.M)
    assert [int(number) for number, _ in rows] == list(range(1, FORMAT_VERSION + 1))
    assert min(int(number) for number, is_read in rows if is_read == "yes") == OLDEST
    assert f"| `format_version` | {FORMAT_VERSION} |" in page
    assert re.findall(r"outline-\d+\.json", page) == [OUTLINE.name]
