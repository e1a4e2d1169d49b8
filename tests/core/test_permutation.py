"""Permutations keep what they permute, and come from the generator given."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adacap.core.permutation import draw_permutations, stack_labels


def generator(seed):
    return torch.Generator().manual_seed(seed)


def sorted_rows(rows):
    return sorted(map(tuple, rows.tolist()))


@given(n_samples=st.integers(2, 30), n_permutations=st.integers(0, 6), seed=st.integers(0, 2**32))
def test_each_draw_is_a_permutation(n_samples, n_permutations, seed):
    draws = draw_permutations(n_samples, n_permutations, generator(seed))
    assert draws.shape == (n_permutations, n_samples)
    assert draws.dtype == torch.int64
    assert torch.equal(draws.sort(1).values, torch.arange(n_samples).expand_as(draws))


@given(
    n_samples=st.integers(2, 15),
    n_targets=st.integers(1, 3),
    n_permutations=st.integers(0, 4),
    seed=st.integers(0, 2**32),
)
def test_each_label_set_keeps_the_multiset_of_rows(n_samples, n_targets, n_permutations, seed):
    source = generator(seed)
    targets = torch.randint(0, 3, (n_samples, n_targets), generator=source).double()
    labels = stack_labels(targets, draw_permutations(n_samples, n_permutations, source))
    assert labels.shape == (n_samples, 1 + n_permutations, n_targets)
    assert torch.equal(labels[:, 0], targets)
    for t in range(n_permutations):  # targets of one row stay together
        assert sorted_rows(labels[:, 1 + t]) == sorted_rows(targets)


def test_stacked_labels_follow_the_permutation():
    targets = torch.tensor([[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]])
    labels = stack_labels(targets, torch.tensor([[2, 0, 1]]))
    assert labels[:, 1].tolist() == [[30.0, 3.0], [10.0, 1.0], [20.0, 2.0]]


def test_draws_differ_from_each_other():
    draws = draw_permutations(50, 16, generator(0))
    assert len({tuple(row) for row in draws.tolist()}) == 16


@pytest.mark.usefixtures("global_state_untouched")
def test_same_seed_same_draws(seed):
    first = draw_permutations(20, 3, generator(seed))
    assert torch.equal(first, draw_permutations(20, 3, generator(seed)))
    assert not torch.equal(first, draw_permutations(20, 3, generator(seed + 1)))


def test_fewer_permutations_are_the_first_ones(seed):
    assert torch.equal(
        draw_permutations(20, 5, generator(seed))[:2], draw_permutations(20, 2, generator(seed))
    )


@pytest.mark.parametrize("n_samples", [0, 1])
def test_one_row_cannot_be_permuted(n_samples):
    text = f"at least 2 training rows to permute labels, got n_samples={n_samples}"
    with pytest.raises(ValueError, match=text):
        draw_permutations(n_samples, 1, generator(0))
    assert draw_permutations(n_samples, 0, generator(0)).shape == (0, n_samples)


def test_negative_number_is_refused():
    with pytest.raises(ValueError, match="n_permutations must be 0 or more, got -1"):
        draw_permutations(5, -1, generator(0))


@pytest.mark.parametrize(("targets", "permutations"), [((4,), (2, 4)), ((4, 1), (2, 3))])
def test_shapes_must_fit(targets, permutations):
    with pytest.raises(ValueError, match=r"permutations \(T, n_samples\), got \(4,.*\) and \(2, "):
        stack_labels(torch.zeros(targets), torch.zeros(permutations, dtype=torch.int64))
