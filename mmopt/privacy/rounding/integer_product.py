"""A product of strategies rounded factor by factor, the factors in small integers.

⊗ᵢ Aᵢ is measured as ⊗ᵢ Kᵢ with integers Kᵢ ≈ cᵢ Aᵢ. Its entries stay below 2^30, so that answers on 2^31 rows
of data fit into 62 bits; these bits go where rounding would cost most: every size of the integers is tried
for each factor, and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, qr
from mmopt.privacy.rounding.integer_arithmetic import integer_product, largest_entry, squared_sensitivity
from mmopt.privacy.rounding.rounded_rows import kept_rows, rint
from mmopt.strategies import ADD_REMOVE, ProductStrategy, Strategy, one_attribute, products_of
from mmopt.workloads import Workload

__all__ = ["BITS", "RoundedFactor", "best_choice", "round_product", "rounded_choices"]

BITS = 30
"""Of a product's entries, all factors together."""

_SMALL = 24  # cells, up to which every size of integers is tried, and not the powers of two alone
_SIZES = 2**22
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


def round_product(part: ProductStrategy, workload: Workload) -> tuple[RoundedFactor, ...] | None:
    """The factors in integers, for the products of the workload that they support; None if there are none.

    Raises
    ------
    WorkloadError : as ``kept_rows``, or they do not fit together.
    """
    asked = _asked(part, workload)
    if asked is None:
        return None
    choices = [rounded_choices(f, w) for f, w in zip(part.factors, asked, strict=True)]
    best = best_choice(choices, BITS)
    if best is None:
        raise WorkloadError(
            f"the {len(choices)} factors of a product do not fit into {BITS} bits together",
            hint="choose a template that is rounded less: --templates marginals",
        )
    return best


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
    largest = float(np.abs(rows.real @ rows.basis).max())
    triangle = qr(rows.real)
    sizes = [2**b for b in range(_SIZES.bit_length())]
    if strategy.n <= _SMALL:
        sizes = sorted({*sizes, *range(1, 65), *(3 * s for s in sizes), *(5 * s for s in sizes)})
    found: list[RoundedFactor] = []
    for size in sizes:
        scale = size / largest
        core = rint(rows.real * scale)
        least = _least_kept(core[core.any(axis=1)], triangle) / scale
        if least < _SPANNED:
            continue
        matrix = integer_product(core[core.any(axis=1)], rows.basis)
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
    if core.shape[0] < core.shape[1]:
        return 0.0
    over = scipy.linalg.solve_triangular(triangle, core.T.astype(np.float64), trans="T")
    return float(np.linalg.svd(over, compute_uv=False)[-1])


def best_choice(factors: Sequence[list[RoundedFactor]], bits: float) -> tuple[RoundedFactor, ...] | None:
    """One choice for each factor, of least loss together, with at most so many bits together; None if none.

    Losses and bits of a product add up.
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
    return min(chosen, key=lambda c: c[1])[2] if chosen else None
