"""Importing results: what is read, and what is refused with the number of its row."""

import math

import pytest

from adacap.files import MissingFileError
from adacap_bench.imports import ImportFileError, import_csv, read_csv
from adacap_bench.jobs import Job, Record


@pytest.fixture
def write(tmp_path):
    def write(*lines: str):
        path = tmp_path / "results.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


HEADER = "task,split,method,score"


def test_the_least_that_is_needed(write):
    [values, classes] = read_csv(
        write(HEADER, "builtin-diabetes,0,my-net,0.71", "builtin-iris,2,my-net,0.9")
    )
    assert values.job == Job("builtin-diabetes", 0, "my-net", 0)
    assert (values.status, values.kind, values.category) == ("imported", "regression", "Imported")
    assert values.metrics == {"test_rmse": 0.71}
    assert math.isnan(values.fit_seconds)
    assert values.task_name != values.job.task
    assert (classes.kind, classes.metrics) == ("multiclass", {"test_accuracy": 0.9})


def test_everything_that_can_be_told(write):
    [record] = read_csv(
        write(
            f"{HEADER},metric,category,seed,fit_seconds,predict_seconds",
            "builtin-diabetes,1,my-net,0.5,r2,DNN,7,12.5,0.1",
            "builtin-diabetes,1,my-net,0.7,rmse,DNN,7,,",
            "builtin-diabetes,1,my-net,0.1,train_rmse,DNN,7,,",
        )
    )
    assert record.job.seed == 7
    assert record.metrics == {"test_r2": 0.5, "test_rmse": 0.7, "train_rmse": 0.1}
    assert (record.category, record.fit_seconds, record.predict_seconds) == ("DNN", 12.5, 0.1)


def test_a_known_method_keeps_its_category(write):
    [record] = read_csv(write(HEADER, "builtin-diabetes,0,catboost,0.7"))
    assert record.category == "GBDT"


def test_a_task_of_ones_own_needs_a_metric_or_a_kind(write):
    [record] = read_csv(write(f"{HEADER},metric", "my-table,0,my-net,0.7,auc"))
    assert (record.kind, record.task_name) == ("binary", "my-table")
    [record] = read_csv(write(f"{HEADER},kind", "my-table,0,my-net,0.7,multiclass"))
    assert record.metrics == {"test_accuracy": 0.7}


def test_spaces_and_byte_order_marks_are_no_obstacle(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text(f"{HEADER}\n builtin-diabetes , 0 , my-net , 0.7 \n", encoding="utf-8-sig")
    assert read_csv(path)[0].job.task == "builtin-diabetes"


def test_imported_records_enter_the_same_frame(write, store):
    store.add(
        Record(Job("builtin-diabetes", 0, "ridge"), "ok", "a", "regression", "Linear",
               metrics={"test_rmse": 0.8})
    )  # fmt: skip
    path = write(HEADER, "builtin-diabetes,0,my-net,0.7")
    assert import_csv(path, store) == (1, 0)
    assert import_csv(path, store) == (0, 1)
    frame = store.frame()
    assert frame.set_index("method")["test_rmse"].to_dict() == {"ridge": 0.8, "my-net": 0.7}
    assert frame["status"].tolist() == ["ok", "imported"]


def test_a_corrected_file_replaces_what_the_tables_show(write, store):
    import_csv(write(HEADER, "builtin-diabetes,0,my-net,0.7"), store)
    assert import_csv(write(HEADER, "builtin-diabetes,0,my-net,0.6"), store) == (1, 0)
    assert store.frame()["test_rmse"].tolist() == [0.6]


def test_our_own_results_are_not_covered_up(write, store):
    store.add(Record(Job("builtin-diabetes", 0, "ridge"), "ok", "a", "regression"))
    path = write(HEADER, "builtin-diabetes,0,ridge,0.1")
    message = r"results of its own for 1 of these jobs, first builtin-diabetes\|0\|ridge\|0"
    with pytest.raises(ImportFileError, match=message):
        import_csv(path, store)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("builtin-diabetes,zero,my-net,0.7", "row 3: split must be an integer, got 'zero'"),
        ("builtin-diabetes,-1,my-net,0.7", "row 3: split must be .* of at least 0, got '-1'"),
        ("builtin-diabetes,0,my-net,good", "row 3: score must be a number, got 'good'"),
        ("builtin-diabetes,0,my-net,nan", "row 3: score must be a finite number, got 'nan'"),
        ("builtin-diabetes,0,,0.7", "row 3: method is empty"),
        ("builtin-diabetes,0,my-net", "row 3: score is empty"),
        ("builtin-diabetes,0,my-net,0.7,1", "row 3: has more fields than the header"),
        ("builtin-diabets,0,my-net,0.7", "row 3: task 'builtin-diabets' .* Did you mean 'builtin-"),
        ("builtin-iris,0,other,0.7", "row 3: test_accuracy of .* is given in row 2 too"),
    ],
)
def test_rows_that_are_wrong_are_named(write, store, line, message):
    path = write(HEADER, "builtin-iris,0,other,0.9", line)
    with pytest.raises(ImportFileError, match=message):
        import_csv(path, store)
    assert store.records() == []


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("rmsee", "Unknown metric 'rmsee'. Did you mean 'rmse'"),
        ("valid_rmse", "Unknown metric 'valid_rmse'"),
        ("auc", "metric 'auc' does not go with the regression task 'builtin-diabetes'"),
    ],
)
def test_metrics_that_make_no_sense(write, metric, message):
    path = write(f"{HEADER},metric", f"builtin-diabetes,0,my-net,0.7,{metric}")
    with pytest.raises(ImportFileError, match=message):
        read_csv(path)


def test_a_kind_that_does_not_exist(write):
    path = write(f"{HEADER},kind", "mine,0,my-net,0.7,ranking")
    with pytest.raises(ImportFileError, match=r"kind must be one of .*, got 'ranking'"):
        read_csv(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("task,split,method", "has no column 'score'"),
        (f"{HEADER},metrik", "Unknown column 'metrik'. Did you mean 'metric'"),
    ],
)
def test_headers_that_are_wrong(write, header, message):
    with pytest.raises(ImportFileError, match=message):
        read_csv(write(header, "a,0,b,0.7,x"))


def test_many_errors_are_cut_short(write):
    path = write(HEADER, *["builtin-iris,x,my-net,0.7"] * 25)
    with pytest.raises(ImportFileError, match=r"row 11: .*\nand 15 more$"):
        read_csv(path)


def test_files_without_content(write, tmp_path):
    with pytest.raises(ImportFileError, match="holds a header and no row"):
        read_csv(write(HEADER))
    with pytest.raises(MissingFileError, match=r"no file .*absent.csv"):
        read_csv(tmp_path / "absent.csv")
