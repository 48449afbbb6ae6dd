"""A product of strategies rounded factor by factor, the factors in small integers.

⊗ᵢ Aᵢ is measured as ⊗ᵢ Kᵢ with integers Kᵢ ≈ cᵢ Aᵢ. The bits of its entries go where rounding would cost
most: every size of the integers is tried for each factor, and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, qr
from mmopt.privacy.rounding.integer_arithmetic import integer_product, largest_entry, squared_sensitivity
from mmopt.privacy.rounding.rounded_rows import kept_rows, rint
from mmopt.strategies import ADD_REMOVE, ProductStrategy, Strategy, one_attribute, products_of
from mmopt.workloads import Workload

__all__ = [
    "BITS",
    "RoundedFactor",
    "best_choice",
    "choices_by_size",
    "choices_of",
    "least_singular",
    "rounded_choices",
    "too_many",
]

BITS = (30, 42)
"""Of a product's entries, all factors together: answers on 2^31 rows fit into 62 bits, or noise does."""

_SMALL = 24  # cells, up to which every size of integers is tried, and not the powers of two alone
_SIZES = 2**41
_GOOD = 1e-9  # a loss that is not worth another bit
_SPANNED = 1e-6  # of a direction, what the integers must keep to span it beyond float errors
_KEPT = 500  # choices that are followed from factor to factor


@dataclass(frozen=True, eq=False)
class RoundedFactor:
    """matrix : integers, about ``scale`` times the factor. loss : by what the worst variance grew, logarithm.

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
    asked = _asked(part, workload)
    if asked is None:
        return None
    return [rounded_choices(f, w) for f, w in zip(part.factors, asked, strict=True)]


def _asked(part: ProductStrategy, workload: Workload) -> list[Workload] | None:
    """By attribute, what spans the products that the part supports; None if there are none."""
    variances = part.variances(workload)
    told = [
        product
        for product, (_, rows) in zip(products_of(workload), workload.groups(), strict=True)
        if np.isfinite(variances[rows]).all()
    ]
    if not told:
        return None
    return [
        one_attribute([(factor, 1.0) for factor in dict.fromkeys(f.plain.spanning() for f in own)])
        for own in zip(*(product.factors for product in told), strict=True)
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
    found: list[RoundedFactor] = []
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
        if not found or loss < found[-1].loss:
            found.append(RoundedFactor(matrix, scale, loss, math.log2(largest_entry(matrix)), squared))
        if loss <= _GOOD:
            break
    return found


def _least_kept(core: Ints, triangle: Array) -> float:
    """The least singular value of the core over the triangle T of the real rows: 0 where rank is lost.

    A query of coordinates c has the variance |c T⁻¹|² under the real rows, and at most 1 / σ² times that
    under the core.
    """
    return least_singular(scipy.linalg.solve_triangular(triangle, core.T.astype(np.float64), trans="T").T)


def least_singular(matrix: Array) -> float:
    """The least singular value: 0 of fewer rows than columns."""
    rows, columns = matrix.shape
    return float(np.linalg.svd(matrix, compute_uv=False)[-1]) if rows >= columns else 0.0


def best_choice(factors: Sequence[list[RoundedFactor]], bits: float) -> tuple[RoundedFactor, ...]:
    """One choice for each factor, of least loss together, with at most so many bits together.

    Losses and bits of a product add up. WorkloadError if there are none.
    """
    chosen: list[tuple[float, float, tuple[RoundedFactor, ...]]] = [(0.0, 0.0, ())]
    for own in factors:
        longer = [
            (used + new.bits, loss + new.loss, (*before, new))
            for used, loss, before in chosen
            for new in own
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
    """So many factors need more bits together."""
    return WorkloadError(
        f"the {count} factors of a product do not fit into {bits} bits together",
        hint="choose a template that is rounded less: --templates marginals",
    )
