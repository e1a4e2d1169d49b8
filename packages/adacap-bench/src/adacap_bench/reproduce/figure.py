"""What a figure shows, as plain data: a record holds it, and both drawings are made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FigureData", "Panel", "Series"]


@dataclass(frozen=True)
class Series:
    """One curve, set of points or set of bars."""

    name: str
    x: tuple[Any, ...]  # numbers or texts
    y: tuple[float, ...]
    error: tuple[float, ...] = ()  # half the length of error bars
    style: str = "line"  # or "dashed", as the paper's figures are, or "bar"


@dataclass(frozen=True)
class Panel:
    """Axes with series, or instead a matrix of numbers from 0 to 1 shown in shades."""

    title: str
    x_label: str = ""
    y_label: str = ""
    series: tuple[Series, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class FigureData:
    """Panels side by side under one caption.

    Examples
    --------
    >>> curve = Series("ours", (1, 2), (0.5, 0.4))
    >>> figure = FigureData("Error falls.", (Panel("n", series=(curve,)),))
    >>> FigureData.from_dict(figure.to_dict()) == figure
    True
    """

    caption: str
    panels: tuple[Panel, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FigureData:
        """From what :meth:`to_dict` gave, read back from JSON or not."""
        return cls(data["caption"], tuple(_panel(panel) for panel in data["panels"]))


def _panel(data: dict[str, Any]) -> Panel:
    series = tuple(
        Series(one["name"], tuple(one["x"]), tuple(one["y"]), tuple(one["error"]), one["style"])
        for one in data["series"]
    )
    matrix = tuple(tuple(row) for row in data["matrix"])
    return Panel(**{**data, "series": series, "matrix": matrix})


def labels(panels: Sequence[Panel]) -> list[str]:
    """Names of series in the order of their first appearance, the same colour in every panel."""
    return list(dict.fromkeys(one.name for panel in panels for one in panel.series))
