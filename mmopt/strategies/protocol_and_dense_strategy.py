"""The protocol of strategies, and a strategy as a matrix.

A strategy is the queries that are measured with noise, with their sensitivity and their error.
``StrategyForm`` lists what a form has to define, and derives everything else once for all forms.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.linalg

from mmopt.display_base_classes import Charted
from mmopt.errors import OptionError
from mmopt.numerics import (
    Array,
    Level,
    check_norm,
    column_norms,
    frozen,
    largest_singular_value,
    owned,
    pseudo_factors,
    times_up,
)
from mmopt.numerics.arrays import rounded
from mmopt.strategies.neighbours import ADD_REMOVE, Neighbours
from mmopt.workloads import Dense, Implicit, Workload

Form = TypeVar("Form", bound="StrategyForm")


class StrategyForm(Charted, ABC):
    """A strategy A (p, n), measured as A x + noise: Laplace for norm 1, Gaussian for norm 2. Immutable.

    A form is a dataclass that defines the abstract methods here, and any other that it computes faster.
    Variances are at unit noise on A x; errors at unit noise per unit of sensitivity.
    """

    @property
    @abstractmethod
    def norm(self) -> int:
        """1 (Laplace) or 2 (Gaussian): the norm of columns that the privacy of the noise depends on."""

    @property
    @abstractmethod
    def p(self) -> int:
        """Number of rows."""

    @property
    def measured(self) -> int:
        """Number of measured queries: rows of zeros are none, where a form lists its rows."""
        return self.p

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of cells."""

    @property
    @abstractmethod
    def largest_column(self) -> float:
        """Largest column norm, rounded upwards: at least the exact value."""

    @abstractmethod
    def implicit(self) -> Implicit:
        """A (p, n), never formed where that can be avoided."""

    @abstractmethod
    def divided(self: Form, by: float) -> Form:
        """A divided by a number above 0, in the same form."""

    @abstractmethod
    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F with the weighted W (no sensitivity); infinity where W is not supported."""

    @abstractmethod
    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that A does not support.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        """

    # -- derived ----------------------------------------------------------------------------------

    @property
    def neighbours(self) -> Neighbours:
        """The set that ``sensitivity`` refers to: the one for which the strategy was chosen."""
        return ADD_REMOVE

    @cached_property
    def sensitivity(self) -> float:
        """The sensitivity to its set of neighbours, rounded upwards. Errors as ``sensitivity_to``."""
        return self.sensitivity_to(self.neighbours)

    def sensitivity_to(self, neighbours: Neighbours) -> float:
        """The sensitivity to a set of neighbours, rounded upwards.

        Raises
        ------
        TooLargeError : a set for which columns are compared, and their matrix does not fit in memory.
        """
        if neighbours == ADD_REMOVE:
            return self.largest_column
        if neighbours.times is not None:
            return float(times_up(neighbours.times, self.largest_column))
        return neighbours.sensitivity(self.implicit().matrix(), self.norm)

    @property
    def profile(self) -> Array | Level:
        """Squared length of each column of A, (n,): the diagonal of AᵀA."""
        return np.asarray(np.square(self.implicit().matrix()).sum(axis=0))

    @property
    def largest_condition(self) -> float:
        """An upper bound on ``condition`` for every workload, and cheap; infinity where a form has none."""
        return math.inf

    def condition(self, workload: Workload) -> float:
        """The growth of rounding errors of A in total error; by default ``largest_condition``."""
        return self.largest_condition

    def supports(self, workload: Workload) -> bool:
        """Whether every query is a combination of the measured ones."""
        return math.isfinite(self.squared_error(workload))

    def total_error(self, workload: Workload) -> float:
        """‖A‖² ‖W A⁺‖²_F with the weighted W, in units of the noise's variance at sensitivity 1.

        Infinity where W is not supported. The sensitivity is the upward-rounded one.
        """
        squared = self.squared_error(workload)
        return self.sensitivity * self.sensitivity * squared if squared < math.inf else squared

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``, without a list of them."""
        return self.squared_error(workload.unweighted) / workload.m

    def rmse(self, workload: Workload) -> float:
        """√(mean unweighted variance) at unit noise per unit of sensitivity."""
        return self.sensitivity * math.sqrt(self.mean_variance(workload))

    def estimate(self, noisy: Array) -> Array:
        """Least-squares estimate (…, n) of the data vector from noisy answers (…, p): A⁺ y."""
        matrix = self.implicit().matrix()
        inverse, _ = pseudo_factors(matrix)
        return np.asarray(noisy @ matrix @ inverse @ inverse.T)

    def fields(self) -> dict[str, Any]:
        """The content of the form, to be saved: numbers, texts, arrays, values by component, mappings."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {
            name: value.fields() if isinstance(value, Neighbours) else value
            for name, value in values.items()
            if not (isinstance(value, Neighbours) and value == ADD_REMOVE)
        }

    @classmethod
    def from_fields(cls: type[Form], fields: Mapping[str, Any]) -> Form:
        """The strategy whose ``fields`` these are; OptionError where they fit no set of neighbours."""
        values = {name: value for name, value in fields.items() if name != "form"}
        if "neighbours" in values:
            values["neighbours"] = Neighbours(**values["neighbours"])
        return cls(**values)

    def _words(self, shape: str) -> str:
        """The form in a line."""
        return f"{type(self).__name__}({shape}, norm {self.norm}, sensitivity {self.sensitivity:g})"


