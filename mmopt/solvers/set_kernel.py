"""The kernel of strategies by sets of attributes: weights of the sets, and what proves a bound.

With the rows of each set fixed, Σ_S E_S / x_S at Σ x_S = 1 is least at x_S ∝ √E_S. For the largest of the
queries' Σ_S v_S / x_S next to their targets E is that of weights of the queries, which are multiplied by the
variances that they have, to a power, again and again. Measure and weights of the bound are those that the
rows were found with (``strategies.set_cells``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.bounds.measure_bound import best_measure_bound
from mmopt.sectors.measures import Mixture
from mmopt.sectors.search.best_design import Design
from mmopt.strategies.set_cells import SetCells, that_fit

__all__ = ["least_largest", "least_total"]

LEAST_SHARE = 1e-9  # of a set: one whose error is nothing beside the others is measured too
STEPS, PATIENCE = 1000, 50  # of the weights of queries, and those in which the largest has to fall
FALL, POWER = 1e-4, 0.5


def least_total(cells: SetCells, root: Split) -> Design:
    """The best weights of the sets for the queries' total error."""
    shares, total = _shares(np.array([float(part[0, 0]) ** 2 for part in root.parts]))
    products = that_fit(cells.products, cells.unit.sizes)
    measures = best_measure_bound(products, cells.measures, cells.gram_rounding)[1]
    return _design(measures, shares, total)


def least_largest(cells: SetCells, queries: Split, targets: Array, beside: float) -> Design:
    """Weights of the sets at which the largest variance next to its target (m,) is small.

    beside : the weight that all variances have besides; their sum, so weighted, is added to the largest.
    """
    squares = [np.square(part[:, 0]) for part in queries.parts]
    labels = queries.rows.labels
    assert labels is not None
    weights = cells.weights if len(cells.weights) else np.full(len(targets), 1.0 / len(targets))
    best, first, since = (np.inf, np.ones(0)), weights, 0
    for _ in range(STEPS):
        y = weights / targets + beside
        errors = np.array([float(own @ y[label]) for own, label in zip(squares, labels, strict=True)])
        shares, _ = _shares(errors)
        variances = np.zeros(len(targets))
        for own, label, share in zip(squares, labels, shares, strict=True):
            variances[label] += own / share
        ratios = variances / targets
        largest = float(ratios.max()) + beside * float(variances.sum())
        since = 0 if largest < best[0] * (1.0 - FALL) else since + 1
        if largest < best[0]:
            best = largest, shares
        if since > PATIENCE or time_left() <= 0:
            break
        weights = weights * (ratios / float(weights @ ratios)) ** POWER
        weights = weights / weights.sum()
    return _design(cells.measures, best[1], best[0], first)


def _shares(errors: Array) -> tuple[Array, float]:
    """The best x (K,) of sum 1 for Σ E_S / x_S, and its value."""
    roots = np.sqrt(errors)
    roots = np.maximum(roots, LEAST_SHARE * roots.sum())
    return roots / roots.sum(), float(roots.sum()) ** 2


def _design(
    measures: Sequence[Array], shares: Array, value: float, of_queries: Array | None = None
) -> Design:
    """A design whose bound the program's own evaluation finds: what stands for it here is its value."""
    measure = Mixture(np.ones(1), tuple(own[None] for own in measures))
    parts: Sequence[Array] = tuple(shares.reshape(-1, 1, 1))
    return Design(measure, value, tuple(parts), value, value, of_queries)
