"""Several product strategies side by side, each with a share of the sensitivity and its own products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, pseudo_factors
from mmopt.queries.implicit import Dense, Scaled
from mmopt.queries.kron import Kron, Stack
from mmopt.queries.least_squares import least_squares
from mmopt.queries.linear import Implicit
from mmopt.queries.product_strategy import ProductStrategy, products_of
from mmopt.queries.workload import Workload

TINY = float(np.finfo(float).tiny)

__all__ = ["UnionStrategy", "combined_error", "shares"]


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy:
    """The rows θ_g A_g of all parts, measured with noise. A product's queries are estimated from one part.

    Estimates from all parts together would be no worse; these errors are upper bounds of theirs.

    Parameters
    ----------
    parts : A_g, all over the same cells and of one norm. shares : θ_g > 0.
    groups : for each part the numbers of the workload's products that it answers, each product once.

    Raises
    ------
    OptionError : lengths that do not fit, different norms, or a share that is not positive.
    """

    parts: tuple[ProductStrategy, ...]
    shares: tuple[float, ...]
    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not len(self.parts) == len(self.shares) == len(self.groups) > 0:
            raise OptionError(
                f"a union strategy of {len(self.parts)} parts has {len(self.shares)} shares and "
                f"{len(self.groups)} groups, expected as many"
            )
        if len({part.norm for part in self.parts}) != 1 or len({part.n for part in self.parts}) != 1:
            raise OptionError("the parts of a union strategy differ in norm or in the number of cells")
        if not all(0 < share < math.inf for share in self.shares):
            raise OptionError("the shares of a union strategy must be positive and finite")

    @property
    def norm(self) -> int:
        """1 (Laplace) or 2 (Gaussian)."""
        return self.parts[0].norm

    @property
    def p(self) -> int:
        """Number of measured queries."""
        return sum(part.p for part in self.parts)

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.parts[0].n

    @property
    def sensitivity(self) -> float:
        """Σ θ Δ, or √Σ (θ Δ)², rounded upwards; the exact one where each part's columns are equally long."""
        own = np.array([s * part.sensitivity for s, part in zip(self.shares, self.parts, strict=True)])
        total = float(own.sum()) if self.norm == 1 else float(np.sqrt(np.square(own).sum()))
        return total * (1.0 + (len(own) + 3) * float(np.finfo(float).eps))

    def total_error(self, workload: Workload) -> float:
        """Total squared error, weighted, at unit noise per unit of sensitivity; infinity if not supported."""
        sums = [
            part.total_error(_only(workload, group)) / (share * part.sensitivity) ** 2
            for part, share, group in self._each(workload)
        ]
        return self.sensitivity**2 * math.fsum(sums)

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``."""
        return float(self.variances(workload).mean())

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,)."""
        products = products_of(workload)
        found: dict[int, Array] = {}
        for part, share, group in self._each(workload):
            for j in group:
                found[j] = part.variances(_only(workload, [j])) / share**2
        return np.concatenate([found[j] for j in range(len(products))])

    def supports(self, workload: Workload) -> bool:
        """Whether every product is supported by its part."""
        return all(part.supports(_only(workload, group)) for part, _, group in self._each(workload))

    def implicit(self) -> Implicit:
        """All rows (p, n), never formed."""
        return Stack([Scaled(part.implicit(), s) for part, s in zip(self.parts, self.shares, strict=True)])

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,) of all parts, by LSMR.

        It is preconditioned by the inverse root of a Kronecker product: of each attribute's Gram matrices,
        averaged over the parts.

        Raises
        ------
        SolverError : it does not settle.
        """
        roots = []
        for own in zip(*(part.factors for part in self.parts), strict=True):
            scaled = [s * f.matrix / max(f.sensitivity, TINY) for s, f in zip(self.shares, own, strict=True)]
            inverse, _ = pseudo_factors(np.vstack(scaled))
            roots.append(Dense(inverse))
        return least_squares(self.implicit(), noisy, Kron(roots))

    def _each(self, workload: Workload) -> list[tuple[ProductStrategy, float, tuple[int, ...]]]:
        count = len(products_of(workload))
        if sorted(j for group in self.groups for j in group) != list(range(count)):
            raise OptionError(
                f"the groups of the union strategy are not the {count} products of the workload"
            )
        return list(zip(self.parts, self.shares, self.groups, strict=True))

    def __repr__(self) -> str:
        count = len(self.parts)
        return f"UnionStrategy({count} products, norm {self.norm}, sensitivity {self.sensitivity:g})"


def shares(errors: Sequence[float], norm: int) -> tuple[float, ...]:
    """The best split of a sensitivity of 1 between parts of these total errors at sensitivity 1.

    Σ E / θ² is least for θ ∝ E^(1/3) where Σ θ = 1 (norm 1), and for θ² ∝ √E where Σ θ² = 1 (norm 2).
    """
    raw = np.asarray(errors, dtype=float) ** (1 / 3 if norm == 1 else 1 / 4)
    size = raw.sum() if norm == 1 else np.sqrt(np.square(raw).sum())
    return tuple((raw / size).tolist())


def combined_error(errors: Sequence[float], norm: int) -> float:
    """Total error at those shares: (Σ E^(1/3))³, or (Σ √E)²."""
    power = 1 / 3 if norm == 1 else 1 / 2
    return float((np.asarray(errors, dtype=float) ** power).sum() ** (1 / power))


def _only(workload: Workload, group: Sequence[int]) -> Workload:
    products = products_of(workload)
    return Workload(workload.domain, tuple(products[j] for j in group))
