"""The paper's architecture table as data: eight rows, three training schemes."""

from dataclasses import dataclass

__all__ = ["ARCHITECTURES", "PRESETS", "PRESET_SCHEMES", "ArchitectureSpec", "Preset"]

PRESET_SCHEMES = ("adacap", "tikhonov", "plain")

_HOUR = 3600.0


@dataclass(frozen=True)
class ArchitectureSpec:
    """One row of the architecture table; ``depth`` counts blocks."""

    backbone: str
    depth: int
    width: int = 512
    max_iter: int | None = 500
    max_epochs: int | None = None
    batch_size: int = 2048
    max_lr: float = 1e-2
    time_limit: float | None = None


ARCHITECTURES: dict[str, ArchitectureSpec] = {
    "fast-mlp": ArchitectureSpec("mlp", 2, width=256, max_iter=200),
    "mlp": ArchitectureSpec("mlp", 2),
    "batch-mlp": ArchitectureSpec(
        "mlp", 2, max_iter=None, max_epochs=20, batch_size=256, time_limit=_HOUR
    ),
    "fast-snn": ArchitectureSpec("snn", 2, width=256, max_iter=200),
    "snn": ArchitectureSpec("snn", 2),
    "resblock": ArchitectureSpec("resblock", 2),
    "batch-resblock": ArchitectureSpec(
        "resblock", 2, max_iter=None, max_epochs=50, batch_size=256, time_limit=_HOUR
    ),
    "glu-mlp": ArchitectureSpec("glu", 3),
}


@dataclass(frozen=True)
class Preset:
    """An architecture trained under one scheme."""

    architecture: ArchitectureSpec
    scheme: str


PRESETS: dict[str, Preset] = {
    name if scheme == "plain" else f"{scheme}-{name}": Preset(spec, scheme)
    for name, spec in ARCHITECTURES.items()
    for scheme in PRESET_SCHEMES
}
