"""A stranger's data set: a file and an entry in a TOML file make a task of the benchmark."""

import numpy as np

from adacap_bench.datasets import find_tasks, load_table


def recipe(folder):
    (folder / "mine.toml").write_text(
        """
[[tasks]]
name = "house prices"
path = "houses.csv"
target = "price"
kind = "regression"
""",
        encoding="utf-8",
    )


def test_a_new_data_set_is_a_task(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "houses.csv").write_text("size,price\n50,1.5\n80,2.5\n70,2\n", encoding="utf-8")
    recipe(tmp_path)
    (task,) = find_tasks(["mine.toml"])
    assert (task.key, task.kind) == ("mine.toml:house-prices", "regression")
    table = load_table(task)
    assert list(table.X.columns) == ["size"]
    np.testing.assert_allclose(np.sort(table.y), [1.5, 2.0, 2.5])
