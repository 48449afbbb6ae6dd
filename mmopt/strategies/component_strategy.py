"""Strategies on the components of the cells, measured and judged without their matrix over all cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import MOST_CELLS, Array, Ints, columns_of, frozen
from mmopt.numerics.component_arrays import Level, Split, lift
from mmopt.numerics.linear_algebra import largest_singular_value, pseudo_factors
from mmopt.numerics.outward import not_below, root_up, rounded
from mmopt.strategies.protocol_and_dense_strategy import SUPPORT_TOLERANCE, StrategyForm, as_dense
from mmopt.symmetry.components import Cells, Key
from mmopt.symmetry.query_rows_on_components import query_rows
from mmopt.symmetry.workload_by_component import check_fit, mean_roots
from mmopt.workloads import Dense, Workload

# Components of more than this part of the cells cost more than the matrix for queries one by one.
LARGE_SHARE = 1 / 8
SMALLER_HINT = "group values of the attributes, so that there are fewer cells"


@dataclass(frozen=True, eq=False, repr=False)
class ComponentStrategy(StrategyForm):
    """A strategy A (p, n) that splits into components, measured with Gaussian noise; nothing is (p, n) here.

    Parameters
    ----------
    split : A by component, on the cells of ``symmetry``; numpy parts.
    norm : 2; the L1 norms of columns cannot be computed by component.

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
        return self.split.rows.size

    @property
    def n(self) -> int:
        return self.split.columns.size

    @property
    def matrix(self) -> Array:
        """A, dense (p, n), computed at each call; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix", SMALLER_HINT)
        return frozen(lift(self.split))

    @property
    def is_better_dense(self) -> bool:
        """Whether the matrix is the cheaper form where queries are taken one by one."""
        return self.n <= MOST_CELLS and self.cells.largest > LARGE_SHARE * self.n

    # -- sensitivity ---------------------------------------------------------------------------------

    @cached_property
    def profile(self) -> Level:
        """Squared length of a column of A, by orbit of cells: the diagonal of AᵀA."""
        return Level(self.cells, frozen(self._squares()[0]))

    def _squares(self) -> tuple[Array, Array]:
        """The diagonal of AᵀA by orbit, and the number of terms in the sum of each entry."""
        cells = self.cells
        labels, orbits = np.concatenate(cells.labels), len(cells.sizes)
        squares = np.concatenate([np.square(part).sum(axis=0) for part in self.split.parts])
        total = np.bincount(labels, np.repeat(cells.multiplicities, cells.dims) * squares, minlength=orbits)
        counts = np.repeat([len(part) + 1.0 for part in self.split.parts], cells.dims)
        return total / cells.sizes, np.asarray(
            np.bincount(labels, counts, minlength=orbits), dtype=np.float64
        )

    @cached_property
    def largest_column(self) -> float:
        """Largest L2 norm of a column, rounded upwards: at least the exact value.

        All terms of an entry of diag(AᵀA) are nonnegative, so with k of them (the roundings of each counted,
        and those of multiplicities and sizes beyond 2⁵³) the relative error is at most γ_k (see ``outward``).
        """
        squares, terms = self._squares()
        if not any(part.any() for part in self.split.parts):
            return 0.0
        return float(root_up(not_below(squares, terms + 8.0)).max())

    def implicit(self) -> Dense:
        return Dense(self.matrix)

    def divided(self, by: float) -> ComponentStrategy:
        return ComponentStrategy(
            Split(self.split.rows, self.split.columns, tuple(part / by for part in self.split.parts))
        )

    # -- error ---------------------------------------------------------------------------------------

    @cached_property
    def _directions(self) -> tuple[tuple[Array, Array], ...]:
        """Per component D with D Dᵀ = (AᵀA)⁺ and an orthonormal basis of the null space of A."""
        return tuple(pseudo_factors(part) for part in self.split.parts)

    @cached_property
    def _places(self) -> dict[Key, list[tuple[int, Ints]]]:
        """The places of a choice of one part per attribute: the components, and the columns of each."""
        places: dict[Key, list[tuple[int, Ints]]] = {}
        for at, chosen in enumerate(self.cells.chosen):
            places.setdefault(chosen.key, []).append((at, chosen.kept))
        return places

    def _images(self, key: Key, rows: Array) -> Iterator[tuple[Array, Array, Array]]:
        """For rows R (k, d) of a component: R A⁺ on each block, its inverse, and the rest."""
        for at, kept in self._places.get(key, []):
            inverse, null = self._directions[at]
            part = columns_of(rows, kept)
            yield part @ inverse, inverse, part @ null

    def _squares_of_rows(self, key: Key, rows: Array) -> tuple[Array, Array]:
        """‖r A⁺‖² and ‖r - r A⁺A‖² of rows R (k, d) on a component, (k,) each; the multiplicity counts."""
        image_squares, missed = np.zeros(len(rows)), np.zeros(len(rows))
        for image, _, outside in self._images(key, rows):
            image_squares += np.square(image).sum(axis=1)
            missed += np.square(outside).sum(axis=1)
        elsewhere = np.ones(rows.shape[1], dtype=bool)
        for _, kept in self._places.get(key, []):
            elsewhere[kept] = False
        missed += np.square(rows[:, elsewhere]).sum(axis=1)
        often = float(self.cells.joint.multiplicity(key))
        return often * image_squares, often * missed

    @cached_property
    def _sums_by_workload(self) -> dict[tuple[str, str], tuple[float, float, float]]:
        """``_sums`` by hash and scale."""
        return {}

    def _sums(self, workload: Workload, scale: str) -> tuple[float, float, float]:
        """‖R A⁺‖², ‖R - R A⁺A‖² and ‖R‖² of all queries at a scale of ``mean_roots``, once a workload."""
        place = (workload.hash, scale)
        if place not in self._sums_by_workload:
            variance = missed = length = 0.0
            for key, rows in mean_roots(self.cells.joint, workload, scale).items():
                image, outside = self._squares_of_rows(key, rows)
                variance, missed = variance + float(image.sum()), missed + float(outside.sum())
                length += float(self.cells.joint.multiplicity(key)) * float(np.square(rows).sum())
            self._sums_by_workload[place] = variance, missed, length
        return self._sums_by_workload[place]

    def supports(self, workload: Workload) -> bool:
        """Whether A determines every query: W A⁺A = W, relative to W scaled to at most unit queries."""
        return self.missed(workload) <= SUPPORT_TOLERANCE

    def missed(self, workload: Workload) -> float:
        """‖W - W A⁺A‖ / ‖W‖ in Frobenius norms, of W scaled to at most unit queries: the rest beyond A.

        Raises
        ------
        OptionError : a workload over other attributes.
        """
        if self.cells.kept == self.cells.size and all(null.shape[1] == 0 for _, null in self._directions):
            check_fit(self.cells.joint, workload)
            return 0.0
        _, missed, length = self._sums(workload, "unit")
        return float(np.sqrt(missed / length))

    def squared_error(self, workload: Workload) -> float:
        """‖W A⁺‖²_F with the weighted W (no sensitivity); infinity where W is not supported.

        The workload needs the strategy's attributes, not its symmetries.

        Raises
        ------
        OptionError : a workload over other attributes.
        """
        return self._sums(workload, "weighted")[0] if self.supports(workload) else float("inf")

    def condition(self, workload: Workload) -> float:
        """The growth of rounding errors of A in total error, as ``Strategy.condition``."""
        joint, grown = self.cells.joint, 0.0
        for key, rows in mean_roots(joint, workload, "weighted").items():
            each = (np.square(image @ inverse.T).sum() for image, inverse, _ in self._images(key, rows))
            grown += float(joint.multiplicity(key)) * float(sum(each))
        largest = max(largest_singular_value(part) for part in self.split.parts)
        return largest * float(np.sqrt(grown / self._sums(workload, "weighted")[0]))

    @cached_property
    def largest_condition(self) -> float:
        """An upper bound on ``condition`` for every workload, and cheap."""
        inverse = max(float(np.linalg.norm(inverse)) for inverse, _ in self._directions)
        return inverse * max(float(np.linalg.norm(part)) for part in self.split.parts)

    def variances(self, workload: Workload) -> Array:
        """Variance of each unweighted query's estimate at unit noise on A x (no sensitivity), (m,).

        Infinity for a query that A does not support. Queries that are the same on every component are
        computed once.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        """
        require_memory((workload.m,), "list of the queries' variances")
        if self.is_better_dense:
            return as_dense(self).variances(workload)
        out = []
        for block in query_rows(self.cells.joint, workload):
            require_memory((block.count, self.cells.largest), "list of queries up to symmetry")
            image_squares, missed, length = (np.zeros(block.count) for _ in range(3))
            for key, rows in block.parts():
                squares = self._squares_of_rows(key, rows)
                image_squares += squares[0]
                missed += squares[1]
                length += float(self.cells.joint.multiplicity(key)) * np.square(rows).sum(axis=1)
            finite = np.where(missed <= SUPPORT_TOLERANCE**2 * length, image_squares, np.inf)
            out.append(finite[block.labels])
        return np.concatenate(out)

    def __repr__(self) -> str:
        sensitivity = f"sensitivity {rounded(self.sensitivity, 6, up=True)}"
        return f"ComponentStrategy({self.p:,} × {self.n:,}, {self.cells.words}, {sensitivity})"
