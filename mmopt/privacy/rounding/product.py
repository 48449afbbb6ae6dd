"""A product of strategies, or a union of products, rounded factor by factor.

A part of the union, ⊗ᵢ Aᵢ with a share θ, is measured as ⊗ᵢ Kᵢ with integers Kᵢ ≈ cᵢ Aᵢ, and gets noise of
Πᵢ cᵢ / θ times the parameter of the release: shares are noise, and need no bits. The sensitivity of a part is
the product of its factors' exact ones (where rows are replaced, at most twice that), and the costs of the
parts add up. The entries of a part stay below 2^30, so that answers on 2^31 rows of data fit into 62 bits;
these bits go where rounding would cost most.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.privacy.rounding.factors import IntegerFactors
from mmopt.privacy.rounding.lattice import check_loss, unsupported
from mmopt.privacy.rounding.one_attribute import best_choice, rounded_choices
from mmopt.privacy.rounding.protocol import Neighbours, replaced
from mmopt.strategies.product import ProductStrategy, one_attribute, products_of
from mmopt.strategies.union import UnionStrategy
from mmopt.workloads.workload import Workload

__all__ = ["FACTORED_LOSS_LIMIT", "round_factored"]


FACTORED_LOSS_LIMIT = 1.1
"""Largest accepted factor by which rounding multiplies the variance of a query: the factors share the bits.

Predicted errors are those of the rounded strategy, so that nothing is hidden by it.
"""

_DENSE = (
    "too many attributes are measured in detail for 64-bit integers; '--templates marginals' needs no bits"
)
_BITS = 30  # of a part's entries, all factors together


def round_factored(
    strategy: ProductStrategy | UnionStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerFactors:
    """Round as the module says.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : the strategy does not support the workload, or rounding loses more than
        FACTORED_LOSS_LIMIT of a variance at equal privacy.
    """
    union = strategy if isinstance(strategy, UnionStrategy) else UnionStrategy((strategy,), (1.0,))
    products_of(workload)
    before = union.variances(workload)
    if not np.isfinite(before).all():
        raise unsupported()
    factors, relatives, squared = [], [], []
    for part, share in zip(union.parts, union.shares, strict=True):
        asked = _asked(part, workload)
        if asked is None:
            continue
        choices = [rounded_choices(f, w) for f, w in zip(part.factors, asked, strict=True)]
        own = best_choice(choices, _BITS)
        if own is None:
            raise WorkloadError(
                f"the {len(choices)} factors of a product do not fit into {_BITS} bits together",
                hint="choose a template that is rounded less: --templates marginals",
            )
        factors.append(tuple(rounded.matrix for rounded in own))
        squared.append(math.prod(rounded.squared for rounded in own))
        relatives.append(math.prod(rounded.scale for rounded in own) / share)
    found = IntegerFactors(
        workload, tuple(factors), tuple(relatives), tuple(squared), strategy.norm, "add-remove"
    )
    growth = (found.sensitivity / union.sensitivity) ** 2
    loss = check_loss(found.variances * growth, before, _BITS, FACTORED_LOSS_LIMIT, _DENSE)
    if neighbours != "add-remove":
        squared = [
            replaced(square, strategy.norm, all(matrix.min() >= 0 for matrix in own))
            for square, own in zip(squared, factors, strict=True)
        ]
    return replace(found, squared=tuple(squared), neighbours=neighbours, loss=loss)


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
