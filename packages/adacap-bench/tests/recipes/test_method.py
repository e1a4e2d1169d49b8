"""A stranger's method of the benchmark: a plugin file is run beside the methods that are there."""

from typer.testing import CliRunner

from adacap_bench.cli.bench import app
from adacap_bench.methods import METHODS
from adacap_bench.store import Store


def recipe(path):
    path.write_text(
        """
from adacap_bench.methods import Method, register
from sklearn.linear_model import HuberRegressor

def build(kind, seed):
    return HuberRegressor(max_iter=300)

register(Method("huber-of-mine", "Linear", {"regression"}, build))
""",
        encoding="utf-8",
    )


def test_a_new_method_is_run_and_scored(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe(tmp_path / "mine.py")
    words = "run --suite builtin-diabetes --methods huber-of-mine --plugin mine.py --splits 1"
    try:
        result = CliRunner().invoke(app, [*words.split(), "--jobs", "1"])
    finally:
        METHODS.pop("huber-of-mine", None)
    assert result.exit_code == 0, result.output
    with Store(tmp_path / "results.sqlite", read_only=True) as store:
        (row,) = store.frame().to_dict("records")
    assert (row["method"], row["status"]) == ("huber-of-mine", "ok")
    assert row["test_r2"] > 0.2
