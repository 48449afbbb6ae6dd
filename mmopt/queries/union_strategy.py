"""Several product strategies side by side, each with a share of the privacy budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, frozen
from mmopt.queries.product_strategy import ProductStrategy
from mmopt.queries.workload import Workload

__all__ = ["UnionStrategy"]


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy:
    """The rows shareᵢ Aᵢ of all parts; a product of a workload is answered by a mean of what they say.

    Each part by itself gives unbiased answers, and the noises are independent: with weights inverse to the
    errors the mean's error is the harmonic sum 1 / Σ (1 / eᵢ). Least squares over all parts together would
    answer no worse, but has no form by attribute: ``errors`` is an upper bound on what it gives.

    Parameters
    ----------
    parts : product strategies over the same attributes, of one norm.
    shares : their factors, positive.

    Raises
    ------
    OptionError : no part, parts that do not belong together, or shares that do not fit.
    """

    parts: tuple[ProductStrategy, ...]
    shares: Array

    def __post_init__(self) -> None:
        shares = np.array(self.shares, dtype=np.float64)
        kinds = {(part.norm, tuple(f.n for f in part.factors)) for part in self.parts}
        if len(kinds) != 1:
            raise OptionError(f"the parts have {len(kinds)} kinds of norm and sizes, expected one")
        if shares.shape != (len(self.parts),) or not (np.isfinite(shares) & (shares > 0)).all():
            raise OptionError(
                f"{len(self.parts)} parts need as many positive shares, found {shares.tolist()}"
            )
        object.__setattr__(self, "shares", frozen(shares))

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
        """At least the largest column norm, rounded upwards: Σ shareᵢ ‖Aᵢ‖₁, or √Σ shareᵢ² ‖Aᵢ‖₂²."""
        each = [s * part.sensitivity for s, part in zip(self.shares.tolist(), self.parts, strict=True)]
        exact = math.fsum(x**self.norm for x in each) ** (1.0 / self.norm)
        return math.nextafter(exact * (1.0 + 1e-15), math.inf)

    def errors(self, workload: Workload) -> Array:
        """Total unweighted error of each product of the workload, (products,).

        Infinity where no part supports it.
        """
        each = [
            part.errors(workload) / (s * part.sensitivity) ** 2
            for s, part in zip(self.shares.tolist(), self.parts, strict=True)
        ]
        with np.errstate(divide="ignore"):
            return np.asarray(self.sensitivity**2 / np.sum(1.0 / np.array(each), axis=0))

    def total_error(self, workload: Workload) -> float:
        """Σ of ``errors``, weighted."""
        return float(np.dot([p.weight for p in workload.products or ()], self.errors(workload)))

    def rmse(self, workload: Workload) -> float:
        """√(total unweighted squared error / m) at unit noise per unit of sensitivity."""
        return math.sqrt(float(self.errors(workload).sum()) / workload.m)

    def __repr__(self) -> str:
        return f"UnionStrategy({len(self.parts)} products over {self.n:,} cells, norm {self.norm})"
