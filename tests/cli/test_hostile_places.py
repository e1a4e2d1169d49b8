"""Odd places and odd tables on the command line: a sentence and an exit code, nothing replaced."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from adacap import AdaCapClassifier

SAME = {
    "fit": ["DATA", "-t", "rent", "-o", "DATA"],
    "predict": ["MODEL", "DATA", "-o", "DATA"],
    "explain": ["MODEL", "OTHER", "-o", "DATA", "--rows-from", "DATA"],
    "calibrate": ["MODEL", "DATA", "--target", "price", "-o", "DATA"],
    "export": ["MODEL", "--onnx", "MODEL"],
    "signed": ["MODEL", "--onnx", "key.bin", "--key-file", "key.bin"],
}


@pytest.fixture
def places(houses, house_model, tmp_path):
    """Files of one's own, which may be replaced by mistake."""
    for name, source in (("t.csv", houses), ("o.csv", houses), ("m.adacap", house_model[0])):
        (tmp_path / name).write_bytes(Path(source).read_bytes())
    (tmp_path / "key.bin").write_bytes(b"secret")
    return {"DATA": "t.csv", "OTHER": "o.csv", "MODEL": "m.adacap"}


@pytest.mark.parametrize("case", SAME)
def test_no_output_takes_the_place_of_what_the_command_reads(call, places, tmp_path, case):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = [places.get(each, each) for each in SAME[case]]
    result = call("export" if case == "signed" else case, *arguments, "--force")
    assert result.exit_code == 2
    assert "are the same file" in result.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of a name here")
def test_a_pipe_is_refused_and_not_waited_for(call, places):
    os.mkfifo("pipe.csv")
    table = call("predict", "m.adacap", "pipe.csv", "-o", "out.csv")
    assert "pipe.csv is a device or a pipe. Send it to standard input" in table.stderr
    key = call("predict", "m.adacap", "t.csv", "-o", "out.csv", "--key-file", "pipe.csv")
    model = call("inspect", "pipe.csv")
    for result, what in ((key, "The key file"), (model, "The model")):
        assert result.exit_code == 2
        assert f"{what} pipe.csv is a folder, a device or a pipe. Name a file." in result.stderr


@pytest.mark.parametrize("command", ["predict", "inspect", "check", "explain"])
def test_a_folder_is_no_model(call, places, command):
    os.mkdir("folder.adacap")
    more = [] if command == "inspect" else ["t.csv"]
    out = ["-o", "out.csv"] if command in ("predict", "explain") else []
    result = call(command, "folder.adacap", *more, *out)
    assert result.exit_code == 2
    assert "The model folder.adacap is a folder" in result.stderr


def test_links_that_go_round_in_a_circle(call, places):
    os.symlink("b.csv", "a.csv")
    os.symlink("a.csv", "b.csv")
    read = call("predict", "m.adacap", "a.csv", "-o", "out.csv")
    assert read.exit_code == 2
    assert "a.csv is a link that leads to no file." in read.stderr
    for option in (["-o", "a.csv"], ["-o", "new.adacap", "--checkpoint", "a.csv"]):
        written = call("fit", "t.csv", "-t", "rent", *option, "--force")
        assert written.exit_code == 2
        assert "a.csv is a link that leads back to itself. Name a file." in written.stderr
    assert os.path.islink("a.csv")


COMMANDS = {
    "predict": ["MODEL", "TABLE", "-o", "out.csv"],
    "explain": ["MODEL", "TABLE", "-o", "out.csv"],
    "check": ["MODEL", "TABLE"],
    "calibrate": ["MODEL", "TABLE", "--target", "price"],
    "export": ["MODEL", "--onnx", "out.onnx", "--data", "TABLE"],
    "fit": ["TABLE", "-t", "rent"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_without_rows_is_told_by_name(call, places, command):
    from adacap.files import open_table

    table = open_table("t.csv").read()
    pyarrow.parquet.write_table(table.slice(0, 0), "none.parquet")
    given = {**places, "TABLE": "none.parquet"}
    result = call(command, *(given.get(each, each) for each in COMMANDS[command]))
    assert result.exit_code == 1
    assert "none.parquet has no rows." in result.stderr


@pytest.mark.parametrize("dates", ["seconds", "days"])
def test_dates_that_python_has_not_are_written_to_a_workbook(call, houses, house_model, dates):
    from adacap.files import open_table

    table = open_table(houses).read()
    far = [2**62, -(2**62)] if dates == "seconds" else [86_400_000 * 10**7] * 2
    kind = pa.timestamp("s") if dates == "seconds" else pa.date64()
    column = pa.array(far * (table.num_rows // 2), pa.int64()).cast(kind)
    pyarrow.feather.write_feather(table.append_column("far", column), "far.feather")
    result = call("predict", house_model[0], "far.feather", "-o", "out.xlsx", "--id", "far")
    assert result.exit_code == 0, result.output
    assert open_table("out.xlsx").read().num_rows == table.num_rows


@pytest.mark.parametrize("labels", [["0", "1", "2"], ["true", "false"], ["1.0", "2.0"]])
def test_classes_that_are_no_text_are_calibrated(call, labels):
    rows = [f"{(i + 0.5) / 7},{labels[i % len(labels)]}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["size,kind", *rows]) + "\n")
    values = {"true": True, "false": False}
    y = [values[one] if one in values else float(one) for one in labels] * (60 // len(labels))
    y = [int(one) for one in y] if labels[0] == "0" else y
    fitted = AdaCapClassifier(quality=["ridge"], random_state=0)
    fitted.fit(pa.table({"size": [i / 7 for i in range(60)]}), y).save("m.adacap")
    result = call("calibrate", "m.adacap", "t.csv", "--target", "kind")
    assert result.exit_code == 0, result.output
    assert "calibrated on 60 rows" in result.stdout


def test_letters_that_only_look_the_same_are_spelt_out(call):
    composed, apart = "caf\u00e9", "cafe\u0301"
    fitted = AdaCapClassifier(quality=["ridge"], random_state=0)
    fitted.fit(pa.table({composed: [float(i) for i in range(30)]}), [0, 1] * 15).save("m.adacap")
    Path("t.csv").write_text(f"{apart}\n1\n2\n")
    result = call("predict", "m.adacap", "t.csv", "-o", "out.csv")
    assert result.exit_code == 1
    assert r"(there is 'cafe\u0301', the same letters in other characters)" in result.stderr
