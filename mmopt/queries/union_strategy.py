"""Several product strategies side by side, each with a share of the sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, owned, pseudo_factors
from mmopt.queries.implicit import Dense, Scaled
from mmopt.queries.kron import Kron, Stack
from mmopt.queries.least_squares import least_squares
from mmopt.queries.linear import Implicit
from mmopt.queries.product import Product
from mmopt.queries.product_strategy import ProductStrategy, products_of
from mmopt.queries.workload import Workload

TINY = float(np.finfo(float).tiny)

__all__ = ["UnionStrategy", "combined_error", "shares"]


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy:
    """The rows θ_g A_g of all parts, measured with noise.

    A query of product j is estimated by a mean of what the parts say of it; least squares over all rows are
    no worse, so these errors are upper bounds of theirs.

    Parameters
    ----------
    parts : A_g, all over the same cells and of one norm. shares : θ_g > 0.
    means : (parts, products), nonnegative, the weights of the parts in the mean of each product of the
        workload; each column sums to 1.

    Raises
    ------
    OptionError : lengths that do not fit, different norms, a share that is not positive, or means that are
        none.
    """

    parts: tuple[ProductStrategy, ...]
    shares: tuple[float, ...]
    means: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", owned(self.means))
        if not len(self.parts) == len(self.shares) == len(self.means) > 0 or self.means.ndim != 2:
            raise OptionError(
                f"a union strategy of {len(self.parts)} parts has {len(self.shares)} shares and means of "
                f"shape {self.means.shape}, expected one share and one row for each part"
            )
        if len({part.norm for part in self.parts}) != 1 or len({part.n for part in self.parts}) != 1:
            raise OptionError("the parts of a union strategy differ in norm or in the number of cells")
        if not all(0 < share < math.inf for share in self.shares):
            raise OptionError("the shares of a union strategy must be positive and finite")
        if not ((self.means >= 0).all() and np.allclose(self.means.sum(axis=0), 1.0, rtol=0, atol=1e-9)):
            raise OptionError(
                "the means of a union strategy must be nonnegative, and 1 in all for each product"
            )

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
        products = self._products(workload)
        sums = [
            (mean / share) ** 2
            * part.total_error(Workload(workload.domain, (product,)))
            / part.sensitivity**2
            for part, share, row in zip(self.parts, self.shares, self.means, strict=True)
            for product, mean in zip(products, row.tolist(), strict=True)
            if mean > 0
        ]
        return self.sensitivity**2 * math.fsum(sums)

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``."""
        return float(self.variances(workload).mean())

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's mean at unit noise on A x (no sensitivity), (m,)."""
        found = []
        for j, product in enumerate(self._products(workload)):
            alone = Workload(workload.domain, (product,))
            total = np.zeros(product.m)
            for part, share, row in zip(self.parts, self.shares, self.means, strict=True):
                if row[j] > 0:
                    total += (row[j] / share) ** 2 * part.variances(alone)
            found.append(total)
        return np.concatenate(found)

    def supports(self, workload: Workload) -> bool:
        """Whether every product is supported by the parts in its mean."""
        return bool(np.isfinite(self.variances(workload)).all())

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

    def _products(self, workload: Workload) -> tuple[Product, ...]:
        products = products_of(workload)
        if len(products) != self.means.shape[1]:
            raise OptionError(
                f"the union strategy has means for {self.means.shape[1]} products, "
                f"the workload has {len(products)}"
            )
        return products

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
