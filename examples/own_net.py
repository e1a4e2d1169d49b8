"""A network of your own as backbone: any function that builds a module with (n, J) outputs."""

from sklearn.datasets import make_friedman1
from torch import nn

from adacap import AdaCapRegressor


def small_net(d_in: int) -> nn.Module:
    """Hidden layers only: adacap adds the output layer, and solves it."""
    return nn.Sequential(
        nn.Linear(d_in, 64), nn.LayerNorm(64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU()
    )


def main() -> None:
    X, y = make_friedman1(500, noise=1.0, random_state=0)
    for scheme in ("plain", "adacap"):
        model = AdaCapRegressor(architecture=small_net, scheme=scheme, max_iter=150, random_state=0)
        model.fit(X[:100], y[:100])
        print(f"{scheme}: test R2 {model.score(X[100:], y[100:]):.3f}")


if __name__ == "__main__":
    main()
