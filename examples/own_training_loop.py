"""AdaCap's output layer and loss in a training loop of one's own: PyTorch, no estimator."""

import torch
from sklearn.datasets import make_friedman1
from torch import nn

from adacap.core import draw_permutations, initial_lambda, lambda_grid, stack_labels
from adacap.nn import TikhonovHead


def train(X: torch.Tensor, y: torch.Tensor, n_steps: int = 150) -> nn.Module:
    """Fit ``y`` but not its permutations; the result is an ordinary network."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(X.shape[1], 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU())
    head = TikhonovHead(fit_intercept=True)
    permutations = draw_permutations(len(y), 16, torch.Generator().manual_seed(0))
    labels = stack_labels(y, permutations)
    head.set_lambda(float(initial_lambda(net(X), labels, lambda_grid(), fit_intercept=True)))
    optimizer = torch.optim.AdamW([*net.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(n_steps):
        loss = head.mlr_loss(net(X), labels).value
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return nn.Sequential(net, head.freeze(net(X), y)).eval()


def main() -> None:
    X, y = (torch.tensor(a, dtype=torch.float32) for a in make_friedman1(600, random_state=0))
    X, y = (X - 0.5) / 0.29, (y[:, None] - y.mean()) / y.std()
    network = train(X[:200], y[:200])
    with torch.no_grad():
        error = (network(X[200:]) - y[200:]).square().mean()
    print(f"test R2 {1 - float(error / y[200:].var()):.3f}")


if __name__ == "__main__":
    main()
