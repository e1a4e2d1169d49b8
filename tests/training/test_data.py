"""Rows, labels and batches of each net."""

import itertools

import pytest
import torch

from adacap.training.data import MemberRows, TrainingData

N, N_TRAIN = 25, 20


@pytest.fixture
def table(normal):
    """Rows that can be recognised: row i holds i in every place."""
    x = torch.arange(N, dtype=torch.float64).unsqueeze(1).expand(N, 3)
    targets = torch.arange(N, dtype=torch.float64).unsqueeze(1) * torch.tensor([1.0, 10.0])
    return x, targets, torch.arange(N, dtype=torch.float64) + 100


def member_rows(n_members, seed, n_train=N_TRAIN):
    rows = []
    for k in range(n_members):
        order = torch.randperm(N, generator=torch.Generator().manual_seed(seed + k))
        rows.append(MemberRows(order[:n_train], order[n_train:], seed + k))
    return rows


def make(table, rows, n_permutations=2, weighted=True, external=None):
    x, targets, weight = table
    return TrainingData(x, targets, weight if weighted else None, rows, n_permutations, external)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("batch_size", [6, N_TRAIN, 1000])
def test_a_batch_keeps_rows_together(table, seed, weighted, batch_size):
    rows = member_rows(3, seed)
    data = make(table, rows, weighted=weighted)
    size = min(batch_size, N_TRAIN)
    for batch in itertools.islice(data.batches(batch_size), 5):
        assert batch.x.shape == (3, size, 3)
        assert batch.labels.shape == (3, size, 3, 2)
        assert torch.equal(batch.labels[:, :, 0, 0], batch.x[:, :, 0])
        assert torch.equal(batch.labels[..., 1], 10 * batch.labels[..., 0])
        for k in range(3):
            assert set(batch.x[k, :, 0].long().tolist()) <= set(rows[k].train.tolist())
        if weighted:
            assert torch.equal(batch.weight, batch.x[:, :, 0] + 100)
        else:
            assert batch.weight is None


@pytest.mark.parametrize("batch_size", [5, 6, 7, 19])
def test_an_epoch_meets_each_row_at_most_once(table, seed, batch_size):
    data = make(table, member_rows(2, seed))
    per_epoch = N_TRAIN // batch_size
    batches = list(itertools.islice(data.batches(batch_size), 2 * per_epoch))
    epochs = [
        torch.cat([batch.x[..., 0] for batch in batches[start : start + per_epoch]], 1)
        for start in (0, per_epoch)
    ]
    for epoch in epochs:
        for member in epoch.tolist():
            assert len(set(member)) == per_epoch * batch_size
    assert not torch.equal(*epochs)
    assert not torch.equal(epochs[0][0], epochs[0][1])


def test_a_batch_of_all_rows_is_made_once(table, seed):
    data = make(table, member_rows(2, seed))
    first, second = itertools.islice(data.batches(N_TRAIN), 2)
    assert first is second


def test_permuted_labels_are_fixed_and_stay_within_the_training_rows(table, seed):
    rows = member_rows(2, seed)
    data = make(table, rows)
    for k in range(2):
        for t in range(3):
            column = data.labels[k, :, t, 0].long()
            assert sorted(column.tolist()) == sorted(rows[k].train.tolist())
    assert not torch.equal(data.labels[:, :, 0], data.labels[:, :, 1])
    seen = {}
    for batch in itertools.islice(data.batches(7), 12):  # a row has the same labels each time
        for row, labels in zip(batch.x[0, :, 0].tolist(), batch.labels[0].tolist(), strict=True):
            assert seen.setdefault(row, labels) == labels


def test_no_permutations(table, seed):
    assert make(table, member_rows(2, seed), n_permutations=0).labels.shape == (2, N_TRAIN, 1, 2)


@pytest.mark.usefixtures("global_state_untouched")
def test_a_net_does_not_depend_on_its_company(table, seed):
    rows = member_rows(3, seed)
    together = list(itertools.islice(make(table, rows).batches(6), 7))
    alone = list(itertools.islice(make(table, rows[1:2]).batches(6), 7))
    for many, one in zip(together, alone, strict=True):
        assert torch.equal(many.x[1], one.x[0])
        assert torch.equal(many.labels[1], one.labels[0])
        assert torch.equal(many.weight[1], one.weight[0])


def test_validation_rows_are_the_held_out_ones(table, seed):
    rows = member_rows(2, seed)
    valid = make(table, rows).valid
    for k in range(2):
        assert torch.equal(valid.x[k, :, 0].long(), rows[k].valid)
        assert torch.equal(valid.targets[k, :, 0].long(), rows[k].valid)
        assert torch.equal(valid.weight[k].long() - 100, rows[k].valid)
    assert make(table, rows, weighted=False).valid.weight is None


def test_no_hold_out(table, seed):
    data = make(table, member_rows(2, seed, n_train=N))
    assert data.valid is None
    assert data.n_train == N


@pytest.mark.parametrize("weighted", [False, True])
def test_external_validation_rows_replace_the_hold_out(table, seed, weighted, normal):
    given = normal(6, 3), normal(6, 2), normal(6).abs() if weighted else None
    valid = make(table, member_rows(2, seed), external=given).valid
    for ours, theirs in zip((valid.x, valid.targets, valid.weight), given, strict=True):
        if theirs is None:
            assert ours is None
        else:
            assert torch.equal(ours, torch.stack([theirs, theirs]))


def test_images_keep_their_shape(seed, normal):
    x, targets = normal(N, 2, 4, 5), normal(N, 1)
    data = TrainingData(x, targets, None, member_rows(3, seed), 1)
    assert next(data.batches(6)).x.shape == (3, 6, 2, 4, 5)
    assert data.valid.x.shape == (3, 5, 2, 4, 5)
