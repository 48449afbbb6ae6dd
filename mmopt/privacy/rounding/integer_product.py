"""Products and unions of products, rounded and measured factor by factor, in small integers.

A part of the union, ⊗ᵢ Aᵢ with a share θ, is measured as ⊗ᵢ Kᵢ with integers Kᵢ ≈ cᵢ Aᵢ, and gets noise of
Δ(K) / (Δ(A) θ) times the parameter of the release: shares are noise, and need no bits. The sensitivity of a
part is the product of its factors' exact ones (where rows are replaced, at most twice that), and the costs
of the parts add up. One product is a union of one.

The bits of the entries go where rounding would cost most: for each factor every size of the integers is
tried, with its loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import AnyInts, Array, Ints, qr
from mmopt.privacy.rounding.integer_arithmetic import (
    bound_by_column,
    exactly,
    integer_product,
    largest_entry,
    squared_sensitivity,
)
from mmopt.privacy.rounding.integer_dense import closest, is_one_count, kept_rows, loss_of, rint, unsupported
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, InFactors, Part, digest
from mmopt.strategies import (
    ADD_REMOVE,
    Neighbours,
    ProductStrategy,
    Strategy,
    UnionStrategy,
    one_attribute,
    products_of,
)
from mmopt.workloads import Workload

BITS = (30, 42)
"""Bits of a product's entries, all factors together: answers on 2^31 rows fit into 62 bits, or noise does."""

_SMALL = 24  # cells, up to which every size of integers is tried, not only the powers of two
_SIZES = 2**41
_GOOD = 1e-9  # a loss that is not worth another bit
_SPANNED = 1e-6  # the part of a direction that the integers must keep to span it beyond float errors
_KEPT = 500  # choices that are followed from factor to factor


@dataclass(frozen=True, eq=False)
class RoundedFactor:
    """matrix : integers, about ``scale`` times the factor. loss : logarithm of the worst growth of variance.

    bits : logarithm of the largest entry, to base 2. squared : exact squared sensitivity of the integers.
    """

    matrix: Ints
    scale: float
    loss: float
    bits: float
    squared: int


def choices_of(part: ProductStrategy, workload: Workload) -> list[list[RoundedFactor]] | None:
    """``rounded_choices`` of each factor, for the products that the part supports; None if there are none.

    Raises
    ------
    WorkloadError : as ``kept_rows``.
    """
    spanning = _spanning_by_attribute(part, workload)
    if spanning is None:
        return None
    return [rounded_choices(f, w) for f, w in zip(part.factors, spanning, strict=True)]


def _spanning_by_attribute(part: ProductStrategy, workload: Workload) -> list[Workload] | None:
    """By attribute, rows that span the products that the part supports; None if there are none."""
    variances = part.variances(workload)
    supported = [
        product
        for product, (_, rows) in zip(products_of(workload), workload.groups(), strict=True)
        if np.isfinite(variances[rows]).all()
    ]
    if not supported:
        return None
    return [
        one_attribute([(factor, 1.0) for factor in dict.fromkeys(f.plain.spanning() for f in factors)])
        for factors in zip(*(product.factors for product in supported), strict=True)
    ]


def rounded_choices(strategy: Strategy, workload: Workload) -> list[RoundedFactor]:
    """The factor in integers of ever more bits, each with less loss than all with fewer.

    The loss is at equal privacy, of the worst of all queries on the attribute that the workload's rows span;
    integers that do not span them are left out.

    Raises
    ------
    WorkloadError : as ``kept_rows``.
    """
    rows = kept_rows(strategy, workload)
    triangle = qr(rows.real)
    return choices_by_size(rows.real, rows.basis, strategy, lambda core: _least_kept(core, triangle))


def choices_by_size(
    real: Array, basis: Ints, strategy: Strategy, kept: Callable[[Ints], float]
) -> list[RoundedFactor]:
    """``real @ basis`` in integers of ever more bits, as ``rounded_choices``.

    kept : of integers for the rows of ``real``, as ``_least_kept``.
    """
    largest = float(np.abs(real @ basis).max())
    sizes = [2**b for b in range(_SIZES.bit_length())]
    if strategy.n <= _SMALL:
        sizes = sorted({*sizes, *range(1, 65), *(3 * s for s in sizes), *(5 * s for s in sizes)})
    choices: list[RoundedFactor] = []
    for size in sizes:
        scale = size / largest
        core = rint(real * scale)
        core = core[core.any(axis=1)]
        least = kept(core) / scale
        if least < _SPANNED:
            continue
        matrix = integer_product(core, basis)
        squared = squared_sensitivity(matrix, strategy.norm, ADD_REMOVE)
        loss = math.log(squared / (scale * strategy.sensitivity * least) ** 2)
        if not choices or loss < choices[-1].loss:
            choices.append(RoundedFactor(matrix, scale, loss, math.log2(largest_entry(matrix)), squared))
        if loss <= _GOOD:
            break
    return choices


def _least_kept(core: Ints, triangle: Array) -> float:
    """The least singular value σ of the core over the triangle T of the real rows: 0 where rank is lost.

    A query of coordinates c has the variance |c T⁻¹|² under the real rows, and at most 1 / σ² times that
    under the core.
    """
    return least_singular(scipy.linalg.solve_triangular(triangle, core.T.astype(np.float64), trans="T").T)


