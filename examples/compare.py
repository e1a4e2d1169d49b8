"""Would another method do better? Methods on repeated splits, with a test that is corrected."""

from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV

from adacap import AdaCapRegressor
from adacap.comparison import compare


def main() -> None:
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    methods = {
        "adacap": AdaCapRegressor(quality="fast", random_state=0),
        "forest": RandomForestRegressor(random_state=0),
        "ridge": RidgeCV(),
    }
    found = compare(methods, X, y, n_splits=5)
    print(found)
    for other in ("forest", "ridge"):
        difference = found.difference("adacap", other)
        print(f"adacap against {other}: p = {difference.p_value:.3f}")


if __name__ == "__main__":
    main()
