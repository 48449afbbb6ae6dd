"""MWEM on a line of cells (Hardt, Ligett, McSherry: NIPS 2012). SIMULATION ONLY.

It keeps an estimate of all cells, at first flat. In each round the exponential mechanism chooses the query
that the estimate answers worst, Laplace noise measures it, and multiplicative weights move the estimate
towards what was measured so far. The paper takes the number of rows as known; here a share of ε measures it.

Privacy (a row more or less). The estimate of a round is made of earlier outputs alone. Given it, a row moves
|q x - q estimate| by at most 1 where the entries of q are between 0 and 1: so choosing with chances in
proportion to exp(ε' |q x - q estimate| / 2) is ε'-private, and so is q x with Laplace noise of scale 1/ε'.
All 2 ROUNDS steps and the total compose, each one adaptively, and their shares add up to ε.

We know of no library that takes a workload of one's own; ``slides_list.py`` says where others live. The noise
is numpy's, in floating point: nothing here may be used on data that are not known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ROUNDS", "TOTAL_SHARE", "estimate", "worst_query"]

Array = npt.NDArray[np.float64]

ROUNDS = 10
TOTAL_SHARE = 0.05
"""Of ε, for the number of rows."""
PASSES = 100  # over what was measured, after each round


def worst_query(gaps: Array, epsilon: float, rng: np.random.Generator) -> int:
    """The exponential mechanism on gaps (m,) of sensitivity 1: the largest with Gumbel noise added."""
    return int(np.argmax(gaps + rng.gumbel(scale=2.0 / epsilon, size=len(gaps))))


def estimate(W: Array, x: Array, epsilon: float, rng: np.random.Generator) -> Array:
    """Estimated counts (n,). ValueError if an entry of W (m, n) is below 0 or above 1."""
    if W.min() < 0.0 or W.max() > 1.0:
        raise ValueError(f"entries of W are between {W.min():g} and {W.max():g}, expected 0 and 1")
    share = (1.0 - TOTAL_SHARE) * epsilon / (2 * ROUNDS)
    total = max(1.0, x.sum() + rng.laplace(scale=1.0 / (TOTAL_SHARE * epsilon)))
    counts = np.full(len(x), total / len(x))
    measured = []
    for _ in range(ROUNDS):
        query = W[worst_query(np.abs(W @ (x - counts)), share, rng)]
        told = query @ x + rng.laplace(scale=1.0 / share)
        # No query counts more than all rows: without this the weights can overflow.
        measured.append((query, min(max(told, 0.0), total)))
        for _ in range(PASSES):
            for q, answer in measured:
                counts = counts * np.exp(q * (answer - q @ counts) / (2.0 * total))
                counts *= total / counts.sum()
    return counts
