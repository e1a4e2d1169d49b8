"""Verification: what matches, what is explained, what is found out."""

import pytest

from adacap_bench.datasets import find_suite, find_task
from adacap_bench.datasets.tasks import DataFile, Exemption, Figures, Reader, Task
from adacap_bench.verify import verify_mnist, verify_task, verify_tasks

CONTENT = "a,b,y\n" + "".join(f"{i},{'xyz'[i % 3]},{i}\n" for i in range(20))


def toy(write, figures, exemption=None, **file):
    write("raw/toy.csv", CONTENT)
    return Task(
        "toy",
        "Toy",
        "regression",
        file=DataFile("raw/toy.csv", **file),
        reader=Reader(),
        target="y",
        rows=20,
        columns=3,
        paper_id=99,
        figures=figures,
        exemption=exemption,
    )


def by_name(verdict):
    return {check.name: check for check in verdict.checks}


def test_all_that_is_present_matches_the_paper(data_folder):
    """Must show: the 42 tasks that are there, with ids 15 and 38 explained, none else."""
    verdicts = verify_tasks(find_suite("paper"), data_folder)
    status = {verdict.key: verdict.status for verdict in verdicts}
    assert [key for key in status if status[key] == "absent"] == ["paper-34", "paper-41"]
    explained = [key for key in status if status[key] == "explained"]
    assert explained == ["paper-15", "paper-38"]
    assert list(status.values()).count("ok") == 40
    names = ["sha256", "rows", "columns", "n", "p", "continuous", "categorical"]
    for verdict in verdicts:
        assert [check.name for check in verdict.checks] in ([], names)


def test_explanations_are_given(data_folder):
    bands = verify_task(find_task("paper-15"), data_folder)
    assert "breaks line 522 in two" in bands.notes[0]
    assert [c.name for c in bands.checks if c.status == "explained"] == ["p", "continuous"]
    bangalore = verify_task(find_task("paper-38"), data_folder)
    assert "balcony" in bangalore.notes[0]
    assert {check.status for check in bangalore.checks} == {"ok"}


def test_supplement(data_folder):
    verdicts = {v.key: v for v in verify_tasks(find_suite("mlr2021"), data_folder)}
    assert len(verdicts) == 32
    absent = [key for key, verdict in verdicts.items() if verdict.status == "absent"]
    assert absent == ["mlr-chess", "mlr-mushroom", "mlr-adult", "mlr-firewall"]
    assert {v.status for v in verdicts.values()} == {"ok", "absent"}
    assert by_name(verdicts["mlr-clv"])["p"].found == 77
    assert by_name(verdicts["mlr-regression9"])["n"].found == 168


def test_mnist(data_folder, no_data):
    assert verify_mnist(data_folder).status == "ok"
    assert verify_mnist().status == "absent"


def test_figures(write, tmp_path, no_data):
    right = toy(write, Figures(16, 4, 1, 1))
    assert verify_task(right, tmp_path).status == "ok"
    assert verify_task(toy(write, None), tmp_path).status == "ok"
    wrong = verify_task(toy(write, Figures(16, 5, 1, 1)), tmp_path)
    assert wrong.status == "mismatch"
    assert by_name(wrong)["p"] == by_name(wrong)["p"].__class__("p", 5, 4, "mismatch")


def test_an_exemption_covers_its_own_figures_only(write, tmp_path, no_data):
    exempt = Exemption("because", Figures(p=4))
    assert verify_task(toy(write, Figures(16, 5, 1, 1), exempt), tmp_path).status == "explained"
    assert verify_task(toy(write, Figures(16, 5, 2, 1), exempt), tmp_path).status == "mismatch"
    elsewhere = Exemption("because", Figures(p=3))
    assert verify_task(toy(write, Figures(16, 5, 1, 1), elsewhere), tmp_path).status == "mismatch"


@pytest.mark.parametrize(("exact", "status"), [(True, "mismatch"), (False, "explained")])
def test_checksums(write, tmp_path, no_data, exact, status):
    task = toy(write, Figures(16, 4, 1, 1), sha256=("0" * 64,), exact=exact, origin="Odd.")
    verdict = verify_task(task, tmp_path)
    assert verdict.status == by_name(verdict)["sha256"].status == status
    assert verdict.notes == (() if exact else ("Another copy than the one checked. Odd.",))


def test_damage_is_a_mismatch(write, tmp_path, no_data):
    task = toy(write, Figures(16, 4, 1, 1))
    write("raw/toy.csv", CONTENT[:-30])
    verdict = verify_task(task, tmp_path)
    assert verdict.status == "mismatch"
    assert "rows × 3 columns, but 'toy' has 20 × 3" in verdict.checks[-1].found


def test_absent_tasks_are_no_judgement(no_data):
    verdict = verify_task(find_task("paper-31"))
    assert verdict.status == "absent"
    assert "adacap data fetch paper-31" in verdict.notes[0]
    assert verdict.to_dict()["status"] == "absent"
