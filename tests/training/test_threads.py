"""Tasks side by side: one thread each, all of them ended before an error is raised."""

import threading
import time

import pytest
import torch

from adacap.training.threads import in_threads, one_thread, stop_asked


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3, "not given back"
    torch.set_num_threads(before)


def until_asked(ended):
    """A task that ends only when it is asked to."""

    def task():
        deadline = time.perf_counter() + 300
        while not stop_asked() and time.perf_counter() < deadline:
            time.sleep(0.001)
        ended.append(stop_asked())

    return task


def raises(error):
    def task():
        raise error

    return task


def test_results_come_in_the_order_of_the_tasks():
    late, early = threading.Event(), threading.Event()

    def first():
        assert early.wait(300)
        late.set()
        return "first"

    def second():
        early.set()
        assert late.wait(300), "the tasks do not run side by side"
        return "second"

    assert in_threads([first, second]) == ["first", "second"]


def test_each_task_has_one_thread_of_torch():
    assert in_threads([torch.get_num_threads] * 3) == [1, 1, 1]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()], ids=["error", "Ctrl-C"])
@pytest.mark.parametrize("at", [0, 1], ids=["first", "last"])
def test_a_failure_ends_the_others_first(error, at):
    ended = []
    tasks = [until_asked(ended)]
    tasks.insert(at, raises(error))
    with pytest.raises(type(error)):
        in_threads(tasks)
    assert ended == [True]


def test_an_interrupted_caller_ends_the_tasks(monkeypatch):
    def interrupted(futures):
        raise KeyboardInterrupt

    monkeypatch.setattr("adacap.training.threads.wait", interrupted)
    ended = []
    with pytest.raises(KeyboardInterrupt):
        in_threads([until_asked(ended), until_asked(ended)])
    assert ended == [True, True]


def test_nobody_is_asked_outside():
    with pytest.raises(ValueError, match="no"):
        in_threads([raises(ValueError("no"))])
    assert not stop_asked()
    assert in_threads([stop_asked]) == [False]


def test_one_thread_is_given_back_after_an_error():
    seen = []

    def fails():
        with one_thread():
            seen.append(torch.get_num_threads())
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert seen == [1]


def test_callers_that_overlap_give_back_what_the_first_found():
    inside, leave = threading.Event(), threading.Event()

    def first():
        with one_thread():
            inside.set()
            assert leave.wait(300)

    caller = threading.Thread(target=first)
    caller.start()
    assert inside.wait(300)
    with one_thread():  # sees the 1 that the other caller set
        leave.set()
        caller.join()
    assert torch.get_num_threads() == 3


def test_one_thread_inside_another_changes_nothing():
    def task():
        with one_thread():
            pass
        return torch.get_num_threads()

    assert in_threads([task]) == [1]
