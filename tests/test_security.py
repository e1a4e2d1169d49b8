"""SECURITY.md: every sentence on model files is a test."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES, VERDICT = "tests/modelfile/test_files.py", "tests/modelfile/test_one_verdict.py"
HOSTILE, SIGNING = "tests/modelfile/test_hostile_files.py", "tests/modelfile/test_signing.py"
VERSIONS, ATOMIC = "tests/modelfile/test_versions.py", "tests/files/test_atomic.py"

# How a sentence begins, and the tests that hold it.
PROMISES: dict[str, str | tuple[str, ...]] = {
    "A file that `save` writes is one zip": f"{FILES}::test_the_file_is_two_stored_parts",
    "It holds no pickle": f"{FILES}::test_no_pickle",
    "Reading a file runs no code": f"{HOSTILE}::test_a_reader_runs_and_writes_nothing",
    "Reading a file writes nothing": (
        f"{HOSTILE}::test_a_reader_runs_and_writes_nothing",
        f"{HOSTILE}::test_the_watch_sees_what_writes_and_what_runs",
    ),
    "A network of your own": f"{FILES}::test_an_own_backbone_is_asked_for",
    "Whatever is wrong with a file": (
        f"{VERDICT}::test_changed_bytes_have_one_verdict",
        f"{VERDICT}::test_a_changed_zip_is_refused_by_all",
        f"{VERDICT}::test_a_text_that_is_no_description_is_refused_by_all",
        f"{VERDICT}::test_a_changed_description_has_one_verdict",
        f"{VERDICT}::test_a_changed_header_is_refused_by_all",
        f"{VERDICT}::test_a_changed_tensor_has_one_verdict",
        "tests/cli/test_inspect_export.py::test_what_is_no_model",
    ),
    "A truncated file": f"{FILES}::test_truncation_is_refused",
    "A file with one flipped bit": f"{FILES}::test_flipped_bytes_change_nothing_or_are_refused",
    "A file with NaN": f"{HOSTILE}::test_weights_that_are_no_numbers_are_refused",
    "A file of an unknown version": f"{VERSIONS}::test_a_newer_file_says_which_release_it_needs",
    "Reading takes at most 64": f"{HOSTILE}::test_memory_is_bounded_by_the_size_of_the_file",
    "Parts are stored": f"{FILES}::test_nothing_is_inflated",
    "No size that a file claims": f"{FILES}::test_a_declared_size_is_not_believed",
    "`model.json` has at most": f"{FILES}::test_text_that_is_no_description",
    "What a file that is read predicts": f"{HOSTILE}::test_hostile_files_meet_own_errors_alone",
    "Both readers predict the same": f"{HOSTILE}::test_hostile_files_meet_own_errors_alone",
    "Where these are few": (
        "tests/modelfile/test_large_cells.py"
        "::test_fit_warns_and_float32_is_all_that_readers_differ_by"
    ),
    "Names from a file are shown": "tests/cli/test_inspect_export.py::test_names_are_spelt_out",
    "A file that is saved again": f"{ATOMIC}::test_a_replaced_file_keeps_its_permissions",
    "A save that is killed": (
        f"{ATOMIC}::test_a_process_that_is_killed_leaves_what_the_next_one_removes"
    ),
    "Checksums find accidents": f"{HOSTILE}::test_other_weights_with_right_checksums_are_read",
    "A signature stops that": f"{SIGNING}::test_what_is_changed_without_the_key_is_refused",
    "On the command line": f"{SIGNING}::test_the_command_line_signs_and_checks",
    "Without a key": f"{SIGNING}::test_a_signed_file_is_read_with_its_key_and_without",
    "Whoever has the key": f"{SIGNING}::test_a_signed_file_is_read_with_its_key_and_without",
    "A file reveals": f"{HOSTILE}::test_a_file_tells_about_the_training_data",
    "A blend with a kernel": f"{HOSTILE}::test_a_kernel_holds_training_rows",
    "Python's own `pickle`": f"{FILES}::test_pickle_and_deepcopy",
    "Such a file can run any code": f"{HOSTILE}::test_a_pickle_runs_code_and_a_model_file_does_not",
}


def sentences() -> list[str]:
    """Sentences of the sections on model files."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    first, last = (text.index(f"## {name}") for name in ("What a model file cannot", "Supported"))
    text = re.sub(r"^## .*$", "", text[first:last], flags=re.M)
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return [s for part in paragraphs for s in re.split(r"(?<=\.) (?=[A-Z`])", part) if s]


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_sentence_has_a_test() -> None:
    without = [s for s in sentences() if not any(s.startswith(begin) for begin in PROMISES)]
    assert without == []


def test_every_test_has_its_sentence() -> None:
    assert [b for b in PROMISES if not any(s.startswith(b) for s in sentences())] == []


@pytest.mark.parametrize("begin", PROMISES)
def test_the_test_is_there(begin: str) -> None:
    tests = PROMISES[begin]
    for test in (tests,) if isinstance(tests, str) else tests:
        path, name = test.split("::")
        assert name in names_in(path)
