"""What a baseline measures: rows, kept implicit, and the error of least squares from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mmopt.numerics.arrays import Array
from mmopt.strategies.dense import Strategy
from mmopt.strategies.product import ProductStrategy, one_attribute
from mmopt.workloads.blocks.factor import Factor
from mmopt.workloads.blocks.kron import Kron
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.workload import Workload

__all__ = ["Design", "by_attribute"]


@dataclass(frozen=True, eq=False)
class Design:
    """Rows to be measured.

    rows : A (p, n), unscaled. detail : what was chosen for this workload, in words; may be empty.
    own_error : ‖W A⁺‖²_F of a workload without a matrix; None where A has to be formed. It may return None
        for a workload that it does not know how to take apart.
    own_variances : likewise, of each unweighted query (m,).
    """

    rows: Implicit
    detail: str = ""
    own_error: Callable[[Workload], float | None] | None = None
    own_variances: Callable[[Workload], Array | None] | None = None

    def squared(self, workload: Workload) -> float:
        """The total squared error ‖W A⁺‖²_F, weighted, for noise of unit variance (no sensitivity).

        Infinity where the rows do not determine the workload. TooLargeError where A has to be formed and does
        not fit in memory.
        """
        found = None if self.own_error is None else self.own_error(workload)
        if found is None:
            return self._explicit.total_error(workload) / self._explicit.sensitivity**2
        return found

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query (m,) for noise of unit variance (no sensitivity).

        Infinity for a query that the rows do not determine; TooLargeError as for ``squared``.
        """
        found = None if self.own_variances is None else self.own_variances(workload)
        return self._explicit.variances(workload) if found is None else found

    @cached_property
    def _explicit(self) -> Strategy:
        return Strategy(self.rows.matrix())


def by_attribute(blocks: Sequence[Implicit], detail: str = "") -> Design:
    """A₁ ⊗ … ⊗ A_d; the error of a union of products is taken attribute by attribute (tr(⊗ Gᵢ) = Π tr Gᵢ)."""
    if len(blocks) == 1:
        return Design(blocks[0], detail)
    parts = tuple(blocks)
    strategies: dict[int, Strategy] = {}
    known: dict[tuple[int, Factor], float] = {}

    def of(i: int) -> Strategy:
        if i not in strategies:
            strategies[i] = Strategy(parts[i].matrix())
        return strategies[i]

    def trace(i: int, factor: Factor) -> float:
        """tr(G (AᵢᵀAᵢ)⁺) of one attribute."""
        if (i, factor) not in known:
            error = of(i).total_error(one_attribute([(factor, 1.0)]))
            known[i, factor] = error / of(i).sensitivity ** 2
        return known[i, factor]

    def own_error(workload: Workload) -> float | None:
        if workload.products is None:
            return None
        return math.fsum(
            product.weight * math.prod(trace(i, factor) for i, factor in enumerate(product.factors))
            for product in workload.products
        )

    def own_variances(workload: Workload) -> Array | None:
        if workload.products is None:
            return None
        return ProductStrategy(tuple(map(of, range(len(parts))))).variances(workload)

    return Design(Kron(parts), detail, own_error, own_variances)
