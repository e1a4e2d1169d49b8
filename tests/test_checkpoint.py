"""A checkpoint holds what was put into it, or says why it is not used."""

import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile

import pytest
import torch

from adacap import checkpoint
from adacap.checkpoint import Checkpoint, pack, unpack
from adacap.exceptions import NoFolderError
from adacap.files import drafted

TEXT, TENSORS = "checkpoint.json", "tensors.safetensors"
PRINT = {"X": "1", "max_iter": "2"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "long.checkpoint"


def written(path, **options):
    kept = Checkpoint.of(Checkpoint(path, **options))
    kept.begin(PRINT, [5])
    kept.put(
        "a", {"weights": torch.arange(6.0).view(2, 3), 0: (1, [None, -float("inf")])}, now=True
    )
    return kept


def test_what_is_packed_comes_back(seed):
    value = {"x": torch.randn(2, 3).t(), 3: [True, 0.1, (1, "é")], None: torch.empty(0)}
    found = unpack(pack(value))
    assert torch.equal(found.pop("x"), value.pop("x"))
    assert found.pop(None).shape == (0,)
    del value[None]
    assert found == value


def test_a_piece_is_a_copy(path):
    tensor = torch.zeros(2)
    kept = Checkpoint.of(path)
    kept.begin(PRINT, [])
    kept.put("a", tensor)
    tensor += 1
    assert kept.get("a").tolist() == [0.0, 0.0]


def test_another_process_finds_the_pieces(path):
    written(path)
    found = Checkpoint.of(path)
    assert found.seeds == [5]
    assert found.begin(PRINT, [5]) > 0
    piece = found.get("a")
    assert torch.equal(piece["weights"], torch.arange(6.0).view(2, 3))
    assert piece[0] == (1, [None, -float("inf")])
    assert found.get("b") is None


def test_time_of_all_tries_adds_up(path):
    first = written(path)
    first._start -= 100
    first.put("b", 1, now=True)
    second = Checkpoint.of(path)
    second.begin(PRINT, [5])
    second._start -= 100
    second.put("c", 1, now=True)
    assert Checkpoint.of(path).begin(PRINT, [5]) > 200


def test_it_is_written_when_it_is_time(path):
    kept = Checkpoint.of(Checkpoint(path, every_seconds=1000))
    kept.begin(PRINT, [])
    kept.put("a", 1)
    assert not path.exists()
    kept._written -= 1000
    kept.put("b", 2)
    assert path.exists()


def test_other_settings_are_named_and_the_pieces_forgotten(path):
    written(path)
    found = Checkpoint.of(path)
    with pytest.warns(UserWarning, match=r"starts over: .* another max_iter, width\."):
        assert found.begin({**PRINT, "max_iter": "3", "width": "1"}, [5]) == 0
    assert found.get("a") is None


def test_the_parts_of_a_file_do_not_disturb_each_other(path):
    written(path, part="scores", keep=True).end()
    second = Checkpoint.of(Checkpoint(path, part="model", keep=True))
    assert second.begin({"X": "9"}, []) == 0
    second.put("m", 1, now=True)
    again = Checkpoint.of(Checkpoint(path, part="scores"))
    again.begin(PRINT, [5])
    assert again.n_units == 1
    again.remove()
    assert not path.exists()


def test_of_a_link_what_it_leads_to_is_removed(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    written(tmp_path / "link").end()
    assert os.listdir(tmp_path) == ["link"]


KILLED = """
import os, signal, sys, zipfile
from adacap.checkpoint import Checkpoint
kept = Checkpoint.of(sys.argv[1])
kept.begin({"X": "1", "max_iter": "2"}, [5])
zipfile.ZipFile.close = lambda self: os.kill(os.getpid(), signal.SIGKILL)
kept.put("b", 1, now=True)
"""


def kill_a_writer(path):
    """Kill a process while it writes a checkpoint; the draft that it leaves."""
    before = set(path.parent.iterdir())
    end = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert end.returncode == -signal.SIGKILL
    (draft,) = set(path.parent.iterdir()) - before
    return draft


ODD_NAMES = ["long.checkpoint", "a[1].checkpoint", "a*.checkpoint", "a?.ckpt", "noend"]


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.finding("L10", before="a kill during a write left its draft for ever")
def test_the_next_fit_removes_what_a_killed_writer_left(tmp_path, name):
    path, bystander = tmp_path / name, tmp_path / ".long.notes.checkpoint"
    written(path)
    bystander.write_bytes(b"mine")
    draft = kill_a_writer(path)
    kept = Checkpoint.of(path)
    assert not draft.exists()
    kept.begin(PRINT, [5])
    assert kept.n_units == 1
    late = kill_a_writer(path)
    kept.end()
    assert not late.exists()
    assert os.listdir(tmp_path) == [bystander.name]


def test_a_draft_that_a_process_is_writing_stays(path):
    kept = written(path)
    with drafted(path, force=True) as draft:
        draft.write_bytes(b"half")
        Checkpoint.of(path)
        kept.end()
        assert draft.exists()


# ----------------------------------------------------------------------------------- damage


def cut(content):
    return content[: len(content) // 2]


def flipped(content):
    middle = content.index(b"arange" if b"arange" in content else b"F32") + 60
    return content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]


def newer(content):
    return content.replace(b'"version": 1', b'"version": 9')


def later_bytes(content):
    return content[:60] + b"garbage" * 30


@pytest.mark.parametrize("damage", [cut, flipped, newer, later_bytes])
def test_a_damaged_file_is_told_ignored_and_replaced(path, damage):
    written(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning, match="is damaged and not used, the fit starts over"):
        found = Checkpoint.of(path)
    assert found.begin(PRINT, [5]) == 0
    found.put("b", 1, now=True)
    assert set(checkpoint.read(path)["fit"]["units"]) == {"b"}


MALFORMED = {
    "a unit that is no pair": lambda part: part["units"].update(a=[1]),
    "a tensor that is not there": lambda part: part["units"].update(a=[{"tensor": 7}, 1]),
    "two kinds at once": lambda part: part["units"].update(a=[{"tuple": [], "dict": []}, 0]),
    "a list as a key": lambda part: part["units"].update(a=[{"dict": [[[], 1]]}, 0]),
    "seeds that are text": lambda part: part.update(seeds=["five"]),
    "a seed below zero": lambda part: part.update(seeds=[-1]),
    "time without an end": lambda part: part.update(spent=float("inf")),
    "an integer that no float holds": lambda part: part.update(spent=10**400),
    "a fingerprint that is a list": lambda part: part.update(fingerprint=[["X", "1"]]),
}


@pytest.mark.parametrize("change", MALFORMED)
def test_a_malformed_file_with_right_checksums_is_damaged(path, change):
    written(path)
    with zipfile.ZipFile(path) as archive:
        data, tensors = json.loads(archive.read(TEXT)), archive.read(TENSORS)
    MALFORMED[change](data["parts"]["fit"])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(TEXT), json.dumps(data))
        archive.writestr(zipfile.ZipInfo(TENSORS), tensors)
    with pytest.warns(UserWarning, match="is damaged and not used, the fit starts over"):
        found = Checkpoint.of(path)
    assert found.begin(PRINT, [5]) == 0


def test_going_on_is_told_once_and_when_a_piece_is_taken_up(path):
    written(path)
    told = []
    found = Checkpoint.of(Checkpoint(path, tell=told.append))
    found.begin(PRINT, [5])
    assert not told
    found.accept()
    found.accept()
    assert told == [f"Resuming from the checkpoint {path}."]


def test_a_piece_that_is_none_of_the_fit_is_discarded_with_all_others(path):
    kept = written(path)
    with pytest.warns(UserWarning, match="is damaged and not used, .*: it holds no nets of this"):
        kept.discard("nets 0123")
    assert kept.n_units == 0


def test_no_flipped_bit_and_no_cut_is_a_crash(path):
    written(path)
    content = path.read_bytes()
    for place in range(45, len(content), 5):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            found = checkpoint.read(path)
        except checkpoint.BadCheckpoint:
            continue
        assert torch.equal(
            unpack(found["fit"]["units"]["a"])["weights"], torch.arange(6.0).view(2, 3)
        )
    for size in range(1, len(content), 9):
        path.write_bytes(content[:size])
        with pytest.raises(checkpoint.BadCheckpoint):
            checkpoint.read(path)


def test_a_foreign_file_is_left_alone(path):
    path.write_text("my notes")
    with pytest.warns(UserWarning, match="is not a checkpoint of adacap: it is left as it is"):
        kept = Checkpoint.of(path)
    kept.begin(PRINT, [])
    kept.put("a", 1, now=True)
    kept.end()
    assert path.read_text() == "my notes"


def test_an_empty_file_is_taken(path):
    path.touch()
    written(path)
    assert set(checkpoint.read(path)) == {"fit"}


def test_a_full_disk_costs_the_checkpoint_not_the_fit(path, monkeypatch):
    kept = written(path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write", full)
    with pytest.warns(UserWarning, match="The fit continues, but its checkpoint cannot be written"):
        kept.put("b", 1, now=True)
    kept.put("c", 1, now=True)  # told once


def test_a_folder_that_is_not_there_is_refused_before_training(tmp_path):
    with pytest.raises(NoFolderError, match="There is no folder"):
        Checkpoint.of(tmp_path / "no" / "a.checkpoint")


def test_only_one_process_writes(path):
    assert pickle.loads(pickle.dumps(written(path))) is None


def test_seconds_below_0_are_refused(path):
    with pytest.raises(ValueError, match=r"every_seconds must be 0 or more, got -1\."):
        Checkpoint(path, every_seconds=-1)
