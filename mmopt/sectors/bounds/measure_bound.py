"""The bound of the total error at the best product of measures that a few trials find."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.optimize

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.bounds.root_trace import root_trace_below
from mmopt.sectors.residual.attribute_design import attribute_design, contrast_gram
from mmopt.sectors.residual.products_of_few import FewProduct

__all__ = ["best_measure_bound"]

TRIALS = 6  # of a mixing number
ALIKE = 1e-4  # of measures, in one value
RANK = 1e-9  # of a contrast next to the largest, squared


def best_measure_bound(
    products: Sequence[FewProduct], measures: Sequence[Array], off: float = 0.0
) -> tuple[float, tuple[Array, ...]]:
    """A lower bound of the total squared error of every strategy of sensitivity 1, and its measures.

    measures : (dᵢ,) positive, those of the designs of a strategy by sets of attributes. Where queries of an
    attribute differ in one direction only (two values; one predicate) each measure is a design's. There the
    uniform one is mixed with that of the design of Σ w G, by one number for all such attributes.
    off : as for ``root_trace_below``.

    Raises TooLargeError as ``root_trace_below``.
    """
    sums: dict[int, Array] = {}
    for product in products:
        for i, gram in zip(product.attributes, product.grams, strict=True):
            sums[i] = sums.get(i, 0.0) + product.weight * gram
    mixed = {i: attribute_design(gram).measure for i, gram in sums.items() if _is_one_contrast(gram)}
    found: list[tuple[float, tuple[Array, ...]]] = []

    start: list[Array] = []
    for measure in measures:  # next to one another they are made equal: equal attributes share work
        alike = (own for own in start if own.shape == measure.shape and np.abs(own - measure).max() <= ALIKE)
        start.append(next(alike, measure))

    def loss(share: float) -> float:
        at = list(start)
        for i, measure in mixed.items():
            at[i] = (1 - share) / len(measure) + share * measure / measure.sum()
        bound = float(np.nextafter(root_trace_below(products, at, off) ** 2, 0.0))
        found.append((bound, tuple(at)))
        return -bound

    if mixed and time_left() > 0:
        scipy.optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"maxiter": TRIALS})
    else:
        loss(0.0)
    return max(found, key=lambda one: one[0])


def _is_one_contrast(gram: Array) -> bool:
    """Whether the queries of an attribute, less their means, are multiples of one."""
    d = len(gram)
    values = np.linalg.eigvalsh(contrast_gram(gram, np.full(d, 1 / d)))
    return d > 1 and bool(values[-1] > 0) and (d == 2 or bool(values[-2] <= RANK * values[-1]))
