"""Fetching from a server that cuts, corrupts, refuses and cannot resume."""

import gzip
import hashlib
import io
import zipfile
from dataclasses import replace

import pytest

from adacap_bench.datasets import DownloadError, fetch, find_task, load_table
from adacap_bench.datasets.download import Transfer, download
from adacap_bench.datasets.fetching import fetch_file
from adacap_bench.datasets.tasks import DataFile, Reader, Task

CONTENT = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i % 7, 2 * i) for i in range(20_000))
SUM = hashlib.sha256(CONTENT).hexdigest()
HASTY = Transfer(retries=3, timeout=60.0, pause=0.0)


@pytest.fixture
def task(server, no_data):
    file = DataFile("raw/toy/toy.csv", sha256=(SUM,), urls=(f"{server.url}/source/toy.csv",))
    server.files["/source/toy.csv"] = CONTENT
    reader = Reader()
    return Task("toy", "Toy", "regression", file=file, reader=reader, rows=20_000, columns=3)


def leftovers(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def archive(name, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(f"nested/{name}", content)
        file.writestr("readme.txt", "not this")
    return buffer.getvalue()


def test_a_file_is_fetched_once(server, task, no_data):
    path = fetch(task, transfer=HASTY)
    assert path == no_data / "raw" / "toy" / "toy.csv"
    assert path.read_bytes() == CONTENT
    assert leftovers(no_data) == ["toy.csv"]
    assert fetch(task, transfer=HASTY) == path
    assert len(server.asked) == 1
    assert fetch(task, transfer=HASTY, force=True) == path
    assert len(server.asked) == 2
    assert len(load_table(task).y) == 20_000


def test_into_a_folder_of_choice(task, tmp_path, no_data):
    assert fetch(task, folder=tmp_path / "here", transfer=HASTY).is_relative_to(tmp_path / "here")
    assert not no_data.exists()


def test_truncated_answers_are_resumed(server, task, no_data):
    server.truncate = 2
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert [asked for _, asked in server.asked][:2] == [None, f"bytes={half}-"]
    assert len(server.asked) == 3
    assert server.sent == len(CONTENT)  # no byte came twice


def test_an_interrupted_run_is_resumed_by_the_next(server, task, no_data):
    server.truncate = 9
    with pytest.raises(DownloadError, match=r"the answer ended after \d+ of \d+ bytes, in 1 tries"):
        fetch(task, transfer=replace(HASTY, retries=0))
    assert [name.endswith(".part") for name in leftovers(no_data)] == [True]
    server.truncate = 0
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT
    assert server.asked[-1][1] is not None
    assert leftovers(no_data) == ["toy.csv"]


def test_without_ranges_it_starts_anew(server, task):
    server.ranges = False
    server.truncate = 1
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT
    assert server.sent == len(CONTENT) // 2 + len(CONTENT)


def test_without_lengths_the_checksum_decides(server, task):
    server.lengths = False
    server.truncate = 1
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT


def test_always_truncated(server, task, no_data):
    server.truncate = 99
    with pytest.raises(
        DownloadError, match=r"in 4 tries\. Try again later: what was received is kept"
    ):
        fetch(task, transfer=HASTY)
    assert "toy.csv" not in leftovers(no_data)


def test_a_corrupt_answer_is_fetched_again(server, task):
    server.corrupt = 1
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT
    assert [asked for _, asked in server.asked] == [None, None]


def test_always_corrupt(server, task, no_data):
    server.corrupt = 99
    with pytest.raises(DownloadError, match=rf"is not toy\.csv: its SHA-256 is \w+, not {SUM}"):
        fetch(task, transfer=HASTY)
    assert leftovers(no_data) == []


def test_a_part_of_another_content_is_given_up(server, task, no_data):
    """What lies there from before turns out wrong; the whole is fetched from its first byte."""
    server.truncate = 1
    with pytest.raises(DownloadError):
        fetch(task, transfer=replace(HASTY, retries=0))
    (part,) = no_data.rglob("*.part")
    part.write_bytes(b"?" * part.stat().st_size)
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT
    assert [asked is None for _, asked in server.asked] == [True, False, True]


def test_a_part_that_is_whole_already(server, task, no_data):
    server.truncate = 1
    with pytest.raises(DownloadError):
        fetch(task, transfer=replace(HASTY, retries=0))
    (part,) = no_data.rglob("*.part")
    part.write_bytes(CONTENT)  # killed between download and putting in place
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT


def test_passing_and_final_refusals(server, task):
    server.status["/source/toy.csv"] = [503, 429]
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT
    server.status["/source/toy.csv"] = [403]
    with pytest.raises(DownloadError, match=r"toy\.csv: the server answered 403 Forbidden\."):
        fetch(task, transfer=HASTY, force=True)
    assert len(server.asked) == 4


def test_the_second_address_helps_out(server, task):
    file = replace(task.file, urls=(f"{server.url}/gone.csv", *task.file.urls))
    assert fetch(replace(task, file=file), transfer=HASTY).read_bytes() == CONTENT
    file = replace(task.file, urls=(f"{server.url}/gone.csv", f"{server.url}/too.csv"))
    with pytest.raises(DownloadError, match=r"gone\.csv.*404.*too\.csv.*404"):
        fetch(replace(task, file=file), transfer=HASTY, force=True)


def test_nobody_answers(task):
    file = replace(task.file, urls=("http://127.0.0.1:9/toy.csv",))
    with pytest.raises(DownloadError, match=r"the connection failed .*in 2 tries"):
        fetch(replace(task, file=file), transfer=Transfer(retries=1, timeout=60.0, pause=0.0))


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://example.org/a", "toy.csv"])
def test_only_http(url, tmp_path):
    with pytest.raises(DownloadError, match="Only http and https addresses"):
        download(url, tmp_path / "part", HASTY)


def test_archives_are_unpacked(server, task):
    for packed in (archive("toy.csv", CONTENT), gzip.compress(CONTENT)):
        server.files["/source/toy.csv"] = packed
        assert fetch(task, transfer=HASTY, force=True).read_bytes() == CONTENT


def test_wrong_archives(server, task):
    server.files["/source/toy.csv"] = archive("other.csv", CONTENT)
    with pytest.raises(DownloadError, match=r"holds no toy\.csv, but: nested/other\.csv"):
        fetch(task, transfer=HASTY)
    server.files["/source/toy.csv"] = gzip.compress(CONTENT)[:-20]
    with pytest.raises(DownloadError, match="the archive is damaged"):
        fetch(task, transfer=HASTY)


ARFF = """% a comment
@RELATION toy
@ATTRIBUTE 'a' NUMERIC
@attribute b {x, 'y z'}
@ATTRIBUTE class {'1','0'}
@DATA
% another
1.5,x,'1'
2,'y z','0'
"""


def test_arff_becomes_csv(server, task):
    task = replace(task, file=replace(task.file, sha256=(), exact=False), rows=2)
    server.files["/source/toy.csv"] = ARFF.encode()
    path = fetch(task, transfer=HASTY)
    assert path.read_text() == "a,b,class\n1.5,x,1\n2,y z,0\n"
    server.files["/source/toy.csv"] = b"@RELATION toy\n@ATTRIBUTE a NUMERIC\n"
    with pytest.raises(DownloadError, match="ARFF file without data"):
        fetch(task, transfer=HASTY, force=True)


def test_without_an_exact_checksum_the_shape_decides(server, task):
    loose = replace(task, file=replace(task.file, exact=False))
    other = CONTENT.replace(b"19999,", b"19998,")
    server.files["/source/toy.csv"] = other
    with pytest.raises(DownloadError, match="SHA-256"):
        fetch(task, transfer=HASTY)
    assert fetch(task, transfer=HASTY, check=False).read_bytes() == other
    assert fetch(loose, transfer=HASTY, force=True).read_bytes() == other
    server.files["/source/toy.csv"] = CONTENT[:-30]
    with pytest.raises(DownloadError, match=r"its table is \(19998, 3\), not \(20000, 3\)"):
        fetch(loose, transfer=HASTY, force=True)
    server.files["/source/toy.csv"] = b"<html>\n<p>Please log in, or a, b, c</p>\n</html>"
    with pytest.raises(DownloadError, match=r"not toy\.csv: "):
        fetch(loose, transfer=HASTY, force=True)


def test_a_damaged_file_is_replaced(task, no_data):
    path = no_data / "raw" / "toy" / "toy.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[:100])
    assert fetch(task, transfer=HASTY).read_bytes() == CONTENT


def test_mirror(server, task):
    server.files = {"/copy/raw/toy/toy.csv.gz": gzip.compress(CONTENT)}
    assert fetch(task, mirror=f"{server.url}/copy/", transfer=HASTY).read_bytes() == CONTENT
    assert [path for path, _ in server.asked] == [
        "/copy/raw/toy/toy.csv",
        "/copy/raw/toy/toy.csv.gz",
    ]


def test_kaggle_tasks_explain(no_data):
    with pytest.raises(DownloadError, match=r"without an account: get train\.csv from https://www"):
        fetch("paper-7", transfer=HASTY)


def test_progress_sees_the_whole(server, task):
    server.truncate = 1
    seen = []
    fetch(task, transfer=replace(HASTY, progress=lambda done, total: seen.append((done, total))))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {total for _, total in seen} == {len(CONTENT)}
    assert seen[-1] == (len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("key", ["paper-1", "paper-31", "paper-40", "mlr-regression0", "boston"])
def test_real_files_by_mirror(data_folder, server, no_data, key):
    """The files of ADACAP_DATA over HTTP, the first answer cut, end up as in ADACAP_DATA."""
    task = find_task(key)
    served = next(data_folder.glob(f"{task.file.path}*"))
    server.files[f"/{served.relative_to(data_folder)}"] = served.read_bytes()
    server.truncate = 1
    fetch(task, mirror=server.url, transfer=HASTY)
    fetched, original = load_table(task), load_table(task, folder=data_folder)
    assert fetched.X.equals(original.X)
    assert (fetched.y == original.y).all()


def test_a_file_without_a_task(server, task, no_data):
    assert fetch_file(task.file, transfer=HASTY).read_bytes() == CONTENT
    nowhere = DataFile("raw/no/where.csv")
    with pytest.raises(DownloadError, match=r"No address is known for raw/no/where\.csv"):
        fetch_file(nowhere)
