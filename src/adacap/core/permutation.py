"""Label permutations: labels that carry no pattern, so fitting them is memorisation."""

import torch
from torch import Tensor

__all__ = ["draw_permutations", "stack_labels"]


def draw_permutations(n_samples: int, n_permutations: int, generator: torch.Generator) -> Tensor:
    """Draw row permutations, once before training.

    Parameters
    ----------
    n_samples : int
    n_permutations : int
        ``T`` in the paper, 16 there; 0 gives an empty block.
    generator : torch.Generator
        Source of randomness; the global generator is never used.

    Returns
    -------
    Tensor of shape (n_permutations, n_samples), int64

    Examples
    --------
    >>> draw_permutations(4, 2, torch.Generator().manual_seed(0)).sort(dim=1).values
    tensor([[0, 1, 2, 3],
            [0, 1, 2, 3]])
    """
    if n_samples < 2 and n_permutations > 0:
        raise ValueError(
            f"AdaCap needs at least 2 training rows to permute labels, got n_samples={n_samples}."
        )
    if n_permutations < 0:
        raise ValueError(f"n_permutations must be 0 or more, got {n_permutations}.")
    if n_permutations == 0:
        return torch.empty(0, n_samples, dtype=torch.int64, device=generator.device)
    draws = [
        torch.randperm(n_samples, generator=generator, device=generator.device)
        for _ in range(n_permutations)
    ]
    return torch.stack(draws)


def stack_labels(targets: Tensor, permutations: Tensor) -> Tensor:
    """Put the true labels and their permuted copies side by side.

    Parameters
    ----------
    targets : Tensor of shape (n_samples, n_targets)
    permutations : Tensor of shape (n_permutations, n_samples)

    Returns
    -------
    Tensor of shape (n_samples, 1 + n_permutations, n_targets)
        Label set 0 is the truth. A minibatch is a choice of rows of this tensor.

    Examples
    --------
    >>> stack_labels(torch.tensor([[1.0], [2.0]]), torch.tensor([[1, 0]])).squeeze(-1)
    tensor([[1., 2.],
            [2., 1.]])
    """
    if targets.ndim != 2 or permutations.shape[-1] != targets.shape[0]:
        raise ValueError(
            "targets must be (n_samples, n_targets) and permutations (T, n_samples), got "
            f"{tuple(targets.shape)} and {tuple(permutations.shape)}."
            + (" Use targets[:, None] for one target." if targets.ndim == 1 else "")
        )
    return torch.cat([targets.unsqueeze(1), targets[permutations.T]], dim=1)
