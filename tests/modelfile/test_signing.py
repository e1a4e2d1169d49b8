"""Signed model files: who has no key cannot change one unseen."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from adacap import AdaCapRegressor, lite, load
from adacap.cli import app
from adacap.exceptions import ModelFileError, SignatureError

KEY = "correct horse battery staple"
X = np.linspace(-1, 1, 30)[:, None]
READERS: dict[str, Callable[..., Any]] = {"load": load, "lite": lite.load}


@pytest.fixture(scope="module")
def model() -> AdaCapRegressor:
    return AdaCapRegressor(width=4, max_iter=2, random_state=0).fit(X, X[:, 0])


@pytest.fixture
def signed(model: AdaCapRegressor, tmp_path: Path) -> Path:
    model.save(tmp_path / "m.adacap", key=KEY)
    return tmp_path / "m.adacap"


def changed(path: Path, part: str, old: bytes, new: bytes) -> Path:
    """The file with other content and right checksums, signed as before."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.comment = comment
    return path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("key", [KEY, KEY.encode(), None])
def test_a_signed_file_is_read_with_its_key_and_without(
    reader: str, key: Any, signed: Path, model: AdaCapRegressor
) -> None:
    assert np.allclose(READERS[reader](signed, key=key).predict(X), model.predict(X), atol=1e-6)


@pytest.mark.parametrize("reader", READERS)
def test_each_reason_not_to_trust_a_file_has_its_words(
    reader: str, signed: Path, model: AdaCapRegressor, tmp_path: Path
) -> None:
    read = READERS[reader]
    with pytest.raises(SignatureError, match="signature is not that of this key: the file was"):
        read(signed, key="another")
    model.save(tmp_path / "plain.adacap")
    with pytest.raises(SignatureError, match=r"it is not signed, and a key was given\. Sign it:"):
        read(tmp_path / "plain.adacap", key=KEY)
    with pytest.raises(ValueError, match="key is empty"):
        read(signed, key="")
    with pytest.raises(TypeError, match="key must be str or bytes, got int"):
        read(signed, key=1)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "change",
    [
        ("model.json", b'"AdaCapRegressor"', b'"MLRNetRegressor"'),
        ("model.json", b'"fit_seconds": ', b'"fit_seconds": 1'),
        ("weights.safetensors", b"\x00\x00", b"\x00\x01"),
    ],
    ids=["estimator", "a number", "weights"],
)
def test_what_is_changed_without_the_key_is_refused(
    reader: str, change: tuple[str, bytes, bytes], signed: Path
) -> None:
    with pytest.raises(SignatureError, match="signature is not that of this key"):
        READERS[reader](changed(signed, *change), key=KEY)


def test_bytes_do_not_move_from_one_part_to_the_other() -> None:
    from adacap.modelfile.signing import sign

    assert sign(b"ab", b"c", KEY) != sign(b"a", b"bc", KEY)


@pytest.mark.parametrize("comment", [b"hello", b"adacap-hmac-sha256:00", b"\xff" * 40])
def test_a_comment_that_is_no_signature_is_refused(comment: bytes, signed: Path) -> None:
    with zipfile.ZipFile(signed, "a") as archive:
        archive.comment = comment
    for read in READERS.values():
        with pytest.raises(ModelFileError, match="the comment of its zip is not a signature"):
            read(signed)


def test_the_command_line_signs_and_checks(tmp_path: Path) -> None:
    run = CliRunner().invoke
    table, key, other = (tmp_path / name for name in ("t.csv", "key", "other"))
    table.write_text("x,y\n" + "".join(f"{k},{k % 5}\n" for k in range(40)))
    key.write_text(KEY + "\n")
    other.write_text("another")
    path, out = str(tmp_path / "m.adacap"), str(tmp_path / "out.csv")
    fast = ["--method", "fast-nets", "--test-size", "0", "--time-limit", "1"]
    made = run(app, ["fit", str(table), "-t", "y", "-o", path, "--key-file", str(key), *fast])
    assert made.exit_code == 0, made.output
    assert load(path, key=KEY).n_features_in_ == 1
    predict = ["predict", path, str(table), "-o", out, "--key-file"]
    assert run(app, [*predict, str(key)]).exit_code == 0
    wrong = run(app, [*predict, str(other), "--force"])
    assert (wrong.exit_code, "not that of this key" in wrong.stderr) == (1, True)
    missing = run(app, ["inspect", path, "--no-capacity", "--key-file", str(tmp_path / "none")])
    assert (missing.exit_code, "There is no key file" in missing.stderr) == (2, True)
