"""Values of variables and multipliers: arrays, or split into components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.language import Program, evaluate
from mmopt.numerics.components import Level, Split, lift
from mmopt.numerics.numpy_forms import Array, symmetric_part

__all__ = ["as_value", "dense", "is_finite", "plain", "split_meaning", "total"]


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


def split_meaning(program: Program, env: Mapping[str, Any]) -> tuple[Split, Split | None, Split | None]:
    """The strategy that a point by components stands for; covariance and basis where it says those."""
    meaning = program.meaning
    found: Split = evaluate(meaning.expr, env)
    if meaning.kind == "strategy":
        return found, None, None
    basis: Split = env[meaning.basis]
    covariance = Split(found.rows, found.columns, tuple(symmetric_part(part) for part in found.parts))
    parts = tuple(_whitened(s, b) for s, b in zip(covariance.parts, basis.parts, strict=True))
    return Split(basis.rows, basis.columns, parts), covariance, basis


def _whitened(covariance: Array, basis: Array) -> Array:
    """Σ^(-1/2) B."""
    values, vectors = scipy.linalg.eigh(covariance)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ basis)
