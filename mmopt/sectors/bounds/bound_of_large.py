"""A lower bound of the total error at a product measure, where K = D^½ WᵀW D^½ is too large to decompose.

At sensitivity 1 the error of every strategy is at least ‖W D^½‖∗² / Σd = (tr K^½)² / Σd. With the inequality
√x ≥ Σ cⱼ x / (x + sⱼ) + c x on [0, tr K] that ``rational_root.py`` proves,

    tr K^½ ≥ Σ cⱼ tr K (K + sⱼ)⁻¹ + c tr K,

and each term is exact but for rounding (``pair_resolvents.py``). Half of f is the gradient of tr K^½ in the
measure, and half of the mean of f given an attribute's value its gradient in the attribute's factor; these
come from the same resolvents, K^½ ≈ Σ cⱼ (I - sⱼ (K + sⱼ)⁻¹) + c K.

The figures are computed, not yet proved. A term is c tr K (K + s)⁻¹ = c (r - s tr (K + s)⁻¹): the rounding of
the inverse is relative to s ‖(K + s)⁻¹‖ ≤ 1 and to the condition tr K / s of the Schur complement, so some
10⁻¹⁶ c r tr K / s, for which ``SLACK`` of the whole is taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.bounds.pair_gram import pair_gram
from mmopt.sectors.bounds.pair_resolvents import resolvent
from mmopt.sectors.bounds.rational_root import rational_root
from mmopt.sectors.residual.products_of_few import FewProduct, products_of_few
from mmopt.sectors.residual.residual_bases import best_residual_strategy
from mmopt.sectors.residual.residual_spaces import ResidualStrategy
from mmopt.workloads import Workload

__all__ = ["ProductBound", "best_product_bound", "product_bound"]

ROUGH = (1.2, 1.5)
"""Step and reach of the nodes while a measure is searched."""
SLACK = 1e-9  # of the sum, for rounding (see above)
LEAST_SHARE = 1e-9  # of a value in its attribute's factor


class _TimeIsOver(Exception):
    """Leaves the search, whose best measure is kept."""


@dataclass(frozen=True, eq=False)
class ProductBound:
    """bound : of the total squared error at sensitivity 1. factors : (dᵢ,) the measure, each of sum 1.

    means : (dᵢ,) an attribute, the mean of f given its value; all 1 where the measure is the best product.
    """

    bound: float
    factors: tuple[Array, ...]
    means: tuple[Array, ...]


def product_bound(
    products: Sequence[FewProduct], factors: Sequence[Array], is_rough: bool = False
) -> ProductBound:
    """The bound at ⊗ factors, each (dᵢ,) positive of sum 1; rough: a few per cent lower, with half the nodes.

    Raises as ``pair_gram``.
    """
    gram = pair_gram(products, factors)
    root = rational_root(gram.least, gram.trace, *(ROUGH if is_rough else ()))
    value, found = root.slope * gram.trace, gram.whole().plus(gram.whole(), root.slope - 1)
    one = gram.identity()
    for weight, shift in zip(root.weights, root.shifts, strict=True):
        share, inverse = resolvent(gram, float(shift))
        value += weight * share
        found = found.plus(one, weight).plus(inverse, -weight * shift)
    means = []
    for factor, basis, slope, square in zip(factors, gram.bases, found.slopes, found.squares, strict=True):
        b = basis / np.sqrt(factor)[:, None]
        mean = found.trace - square.trace() + 2 * (b @ slope) + np.einsum("xa,ab,xb->x", b, square, b)
        means.append(mean / found.trace)
    return ProductBound((value * (1 - SLACK)) ** 2, tuple(factors), tuple(means))


def best_product_bound(
    workload: Workload,
    steps: int = 20,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> ProductBound:
    """The largest bound found over product measures, by so many steps of a quasi-Newton method (L-BFGS-B).

    It starts from the measures of the ``residual`` strategy, which are next to the best. Over a time limit
    it ends with the best so far.
    Raises as ``pair_gram`` and ``products_of_few``.
    """
    products = products_of_few(workload)
    sizes = [attribute.size for attribute in workload.domain.attributes]
    pair_gram(products, [np.full(size, 1 / size) for size in sizes])  # refused before any search
    starts = residual(workload).measures
    ends = np.cumsum([len(start) for start in starts])[:-1]
    best: list[ProductBound] = []

    def loss(logits: Array) -> tuple[float, Array]:
        if best and time_left() <= 0:
            raise _TimeIsOver
        factors = [_softmax(part) for part in np.split(logits, ends)]
        found = product_bound(products, factors, is_rough=True)
        if not best or found.bound > best[0].bound:
            best[:] = [found]
        slopes = [
            factor * (mean - factor @ mean) for factor, mean in zip(found.factors, found.means, strict=True)
        ]
        return -float(np.log(found.bound)), -np.concatenate(slopes)

    logits = np.log(np.concatenate(starts))
    with suppress(_TimeIsOver):
        scipy.optimize.minimize(loss, logits, jac=True, method="L-BFGS-B", options={"maxfun": steps})
    return product_bound(products, best[0].factors)


def _softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max())
    shares = np.maximum(shares / shares.sum(), LEAST_SHARE)
    return np.asarray(shares / shares.sum())
