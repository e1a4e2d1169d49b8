"""Arrow's threads hold nothing of Python's, so that no process aborts at its end."""

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

pa = pytest.importorskip("pyarrow", reason="needs the extra files")

from adacap import AdaCapRegressor  # noqa: E402
from adacap.files import FileError, open_table  # noqa: E402
from adacap.files.text import own_reader, recoded  # noqa: E402


def test_a_reader_takes_a_copy_that_python_does_not_own() -> None:
    content = b"a,b\n1,2\n" * 10
    before = sys.getrefcount(content)
    reader = own_reader(content)
    assert sys.getrefcount(content) == before
    assert reader.read() == content
    held = pa.BufferReader(content)  # what would abort
    assert sys.getrefcount(content) > before
    del held


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_only_arrows_own_streams_reach_the_reader(encoding, tmp_path, monkeypatch) -> None:
    import pyarrow.csv as csv

    seen = []
    for name in ("read_csv", "open_csv"):
        plain = getattr(csv, name)

        def spy(stream, read, *more, plain=plain):
            seen.append((type(stream), read.encoding))
            return plain(stream, read, *more)

        monkeypatch.setattr(csv, name, spy)
    path = tmp_path / "towns.csv"
    path.write_bytes("ville,prix\nOrléans,1\nTours,2\n".encode(encoding))
    source = open_table(path)
    assert source.read().to_pydict() == {"ville": ["Orléans", "Tours"], "prix": [1, 2]}
    assert next(source.batches()).to_pydict()["ville"] == ["Orléans", "Tours"]
    # A codec of Python's would be called, and let go of, by a thread of arrow's.
    assert len(seen) >= 3
    assert set(seen) <= {(pa.BufferReader, "utf8"), (pa.OSFile, "utf8")}


def test_a_wrong_encoding_is_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        list(recoded(own_reader(b"\xff\xff\xff"), "utf-8"))


# Works until its parent is gone, however that ended; half an hour at most.
BUSY_LOOP = """
import os, sys, time
end = time.monotonic() + 1800
while os.getppid() == int(sys.argv[1]) and time.monotonic() < end:
    pass
"""


@pytest.fixture
def busy() -> Iterator[None]:
    """As many processes as processors that do nothing but work."""
    command = [sys.executable, "-c", BUSY_LOOP, str(os.getpid())]
    loops = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
        assert [loop.poll() for loop in loops] == [None] * len(loops), "the loops ended early"
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell that a parent is gone")
def test_a_busy_loop_ends_with_its_parent() -> None:
    killed = (
        "import os, signal, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {BUSY_LOOP!r}, str(os.getpid())])\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    # Returns once both have closed their output: a loop that went on would run into the limit.
    done = subprocess.run(
        [sys.executable, "-c", killed], stdout=subprocess.PIPE, timeout=600, check=False
    )
    assert done.returncode == -9


def end_well(folder, runs: int) -> None:
    """Predict a table that lacks the columns, many times: exit code 1 and the message alone."""
    X = [[float(k), float(k * k % 7)] for k in range(40)]
    model = AdaCapRegressor(n_estimators=1, max_iter=3)
    import pandas as pd

    model.fit(pd.DataFrame(X, columns=["size", "age"]), [row[0] for row in X])
    model.save(folder / "m.adacap")
    (folder / "other.csv").write_text("a,b,c\n1,2,3\n")
    command = [sys.executable, "-m", "adacap", "predict", "m.adacap", "other.csv", "-o", "o.csv"]
    for run in range(runs):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (run, done.returncode) == (run, 1), done.stderr
        assert "terminate" not in done.stderr
        assert "is missing 2 of the 2 columns" in done.stderr


def test_a_refused_table_ends_the_command_in_order(tmp_path, busy) -> None:
    end_well(tmp_path, runs=3)


@pytest.mark.slow  # some minutes
def test_fifty_of_fifty_commands_end_in_order(tmp_path, busy) -> None:
    end_well(tmp_path, runs=50)


def address_space() -> int:
    """Bytes that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux alone tells its memory")
def test_files_that_cannot_be_read_keep_no_memory(tmp_path) -> None:
    """Each kept 256 kB, and one in another encoding 1 MB."""
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n" * 20)[:-12])

    def tries(n: int) -> None:
        for _ in range(n):
            with pytest.raises(FileError, match=r"cut\.csv\.gz"):
                open_table(path)
            with pytest.raises(OSError, match=r"\w"), pa.OSFile(str(path)) as file:
                list(recoded(pa.CompressedInputStream(file, "gzip"), "latin-1"))

    tries(20)
    before = address_space()
    tries(50)
    assert address_space() - before < 2**23  # it was 60 MB
