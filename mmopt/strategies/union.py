"""Several product strategies side by side, each with a share of the sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, pseudo_factors
from mmopt.strategies.product import ProductStrategy
from mmopt.workloads.blocks.kron import Kron, Stack
from mmopt.workloads.blocks.least_squares import least_squares
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.blocks.modified import Scaled
from mmopt.workloads.workload import Workload

TINY = float(np.finfo(float).tiny)

__all__ = ["UnionStrategy"]


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy:
    """The rows θ_g A_g of all parts, measured with noise.

    A query is estimated by the mean of what the parts say of it, with weights inverse to their variances:
    its variance is 1 / Σ (1 / v_g). Least squares over all rows are no worse: these are their upper bounds.

    Parameters
    ----------
    parts : A_g, all over the same cells and of one norm. shares : θ_g > 0.

    Raises
    ------
    OptionError : lengths that do not fit, different norms or cells, or a share that is not positive.
    """

    parts: tuple[ProductStrategy, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
        if not len(self.parts) == len(self.shares) > 0:
            raise OptionError(
                f"a union strategy of {len(self.parts)} parts has {len(self.shares)} shares, "
                "expected one each"
            )
        if len({(part.norm, *(f.n for f in part.factors)) for part in self.parts}) != 1:
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
        return self.sensitivity**2 * float(workload.weights @ self.variances(workload))

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``."""
        return float(self.variances(workload).mean())

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's mean at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that no part supports.
        """
        each = zip(self.parts, self.shares, strict=True)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / sum(share**2 / part.variances(workload) for part, share in each))

    def supports(self, workload: Workload) -> bool:
        """Whether every query is supported by a part."""
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

    def __repr__(self) -> str:
        count = len(self.parts)
        return f"UnionStrategy({count} products, norm {self.norm}, sensitivity {self.sensitivity:g})"
