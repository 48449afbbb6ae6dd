"""Values of variables and multipliers: arrays, or split into components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.numerics.components import Level, Split, lift

__all__ = ["as_value", "dense", "is_finite", "plain", "total"]


def as_value(value: Any) -> Any:
    """An array of floats; what is split stays so."""
    return value if isinstance(value, Split | Level) else np.asarray(value, dtype=float)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as floats, everything else as it is: what the evaluator takes."""
    return {n: v if isinstance(v, Split | Level) or np.ndim(v) else float(v) for n, v in values.items()}


def is_finite(value: Any) -> bool:
    """Whether all entries are."""
    if isinstance(value, Split):
        return all(bool(np.isfinite(part).all()) for part in value.parts)
    return bool(np.isfinite(value.values if isinstance(value, Level) else value).all())


def total(value: Any) -> float:
    """The sum of the absolute values of a vector's entries."""
    if isinstance(value, Level):
        return float(np.abs(value.values) @ value.space.sizes)
    return float(np.abs(value).sum())


def dense(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as arrays; what is split is lifted."""
    return {n: lift(v) if isinstance(v, Split | Level) else v for n, v in values.items()}
