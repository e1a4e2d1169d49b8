"""Choose the penalty of a ridge regression without a hold-out, beside cross-validation."""

import warnings

import numpy as np
from sklearn.linear_model import RidgeCV

from adacap.model_selection import RidgeMLR, SignalWarning

try:
    import matplotlib.pyplot as plt
except ImportError:  # no picture then
    plt = None


def main() -> None:
    warnings.simplefilter("ignore", SignalWarning)  # counted below
    errors, doubts = [], 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1100, 60)) @ rng.normal(size=(60, 60)) / 8  # correlated columns
        y = X @ rng.normal(size=60) / 8 + rng.normal(size=1100)
        by_mlr = RidgeMLR(random_state=0).fit(X[:100], y[:100])
        by_cv = RidgeCV(alphas=np.geomspace(1e-2, 1e5, 50), cv=10).fit(X[:100], y[:100])
        doubts += not by_mlr.valid_
        apart = [model.predict(X[100:]) - y[100:] for model in (by_mlr, by_cv)]
        errors.append(np.sqrt(np.square(apart).mean(axis=1)))
    mlr, cv = np.transpose(errors)
    print(f"RidgeMLR doubted its choice on {doubts} of {len(mlr)} tables")
    print(f"mean test RMSE: RidgeMLR {mlr.mean():.3f}, 10-fold RidgeCV {cv.mean():.3f}")

    if plt is not None:
        fig, ax = plt.subplots(figsize=(4, 4), layout="constrained")
        ax.plot(cv, mlr, "o", cv, cv, "-")
        ax.set(xlabel="test RMSE, 10-fold CV", ylabel="test RMSE, MLR: no hold-out")
        fig.savefig("selection.png", dpi=120)


if __name__ == "__main__":
    main()
