"""Torch modules: backbones without a head, heads, and the paper's architecture table."""

from adacap.nn.backbones import GLU, MLP, SNN, ConvNet, ResNet, glorot_uniform, he_uniform
from adacap.nn.linear import LinearHead
from adacap.nn.modules import Backbone, TikhonovHead
from adacap.nn.presets import ARCHITECTURES, PRESETS

__all__ = [
    "ARCHITECTURES", "GLU", "MLP", "PRESETS", "SNN", "Backbone", "ConvNet", "LinearHead", "ResNet",
    "TikhonovHead", "glorot_uniform", "he_uniform",
]  # fmt: skip
