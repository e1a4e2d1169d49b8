"""``adacap fit --checkpoint``: what is kept, until when, and what is refused."""

import numpy as np
import pytest

import adacap
from adacap import checkpoint
from adacap.checkpoint import Checkpoint, pack

FIT = ["-t", "rent", "--method", "fast", "--n-estimators", "2", "--drop", "id", "--max-rows", "60"]


@pytest.fixture
def dying(monkeypatch):
    """Make the training on all rows end when it is done, before anything is saved."""
    end = Checkpoint.end

    def dies(self):
        end(self)
        if self.part == "model":
            raise KeyboardInterrupt

    def start():
        monkeypatch.setattr(Checkpoint, "end", dies)

    yield start
    monkeypatch.undo()


def test_both_fits_are_kept_until_the_model_is_saved(call, houses, tmp_path, dying, monkeypatch):
    call("fit", houses, *FIT, "-o", "whole.adacap")
    dying()
    result = call("fit", houses, *FIT, "--checkpoint", "c.checkpoint")
    assert result.exit_code == 130
    assert "c.checkpoint holds what was done, and the same command resumes" in result.output
    assert set(checkpoint.read(tmp_path / "c.checkpoint")) == {"scores", "model"}
    assert not (tmp_path / "model.adacap").exists()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    result = call("fit", houses, *FIT, "--checkpoint", "c.checkpoint")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Resuming from the checkpoint c.checkpoint.") == 1
    assert not (tmp_path / "c.checkpoint").exists()
    one, other = (adacap.load(tmp_path / f"{name}.adacap") for name in ("whole", "model"))
    expected, found = one.network_.state_dict(), other.network_.state_dict()
    assert expected.keys() == found.keys()
    assert all(np.array_equal(tensor, found[name]) for name, tensor in expected.items())


@pytest.fixture
def interrupted(call, houses, dying, monkeypatch, tmp_path):
    """A checkpoint of both fits."""
    dying()
    call("fit", houses, *FIT, "--checkpoint", "c.checkpoint")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "c.checkpoint"


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def of_no_use(path):
    parts = checkpoint.read(path)
    for part in parts.values():
        part["units"] = dict.fromkeys(part["units"], pack({"status": "done"}))
    checkpoint.write(path, parts)


@pytest.mark.filterwarnings("default")  # which the command shows
@pytest.mark.parametrize(
    ("change", "more", "told"),
    [
        (cut, [], "is damaged and not used, the fit starts over"),
        (of_no_use, [], "is damaged and not used, the fit starts over"),
        (lambda path: path.write_bytes(b"a,b"), [], "is not a checkpoint of adacap"),
        (lambda path: path.write_bytes(b""), [], ""),
        (lambda path: None, ["--seed", "1"], "it is of a fit with another"),
    ],
    ids=["cut", "malformed", "foreign", "empty", "other"],
)
def test_a_checkpoint_that_is_not_used_is_not_gone_on_from(
    call, houses, interrupted, change, more, told
):
    change(interrupted)
    result = call("fit", houses, *FIT, *more, "--checkpoint", "c.checkpoint")
    assert result.exit_code == 0, result.output
    assert told in " ".join(result.stderr.split())
    assert "Going on" not in result.stderr


@pytest.mark.parametrize("name", ["houses", "model.adacap", "page.html"])
def test_a_file_that_is_needed_is_no_checkpoint(call, houses, name):
    name = houses if name == "houses" else name
    result = call("fit", houses, *FIT, "--report", "page.html", "--checkpoint", name)
    assert result.exit_code == 2
    assert "and --checkpoint are the same file" in result.stderr


def test_a_folder_that_is_not_there_is_told_before_training(call, houses):
    result = call("fit", houses, *FIT, "--checkpoint", "no/c.checkpoint")
    assert result.exit_code == 2
    assert "There is no folder no to write c.checkpoint to." in result.stderr
