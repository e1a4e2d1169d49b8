"""What the parameter ``preprocessing`` of the estimators may be, in plain data."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

__all__ = ["Preprocessing", "encoder_options"]

Preprocessing: TypeAlias = Literal["default", "paper", "none"] | dict[str, Any]


def encoder_options(preprocessing: Preprocessing) -> dict[str, Any]:
    """Options of the encoder that an estimator's parameter ``preprocessing`` asks for.

    Examples
    --------
    >>> encoder_options({"read_text": False})
    {'policy': 'default', 'read_text': False}
    """
    if isinstance(preprocessing, str):
        return {"policy": preprocessing}
    return {"policy": "default", **preprocessing}
