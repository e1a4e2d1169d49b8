"""The user's own tables: bare files, entries, and what is guessed about them."""

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest

from adacap_bench.datasets import DataError, MissingDataError, find_suite, find_task, load_table
from adacap_bench.datasets.own import sniff_kind, sniff_reader

HOUSES = "size,town,price\n" + "".join(f"{50 + i},t{i % 3},{i * 1.5}\n" for i in range(30))
ENTRIES = """
[[tasks]]
name = "House prices"
path = "data/houses.csv"
target = "price"
kind = "regression"

[[tasks]]
key = "towns"
name = "Town of a house"
path = "data/houses.csv"
target = "town"
kind = "multiclass"
exclude = ["price"]
classes = ["t2", "t1", "t0"]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_bare_file(write):
    write("houses.csv", HOUSES)
    task = find_task("houses.csv")
    assert (task.key, task.kind, task.name) == ("houses.csv", "regression", "houses.csv")
    table = load_table("houses.csv")
    assert [*table.X.columns] == ["size", "town"]
    assert table.y[:3].tolist() == [0.0, 1.5, 3.0]


@pytest.mark.parametrize(
    ("spec", "kind", "target"),
    [
        ("houses.csv:size", "regression", "size"),
        ("houses.csv:town", "multiclass", "town"),
        ("houses.csv:1", "multiclass", 1),
        ("houses.csv:-3", "regression", -3),
        ("houses.csv:town:multiclass", "multiclass", "town"),
        ("houses.csv:size:multiclass", "multiclass", "size"),
        ("houses.csv:regression", "regression", -1),
    ],
)
def test_target_and_kind_of_a_bare_file(write, spec, kind, target):
    write("houses.csv", HOUSES)
    task = find_task(spec)
    assert (task.kind, task.target, task.key) == (kind, target, spec)
    assert find_task(task.key) == task
    assert find_suite(spec) == (task,)


def test_packed_and_elsewhere(write, tmp_path):
    path = write("far/away.data.gz", gzip.compress(HOUSES.encode()))
    assert len(load_table(f"{path}:price").y) == 30


def test_entries(write):
    write("data/houses.csv", HOUSES)
    write("mine.toml", ENTRIES)
    prices, towns = find_suite("mine.toml")
    assert [prices.key, towns.key] == ["mine.toml:house-prices", "mine.toml:towns"]
    assert find_task("mine.toml:towns") == towns
    table = load_table(towns)
    assert [*table.X.columns] == ["size"]
    assert table.classes == ("t2", "t1", "t0")
    assert table.y[:3].tolist() == [2, 1, 0]


def test_a_file_of_one_entry_needs_no_list(write):
    write("houses.csv", HOUSES)
    write("one.toml", 'name = "One"\npath = "houses.csv"\ntarget = -1\n')
    assert find_task("one.toml").key == "one.toml:one"
    assert find_task("one.toml").kind == "regression"


def test_settings_of_an_entry_overrule_the_guess(write):
    write("odd.txt", "3|x\n4|y\n5|-\n")
    write(
        "odd.toml",
        'name = "Odd"\npath = "odd.txt"\ntarget = 0\nkind = "regression"\nmissing = ["-"]\n'
        'transform = "log1p"\nnote = "as it came"\n',
    )
    table = load_table("odd.toml")
    np.testing.assert_allclose(table.y, np.log1p([3.0, 4.0, 5.0]))
    assert table.X["c1"].isna().tolist() == [False, False, True]
    assert table.task.note == "as it came"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "A"\npath = "a.csv"', "an entry needs name, path, target and kind"),
        ('name = "A"\npath = "a.csv"\ntarget = 0\nkind = "sort"', "kind must be one of"),
        ('name = "A"\npath = "a.csv"\ntarget = 0\nseparater = 1', "Did you mean 'separator'"),
        ('name = "A"\npath = "a.csv"\ntarget = "z"', "has no column 'z'"),
        ("name = ", "not a TOML file"),
        ("tasks = 3", r"bad\.toml: tasks must be entries"),
        ('name = "A"\npath = 3\ntarget = 0', r"bad\.toml: path must be text, got 3"),
        (f"seed = {'9' * 5000}", r"bad\.toml is not a TOML file: Exceeds the limit"),
        (f"a = {'[' * 5000}", r"bad\.toml is not a TOML file"),
        ("tasks = [3]", "an entry needs name, path, target and kind, got 3"),
    ],
)
def test_wrong_entries(write, text, message):
    write("a.csv", "a,b\n1,2\n")
    write("bad.toml", text)
    with pytest.raises(DataError, match=message):
        find_suite("bad.toml")


def test_wrong_names(write):
    write("houses.csv", HOUSES)
    write("data/houses.csv", HOUSES)
    write("mine.toml", ENTRIES)
    with pytest.raises(MissingDataError, match=r"there is no file .*none\.csv"):
        find_task("none.csv")
    with pytest.raises(MissingDataError, match=r"There is no file none\.toml"):
        find_suite("none.toml")
    with pytest.raises(DataError, match=r"no column 'prize'\. Did you mean 'price'"):
        find_task("houses.csv:prize")
    with pytest.raises(ValueError, match=r"Unknown task 'mine.toml:x'.* Known: mine.toml:house-pr"):
        find_task("mine.toml:x")
    write("twice.toml", ENTRIES.replace('"towns"', '"house prices"'))
    with pytest.raises(DataError, match=r"'twice.toml:house-prices' is used twice"):
        find_suite("twice.toml")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,b\n1,2\n3,4\n", ("utf-8", ",", ".", True)),
        (b"1,2\n3,4\n", ("utf-8", ",", ".", False)),
        (b"a;b\n1,5;2\n2,5;3\n", ("utf-8", ";", ",", True)),
        (b"a;b\n1.5;2\n", ("utf-8", ";", ".", True)),
        (b"1 2  3\n4 5 6\n", ("utf-8", "space", ".", False)),
        (b"a\tb c\n1\t2\n", ("utf-8", "\t", ".", True)),
        (b"a|b\n1|2\n", ("utf-8", "|", ".", True)),
        (b'"x,y",b\n"1,0",2\n', ("utf-8", ",", ".", True)),
        ("t °C,b\n1,2\n".encode("latin-1"), ("latin-1", ",", ".", True)),
        ("\ufeffa,b\n1,2\n".encode(), ("utf-8-sig", ",", ".", True)),
        (b"a\n1\n2\n", ("utf-8", ",", ".", True)),
    ],
)
def test_guesses_about_the_text(content, expected):
    assert tuple(sniff_reader(content).values()) == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 1], "binary"),
        ([0.5, 1.5, 1.5], "binary"),
        (["a", "b", "c"], "multiclass"),
        ([1, 2, 3, 3], "multiclass"),
        ([1, 2, 3], "regression"),  # a class would come again
        ([True, False, True], "binary"),
        ([1.0, 2.0, 3.5], "regression"),
        ([*range(12), 0], "multiclass"),
        ([*range(13), 0], "regression"),
    ],
)
def test_guesses_about_the_target(values, kind):
    assert sniff_kind(pd.Series(values)) == kind


@pytest.mark.parametrize("number", [1, 8, 9, 11, 13, 16, 25, 27, 28, 31, 35, 39])
def test_guesses_agree_with_the_catalogue(data_folder, number):
    """Real files as bare ones: separator, header and kind are found without the entry."""
    entry = find_task(f"paper-{number}")
    path = next(data_folder.glob(f"{entry.file.path}*"))
    guess = find_task(f"{path}:{entry.target}")
    assert guess.kind == entry.kind
    assert guess.reader.separator == entry.reader.separator
    assert guess.reader.header == entry.reader.header
    assert load_table(guess).y.shape == load_table(entry, folder=data_folder).y.shape


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_a_packed_table_that_unpacks_to_far_more_than_tables_do(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("adacap.files.unpacking._MUCH", 1 << 20)
    path, rows = tmp_path / f"bomb.csv.{kind}", b"a,b\n" + b"1,2\n" * 1_000_000
    if kind == "gz":
        path.write_bytes(gzip.compress(rows))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.csv", rows)
    with pytest.raises(DataError, match=r"bomb\.csv\..*it would unpack to .* 200 times its size"):
        find_task(str(path))
