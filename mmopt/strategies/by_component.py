"""A strategy by component: measured and judged without its matrix over all cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import MOST_CELLS, Array, frozen, require_memory
from mmopt.numerics.components import Level, Split, lift
from mmopt.numerics.outward import largest_difference, rounded
from mmopt.strategies.component_answers import ComponentAnswers
from mmopt.strategies.dense import SUPPORT_TOLERANCE, Strategy
from mmopt.symmetry.joint import Cells
from mmopt.symmetry.projected import query_rows
from mmopt.workloads.workload import Workload

__all__ = ["AnyStrategy", "ComponentStrategy", "as_dense"]

U = float(np.finfo(np.float64).eps) / 2
# Components of more than this part of the cells are dearer than the matrix for queries looked at one by one.
LARGE = 1 / 8
SMALLER = "group values of the attributes, so that there are fewer cells"


@dataclass(frozen=True, eq=False, repr=False)
class ComponentStrategy:
    """A strategy A (p, n) that splits into components, measured with Gaussian noise; nothing is (p, n) here.

    It stands where a ``Strategy`` does for sizes, sensitivity and error, and is immutable.

    Parameters
    ----------
    split : A by component, on the cells of ``queries.symmetry``; numpy parts.
    norm : 2; the L1 norms of columns are not known by component.

    Raises
    ------
    OptionError : another norm, cells without their symmetries, parts that do not fit or are not finite.
    """

    split: Split
    norm: int = 2

    def __post_init__(self) -> None:
        if self.norm != 2:
            raise OptionError(f"a strategy by component has norm 2 (Gaussian), not {self.norm!r}")
        if not isinstance(self.split.columns, Cells):
            raise OptionError("a strategy by component needs the symmetries of its cells")
        parts = tuple(np.array(part, dtype=np.float64) for part in self.split.parts)
        rows, columns = self.split.rows, self.split.columns
        shapes = list(zip(rows.dims, columns.dims, strict=True)) if rows.count == columns.count else None
        if shapes != [part.shape for part in parts]:
            raise OptionError("the parts of the strategy do not have the sizes of its components")
        if not all(np.isfinite(part).all() for part in parts):
            raise OptionError("the strategy has NaN or infinite entries, expected finite numbers")
        object.__setattr__(self, "split", Split(rows, columns, tuple(map(frozen, parts))))

    @property
    def cells(self) -> Cells:
        """The space of the cells: components, orbits, and the symmetries of the attributes."""
        assert isinstance(self.split.columns, Cells)
        return self.split.columns

    @property
    def p(self) -> int:
        """Number of measured queries."""
        return self.split.rows.size

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.split.columns.size

    @property
    def matrix(self) -> Array:
        """A, dense (p, n), computed at each call; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix", SMALLER)
        return frozen(lift(self.split))

    @property
    def is_better_dense(self) -> bool:
        """Whether its matrix is the cheaper form where queries are looked at one by one."""
        return self.n <= MOST_CELLS and self.cells.largest > LARGE * self.n

    # -- sensitivity ---------------------------------------------------------------------------------

    @cached_property
    def profile(self) -> Level:
        """Squared length of a column of A, by orbit of cells: the diagonal of AᵀA."""
        return Level(self.cells, frozen(self._squares()[0]))

    def _squares(self) -> tuple[Array, Array]:
        """The diagonal of AᵀA by orbit, and the number of terms that each entry is added up from."""
        cells = self.cells
        assert cells.labels is not None and cells.sizes is not None
        labels, orbits = np.concatenate(cells.labels), len(cells.sizes)
        squares = np.concatenate([np.square(part).sum(axis=0) for part in self.split.parts])
        total = np.bincount(labels, np.repeat(cells.multiplicities, cells.dims) * squares, minlength=orbits)
        counts = np.repeat([len(part) + 1.0 for part in self.split.parts], cells.dims)
        terms = np.bincount(labels, counts, minlength=orbits)
        return total / cells.sizes, np.asarray(terms, dtype=np.float64)

    @cached_property
    def sensitivity(self) -> float:
        """Largest L2 norm of a column, rounded upwards: at least the exact value (a row added or removed).

        All terms of an entry of diag(AᵀA) are nonnegative, so with k of them (the roundings of each counted,
        and those of multiplicities and sizes beyond 2⁵³) the relative error is at most γ_k (see ``outward``).
        """
        squares, terms = self._squares()
        if not any(part.any() for part in self.split.parts):
            return 0.0
        upper = squares * (1.0 + 4.0 * (terms + 8.0) * U) + (terms + 8.0) * 2.0**-1000
        return float(np.nextafter(np.sqrt(np.nextafter(upper, np.inf)), np.inf).max())

    @property
    def sensitivity_replace_one(self) -> float:
        """Largest norm of a difference of two columns, rounded upwards (a row moved to another cell).

        Raises
        ------
        TooLargeError : the matrix does not fit in memory; two cells of one orbit differ in more ways than
            their components tell, so all pairs of columns have to be looked at.
        """
        return largest_difference(self.matrix, self.norm)

    def normalised(self) -> ComponentStrategy:
        """Scaled so that the upward-rounded sensitivity is at most 1 (as close as rounding allows).

        Raises
        ------
        OptionError : a strategy of zeros, or one whose sensitivity overflows.
        """
        if not 0 < self.sensitivity < np.inf:
            raise OptionError(
                f"a strategy of sensitivity {self.sensitivity:g} cannot be scaled to sensitivity 1"
            )
        found = self if self.sensitivity == 1.0 else self._divided(self.sensitivity)
        while found.sensitivity > 1.0:
            found = found._divided(float(np.nextafter(found.sensitivity, np.inf)))
        return found

    def _divided(self, by: float) -> ComponentStrategy:
        parts = tuple(part / by for part in self.split.parts)
        return ComponentStrategy(Split(self.split.rows, self.split.columns, parts))

    # -- error ---------------------------------------------------------------------------------------

    @cached_property
    def _answers(self) -> ComponentAnswers:
        return ComponentAnswers(self.split, self.cells)

    def supports(self, workload: Workload) -> bool:
        """Whether A determines every query: W A⁺A = W, relative to W scaled to at most unit queries."""
        return self.missed(workload) <= SUPPORT_TOLERANCE

    def missed(self, workload: Workload) -> float:
        """‖W - W A⁺A‖ / ‖W‖ in Frobenius norms, of W scaled to at most unit queries: what A does not tell."""
        return self._answers.missed(workload)

    def total_error(self, workload: Workload) -> float:
        """‖A‖² ‖W A⁺‖²_F with the weighted W, as ``Strategy.total_error``; infinity where W is not supported.

        The workload needs the strategy's attributes, not its symmetries.

        Raises
        ------
        OptionError : a workload over other attributes.
        """
        if not self.supports(workload):
            return float("inf")
        return self.sensitivity**2 * self._answers.told(workload, "weighted")

    def condition(self, workload: Workload) -> float:
        """How rounding errors of A grow in total error, as ``Strategy.condition``."""
        return self._answers.condition(workload)

    @property
    def largest_condition(self) -> float:
        """At least ``condition`` of every workload, and cheap."""
        return self._answers.largest_condition

    def mean_variance(self, workload: Workload) -> float:
        """The mean of ``variances``, without them."""
        if not self.supports(workload):
            return float("inf")
        return self._answers.told(workload, "plain") / workload.m

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that A does not support. Queries that are the same on every component are
        looked at once.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        """
        require_memory((workload.m,), "list of the queries' variances")
        if self.is_better_dense:
            return self.dense().variances(workload)
        out = []
        for block in query_rows(self.cells.joint, workload):
            require_memory((block.count, self.cells.largest), "list of queries up to symmetry")
            told, missed, length = (np.zeros(block.count) for _ in range(3))
            for key, rows in block.parts():
                own = self._answers.of_rows(key, rows)
                told += own[0]
                missed += own[1]
                length += float(self.cells.joint.multiplicity(key)) * np.square(rows).sum(axis=1)
            found = np.where(missed <= SUPPORT_TOLERANCE**2 * length, told, np.inf)
            out.append(found[block.labels])
        return np.concatenate(out)

    def dense(self) -> Strategy:
        """The same strategy with its matrix.

        Raises
        ------
        TooLargeError : it does not fit in memory.
        """
        return Strategy(self.matrix, self.norm)

    def __repr__(self) -> str:
        sensitivity = f"sensitivity {rounded(self.sensitivity, 6, up=True)}"
        return f"ComponentStrategy({self.p:,} × {self.n:,}, {self.cells.words}, {sensitivity})"


AnyStrategy = Strategy | ComponentStrategy


def as_dense(strategy: AnyStrategy) -> Strategy:
    """The strategy with its matrix; TooLargeError where that does not fit in memory."""
    return strategy.dense() if isinstance(strategy, ComponentStrategy) else strategy
