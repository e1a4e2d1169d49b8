"""A first model: fit, score, see what it is made of, save and load."""

import os

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import adacap


def main() -> None:
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    model = adacap.AdaCapRegressor(quality="fast", random_state=0).fit(X_train, y_train)
    print(f"test R2 {model.score(X_test, y_test):.3f}")
    for part in model.blend_:
        print(f"{part.name}: weight {part.weight:.2f}, out-of-fold error {part.error:.2f}")

    model.save("diabetes.adacap", force=True)
    same = adacap.load("diabetes.adacap")
    is_same = (same.predict(X_test) == model.predict(X_test)).all()
    print(f"the loaded model predicts the same: {is_same}")
    os.remove("diabetes.adacap")


if __name__ == "__main__":
    main()