def normalise(strategy: Form) -> Form:
    """The strategy scaled so that its upward-rounded sensitivity is at most 1 (as close as rounding allows).

    Raises
    ------
    OptionError : a strategy of zeros, or one whose sensitivity overflows.
    """
    if not 0 < strategy.sensitivity < math.inf:
        raise OptionError(
            f"a strategy of sensitivity {strategy.sensitivity:g} cannot be scaled to sensitivity 1"
        )
    if strategy.sensitivity == 1.0:
        return strategy
    scaled = strategy.divided(strategy.sensitivity)
    while scaled.sensitivity > 1.0:
        scaled = scaled.divided(math.nextafter(scaled.sensitivity, math.inf))
    return scaled


def largest_ratio(variances: Array, workload: Workload) -> float | None:
    """The largest ratio of a query's variance (m,) to its target; None where no query has one.

    Infinity where a query with a target is not supported. Queries without a target count as met.
    """
    if not workload.has_targets:
        return None
    has_target = workload.targets < math.inf
    return float((variances[has_target] / workload.targets[has_target]).max())


def privacy_cost(strategy: StrategyForm, workload: Workload) -> float | None:
    """The least Δ at which every query meets its target: sensitivity times the largest √(variance / target).

    With sensitivity in the L2 norm, Δ² is what fitness_for_use minimizes over all strategies (α of PVLDB
    2021, Problem 1); under Laplace noise of unit variance it is no less. None where no query has a target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    ratio = largest_ratio(strategy.variances(workload), workload) if workload.has_targets else None
    return None if ratio is None else strategy.sensitivity * math.sqrt(ratio)


#: Largest ‖w - w A⁺A‖ / ‖w‖ for which a query w counts as supported by A.
SUPPORT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Strategy(StrategyForm):
    """A (p, n), measured as A x + noise: Laplace for norm 1, Gaussian for norm 2. Immutable.

    Parameters
    ----------
    matrix : A, one measured query a row; copied.
    norm : 1 or 2, the norm of columns that the privacy of the noise depends on.
    neighbours : the set that its sensitivity refers to.

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
    def from_covariance(
        covariance: "np.typing.ArrayLike", basis: "np.typing.ArrayLike", norm: int = 2
    ) -> "Strategy":
        """A = Σ^(-1/2) B, the symmetric root: unit noise on A x estimates B x with covariance Σ.

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

    @cached_property
    def measured(self) -> int:
        """Rows that are not zero."""
        return int(np.count_nonzero(self.matrix.any(axis=1)))

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

    def divided(self, by: float) -> "Strategy":
        return replace(self, matrix=frozen(self.matrix / by))

    # -- error ---------------------------------------------------------------------------------------

    @cached_property
    def _directions(self) -> tuple[Array, Array]:
        """D (n, k) with D Dᵀ = (AᵀA)⁺, and an orthonormal basis (n, n - k) of the null space of A."""
        inverse, null = pseudo_factors(self.matrix)
        return frozen(inverse), frozen(null)

    def drop_factors(self) -> None:
        """Drop the factors of errors, as large as the matrix; they are computed again when needed."""
        self.__dict__.pop("_directions", None)

    def condition(self, workload: Workload) -> float:
        """The growth of rounding errors of A in total error: σ₁ / σᵢ, weighted by the directions' shares.

        The root of the mean square. A direction that A hardly measures and the workload does not need has
        no share.
        """
        shares = self.prices(workload).sum() / self._error(workload)
        return float(largest_singular_value(self.matrix) * np.sqrt(shares))

    def prices(self, workload: Workload) -> Array:
        """diag((AᵀA)⁺ G (AᵀA)⁺), (n,): the rate by which total error at unit noise falls as a column grows.

        The derivative by the squared length of the column. Where A is optimal these are, up to a factor, the
        multipliers of the columns' lengths.
        """
        inverse, _ = self._directions
        return np.asarray(np.square((workload.root @ inverse) @ inverse.T).sum(axis=0))

    @cached_property
    def largest_condition(self) -> float:
        """An upper bound on ``condition`` for every workload, and cheap."""
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
        """``_error`` by hash of a workload."""
        return {}

    def supports(self, workload: Workload) -> bool:
        """Whether A determines every query: W A⁺A = W, relative to W scaled to at most unit queries."""
        self._check_cells(workload.n)
        _, null = self._directions
        if not null.shape[1]:
            return True
        if workload.m * null.shape[1] <= workload.n**2:  # cheaper than a root, which would also be kept
            return bool(np.linalg.norm(self.unsupported(workload)) <= SUPPORT_TOLERANCE * workload.m**0.5)
        return _within(workload.unit_root, null)

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that A does not support. W is applied, never formed.
        """
        outside = self.unsupported(workload)
        inverse, _ = self._directions
        return np.where(
            outside <= SUPPORT_TOLERANCE,
            workload.implicit(weighted=False).squared_lengths(inverse),
            float("inf"),
        )

    def unsupported(self, workload: Workload) -> Array:
        """‖w - w A⁺A‖ / ‖w‖ for each unweighted query w, (m,): the part of it that A does not determine."""
        self._check_cells(workload.n)
        _, null = self._directions
        return np.asarray(
            np.sqrt(workload.implicit(weighted=False).squared_lengths(null) / workload.squared_norms())
        )

    def covariance(self, basis: "np.typing.ArrayLike") -> Array:
        """Covariance B (AᵀA)⁺ Bᵀ (k, k) of the estimates of B x at unit noise on A x.

        Raises
        ------
        OptionError : a basis of another number of cells, or one that A does not support.
        """
        rows = np.asarray(basis, dtype=np.float64)
        self._check_cells(rows.shape[-1])
        inverse, null = self._directions
        if not _within(rows, null):
            raise OptionError("the strategy does not support this basis: B A⁺A differs from B")
        part = rows @ inverse
        return np.asarray(part @ part.T)

    def _check_cells(self, n: int) -> None:
        """OptionError for queries over another number of cells."""
        if n != self.n:
            raise OptionError(f"the strategy has {self.n} cells, the queries have {n}")

    def __repr__(self) -> str:
        sensitivity = rounded(self.sensitivity, 6, up=True)
        return f"Strategy({self.p} × {self.n}, norm {self.norm}, sensitivity {sensitivity})"


def _within(rows: Array, null: Array) -> bool:
    """Whether the rows are supported: their part in the null space is below ``SUPPORT_TOLERANCE`` of them."""
    return bool(np.linalg.norm(rows @ null) <= SUPPORT_TOLERANCE * np.linalg.norm(rows))


def as_dense(strategy: StrategyForm) -> Strategy:
    """The strategy with its matrix; TooLargeError where that does not fit in memory."""
    if isinstance(strategy, Strategy):
        return strategy
    return Strategy(strategy.implicit().matrix(), strategy.norm, strategy.neighbours)
