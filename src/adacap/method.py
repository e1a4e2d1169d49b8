"""AdaCap in plain torch: the paper as one short program, without a single speed trick.

    python -m adacap.method

trains a small net three times on a built-in table and prints the test error: *plain* (an ordinary
output layer), *Tikhonov* (the output layer is the ridge solution on the last hidden layer, its λ
trained with the weights) and *AdaCap* (Tikhonov with the MLR loss in place of the fit). The library
computes the same numbers faster: its tests compare it with this file, step by step.

Symbols are the paper's: A the last hidden layer (n×J), λ, P and H = AP the Tikhonov operators, Y
the labels, T permuted copies of them. Row weights w and the intercept are ours.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

N_PERMUTATIONS = 16  # T
GRID = torch.logspace(-1, 4, 12, dtype=torch.float64)  # of λ, from which training starts


def mean(block: Tensor, w: Tensor | None) -> Tensor:
    """Mean over rows, weighted if there are weights."""
    return block.mean(0) if w is None else w @ block / w.sum()


def tikhonov(A: Tensor, Y: Tensor, lam: Tensor, w: Tensor | None, intercept: bool) -> "OutputLayer":
    """The output layer P·Y with P = (AᵀA + λI)⁻¹Aᵀ (paper, eq. 2), and its intercept."""
    a, y = (mean(A, w), mean(Y, w)) if intercept else (A.new_zeros(A.shape[1]), Y.new_zeros(1))
    C = A - a
    CtW = C.T if w is None else C.T * w
    W = torch.linalg.solve(CtW @ C + lam * torch.eye(A.shape[1]).to(A), CtW @ (Y - y))
    return OutputLayer(W, y - a @ W)


class OutputLayer(NamedTuple):
    """An output layer: weights and intercept."""

    W: Tensor
    b: Tensor

    def __call__(self, A: Tensor) -> Tensor:
        """Its output; H·Y on the rows that it was solved on (paper, eq. 4)."""
        return A @ self.W + self.b


def rmse(prediction: Tensor, Y: Tensor, w: Tensor | None = None) -> Tensor:
    """Root mean squared error of each column."""
    return mean((Y - prediction).square(), w).sqrt()


def mlr(A: Tensor, labels: Tensor, lam: Tensor, w: Tensor | None, intercept: bool) -> Tensor:
    """The MLR loss (paper, eq. 7): fit of the true labels, the first column, minus the others'."""
    fits = rmse(tikhonov(A, labels, lam, w, intercept)(A), labels, w)
    return fits[0] - fits[1:].mean() if len(fits) > 1 else fits[0]


def start_of_lambda(A: Tensor, labels: Tensor, w: Tensor | None, intercept: bool) -> Tensor:
    """Where λ starts: the middle of the grid step over which the MLR loss rises most."""
    path = torch.stack([mlr(A, labels, lam.to(A), w, intercept) for lam in GRID])
    k = int(path.diff().argmax())
    return (GRID[k] * GRID[k + 1]).sqrt()


class Result(NamedTuple):
    """The net at its best iteration with its layer frozen, and losses and λ on the way."""

    predict: Callable[[Tensor], Tensor]
    losses: list[float]
    lambdas: list[float]
    best: int


def train(
    net: nn.Module,
    scheme: str,
    x: Tensor,
    labels: Tensor,
    x_valid: Tensor,
    y_valid: Tensor,
    *,
    w: Tensor | None = None,
    intercept: bool = False,
    head: nn.Linear | None = None,
    lam: float | None = None,
    max_iter: int = 200,
    max_lr: float = 1e-2,
) -> Result:
    """Train a net that maps (n, d) to (n, J), with all rows in each step.

    ``labels`` (n, 1 + T): the true ones, then permuted ones, which only AdaCap uses. ``head``:
    the layer of the plain scheme. ``lam``: start of λ, by default the paper's rule.
    """
    Y = labels if scheme == "adacap" else labels[:, :1]
    with torch.no_grad():
        start = start_of_lambda(net(x), labels, w, intercept) if lam is None else lam
    log_lambda = torch.as_tensor(start, dtype=torch.float64).log().to(x).requires_grad_()
    trained = [*net.parameters(), *(head.parameters() if head else [log_lambda])]
    optimizer = torch.optim.Adam(trained, lr=max_lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr, total_steps=max_iter)
    best, losses, lambdas = float("inf"), list[float](), list[float]()
    for step in range(max_iter):
        A, now = net(x), log_lambda.exp()
        if head is not None:  # plain
            layer, loss = OutputLayer(head.weight.T, head.bias), rmse(head(A), Y, w)[0]
        else:  # the layer is solved, and the loss compares its fit of true and permuted labels
            layer, loss = tikhonov(A, Y[:, :1], now, w, intercept), mlr(A, Y, now, w, intercept)
        with torch.no_grad():  # on rows that the layer has not seen
            error = float(rmse(layer(net(x_valid)), y_valid)[0])
        if error < best:
            best, best_step, frozen = error, step, copy.deepcopy(net)
            kept = OutputLayer(*(tensor.detach().clone() for tensor in layer))
        losses, lambdas = [*losses, float(loss.detach())], [*lambdas, float(now.detach())]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return Result(lambda rows: kept(frozen(rows)).detach(), losses, lambdas, best_step)


def main() -> None:
    """Train the three schemes on scikit-learn's diabetes table and print their test errors."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    x, Y = torch.tensor(X).float()[order], torch.tensor(y).float()[order, None]
    x, Y = (x - x.mean(0)) / x.std(0), (Y - Y.mean()) / Y.std()
    train_rows, valid, test = slice(0, 200), slice(200, 250), slice(250, None)
    draws = torch.Generator().manual_seed(0)
    permuted = [Y[train_rows][torch.randperm(200, generator=draws)] for _ in range(N_PERMUTATIONS)]
    labels = torch.cat([Y[train_rows], *permuted], 1)
    for scheme in ("plain", "tikhonov", "adacap"):
        net = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        head = nn.Linear(128, 1) if scheme == "plain" else None
        for k, layer in enumerate([net[0], net[2], *([head] if head else [])]):
            for tensor in layer.parameters():  # Kaiming-uniform, the same for all three schemes
                bound, seed = (10 if k == 0 else 128) ** -0.5, torch.Generator().manual_seed(k)
                tensor.data.uniform_(-bound, bound, generator=seed)
        result = train(net, scheme, x[train_rows], labels, x[valid], Y[valid], head=head)
        error = float(rmse(result.predict(x[test]), Y[test])[0])
        ends = "" if head else f", λ {result.lambdas[0]:.3g} → {result.lambdas[result.best]:.3g}"
        print(f"{scheme:9} test RMSE {error:.3f} (best iteration {result.best}{ends})")


if __name__ == "__main__":
    main()
