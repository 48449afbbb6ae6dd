"""Products of strategies side by side, rounded and measured by factors; one product is a union of one.

A part of the union, ⊗ᵢ Aᵢ with a share θ, is measured as ⊗ᵢ Kᵢ with integers Kᵢ ≈ cᵢ Aᵢ, and gets noise of
Δ(K) / (Δ(A) θ) times the parameter of the release: shares are noise, and need no bits. The sensitivity of a
part is the product of its factors' exact ones (where rows are replaced, at most twice that), and the costs
of the parts add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from mmopt.numerics.arrays import AnyInts, Array, Ints
from mmopt.privacy.rounding.integer_arithmetic import (
    bound_by_column,
    exactly,
    largest_entry,
    squared_sensitivity,
)
from mmopt.privacy.rounding.integer_product import BITS, best_choice, choices_of
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, InFactors, Part, digest
from mmopt.privacy.rounding.rounded_rows import closest, is_one_count, loss_of, unsupported
from mmopt.strategies import (
    ADD_REMOVE,
    Neighbours,
    ProductStrategy,
    Strategy,
    UnionStrategy,
    products_of,
)
from mmopt.workloads import Workload

__all__ = ["IntegerFactors", "round_union"]


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerFactors(InFactors):
    """⊗ᵢ Kᵢ of every part.

    factors : by part and attribute, (pᵢ, nᵢ) int64. relatives : the noise of each part over that of the
    release. squared : the squared sensitivity of each part, exact for rows that are added or removed.
    """

    factors: tuple[tuple[Ints, ...], ...]
    relatives: tuple[float, ...]
    squared: tuple[int, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every product."""
        return tuple(
            Part(
                rows=math.prod(len(k) for k in own),
                squared_sensitivity=square,
                largest_answer=math.prod(map(largest_entry, own)) * MAX_ROWS,
                relative=relative,
                is_one_count=self.neighbours.is_one_row and all(map(is_one_count, own)),
            )
            for own, relative, square in zip(self.factors, self.relatives, self.squared, strict=True)
        )

    def squared_sensitivities(self) -> list[int]:
        """One for each part, from its factors."""
        return _squared(self.factors, self.norm, self.neighbours)

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the factors and the relative noise of every part, in row-major order."""
        parts: list[str | Ints] = []
        for own, relative in zip(self.factors, self.relatives, strict=True):
            parts += [f"{relative!r} {[k.shape for k in own]}\n", *own]
        return digest(f"integer-factors 1 {len(self.factors)}\n", *parts)

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (rows,) for a data vector (n,), part by part."""
        parts = zip(self.factors, self.parts, strict=True)
        return np.concatenate([exactly(partial(_product, own), counts, p.largest_answer) for own, p in parts])

    def strategy(self, deviations: Array) -> UnionStrategy:
        """The integers as a union, each part divided by its deviation."""
        return UnionStrategy(self._products, tuple(1.0 / deviations))

    @cached_property
    def _products(self) -> tuple[ProductStrategy, ...]:
        real = ([Strategy(k.astype(np.float64), self.norm) for k in own] for own in self.factors)
        return tuple(ProductStrategy(tuple(own)) for own in real)


def _product(factors: Sequence[Ints], counts: Array | Ints) -> Any:
    """(⊗ᵢ Kᵢ) x, an axis at a time, what shrinks most first.

    Entries and partial sums are at most the product of the factors' largest entries times the rows of data.
    """
    tensor = counts.reshape([k.shape[1] for k in factors])
    for at in sorted(range(len(factors)), key=lambda i: factors[i].shape[0] / factors[i].shape[1]):
        tensor = np.moveaxis(np.tensordot(factors[at], tensor, axes=(1, at)), 0, at)
    return tensor.ravel()


def _squared(factors: Sequence[Sequence[Ints]], norm: int, neighbours: Neighbours) -> list[int]:
    """The squared sensitivity of each product: exact, or where rows are replaced a bound."""
    added = [math.prod(squared_sensitivity(k, norm, ADD_REMOVE) for k in own) for own in factors]
    signs = [all(k.min() >= 0 for k in own) for own in factors]
    return [bound_by_column(a, norm, neighbours, sign) for a, sign in zip(added, signs, strict=True)]


def round_union(
    strategy: ProductStrategy | UnionStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerFactors:
    """Round as the module says.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : the strategy does not support the workload, or its factors do not fit together.
    """
    union = strategy if isinstance(strategy, UnionStrategy) else UnionStrategy((strategy,), (1.0,))
    products_of(workload)
    before = union.variances(workload)
    if not np.isfinite(before).all():
        raise unsupported()
    own = [
        (choices_of(part, workload), share * part.sensitivity)
        for part, share in zip(union.parts, union.shares, strict=True)
    ]
    known = [(choices, size) for choices, size in own if choices is not None]

    def rounded(bits: int) -> IntegerFactors:
        chosen = [best_choice(choices, bits) for choices, _ in known]
        factors = tuple(tuple(one.matrix for one in part) for part in chosen)
        # What is small in integers may need less noise for its sensitivity, or more: its part of the
        # privacy stays what it was, and no other part pays for it.
        grown = [math.sqrt(math.prod(one.squared for one in part)) for part in chosen]
        added = IntegerFactors(
            workload=workload,
            neighbours=ADD_REMOVE,
            norm=strategy.norm,
            factors=factors,
            relatives=tuple(new / old for new, (_, old) in zip(grown, known, strict=True)),
            squared=tuple(_squared(factors, strategy.norm, ADD_REMOVE)),
        )
        growth = (added.sensitivity / union.sensitivity) ** 2
        return replace(added, loss=loss_of(added.variances * growth, before))

    found = closest(rounded, BITS)
    squared = tuple(_squared(found.factors, strategy.norm, neighbours))
    return replace(found, squared=squared, neighbours=neighbours)
