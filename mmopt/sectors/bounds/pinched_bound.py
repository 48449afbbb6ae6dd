"""A lower bound of the total error in closed form, for queries of any number of attributes at a time.

‖A‖∗ ≥ Σ ‖A_bb‖∗ for the blocks on the diagonal of A, whatever orthonormal splittings of rows and columns make
them (pinching). With a product measure D = ⊗ μᵢ the columns of W D^½ split into sectors, by √μᵢ and its
complement in each attribute. The rows of a product split the same way, by a direction u of each factor's rows
and its complement. The block of sector S stacks Kronecker products, and by Minkowski's inequality for tr(·)^½

    ‖W D^½‖∗ ≥ Σ_S √(Σ over products that look at all of S  w Π_{others} α² Π_{i in S} τᵢ²),
    α = uᵀ F √D v,   τ = ‖(I - u uᵀ) F √D (I - v vᵀ)‖∗,   v = √μ.

u along F μ makes α largest, u orthogonal to F D^½ (I - v vᵀ) makes τ largest; in between both are nearly so.
The figures are computed: all are sums and products of positive numbers and nuclear norms of small matrices,
off by some 10⁻¹³, for which ``SLACK`` of the whole is taken off.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.residual.products_of_few import FewProduct, Key, products_of_few
from mmopt.sectors.residual.residual_bases import best_residual_strategy
from mmopt.sectors.residual.residual_spaces import ResidualStrategy
from mmopt.workloads import Workload

__all__ = ["pinched_bound", "pinched_bound_at"]

SLACK = 1e-9  # of the sum, for rounding (see above)
TURNS = np.linspace(0.0, 1.0, 13)
"""Directions u that are tried, from that of largest α (0) to that of largest τ (1)."""
ROUNDS = 2  # of choosing them, one factor after the other


def pinched_bound(
    workload: Workload, residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy
) -> float:
    """The bound at the measures of the ``residual`` strategy. Raises as ``products_of_few``."""
    return pinched_bound_at(products_of_few(workload), residual(workload).measures)


def pinched_bound_at(products: Sequence[FewProduct], factors: Sequence[Array]) -> float:
    """The bound of the total error of every strategy at ⊗ factors, (dᵢ,) positive; sensitivity 1.

    Directions are chosen while a time limit leaves time: a bound with any of them.
    """
    tried: dict[Key, list[tuple[float, float]]] = {}
    for product in products:
        for i, gram in zip(product.attributes, product.grams, strict=True):
            if (i, id(gram)) not in tried:
                tried[i, id(gram)] = _splittings(gram, factors[i] / factors[i].sum())
    chosen = {key: options[len(options) // 2] for key, options in tried.items()}
    best = _sum(products, chosen)
    for _ in range(ROUNDS):
        for key, options in tried.items():
            if time_left() <= 0:
                break
            sums = [_sum(products, {**chosen, key: option}) for option in options]
            if max(sums) > best:
                best = max(sums)
                chosen[key] = options[int(np.argmax(sums))]
    return (best * (1 - SLACK)) ** 2


def _splittings(gram: Array, measure: Array) -> list[tuple[float, float]]:
    """(α², τ²) of each direction that is tried; the rows F √D up to rotation are a root of D^½ G D^½."""
    v = np.sqrt(measure)
    values, vectors = scipy.linalg.eigh(v[:, None] * gram * v)
    rows = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    means = rows @ v
    inside = rows - np.multiply.outer(means, v)
    beside = scipy.linalg.svd(inside)[0][:, -1]  # inside has rank d - 1 at most
    first, last = means / np.linalg.norm(means), beside * (1.0 if beside @ means >= 0 else -1.0)
    found = []
    for turn in TURNS:
        u = (1 - turn) * first + turn * last
        u = u / np.linalg.norm(u)
        singular = scipy.linalg.svd(inside - np.multiply.outer(u, u @ inside), compute_uv=False)
        found.append((float(u @ means) ** 2, float(singular.sum()) ** 2))
    return found


def _sum(products: Sequence[FewProduct], chosen: dict[Key, tuple[float, float]]) -> float:
    squares: dict[tuple[int, ...], float] = defaultdict(float)
    for product in products:
        own = [chosen[i, id(g)] for i, g in zip(product.attributes, product.grams, strict=True)]
        for inside in itertools.product((0, 1), repeat=len(own)):
            sector = tuple(itertools.compress(product.attributes, inside))
            squares[sector] += product.weight * math.prod(
                pair[at] for pair, at in zip(own, inside, strict=True)
            )
    return math.fsum(map(math.sqrt, squares.values()))
