"""Intervals that hold nine new rows in ten, and a picture of them: intervals.png."""

import numpy as np

from adacap import AdaCapRegressor

try:
    import matplotlib.pyplot as plt
except ImportError:  # no picture then
    plt = None


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 400)
    y = np.sin(2 * x) + 0.5 * x + rng.normal(scale=0.3, size=400)
    X_train, y_train, X_new, y_new = x[:150, None], y[:150], x[150:, None], y[150:]

    model = AdaCapRegressor(quality="fast", random_state=0).fit(X_train, y_train)
    lower, upper = model.predict_interval(X_new, coverage=0.9).T
    inside = (lower <= y_new) & (y_new <= upper)
    print(f"inside their interval: {inside.mean():.0%} of new rows")
    print(f"mean width {(upper - lower).mean():.2f}; the noise alone needs {2 * 1.645 * 0.3:.2f}")

    if plt is not None:
        order = X_new[:, 0].argsort()
        fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
        ax.fill_between(X_new[order, 0], lower[order], upper[order], alpha=0.25, label="90 %")
        ax.plot(X_new[order, 0], model.predict(X_new)[order], label="prediction")
        ax.plot(X_new, y_new, ".", ms=3, color="black", label="new rows")
        ax.legend()
        fig.savefig("intervals.png", dpi=120)


if __name__ == "__main__":
    main()