def least_singular(matrix: Array) -> float:
    """The least singular value: 0 of fewer rows than columns."""
    rows, columns = matrix.shape
    return float(np.linalg.svd(matrix, compute_uv=False)[-1]) if rows >= columns else 0.0


def best_choice(factors: Sequence[list[RoundedFactor]], bits: float) -> tuple[RoundedFactor, ...]:
    """One choice for each factor, with the least total loss, and at most so many bits in total.

    Losses and bits of a product add up. WorkloadError if there are none.
    """
    chosen: list[tuple[float, float, tuple[RoundedFactor, ...]]] = [(0.0, 0.0, ())]
    for choices in factors:
        longer = [
            (used + new.bits, loss + new.loss, (*before, new))
            for used, loss, before in chosen
            for new in choices
            if used + new.bits <= bits
        ]
        chosen = []
        for candidate in sorted(longer, key=lambda c: c[:2]):
            if not chosen or candidate[1] < chosen[-1][1]:
                chosen.append(candidate)
        chosen = chosen[:: max(1, len(chosen) // _KEPT)] + chosen[-1:]
    if not chosen:
        raise too_many(len(factors), bits)
    return min(chosen, key=lambda c: c[1])[2]


def too_many(count: int, bits: float) -> WorkloadError:
    """The error for so many factors, which need more bits together."""
    return WorkloadError(
        f"the {count} factors of a product do not fit into {bits} bits together",
        hint="choose a template that is rounded less: --templates marginals",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerFactors(InFactors):
    """A union of products in integers: ⊗ᵢ Kᵢ for every part.

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
                rows=math.prod(len(k) for k in factors),
                squared_sensitivity=square,
                largest_answer=math.prod(map(largest_entry, factors)) * MAX_ROWS,
                relative=relative,
                is_one_count=self.neighbours.is_one_row and all(map(is_one_count, factors)),
            )
            for factors, relative, square in zip(self.factors, self.relatives, self.squared, strict=True)
        )

    def squared_sensitivities(self) -> list[int]:
        """One for each part, from its factors."""
        return _squared(self.factors, self.norm, self.neighbours)

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the factors and the relative noise of every part, in row-major order."""
        parts: list[str | Ints] = []
        for factors, relative in zip(self.factors, self.relatives, strict=True):
            parts += [f"{relative!r} {[k.shape for k in factors]}\n", *factors]
        return digest(f"integer-factors 1 {len(self.factors)}\n", *parts)

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (rows,) for a data vector (n,), part by part."""
        parts = zip(self.factors, self.parts, strict=True)
        return np.concatenate([exactly(partial(_product, k), counts, p.largest_answer) for k, p in parts])

    def strategy(self, deviations: Array) -> UnionStrategy:
        """The integers as a union, each part divided by its deviation."""
        return UnionStrategy(self._products, tuple(1.0 / deviations))

    @cached_property
    def _products(self) -> tuple[ProductStrategy, ...]:
        real = ([Strategy(k.astype(np.float64), self.norm) for k in factors] for factors in self.factors)
        return tuple(ProductStrategy(tuple(factors)) for factors in real)


def _product(factors: Sequence[Ints], counts: Array | Ints) -> Any:
    """(⊗ᵢ Kᵢ) x, an axis at a time, the one that shrinks most first.

    Entries and partial sums are at most the product of the factors' largest entries times the rows of data.
    """
    tensor = counts.reshape([k.shape[1] for k in factors])
    for at in sorted(range(len(factors)), key=lambda i: factors[i].shape[0] / factors[i].shape[1]):
        tensor = np.moveaxis(np.tensordot(factors[at], tensor, axes=(1, at)), 0, at)
    return tensor.ravel()


def _squared(factors: Sequence[Sequence[Ints]], norm: int, neighbours: Neighbours) -> list[int]:
    """The squared sensitivity of each product: exact, or a bound where rows are replaced."""
    added = [math.prod(squared_sensitivity(k, norm, ADD_REMOVE) for k in part) for part in factors]
    signs = [all(k.min() >= 0 for k in part) for part in factors]
    return [bound_by_column(a, norm, neighbours, sign) for a, sign in zip(added, signs, strict=True)]


def round_union(
    strategy: ProductStrategy | UnionStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerFactors:
    """Round a product or a union as described above.

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
    by_part = [
        (choices_of(part, workload), share * part.sensitivity)
        for part, share in zip(union.parts, union.shares, strict=True)
    ]
    supported = [(choices, size) for choices, size in by_part if choices is not None]

    def rounded(bits: int) -> IntegerFactors:
        chosen = [best_choice(choices, bits) for choices, _ in supported]
        factors = tuple(tuple(one.matrix for one in part) for part in chosen)
        # A part in small integers may need less noise for its sensitivity, or more: its share of the
        # privacy stays the same, and no other part pays for it.
        grown = [math.sqrt(math.prod(one.squared for one in part)) for part in chosen]
        added = IntegerFactors(
            workload=workload,
            neighbours=ADD_REMOVE,
            norm=strategy.norm,
            factors=factors,
            relatives=tuple(new / old for new, (_, old) in zip(grown, supported, strict=True)),
            squared=tuple(_squared(factors, strategy.norm, ADD_REMOVE)),
        )
        growth = (added.sensitivity / union.sensitivity) ** 2
        return replace(added, loss=loss_of(added.variances * growth, before))

    best = closest(rounded, BITS)
    squared = tuple(_squared(best.factors, strategy.norm, neighbours))
    return replace(best, squared=squared, neighbours=neighbours)
