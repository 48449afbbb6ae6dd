"""The best strategy for queries of one attribute, from their Gram matrix: a design problem in its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array, require_memory

__all__ = ["AttributeDesign", "attribute_design", "contrast_gram"]

MOST_STEPS = 2000
STEP_POWER = 2.0
"""A value's multiplier is multiplied by the length there to this power: exact at once for orthogonal queries,
and no slower than smaller powers on prefixes of 10 and 100 values (34 and 49 steps to a gap of 1e-10)."""
RANK = 1e-13
"""Eigenvalues below this part of the largest count as none: they are rounding of the Gram matrix."""
LEAST_MEASURE = 1e-12
"""Of a value: where multipliers vanish the strategy would be a quotient of numbers that are all rounding."""
LEAST_FACTOR = 1e-3  # of one step: what a value keeps of its multiplier
ARRAYS_AT_ONCE = 3


@dataclass(frozen=True, eq=False)
class AttributeDesign:
    """A strategy X = AᵀA of an attribute's values, its largest entry on the diagonal 1.

    strategy : (d, d), psd, of the same range as the Gram matrix. measure : (d,), the multipliers, of sum 1.
    inverse : (d, d), X⁻ with X X⁻ X = X. error : tr(G X⁻), the total squared error at sensitivity 1.
    bound : a lower bound of the error of every strategy, (tr (D^½ G D^½)^½)² / Σd, computed.
    """

    strategy: Array
    inverse: Array
    measure: Array
    error: float
    bound: float


def contrast_gram(gram: Array, base: Array) -> Array:
    """PᵀG P with P = I - base 1ᵀ: the Gram matrix of queries less their means under ``base``, of sum 1."""
    means = gram @ base
    return np.asarray(gram - means - means[:, None] + base @ means)


def attribute_design(
    gram: Array, gap: float = 1e-10, start: Array | None = None, steps: int = MOST_STEPS
) -> AttributeDesign:
    """The strategy of least total error for a Gram matrix (d, d), by multiplicative steps on its dual.

    The dual is approximate optimal design (Pukelsheim, Optimal Design of Experiments, chapter 6): with
    K = D^½ G D^½ and t = tr K^½ the strategy is X = D^{-½} K^½ D^{-½} / t, whose squared lengths are 1 where
    the multipliers D are best. They stop at this gap, after so many steps, or when a time limit is over; the
    strategy is valid then too.
    start : (d,) positive multipliers to start from, of sum 1; uniform ones unless given.

    Raises
    ------
    TooLargeError : beyond the memory limit.
    """
    d = len(gram)
    require_memory((d, d), "strategy of one attribute", share=ARRAYS_AT_ONCE)
    measure = np.full(d, 1.0 / d) if start is None else start
    for step in range(steps):
        root = np.sqrt(measure)
        values, vectors = scipy.linalg.eigh(root[:, None] * gram * root)
        singular = np.sqrt(np.where(values > RANK * values[-1], values, 0.0))
        t = float(singular.sum())
        lengths = (vectors**2 @ singular) / (measure * t) if t else np.zeros(d)
        if lengths.max() <= 1 + gap or step == steps - 1 or time_left() <= 0:
            break
        measure = measure * np.maximum(lengths, LEAST_FACTOR) ** STEP_POWER
        measure = np.maximum(measure / measure.sum(), LEAST_MEASURE)
    if not t:
        return AttributeDesign(np.zeros((d, d)), np.zeros((d, d)), measure, 0.0, 0.0)
    half = vectors * np.sqrt(singular / t) / root[:, None]
    strategy = half @ half.T
    most = float(strategy.diagonal().max())
    kept = singular > 0
    half = (root[:, None] * vectors[:, kept]) * np.sqrt(t * most / singular[kept])
    return AttributeDesign(strategy / most, half @ half.T, measure, t * t * most, t * t / measure.sum())
