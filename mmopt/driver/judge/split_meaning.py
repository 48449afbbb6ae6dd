"""What a point by components stands for: the strategy, or covariance and basis, by component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.language import Program, evaluate
from mmopt.numerics.components import Split
from mmopt.numerics.numpy_forms import Array, symmetric_part

__all__ = ["split_meaning"]


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
