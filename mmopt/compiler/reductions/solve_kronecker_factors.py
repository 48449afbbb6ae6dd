"""Solve a Kronecker product factor by factor.

Theorem. For W = W_1 ⊗ … ⊗ W_s let A_i and multipliers d_i solve the program for W_i. Then ⊗ A_i and ⊗ d_i
solve it for W, and the optimum is the product of theirs, for every program whose numbers are made of its
arrays by atoms that turn a Kronecker product into a product (``composed_workloads.py``): traces, sums,
nuclear norms, maxima of what is not negative. Li et al. (VLDB Journal 24, 2015, section 4.4) have it for
total error.

It holds for one product, with one weight and one target for all its queries; a union of products has no such
optimum. The weight and the target go to the first factor that is no number.

Over few cells the product of the solutions is formed and judged. Over many (``in_factors``) nothing is:
each factor has a certified solution of its own, and that the whole is their product follows from the theorem.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.invariance.workload_actions import PERMUTED
from mmopt.compiler.reductions.reduction_step import (
    CELLS_AND_QUERIES,
    ReductionStep,
    SolvedPart,
    Traits,
    reducible,
    smaller,
    traits_of,
)
from mmopt.errors import whole as whole_number
from mmopt.strategies import Strategy, as_dense
from mmopt.workloads import Domain, Product, Workload
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["KroneckerProduct", "applies", "in_factors", "workloads_of_factors"]


@dataclass(frozen=True, eq=False, kw_only=True)
class KroneckerProduct(ReductionStep):
    """Parts in the order of the attributes; attributes of one cell and one query are left out."""

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The Kronecker products of the strategies and of the multipliers."""
        matrix = kron([as_dense(p.strategy).matrix for p in parts])
        known = [self.along(p, CELLS_AND_QUERIES) for p in parts]
        names = [name for name in known[0] if all(name in k for k in known)]
        multipliers = {name: kron([k[name][0] for k in known]) for name in names}
        bounds = [p.bound for p in parts if p.bound is not None]
        bound = math.prod(bounds) if len(bounds) == len(parts) else None
        return SolvedPart(Strategy(matrix, parts[0].strategy.norm), multipliers, bound)


def applies(instance: Instance, traits: Traits) -> KroneckerProduct | None:
    """One product with at least two factors that ask for anything."""
    if not traits.factors.kind:
        return None
    found = zip(instance.workload.domain.attributes, workloads_of_factors(instance.workload), strict=False)
    asked = {a.name: part for a, part in found if part.shape != (1, 1) or part.matrix[0, 0] != 1.0}
    if len(asked) < 2:
        return None
    return _step(instance, traits, asked, smaller(instance, *asked.values()))


def workloads_of_factors(workload: Workload) -> tuple[Workload, ...]:
    """The factor of each attribute of a workload that is one product; of any other none.

    They are over cells without a name, so that equal factors are equal workloads, and solved once.
    """
    if len(products := workload.products or ()) != 1:
        return ()
    (product,) = products
    finite = math.isfinite(product.target)
    first = next((place for place, factor in enumerate(product.factors) if factor.shape != (1, 1)), 0)
    return tuple(
        Workload(
            Domain.anonymous(factor.size),
            (
                Product(
                    (factor,),
                    weight=product.weight if place == first else 1.0,
                    target=(product.target if place == first else 1.0) if finite else math.inf,
                ),
            ),
        )
        for place, factor in enumerate(product.factors)
    )


def in_factors(workload: Workload, parts: Sequence[Instance]) -> tuple[Instance, KroneckerProduct] | None:
    """The program for a product, with sizes and numbers alone, and the step to its factors, of which nothing
    is formed; None where the whole is not their product."""
    first = parts[0]
    passed = [p.name for p in first.program.parameters if np.ndim(first.env[p.name]) == 0]
    numbers = {name: first.env[name] for name in passed}
    sizes = {name: math.prod(part.sizes()[name] for part in parts) for name in first.sizes()}
    whole = replace(first, workload=workload, env=MappingProxyType({**sizes, **numbers}))
    traits = traits_of(first)
    if not (traits.factors.kind and traits.acts.allows(*PERMUTED) and reducible(whole)):
        return None
    names = [attribute.name for attribute in workload.domain.attributes]
    return whole, _step(whole, traits, names, tuple(parts))


def _step(
    instance: Instance, traits: Traits, attributes: Iterable[str], parts: tuple[Instance, ...]
) -> KroneckerProduct:
    sizes = " x ".join(f"{part.workload.n:,}" for part in parts)
    return KroneckerProduct(
        text=f"Kronecker product: {whole_number(instance.workload.n)} -> {sizes} cells",
        parts=parts,
        names=tuple(f"factor '{name}'" for name in attributes),
        multiplies=True,
        axes=traits.acts.multipliers,
    )
