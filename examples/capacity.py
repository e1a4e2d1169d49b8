"""Learning or memorising: the same table with its labels, and with labels in random order."""

import numpy as np
from sklearn.datasets import load_diabetes

from adacap import AdaCapRegressor, report

try:
    import matplotlib.pyplot as plt
except ImportError:  # no picture then
    plt = None


def main() -> None:
    X, y = load_diabetes(return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(y)
    models = {}
    for name, labels in (("true labels", y), ("shuffled labels", shuffled)):
        model = AdaCapRegressor(quality="nets", width=64, max_iter=60, random_state=0)
        models[name] = model.fit(X, labels)
        capacity = model.capacity()
        print(
            f"{name}: memorisation gap {capacity.memorisation_gap:.2f}, "
            f"p-value on held-out rows {capacity.holdout_p_value:.3f}"
        )

    if plt is not None:
        fig, axes = plt.subplots(1, 2, sharex=True, figsize=(9, 3.5), layout="constrained")
        for ax, (name, model) in zip(axes, models.items(), strict=True):
            report.draw(report.label_fits(model), ax=ax)
            ax.set_title(name)
        fig.savefig("capacity.png", dpi=120)


if __name__ == "__main__":
    main()
