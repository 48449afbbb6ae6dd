"""Strategies by component, without a matrix over all cells: on the cells' symmetries, and on a row space.

**On the row space** of queries of few attributes nothing has the size of the cells, over any number of them.
A = s C B: B the functions of a layout of sectors (r, n), C an invertible matrix on them. As many rows are
measured as there are functions. A query of few attributes is a combination L of the functions in their
sectors, its estimate L C⁻¹ y / s, with variance L (CᵀC)⁻¹ Lᵀ / s². In addition to the functions of classes of
values there may be components with rests, each with a different C; a query is then the sum of its parts on
each.

A program gives the strategy by the components of a ``RowSpace``: their functions are orthonormal, and A = C B
has a matrix C_κ on each. Rests are measured by a frame whose functions [x = v] - 1/s are Π √dᵢ times shorter.
A C_κ that is not square, or that measures some function with next to no weight, because no query needs it,
gets a little of the identity: A is then a little longer, and no query's variance is larger. An upper bound on
the longest column is proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mmopt.errors import OptionError, ResultError
from mmopt.limits import require_memory
from mmopt.numerics import (
    EPS,
    MOST_CELLS,
    Array,
    Ints,
    Level,
    Space,
    Split,
    columns_of,
    frozen,
    gamma,
    largest_singular_value,
    lift,
    not_below,
    pseudo_factors,
    root_up,
    times_up,
)
from mmopt.numerics.arrays import grouped, rounded
from mmopt.sectors.functions_of_few import Rests, all_subsets
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.row_space_cells_and_targets import (
    QueriesOnSectors,
    RestComponent,
    RowSpaceCells,
    SectorLayout,
)
from mmopt.strategies.factor_strategies import StrategyOfFew, products_of
from mmopt.strategies.protocol_and_dense_strategy import SUPPORT_TOLERANCE, StrategyForm, as_dense
from mmopt.strategies.set_strategy_and_cells import SetCells, SetStrategy, padded, unpadded
from mmopt.symmetry.components import Cells, Key
from mmopt.symmetry.workload_by_component import check_fit, mean_roots, query_rows
from mmopt.workloads import (
    Dense,
    Implicit,
    Product,
    Workload,
    kron,
)

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
        and those of multiplicities and sizes beyond 2⁵³) the relative error is at most γ_k
        (see ``numerics.arrays``).
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
        return grouped((chosen.key, (at, chosen.kept)) for at, chosen in enumerate(self.cells.chosen))

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


# -- on a row space


#: The most that is added to the mean squared length of A's columns under the uniform measure, relatively.
ADDED = 1e-6

SPARE = 1e-3  # of what is added: it is more than rounding, and than what it adds to the mean itself


def measured_parts(rows: RowSpace, factors: Sequence[Array]) -> tuple[tuple[RestComponent, ...], float]:
    """The measured components for ``factors``, C_κ (any number, d_κ) by component of ``rows``.

    The first has no rests. Each of their N_κ = CᵀC exceeds the given one by at most the number returned in
    norm, outward; so a squared column length by at most this times the largest ‖b(x)‖².
    """
    least = _least_added(rows.space, [float(np.square(factor).sum()) for factor in factors])
    cores, added = zip(*(_invertible(factor, least) for factor in factors), strict=True)
    functions = tuple(np.ascontiguousarray(table[:, 1:].T) for table in rows.functions)
    labels = tuple(basis.symmetry.orbit_of for basis in rows.bases)
    components = []
    for component, core in zip(rows.components, cores, strict=True):
        sets = all_subsets(component.sectors)  # in the order of layouts
        order = np.concatenate([np.arange(len(core))[component.places[one]] for one in sets])
        scale = math.sqrt(math.prod(rows.bases[i].size for i, _ in component.rests))
        layout = SectorLayout(labels, functions, sets)
        components.append(RestComponent(component.rests, layout, scale * core[np.ix_(order, order)]))
    return tuple(components), max(added)


def definite_parts(space: Space, parts: Sequence[Array]) -> tuple[Array, ...]:
    """N_κ (d, d) plus enough of the identity that a factor of it is measured unchanged.

    A kernel that applies this to N before any claim has the error of the measured strategy as its objective.
    """
    least = (1.0 + SPARE) * _least_added(space, [float(np.trace(part)) for part in parts])
    return tuple(
        part
        if np.linalg.eigvalsh(part)[:1].min(initial=np.inf) >= least
        else part + least * np.eye(len(part))
        for part in parts
    )


def _least_added(space: Space, sizes: Sequence[float]) -> float:
    """The multiple of the identity added: ``ADDED`` of the mean squared column, per dimension, by traces."""
    return ADDED * float(space.multiplicities @ sizes) / float(space.multiplicities @ space.dims)


def _invertible(factor: Array, least: float) -> tuple[Array, float]:
    """A square factor with CᵀC >= ``least``, or the root of CᵀC + ``least``; and the error of CᵀC."""
    gram = factor.T @ factor
    if factor.shape[0] == factor.shape[1] and np.linalg.eigvalsh(gram)[0] >= least:
        return factor, 0.0
    values, vectors = np.linalg.eigh(gram)
    root = np.asarray((vectors * np.sqrt(np.maximum(values, 0.0) + least)) @ vectors.T)
    off = float(np.linalg.norm(root.T @ root - gram))
    rounding = (len(factor) + 2 * len(gram) + 8) * EPS
    return root, 1.01 * (off + rounding * float(np.square(factor).sum() + np.square(root).sum()))


@dataclass(frozen=True, eq=False, repr=False)
class RowSpaceStrategy(StrategyOfFew):
    """A = scale · core · B, measured with Gaussian noise; no array has the size of the cells. Immutable.

    Parameters
    ----------
    components : each with its functions and an invertible core on them; the first without rests, all others
        on the same classes and functions, of different rests; measured one after the other.
    largest : proved to be at least the largest column norm of core · B. scale : above 0.

    Raises
    ------
    OptionError : a core of another size, with entries that are not finite or without an inverse; a largest
        column or scale that is not finite and positive.
    """

    components: tuple[RestComponent, ...]
    largest: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        for one in self.components:
            if len(one.core) != one.layout.size:
                raise OptionError(
                    f"the core is for {len(one.core)} functions, the sectors have {one.layout.size}"
                )
            if not np.isfinite(one.core).all():
                raise OptionError("the core has NaN or infinite entries, expected finite numbers")
        for what, value in (("largest column", self.largest), ("scale", self.scale)):
            if not 0 < value < math.inf:
                raise OptionError(f"the {what} is {value!r}, expected a finite number above 0")
        try:
            _ = [one.covariance for one in self.components]
        except np.linalg.LinAlgError:
            raise OptionError("the core has no inverse: some functions would not be measured") from None

    @property
    def layout(self) -> SectorLayout:
        """The functions of the component without rests."""
        return self.components[0].layout

    @property
    def largest_condition(self) -> float:
        return float(max(np.linalg.norm(one.core) * np.linalg.norm(one.inverse) for one in self.components))

    @cached_property
    def _queries(self) -> QueriesOnSectors:
        """Variances and answers of queries on the components, at scale 1."""
        return QueriesOnSectors(self.layout, {one.rests: one for one in self.components})

    @property
    def norm(self) -> int:
        """2: the core mixes functions, and no L1 norms of its columns are computed."""
        return 2

    @property
    def p(self) -> int:
        return sum(one.rows for one in self.components)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.layout.shape

    @property
    def largest_column(self) -> float:
        """The bound proved for the core, times the scale, rounded upwards."""
        return float(times_up(self.scale, self.largest))

    def implicit(self) -> Implicit:
        """A (p, n) as a matrix, for few cells; TooLargeError beyond the memory limit."""
        require_memory((self.p, self.n), "strategy matrix")
        codes = np.stack(np.unravel_index(np.arange(self.n), self.layout.shape), axis=1)
        return Dense(self.scale * np.concatenate([one.matrix(codes) for one in self.components]))

    def divided(self, by: float) -> RowSpaceStrategy:
        return replace(self, scale=self.scale / by)

    # -- the errors of queries -----------------------------------------------------------------------

    def product_variances(self, product: Product) -> Array:
        return self._queries.variances(product) / self.scale**2

    def squared_error(self, workload: Workload) -> float:
        return math.fsum(
            product.weight * float(_row_weights(product) @ self._queries.variances(product) / self.scale**2)
            for product in products_of(workload, self.sizes)
        )

    # -- estimates -----------------------------------------------------------------------------------

    def sums_from(self, noisy: Array) -> dict[Rests, Array]:
        """By component (r, Π s): the estimated sums of its functions over the rows of data."""
        split = np.split(noisy / self.scale, np.cumsum([one.rows for one in self.components])[:-1])
        return {
            one.rests: one.inverse @ part.reshape(one.layout.size, -1)
            for one, part in zip(self.components, split, strict=True)
        }

    def product_answers(self, product: Product, sums: Mapping[Any, Array]) -> Array:
        return self._queries.answers(product, sums)

    def estimate(self, noisy: Array) -> Array:
        """(…, n) the shortest data vector that fits best, A⁺ y; for few cells."""
        return np.asarray(noisy @ np.linalg.pinv(self.implicit().matrix()).T)

    # -- saved, and shown ----------------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        layout = self.layout
        return {
            "form": "sectors",
            "attributes": len(layout.shape),
            "labels": {str(i): label for i, label in enumerate(layout.labels)},
            "functions": {str(i): table for i, table in enumerate(layout.functions)},
            "sets": padded(layout.sets),
            "core": {"matrix": self.components[0].core},
            "largest": self.largest,
            "scale": self.scale,
            "rests": {
                str(at): {
                    "rests": np.array(one.rests, dtype=np.int64),
                    "sets": padded(one.layout.sets),
                    "matrix": one.core,
                }
                for at, one in enumerate(self.components[1:])
            },
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> RowSpaceStrategy:
        if "trivial" in fields["core"]:
            raise ResultError(
                "its strategy is by permutations of equal attributes, no longer read",
                hint="make it anew: mmopt solve WORKLOAD --program PROGRAM --out FILE",
            )
        at = range(fields["attributes"])
        labels = tuple(fields["labels"][str(i)] for i in at)
        functions = tuple(fields["functions"][str(i)] for i in at)
        first = {"rests": (), "sets": fields["sets"], "matrix": fields["core"]["matrix"]}
        components = (
            RestComponent(
                tuple((int(i), int(o)) for i, o in one["rests"]),
                SectorLayout(labels, functions, unpadded(one["sets"])),
                one["matrix"],
            )
            for one in (first, *fields.get("rests", {}).values())
        )
        return cls(tuple(components), fields["largest"], fields["scale"])

    def __repr__(self) -> str:
        return self._words(f"{self.p:,} queries of few of {len(self.layout.shape)} attributes")


def _row_weights(product: Product) -> Array:
    """(m,) the weights of a product's rows, without the weight of the product."""
    factors = [product.factors[i] for i in product.looked_at]
    return kron([np.ones(1), *(np.ones(f.rows) if f.row_weights is None else f.row_weights for f in factors)])


def strategy_on(factor: Split) -> RowSpaceStrategy | SetStrategy:
    """The strategy with the matrix ``factor``, from any rows to ``RowSpaceCells`` or ``SetCells``.

    The squared column ‖C b‖² is the profile of CᵀC, which is rounded by γ |C|ᵀ |C|.
    """
    cells = factor.columns
    if isinstance(cells, SetCells):
        return replace(cells.unit, weights=np.array([float(np.linalg.norm(part)) for part in factor.parts]))
    assert isinstance(cells, RowSpaceCells)
    components, added = measured_parts(cells.rows, factor.parts)
    size = max(float(np.linalg.norm(part)) ** 2 for part in factor.parts)
    off = (gamma(max(map(len, factor.parts)) + 2) * size + added) * cells.longest
    square = cells.largest_entry([part.T @ part for part in factor.parts]) + off
    return RowSpaceStrategy(components, float(root_up(square * (1 + 4 * EPS))))
