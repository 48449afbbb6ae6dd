"""Several product strategies side by side, each with a share of the sensitivity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg

from mmopt.errors import OptionError, SolverError
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.strategies.product_strategy import ProductStrategy
from mmopt.strategies.strategy_form import StrategyForm
from mmopt.workloads import Dense, Implicit, Kron, Scaled, Stack, Workload

__all__ = ["UnionStrategy", "least_squares"]

LSMR_TOLERANCE = 1e-12
LSMR_STEPS = 10_000
LSMR_SETTLED = (0, 1, 2, 4, 5)  # LSMR's reasons to stop that are no failure


def least_squares(matrix: Implicit, noisy: Array, preconditioner: Implicit | None = None) -> Array:
    """x (n,) that minimises ‖A x - y‖ (of all such, P times the shortest), by LSMR (Fong & Saunders 2011).

    Parameters
    ----------
    matrix : A (p, n). noisy : y (p,).
    preconditioner : P (n, k), so that A P has singular values close together; x = P z is sought. Its range
        must hold a minimiser.

    Raises
    ------
    SolverError : not settled after so many steps.
    """
    operator = matrix.operator()
    whole = operator if preconditioner is None else operator @ preconditioner.operator()
    found = scipy.sparse.linalg.lsmr(
        whole,
        np.asarray(noisy, dtype=float),
        atol=LSMR_TOLERANCE,
        btol=LSMR_TOLERANCE,
        conlim=0.0,
        maxiter=LSMR_STEPS,
    )
    if found[1] not in LSMR_SETTLED:
        raise SolverError(
            f"least squares over {matrix.shape[0]:,} × {matrix.shape[1]:,} did not settle in "
            f"{LSMR_STEPS:,} steps",
            hint="the strategy is nearly singular; another template may be better conditioned",
        )
    z = np.asarray(found[0], dtype=np.float64)
    return z if preconditioner is None else preconditioner.apply(z)


SMALLEST_FLOAT = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False, repr=False)
class UnionStrategy(StrategyForm):
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
        return self.parts[0].norm

    @property
    def p(self) -> int:
        return sum(part.p for part in self.parts)

    @property
    def n(self) -> int:
        return self.parts[0].n

    @property
    def largest_column(self) -> float:
        """Σ θ Δ, or √Σ (θ Δ)², rounded upwards; the exact one where each part's columns are equally long."""
        own = np.array([s * part.sensitivity for s, part in zip(self.shares, self.parts, strict=True)])
        total = float(own.sum()) if self.norm == 1 else float(np.sqrt(np.square(own).sum()))
        return total * (1.0 + (len(own) + 3) * EPS)

    def divided(self, by: float) -> UnionStrategy:
        return UnionStrategy(self.parts, tuple(share / by for share in self.shares))

    def squared_error(self, workload: Workload) -> float:
        """That of the means of the parts: their variances times the queries' weights."""
        return float(workload.weights @ self.variances(workload))

    def variances(self, workload: Workload) -> Array:
        """Those of the means of the parts; infinity for a query that no part supports."""
        each = zip(self.parts, self.shares, strict=True)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / sum(share**2 / part.variances(workload) for part, share in each))

    def implicit(self) -> Implicit:
        return Stack([Scaled(part.implicit(), s) for part, s in zip(self.parts, self.shares, strict=True)])

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (n,) of the data vector from noisy answers (p,); of several parts by LSMR.

        That is preconditioned by the inverse root of a Kronecker product: of each attribute's Gram matrices,
        averaged over the parts.

        Raises
        ------
        SolverError : it does not settle.
        """
        if len(self.parts) == 1:
            return self.parts[0].estimate(noisy / self.shares[0])
        sizes = [share * part.sensitivity for share, part in zip(self.shares, self.parts, strict=True)]
        # Rows of lengths of about one: LSMR squares numbers, and the larger the noise the smaller they are.
        equal, roots = self.divided(max(sizes)), []
        for own in zip(*(part.factors for part in self.parts), strict=True):
            scaled = [
                s * f.matrix / max(f.sensitivity, SMALLEST_FLOAT) for s, f in zip(sizes, own, strict=True)
            ]
            inverse, _ = pseudo_factors(np.vstack(scaled) / max(sizes))
            roots.append(Dense(inverse))
        return least_squares(equal.implicit(), noisy / max(sizes), Kron(roots))

    def fields(self) -> dict[str, Any]:
        factors = {str(g): part.matrices() for g, part in enumerate(self.parts)}
        return {"form": "union", "norm": self.norm, "shares": np.array(self.shares), "factors": factors}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> UnionStrategy:
        parts = (fields["factors"][str(g)] for g in range(len(fields["factors"])))
        return cls(
            tuple(ProductStrategy.of_matrices(part, fields["norm"]) for part in parts),
            tuple(fields["shares"]),
        )

    def __repr__(self) -> str:
        return self._words(f"{len(self.parts)} products")
