"""Solve a Kronecker product factor by factor.

Theorem. For W = W_1 ⊗ … ⊗ W_s let A_i and multipliers d_i solve the program for W_i. Then ⊗ A_i and ⊗ d_i
solve it for W, and the optimum is the product of theirs, for every program whose numbers are made of its
arrays by atoms that turn a Kronecker product into a product (``composed_workloads.py``): traces, sums,
nuclear norms, maxima of what is not negative. Li et al. (VLDB Journal 24, 2015, section 4.4) have it for
total error.

It holds for one product, with one weight and one target for all its queries; a union of products has no such
optimum. The weight and the target go to the first factor.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.reductions.reduction_step import (
    CELLS_AND_QUERIES,
    ReductionStep,
    SolvedPart,
    Traits,
    smaller,
)
from mmopt.numerics.matrix_functions import Array
from mmopt.strategies import Strategy, as_dense
from mmopt.workloads import Domain, Product, Workload
from mmopt.workloads.blocks.factor_blocks import Factor

__all__ = ["KroneckerProduct", "applies"]


@dataclass(frozen=True, eq=False, kw_only=True)
class KroneckerProduct(ReductionStep):
    """Parts in the order of the attributes; attributes of one cell and one query are left out."""

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The Kronecker products of the strategies and of the multipliers."""
        matrix = _kron([as_dense(p.strategy).matrix for p in parts])
        known = [self.along(p, CELLS_AND_QUERIES) for p in parts]
        names = [name for name in known[0] if all(name in k for k in known)]
        multipliers = {name: _kron([k[name][0] for k in known]) for name in names}
        bounds = [p.bound for p in parts if p.bound is not None]
        bound = math.prod(bounds) if len(bounds) == len(parts) else None
        return SolvedPart(Strategy(matrix, parts[0].strategy.norm), multipliers, bound)


def applies(instance: Instance, traits: Traits) -> KroneckerProduct | None:
    """One product with at least two factors that ask for anything."""
    if not traits.factors.kind:
        return None
    workload = instance.workload
    if len(products := workload.products or ()) != 1:
        return None
    (product,) = products
    pairs = zip(workload.domain.attributes, product.factors, strict=True)
    asked = [(a, f) for a, f in pairs if not _is_one(f)]
    if len(asked) < 2:
        return None
    finite = math.isfinite(product.target)
    parts = [
        Workload(
            Domain((attribute,)),
            (
                Product(
                    (factor,),
                    weight=1.0 if place else product.weight,
                    target=(1.0 if place else product.target) if finite else math.inf,
                ),
            ),
        )
        for place, (attribute, factor) in enumerate(asked)
    ]
    sizes = " x ".join(f"{w.n:,}" for w in parts)
    text = f"Kronecker product: {workload.n:,} -> {sizes} cells"
    names = tuple(f"factor '{attribute.name}'" for attribute, _ in asked)
    found, axes = smaller(instance, *parts), traits.acts.multipliers
    return KroneckerProduct(text=text, parts=found, names=names, multiplies=True, axes=axes)


def _kron(arrays: Sequence[Array]) -> Array:
    return functools.reduce(lambda one, two: np.asarray(np.kron(one, two), dtype=float), arrays)


def _is_one(factor: Factor) -> bool:
    """Whether the factor is the number 1."""
    return factor.rows == factor.size == 1 and float(factor.matrix()[0, 0]) == 1.0
