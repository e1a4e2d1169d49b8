"""A convolutional network of one's own as backbone: few-shot digits.

Any function that builds an ``nn.Module`` with an ``(n, J)`` output can be the architecture. Twenty
images of each digit are enough to see the schemes differ.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from adacap import AdaCapClassifier


class SmallCNN(nn.Module):
    """Two convolutions and one dense layer; no output layer, adacap adds it."""

    def __init__(self, image_shape: tuple[int, ...]) -> None:
        super().__init__()
        channels, height, width = image_shape
        self.features = nn.Sequential(
            nn.Conv2d(channels, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(32 * (height // 2) * (width // 2), 64), nn.ReLU(),
        )  # fmt: skip

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.features(images)


def main() -> None:
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).reshape(-1, 1, 8, 8)
    order = np.random.default_rng(0).permutation(len(labels))
    train = np.concatenate([order[labels[order] == digit][:20] for digit in range(10)])
    test = np.setdiff1d(order, train)
    for scheme in ("plain", "tikhonov", "adacap"):
        model = AdaCapClassifier(
            architecture=SmallCNN, preprocessing="none", scheme=scheme, max_iter=100, random_state=0
        )
        model.fit(images[train], labels[train])
        print(f"{scheme}: test accuracy {model.score(images[test], labels[test]):.3f}")


if __name__ == "__main__":
    main()
