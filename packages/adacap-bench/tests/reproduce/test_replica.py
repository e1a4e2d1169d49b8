"""The replica of 2021 starts λ where the tables of 2021 say that it started."""

import pytest

from adacap_bench.datasets import MissingDataError
from adacap_bench.reproduce.replica import POINTS, Start, lambda_start
from adacap_bench.reproduce.studies.mlr_numbers import BIKE, QSAR, SLUMP


@pytest.mark.parametrize(
    ("task", "split"), [(SLUMP, 0), (SLUMP, 1), (QSAR, 0), (QSAR, 1), (BIKE, 0)]
)
def test_lambda_init_is_the_printed_one_to_four_digits_and_more(task, split):
    try:
        found = lambda_start(task, split)
    except MissingDataError as error:
        pytest.skip(f"the data of 2021 are not here: {error}")
    assert found == pytest.approx(POINTS[task], rel=1e-6)


def test_the_text_of_the_supplement_starts_elsewhere():
    try:
        found = lambda_start(QSAR, 0, "mlr-2")
    except MissingDataError as error:
        pytest.skip(f"the data of 2021 are not here: {error}")
    assert found != pytest.approx(POINTS[QSAR], rel=0.1)


def test_a_start_tells_the_usual_value_and_the_mean():
    start = Start(SLUMP, (215.4435, 215.4435, 59.9484))
    assert start.usual == 215.4435
    assert start.mean == pytest.approx(163.61, abs=0.01)
    assert "Concrete Slump −3" in str(start)
    assert "2 of 3 splits" in str(start)
