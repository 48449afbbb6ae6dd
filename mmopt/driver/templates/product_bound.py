"""A lower bound on total error for unions of products, from multipliers that are products themselves.

Theorem. For p >= 0 with Σ p = 1, every strategy of sensitivity 1 (L2, and so L1) has total error at least
‖W diag(√p)‖²_* (the certificate of ``l2_strategy``), and ‖K‖_* >= tr(MᵀK) whenever MᵀM ⪯ I.
Let p = p₁ ⊗ … ⊗ p_d, Kᵢⱼ = Fᵢⱼ diag(√pᵢ), and let vᵢ = √pᵢ, the direction of the total. Where every
UᵢⱼᵀUᵢⱼ (Uᵢⱼ Sᵢⱼ = Kᵢⱼ the polar form) commutes with vᵢvᵢᵀ, attribute i splits into vᵢ and its complement;
the subspaces that choose one of the two for each such attribute are orthogonal, and
M = Σ_s (μ_sj ⊗ᵢ Uᵢⱼ Π_si)ⱼ with Σⱼ μ²_sj = 1 has MᵀM ⪯ I. The best μ give

    ‖W diag(√p)‖_* >= Σ_s √(Σⱼ wⱼ Πᵢ tr(Sᵢⱼ Π_si)²).

Products that differ in one attribute only count as one there: their Gram matrices add up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import Array, svd
from mmopt.strategies.product_strategy import ProductStrategy, one_attribute, products_of
from mmopt.workloads import Factor, Workload

__all__ = ["multipliers_of", "product_bound"]

CHARGED = 1e-9
"""Taken off, relatively, for 40 attributes or fewer: for singular vectors orthonormal to rounding, and for
``COMMUTES``. Cross terms of d attributes lift MᵀM by d times that at most.
"""

NEGLIGIBLE = 1e-14
"""Of the largest: subspaces on which no product has more are left out, which lowers the bound.

Of 2^d these are all but a few where products look at few of the attributes: a total is zero on a complement.
"""

COMMUTES = 1e-11  # of v: what may lie outside the row space, or inside; so large are the cross terms of MᵀM
SUPPORT = 1e-12  # of the largest singular value: less is left out, which lowers the bound


def multipliers_of(strategy: ProductStrategy, workload: Workload) -> list[Array]:
    """Per attribute the prices of its values (``Strategy.prices``) in the workload that the others leave it.

    Where the strategy's factors are optimal these are their multipliers.
    """
    products = products_of(workload.weighed)
    errors = np.array(
        [
            [float(own.variances(one_attribute([(p.factors[i], 1.0)])).sum()) for p in products]
            for i, own in enumerate(strategy.factors)
        ]
    )
    weights = np.array([p.weight for p in products])
    found = []
    for i, own in enumerate(strategy.factors):
        others = weights * np.delete(errors, i, axis=0).prod(axis=0)
        asked = [
            (p.factors[i], float(weight)) for p, weight in zip(products, others / others.max(), strict=True)
        ]
        found.append(own.prices(one_attribute(asked)))
    return found


def product_bound(workload: Workload, multipliers: Sequence[Array]) -> float:
    """The bound of the theorem, (rounded down), at pᵢ = multipliers / their sum and at equal pᵢ.

    Parameters
    ----------
    workload : from products. multipliers : per attribute (nᵢ,), nonnegative; ``multipliers_of`` say.
    """
    equal = [np.ones(len(own)) for own in multipliers]
    return max(_bound(workload, multipliers), _bound(workload, equal))


def _bound(workload: Workload, multipliers: Sequence[Array]) -> float:
    terms = _merged(workload)
    found = np.ones((1, len(terms)))  # (subspaces, terms)
    for i, own in enumerate(multipliers):
        p = np.maximum(np.asarray(own, dtype=float), 0.0)
        distinct = list(dict.fromkeys(term[i] for term, _ in terms))
        split = _split(distinct, p / p.sum())
        place = [distinct.index(term[i]) for term, _ in terms]
        found = np.vstack([found * row[place] for row in split])
        largest = found.max(axis=1)
        found = found[largest > NEGLIGIBLE * largest.max()]
    weights = np.array([weight for _, weight in terms])
    norm = np.sqrt(np.square(found) @ weights).sum()
    return float(norm**2 * (1.0 - CHARGED * max(1.0, len(multipliers) / 40)))


Term = tuple[tuple[Factor, ...], ...]  # per attribute the factors whose Gram matrices add up


def _merged(workload: Workload) -> list[tuple[Term, float]]:
    """Products as terms; those of one weight that differ in one attribute only are one."""
    terms: list[tuple[Term, float]] = [
        (tuple((f,) for f in p.factors), p.weight) for p in products_of(workload.weighed)
    ]
    for i in range(len(workload.domain.shape)):
        joined: dict[tuple[Term, Term, float], list[Factor]] = {}
        for term, weight in terms:
            joined.setdefault((term[:i], term[i + 1 :], weight), []).extend(term[i])
        terms = [((*before, tuple(own), *after), weight) for (before, after, weight), own in joined.items()]
    return terms


def _split(distinct: Sequence[tuple[Factor, ...]], p: Array) -> Array:
    """tr(S Π) of each on v = √p and on its complement, (2, distinct); their sums where it may not split."""
    v = np.sqrt(p)
    along, whole, is_split = [], [], True
    for factors in distinct:
        singular, rows = svd(one_attribute([(f, 1.0) for f in factors]).root * v)
        kept = singular > SUPPORT * singular[0]
        singular, rows = singular[kept], rows[kept]
        part = rows @ v
        # The projection on the row space commutes with v vᵀ where v lies in that space or is orthogonal.
        outside = float(np.linalg.norm(v - part @ rows))
        inside = float(np.linalg.norm(part))
        is_split = is_split and min(inside, outside) <= COMMUTES * float(np.linalg.norm(v))
        along.append(float(singular @ np.square(part)) / float(v @ v))
        whole.append(float(singular.sum()))
    if not is_split:
        return np.array([whole])
    return np.array([along, np.maximum(np.array(whole) - along, 0.0)])
