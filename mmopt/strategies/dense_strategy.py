"""A strategy as a matrix: the queries that are measured with noise, their sensitivity and their error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.linalg

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, frozen, largest_singular_value, owned
from mmopt.numerics.outward import check_norm, column_norms, rounded
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.strategies.neighbours import ADD_REMOVE, Neighbours
from mmopt.strategies.strategy_form import StrategyForm
from mmopt.workloads import Dense, Workload

__all__ = ["SUPPORT_TOLERANCE", "Strategy", "as_dense"]

SUPPORT_TOLERANCE = 1e-9
"""Largest ‖w - w A⁺A‖ / ‖w‖ for which a query w counts as supported by A."""


@dataclass(frozen=True, eq=False, repr=False)
class Strategy(StrategyForm):
    """A (p, n), measured as A x + noise: Laplace for norm 1, Gaussian for norm 2. Immutable.

    Parameters
    ----------
    matrix : A, one measured query a row; copied.
    norm : 1 or 2, the norm of columns that the privacy of the noise depends on.
    neighbours : the set that its sensitivity is to.

    Raises
    ------
    OptionError : not a finite 2-D matrix with a row and a column, or another norm.
    """

    matrix: Array
    norm: int = 2
    neighbours: Neighbours = ADD_REMOVE

    def __post_init__(self) -> None:
        check_norm(self.norm, "the strategy's norm")
        raw = np.asarray(self.matrix)
        if raw.dtype.kind not in "biuf" or raw.ndim != 2 or 0 in raw.shape:
            raise OptionError(
                f"the strategy is an array of shape {raw.shape} and type {raw.dtype.name}, "
                "expected a real matrix with at least one row and one column"
            )
        if not np.isfinite(raw).all():
            raise OptionError("the strategy has NaN or infinite entries, expected finite numbers")
        object.__setattr__(self, "matrix", owned(raw))

    @staticmethod
    def from_covariance(covariance: npt.ArrayLike, basis: npt.ArrayLike, norm: int = 2) -> Strategy:
        """A = Σ^(-1/2) B, the symmetric root: unit noise on A x tells B x with covariance Σ.

        Parameters
        ----------
        covariance : Σ (k, k), symmetric positive definite; its symmetric part is used.
        basis : B (k, n).

        Raises
        ------
        OptionError : shapes that do not fit, or Σ not positive definite.
        """
        sigma = np.asarray(covariance, dtype=np.float64)
        rows = np.asarray(basis, dtype=np.float64)
        if rows.ndim != 2 or sigma.shape != (rows.shape[0], rows.shape[0]):
            raise OptionError(
                f"the covariance has shape {sigma.shape} and the basis {rows.shape}, "
                "expected (k, k) and (k, n)"
            )
        if not np.isfinite(sigma).all():
            raise OptionError("the covariance has NaN or infinite entries, expected finite numbers")
        values, vectors = scipy.linalg.eigh((sigma + sigma.T) / 2)
        if not values[0] > 0:
            raise OptionError(
                f"the covariance is not positive definite: its smallest eigenvalue is {values[0]:.3g}"
            )
        half = vectors * values**-0.25
        root = half @ half.T
        is_identity = rows.shape[0] == rows.shape[1] and np.array_equal(rows, np.eye(len(rows)))
        return Strategy(frozen(root if is_identity else root @ rows), norm)

    @property
    def p(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def largest_column(self) -> float:
        return float(column_norms(self.matrix, self.norm).max())

    def implicit(self) -> Dense:
        return Dense(self.matrix)

    def divided(self, by: float) -> Strategy:
        return replace(self, matrix=frozen(self.matrix / by))

    # -- error ---------------------------------------------------------------------------------------

    @cached_property
    def _directions(self) -> tuple[Array, Array]:
        """D (n, k) with D Dᵀ = (AᵀA)⁺, and an orthonormal basis (n, n - k) of the null space of A."""
        inverse, null = pseudo_factors(self.matrix)
        return frozen(inverse), frozen(null)

    def drop_factors(self) -> None:
        """Let go of what errors are computed from, as large as the matrix; it comes again when asked for."""
        self.__dict__.pop("_directions", None)

    def condition(self, workload: Workload) -> float:
        """How rounding errors of A grow in total error: σ₁ / σᵢ, weighted by the directions' shares of it.

        The root of the mean square. A direction that A hardly measures and the workload does not ask for has
        no share.
        """
        return float(self._norm * np.sqrt(self.prices(workload).sum() / self._error(workload)))

    def prices(self, workload: Workload) -> Array:
        """diag((AᵀA)⁺ G (AᵀA)⁺), (n,): how fast total error at unit noise falls as a column of A grows.

        The derivative by the squared length of the column. Where A is optimal these are, up to a factor, the
        multipliers of the columns' lengths.
        """
        inverse, _ = self._directions
        return np.asarray(np.square((workload.root @ inverse) @ inverse.T).sum(axis=0))

    @cached_property
    def _norm(self) -> float:
        return largest_singular_value(self.matrix)

    @cached_property
    def largest_condition(self) -> float:
        """At least ``condition`` of every workload, and cheap."""
        inverse, _ = self._directions
        return float(np.linalg.norm(self.matrix) * np.linalg.norm(inverse))

    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F with the weighted W (no sensitivity), for unit noise.

        Infinity when W A⁺A differs from W by more than ``SUPPORT_TOLERANCE``. W is replaced by its root (same
        Frobenius norm), A⁺ comes from a QR factorisation or the singular value decomposition of A; no Gram
        matrix is formed.
        """
        return self._error(workload) if self.supports(workload) else float("inf")

    def _error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F, once for each workload."""
        if workload.hash not in self._errors:
            inverse, _ = self._directions
            self._errors[workload.hash] = float(np.square(workload.root @ inverse).sum())
        return self._errors[workload.hash]

    @cached_property
    def _errors(self) -> dict[str, float]:
        return {}

    def supports(self, workload: Workload) -> bool:
        """Whether A determines every query: W A⁺A = W, relative to W scaled to at most unit queries."""
        self._fits(workload.n)
        _, null = self._directions
        if not null.shape[1]:
            return True
        if workload.m * null.shape[1] <= workload.n**2:  # cheaper than a root, which would be kept besides
            return bool(np.linalg.norm(self.unsupported(workload)) <= SUPPORT_TOLERANCE * workload.m**0.5)
        return _within(workload.unit_root, null)

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that A does not support. W is applied, never formed.
        """
        outside = self.unsupported(workload)
        inverse, _ = self._directions
        return np.where(outside <= SUPPORT_TOLERANCE, _sum_of_squares(workload, inverse), float("inf"))

    def unsupported(self, workload: Workload) -> Array:
        """‖w - w A⁺A‖ / ‖w‖ for each unweighted query w, (m,): the part of it that A does not tell."""
        self._fits(workload.n)
        _, null = self._directions
        return np.asarray(np.sqrt(_sum_of_squares(workload, null) / workload.squared_norms()))

    def covariance(self, basis: npt.ArrayLike) -> Array:
        """Covariance B (AᵀA)⁺ Bᵀ (k, k) of the estimates of B x at unit noise on A x.

        Raises
        ------
        OptionError : a basis of another number of cells, or one that A does not support.
        """
        rows = np.asarray(basis, dtype=np.float64)
        self._fits(rows.shape[-1])
        inverse, null = self._directions
        if not _within(rows, null):
            raise OptionError("the strategy does not support this basis: B A⁺A differs from B")
        part = rows @ inverse
        return np.asarray(part @ part.T)

    def _fits(self, n: int) -> None:
        if n != self.n:
            raise OptionError(f"the strategy has {self.n} cells, the queries have {n}")

    def __repr__(self) -> str:
        sensitivity = rounded(self.sensitivity, 6, up=True)
        return f"Strategy({self.p} × {self.n}, norm {self.norm}, sensitivity {sensitivity})"


def _within(rows: Array, null: Array) -> bool:
    """Whether the part of the rows in the null space is relatively below the tolerance."""
    return bool(np.linalg.norm(rows @ null) <= SUPPORT_TOLERANCE * np.linalg.norm(rows))


def _sum_of_squares(workload: Workload, directions: Array) -> Array:
    """Row sums of (queries @ directions)², (m,)."""
    return workload.implicit(weighted=False).squared_lengths(directions)


def as_dense(strategy: StrategyForm) -> Strategy:
    """The strategy with its matrix; TooLargeError where that does not fit in memory."""
    if isinstance(strategy, Strategy):
        return strategy
    return Strategy(strategy.implicit().matrix(), strategy.norm, strategy.neighbours)
