"""Why a prediction is what it is, by columns and by rows, and a picture of it: why.png."""

from sklearn.datasets import load_diabetes

from adacap import AdaCapRegressor

try:
    import matplotlib.pyplot as plt
except ImportError:  # no picture then
    plt = None


def main() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X_train, y_train, X_new = X[:200], y[:200], X[200:]
    model = AdaCapRegressor(quality="fast", random_state=0).fit(X_train, y_train)

    patient = X_new[:1]
    found = model.explain(patient)
    print(found)
    total = found.base_values + found.values.sum(1)
    print(f"adds up: {abs(total - model.predict(patient))[0]:.0e}")

    leans = model.influence(patient, X_train, y_train)
    for label, moved in leans.top(0, 3):
        print(f"row {label} of the table moves it by {moved:+.1f}")

    if plt is not None:
        from adacap.report import draw

        effects = model.effects(X_train)
        fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
        draw(found, axes[0])
        for effect, ax in zip(effects.effects[:2], axes[1:], strict=True):
            draw(effect, ax)
        fig.savefig("why.png", dpi=120)


if __name__ == "__main__":
    main()
