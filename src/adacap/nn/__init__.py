"""Torch modules: backbones without a head, heads, and the paper's architecture table."""

from adacap.nn.backbones import GLU, MLP, SNN, ConvNet, ResNet
from adacap.nn.heads import LinearHead, TikhonovHead
from adacap.nn.initialisation import glorot_uniform
from adacap.nn.presets import ARCHITECTURES, BACKBONES, PRESETS

__all__ = [
    "ARCHITECTURES",
    "BACKBONES",
    "GLU",
    "MLP",
    "PRESETS",
    "SNN",
    "ConvNet",
    "LinearHead",
    "ResNet",
    "TikhonovHead",
    "glorot_uniform",
]
