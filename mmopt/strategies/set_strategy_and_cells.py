"""Sets of attributes measured one by one: the form of strategy, the space for programs, and the search.

**The form.** Each attribute has a matrix A_i (p_i, n_i) no combination of whose rows is constant, each set S
a weight θ_S; what is measured is θ_S ⊗_{i in S} A_i, all other attributes summed over. With the constant
above A_i is [1; A_i], of full row rank, and a query of attribute i is q = γ 1ᵀ + ℓ A_i in one way only. So a
product of queries is a sum over sets S of θ_S-measured rows in one way only, and least squares are that sum:

    its variance is Σ_S θ_S⁻² Π_{i in S} |ℓ_i|² Π_{i not in S} γ_i².

It is that of the residual planner (Xiao et al., arXiv 2305.08175) for any queries: everything is in closed
form over any number of cells. The squared length of a column is Σ_S θ_S² Π |a_i|², largest where each |a_i|
is.

**The space** on which programs are evaluated has one number for each set. With the A_i fixed and B_S the rows
⊗_{i in S} A_i, X = Σ_S x_S B_Sᵀ B_S measures each set with a weight, and least squares are a sum over sets:

- trace(W X⁻¹ Wᵀ) = Σ_S E_S / x_S, and a query's variance is Σ_S v_S / x_S. So on the space W is one
  number √E_S for each set, and a query one √v_S.
- The longest column of each B_S has length 1 here, and one cell has the longest columns of all sets, so that
  max diag(X) = Σ_S x_S.
- W is not block-diagonal, and a bound from the E_S alone would be too high. The bound that a measure of the
  cells proves is computed from the products of the workload (``sectors.total_error_bounds``).

Every such X is a feasible point of the program over all cells, with the same objective there.

**The search.** For total error it is that for the best bases, and for designs that all sets share
(``sectors.residual_strategies``).

For queries with targets the largest ratio of a variance to its target counts. The least of
the largest is the largest, over weights of the queries of sum 1, of the least weighted sum (minimax). Here
the weights are products: one number for each product of the workload, and one for each row of a factor, the
same in all products on as many attributes, so that weighted queries are products, too. In each round every
weight is multiplied by a power of the mean of the variances that it weighs.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.errors import OptionError, ResultError
from mmopt.limits import require_memory, time_left
from mmopt.numerics import (
    EPS,
    Array,
    Ints,
    Moments,
    Space,
    Spanned,
    Split,
    check_norm,
    column_norms,
    has_full_rank,
    owned,
    plus_up,
    root_up,
    times_up,
)
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.residual_strategies import FewProduct, products_of_few, shared_designs, with_best_bases
from mmopt.sectors.total_error_bounds import root_trace_in_parts
from mmopt.strategies.factor_strategies import StrategyOfFew, products_of
from mmopt.strategies.protocol_and_dense_strategy import normalise
from mmopt.workloads import (
    Dense,
    Implicit,
    Kron,
    Product,
    Scaled,
    Stack,
    Workload,
    kron,
    total,
)

#: The part of a query's squared length that may lie outside of the measured rows by rounding.
OUTSIDE = 1e-18
#: The part that rounding may add to a squared error, for each unit of condition.
PER_CONDITION = 8 * EPS
#: The part of a query's squared length that rounding leaves where there is none.
NOTHING = 1e-26


@dataclass(frozen=True, eq=False, repr=False)
class SetStrategy(StrategyOfFew):
    """The rows θ_S ⊗ A_i of all sets, measured with noise. Immutable.

    Parameters
    ----------
    matrices : A_i (p_i, n_i) by attribute; p_i = 0 where only totals are measured.
    sets : of attributes, each ascending, all different. weights : θ_S > 0, one a set. norm : 1 or 2.

    Raises
    ------
    OptionError : a matrix with entries that are not finite, or with rows that, with the constant, are
        dependent; sets that repeat or have other attributes; weights that are not positive; another norm.
    """

    matrices: tuple[Array, ...]
    sets: tuple[tuple[int, ...], ...]
    weights: Array
    norm: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrices", tuple(map(owned, self.matrices)))
        object.__setattr__(self, "sets", tuple(tuple(map(int, one)) for one in self.sets))
        object.__setattr__(self, "weights", owned(self.weights))
        check_norm(self.norm, "the strategy's norm")
        for i, matrix in enumerate(self.matrices):
            if not np.isfinite(matrix).all():
                raise OptionError(f"the matrix of attribute {i} has NaN or infinite entries")
            if not has_full_rank(_with_constant(matrix)):
                raise OptionError(f"the rows of attribute {i} and the constant are dependent")
        ascending = [one for one in self.sets if sorted(set(one)) == list(one)]
        inside = all(0 <= i < len(self.matrices) for one in self.sets for i in one)
        if not (self.sets and inside and len(set(ascending)) == len(self.sets)):
            raise OptionError("the sets of attributes repeat, or are not ascending places of attributes")
        if self.weights.shape != (len(self.sets),) or not (
            np.isfinite(self.weights).all() and (self.weights > 0).all()
        ):
            raise OptionError(
                f"the weights must be {len(self.sets)} finite numbers above 0, one for each set"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(matrix.shape[1] for matrix in self.matrices)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Measured queries of each set."""
        return tuple(math.prod(len(self.matrices[i]) for i in one) for one in self.sets)

    @property
    def p(self) -> int:
        return sum(self.rows)

    @property
    def largest_column(self) -> float:
        """Σ θ Π or √Σ θ² Π² of the attributes' longest columns, rounded upwards: some cell has them all."""
        longest = [column_norms(a, self.norm).max(initial=0.0) if len(a) else 0.0 for a in self.matrices]
        total = np.zeros(())
        for one, weight in zip(self.sets, self.weights, strict=True):
            size = reduce(times_up, (longest[i] for i in one), np.asarray(weight))
            total = plus_up(total, times_up(size, size) if self.norm == 2 else size)
        return float(root_up(total) if self.norm == 2 else total)

    def divided(self, by: float) -> SetStrategy:
        return SetStrategy(self.matrices, self.sets, self.weights / by, self.norm)

    # -- the errors of queries -------------------------------------------------------------------------

    def squared_error(self, workload: Workload) -> float:
        """The error by sums over the rows of each factor: no list of the queries."""
        return math.fsum(self.errors_by_set(workload) / np.square(self.weights))

    def errors_by_set(self, workload: Workload) -> Array:
        """(sets,) the part of each set in the squared error where its weight is 1; infinite where some query
        is not supported."""
        errors = np.zeros(len(self.sets))
        for product in products_of(workload, self.sizes):
            for one, values in self.variances_by_set(product.weighed(), sums=True):
                place = self.place_of.get(one)
                if place is not None:
                    errors[place] += product.weight * float(values[0])
                elif values[0] > 0:
                    errors[:] = np.inf
        return errors

    def product_variances(self, product: Product) -> Array:
        variances = np.zeros(math.prod(product.factors[i].rows for i in product.looked_at))
        for one, values in self.variances_by_set(product.unweighted(), sums=False):
            place = self.place_of.get(one)
            variances += (
                np.where(values > 0, np.inf, 0.0) if place is None else values / self.weights[place] ** 2
            )
        return variances

    def variances_by_set(self, product: Product, sums: bool) -> Iterator[tuple[tuple[int, ...], Array]]:
        """For each set S of the product's attributes, measured or not, its part in each query's variance.

        At weight 1 it is Π_{i in S} |ℓ_i|² Π_{i not in S} γ_i², (m,); with ``sums`` their sum, (1,). The
        product's weight is left out.
        """
        looked = product.looked_at
        combined = (self._combined(i, product.factors[i]) for i in looked)
        parts = [(one.means, one.lengths) for one in combined]
        if sums:
            parts = [(means.sum(keepdims=True), lengths.sum(keepdims=True)) for means, lengths in parts]
        for chosen in itertools.product((False, True), repeat=len(looked)):
            values = np.ones((1, 1))
            with np.errstate(invalid="ignore"):  # 0 times an infinite length is 0
                for pair, at in zip(parts, map(int, chosen), strict=True):
                    values = np.nan_to_num(kron([values, pair[at][None]]), nan=0.0, posinf=np.inf)
            yield tuple(itertools.compress(looked, chosen)), values[0]

    @cached_property
    def place_of(self) -> dict[tuple[int, ...], int]:
        """The place of each set."""
        return {one: at for at, one in enumerate(self.sets)}

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """By attribute (n_i, 1 + p_i), [1; A_i]⁺: first the base, then ℓ of a query."""
        return tuple(map(_inverse, self.matrices))

    @cached_property
    def largest_condition(self) -> float:
        """The growth of rounding errors in a squared error, by the condition of the attributes' rows."""
        conditions = [
            float(np.linalg.norm(inverse) * np.linalg.norm(_with_constant(a)))
            for inverse, a in zip(self.inverses, self.matrices, strict=True)
        ]
        most = max(map(len, self.matrices), default=0) + 1
        return 2 * most * max(1, *map(len, self.sets)) * max(1.0, *conditions)

    @cached_property
    def _combined(self) -> Callable[[int, Implicit], _Combined]:
        """A factor's queries in terms of the rows of an attribute; computed once for equal factors."""
        matrices, inverses = self.matrices, self.inverses
        return cache(lambda i, factor: _combine(factor.matrix(), matrices[i], inverses[i]))

    # -- estimates -------------------------------------------------------------------------------------

    def sums_from(self, noisy: Array) -> dict[tuple[int, ...], Array]:
        """By set (p_i, …): the estimated sums of its rows over the rows of data."""
        parts = np.split(noisy, np.cumsum(self.rows)[:-1])
        return {
            one: (part / weight).reshape([len(self.matrices[i]) for i in one])
            for one, weight, part in zip(self.sets, self.weights, parts, strict=True)
        }

    def product_answers(self, product: Product, sums: Mapping[Any, Array]) -> Array:
        looked = product.looked_at
        combined = [self._combined(i, product.factors[i].plain) for i in looked]
        answers = np.zeros([len(factor.means) for factor in combined])
        for chosen in itertools.product((False, True), repeat=len(looked)):
            one = tuple(itertools.compress(looked, chosen))
            if one in sums:
                table = sums[one].reshape([len(self.matrices[i]) if i in one else 1 for i in looked])
                for at, factor in enumerate(combined):
                    matrix = factor.inner if chosen[at] else factor.base
                    table = np.moveaxis(np.tensordot(matrix, table, axes=(1, at)), 0, at)
                answers += table
            elif all(
                (factor.lengths if at else factor.means).any()
                for factor, at in zip(combined, chosen, strict=True)
            ):
                raise OptionError("the strategy does not support the queries whose answers are requested")
        return answers.ravel()

    def implicit(self) -> Implicit:
        """All rows (p, n), never formed, one set after the other."""
        return Stack(
            [
                Scaled(
                    Kron([Dense(a) if i in one else total(a.shape[1]) for i, a in enumerate(self.matrices)]),
                    weight,
                )
                for one, weight in zip(self.sets, self.weights.tolist(), strict=True)
            ]
        )

    # -- saved, and shown ------------------------------------------------------------------------------

    def fields(self) -> dict[str, Any]:
        return {
            "form": "sectorwise",
            "matrices": {str(i): matrix for i, matrix in enumerate(self.matrices)},
            "sets": padded(self.sets),
            "weights": self.weights,
            "norm": self.norm,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> SetStrategy:
        matrices = tuple(fields["matrices"][str(i)] for i in range(len(fields["matrices"])))
        return cls(matrices, unpadded(fields["sets"]), fields["weights"], fields["norm"])

    def __repr__(self) -> str:
        return self._words(f"{self.p:,} queries by {len(self.sets):,} sets of {len(self.sizes)} attributes")


def padded(sets: Sequence[tuple[int, ...]]) -> Ints:
    """Sets as rows of one length, filled up with -1."""
    most = max(map(len, sets), default=0)
    rows = [[*one, *[-1] * (most - len(one))] for one in sets]
    return np.array(rows, dtype=np.int64).reshape(len(sets), most)


def unpadded(rows: Ints) -> tuple[tuple[int, ...], ...]:
    """The sets of ``padded``; ResultError for numbers that are not whole, which an edited file may have."""
    if rows.dtype.kind not in "iu":
        raise ResultError("the sets of attributes of its strategy are no whole numbers")
    return tuple(tuple(int(i) for i in row if i >= 0) for row in rows)


@dataclass(frozen=True, eq=False)
class _Combined:
    """A factor's queries (m, n) as γ 1ᵀ + ℓ A: base (m, 1), γ; inner (m, p), ℓ; means γ², lengths |ℓ|² (m,).

    Lengths are infinite where a query is not measured.
    """

    base: Array
    inner: Array
    means: Array
    lengths: Array


def _combine(queries: Array, matrix: Array, inverse: Array) -> _Combined:
    """The queries as combinations of the constant and the rows of ``matrix``; what is rounding is 0."""
    coefficients = queries @ inverse
    base, inner = coefficients[:, :1], coefficients[:, 1:]
    part, sizes = inner @ matrix, np.square(queries).sum(axis=1)
    outside = np.square(queries - base - part).sum(axis=1) > OUTSIDE * sizes
    base = np.where(np.square(base) * queries.shape[1] > NOTHING * sizes[:, None], base, 0.0)
    inner = np.where((np.square(part).sum(axis=1) > NOTHING * sizes)[:, None], inner, 0.0)
    return _Combined(
        base, inner, np.square(base)[:, 0], np.where(outside, np.inf, np.square(inner).sum(axis=1))
    )


def _inverse(matrix: Array) -> Array:
    """(n, 1 + p) the pseudoinverse of [1; A]."""
    scales = np.append(_size(matrix), np.ones(len(matrix)))  # the inverse undoes that of independent rows
    return np.asarray(np.linalg.pinv(_with_constant(matrix)) * scales, dtype=np.float64)


def _with_constant(matrix: Array) -> Array:
    """The matrix below a constant row of its size."""
    return np.vstack([np.full((1, matrix.shape[1]), _size(matrix)), matrix])


def _size(matrix: Array) -> float:
    """The largest magnitude of the entries; 1 where there is none."""
    return float(np.abs(matrix).max(initial=0.0)) or 1.0


# -- the space


#: Roundings of a Gram matrix of weighted rows, in addition to those of its sums.
GRAM = 16
#: Weights of a factor's rows below this part of the largest count as zero, so that no product underflows.
LEAST = 1e-30
UNSUPPORTED = "the strategy does not support the queries: it does not measure all that they ask"


@dataclass(frozen=True, eq=False, repr=False)
class SetCells(Spanned):
    """The n = ``total`` cells of a workload, as far as strategies by these sets distinguish them.

    unit : the rows of the sets, all with weight 1. workload : the queries. measures : (dᵢ,) an attribute,
    whose product proves a good bound, and weights (m,) of queries with targets; none where they were not
    searched for.
    """

    unit: SetStrategy = field(kw_only=True)
    workload: Workload = field(kw_only=True)
    measures: tuple[Array, ...] = field(kw_only=True, default=())
    is_restricted = True
    weights: Array = field(kw_only=True, default_factory=lambda: np.zeros(0))

    @staticmethod
    def of(strategy: SetStrategy, workload: Workload) -> SetCells:
        """The cells as the sets of a strategy distinguish them; its weights do not matter."""
        sets = strategy.sets
        unit = SetStrategy(tuple(map(_at_least_one, strategy.matrices)), sets, np.ones(len(sets)))
        return SetCells(np.ones(len(sets)), (1,) * len(sets), total=workload.n, unit=unit, workload=workload)

    @property
    def words(self) -> str:
        """The parts in words: "211 sets of attributes"."""
        return f"{self.count:,} set{'' if self.count == 1 else 's'} of attributes"

    @property
    def rounding(self) -> float:
        return PER_CONDITION * self.unit.largest_condition

    @cached_property
    def _longest(self) -> Array:
        """(K,) upper bounds on the squared length of the longest column of each set's rows."""
        each = [column_norms(a, 2).max(initial=0.0) if len(a) else 0.0 for a in self.unit.matrices]
        lengths = [reduce(times_up, (each[i] for i in one), np.ones(())) for one in self.unit.sets]
        return times_up(np.array(lengths, dtype=float), np.array(lengths, dtype=float))

    def largest_entry(self, parts: Sequence[Array]) -> float:
        weights = np.maximum([float(part[0, 0]) for part in parts], 0.0)
        return float(reduce(plus_up, times_up(weights, self._longest), np.zeros(())))

    @cached_property
    def products(self) -> tuple[FewProduct, ...]:
        """The workload's products, by the attributes that they depend on."""
        return products_of_few(self.workload)

    @property
    def gram_rounding(self) -> float:
        """A bound on the error of a Gram matrix of a factor's rows, weighted or not, over its trace."""
        return (max(f.rows for p in self.workload.products or () for f in p.factors) + GRAM) * EPS

    @cached_property
    def longest(self) -> float:
        return self.largest_entry([np.ones((1, 1))] * self.count)

    # -- queries -------------------------------------------------------------------------------------

    @cached_property
    def root(self) -> Split:
        """The workload's root: √E_S for each set. Raises OptionError as ``queries``."""
        errors = self.unit.errors_by_set(self.workload)
        if not np.isfinite(errors).all():
            raise OptionError(UNSUPPORTED)
        return Split(self.abstract(self.dims), self, tuple(np.sqrt(errors).reshape(-1, 1, 1)))

    @cached_property
    def queries(self) -> Split:
        """The workload's queries, each times the root of its weight: √v_S for each set.

        Raises
        ------
        TooLargeError : more queries than fit in memory.
        OptionError : queries that the strategy does not support.
        """
        products = self.workload.weighed.products or ()
        starts = np.cumsum([0, *(product.m for product in products)])
        require_memory((int(starts[-1]), 8), "queries by sets of attributes")
        places = self.unit.place_of
        rows: list[list[Array]] = [[] for _ in places]
        labels: list[list[Ints]] = [[] for _ in places]
        for start, product in zip(starts, products, strict=False):
            for one, variances in self.unit.variances_by_set(product.unweighted(), sums=False):
                kept = np.flatnonzero(variances)
                if len(kept) and not (one in places and np.isfinite(variances).all()):
                    raise OptionError(UNSUPPORTED)
                if len(kept):
                    rows[places[one]].append(np.sqrt(product.weight * variances[kept]))
                    labels[places[one]].append(start + kept)
        empty, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        parts = tuple(np.concatenate([empty, *one])[:, None] for one in rows)
        space = Space(
            self.multiplicities,
            tuple(map(len, parts)),
            labels=tuple(np.concatenate([none, *one]) for one in labels),
            sizes=np.ones(int(starts[-1])),
            total=int(starts[-1]),
        )
        return Split(space, self, parts)

    # -- bounds --------------------------------------------------------------------------------------

    def takes(self, mixture: Mixture) -> bool:
        return mixture.count == 1 and tuple(factor.shape[1] for factor in mixture.factors) == self.unit.sizes

    def moments(self, mixture: Mixture) -> Moments:
        """The mass alone: not the roots of the moments, only the trace that they lead to (``root_trace``)."""
        return Moments((), (), mixture.mass)

    def root_trace(self, parts: Sequence[Array], mixture: Mixture) -> float:
        """A bound from 0 to ‖R diag(√d)‖∗ for the workload's root, or its queries with other weights,
        as ``parts``; d the measure whose rows have the exact sum 1."""
        products = self._weighed(parts)
        if products is None or not self.takes(mixture):
            return 0.0
        measures = [factor[0] for factor in mixture.factors]
        trace = root_trace_in_parts(products, self.unit.sizes, measures, self.gram_rounding)
        return trace * math.sqrt(mixture.weights[0]) * (1.0 - 16 * EPS)

    def _is_root(self, parts: Sequence[Array]) -> bool:
        """Whether each part is at least that of the root; an ulp less where it is the lower end of a ball."""
        roots = self.root.parts
        if [np.shape(part) for part in parts] != [np.shape(part) for part in roots]:
            return False
        return all(
            bool(part[0, 0] >= of_root[0, 0] * (1 - 4 * EPS))
            for part, of_root in zip(parts, roots, strict=True)
        )

    def _weighed(self, parts: Sequence[Array]) -> tuple[FewProduct, ...] | None:
        """The products of the queries that ``parts`` are; weights of queries are rounded down to products of
        weights of the factors' rows."""
        if self._is_root(parts):
            return self.products
        space = self.queries.rows
        if tuple(map(len, parts)) != space.dims:
            return None
        assert space.labels is not None
        scales = np.full(space.size, np.inf)
        for part, unit, label in zip(parts, self.queries.parts, space.labels, strict=True):
            with np.errstate(invalid="ignore", over="ignore"):
                ratio = np.where(part[:, 0] > 0, np.square(part[:, 0] / unit[:, 0]), 0.0)
            np.minimum.at(scales, label, ratio * (1.0 - 8 * EPS))
        scales = np.where(np.isfinite(scales), scales, 0.0)
        start, below = 0, []
        for product in self.workload.weighed.products or ():
            below.append(_below(product, scales[start : start + product.m]))
            start += product.m
        return tuple(product for product in below if product.weight > 0)


def _below(product: Product, scales: Array) -> FewProduct:
    """A product whose squares are no more than those of the queries times these scales (m,): one scale for
    each row of a factor, as large as possible where the scales are themselves products."""
    looked = product.looked_at
    grid = scales.reshape([product.factors[i].rows for i in looked])
    by_axis, whole = [], np.ones(())
    for axis in range(grid.ndim):
        sums = grid.sum(axis=tuple(at for at in range(grid.ndim) if at != axis))
        by_axis.append(np.where(sums > LEAST * sums.max(), sums, 0.0) / (sums.sum() or 1.0))
        whole = np.multiply.outer(whole, by_axis[-1])
    kept = whole > 0
    least = float((grid[kept] / whole[kept]).min()) if kept.any() else 0.0
    factors = zip((product.factors[i] for i in looked), by_axis, strict=True)
    grams = tuple(factor.gram_of_weighted(weights) for factor, weights in factors)
    return FewProduct(looked, grams, product.weight * least * (1.0 - 16 * EPS * (grid.ndim + 1)))


def _at_least_one(matrix: Array) -> Array:
    """The rows scaled so that the longest column has at least length 1, and hardly more."""
    longest = float(np.sqrt(np.square(matrix).sum(axis=0).max(initial=0.0)))
    return matrix * ((1.0 + 4 * EPS * (len(matrix) + 4)) / longest) if longest else matrix


#: Eigenvalues of an attribute's strategy below this part of the largest count as zero.
RANK = 1e-10


def best_by_sets(workload: Workload) -> SetCells:
    """A strategy by sets near the least total error, as a space.

    Raises
    ------
    WorkloadError : queries given as a matrix.
    TooLargeError : queries of too many attributes, or an attribute beyond the memory limit.
    """
    products, sizes = products_of_few(workload), workload.domain.shape
    residual = with_best_bases(products, sizes)
    return replace(
        SetCells.of(strategy_by_sets(products, sizes, residual.bases), workload), measures=residual.measures
    )


def strategy_by_sets(
    products: Sequence[FewProduct], sizes: Sequence[int], bases: Sequence[Array]
) -> SetStrategy:
    """The best strategy of a search with the same rows of an attribute in all sets, at bases (dᵢ,) of sum 1.

    Raises
    ------
    TooLargeError : an attribute beyond the memory limit.
    """
    shared = shared_designs(products, bases)
    rows = tuple(
        _rows(shared.designs[i].strategy) if i in shared.designs else np.zeros((0, size))
        for i, size in enumerate(sizes)
    )
    shares = {one: share for one, share in shared.shares.items() if all(len(rows[i]) for i in one)}
    return SetStrategy(rows, tuple(shares), np.sqrt(list(shares.values())))


def _rows(strategy: Array) -> Array:
    """A (r, d) of full row rank with AᵀA = X."""
    values, vectors = scipy.linalg.eigh(strategy)
    kept = values > RANK * max(values[-1], 0.0)
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)


ROUNDS = 20  # of bases and weights of the queries in turn
FIRST_STEPS, STEPS = 40, 6  # of the search for bases, in the first round and in each further one
POWER = 0.9  # of the mean variance, by which a weight is multiplied
LEAST_WEIGHT = 1e-9  # of the largest of a factor's rows
SHARE_OF_TIME = 0.3  # of the rest of a time limit

#: An attribute, a factor on it, and the number of attributes of the product.
FactorKey = tuple[int, Implicit, int]


@dataclass(frozen=True, eq=False)
class _WeightedQueries:
    """Queries with weights: one for each product (P,), and for each row of a factor, of sum 1.

    keys : of the factors of each product, by its attributes. of_products, of_rows : the weights.
    """

    workload: Workload
    keys: tuple[tuple[FactorKey, ...], ...]
    of_products: Array
    of_rows: dict[FactorKey, Array]

    @staticmethod
    def evenly(workload: Workload) -> _WeightedQueries:
        """The queries with equal weights."""
        products = workload.products or ()
        keys = tuple(tuple((i, p.factors[i], len(p.looked_at)) for i in p.looked_at) for p in products)
        rows = {key: np.full(key[1].rows, 1.0 / key[1].rows) for factors in keys for key in factors}
        counts = np.array([float(p.m) for p in products])
        return _WeightedQueries(workload, keys, counts / counts.sum(), rows)

    @property
    def weights(self) -> Iterator[Array]:
        """The weight of each query, by product (r₁, r₂, …)."""
        for weight, factors in zip(self.of_products, self.keys, strict=True):
            shape = [len(self.of_rows[key]) for key in factors]
            yield kron([np.full(1, weight), *(self.of_rows[key] for key in factors)]).reshape(shape)

    def products(self) -> list[FewProduct]:
        """The weighted queries."""
        grams = {key: key[1].gram_of_weighted(weights) for key, weights in self.of_rows.items()}
        each = zip(self.workload.products or (), self.keys, self.of_products, strict=True)
        return [
            FewProduct(
                tuple(i for i, _, _ in factors), tuple(grams[key] for key in factors), product.weight * weight
            )
            for product, factors, weight in each
        ]

    def moved(self, variances: Sequence[Array]) -> _WeightedQueries:
        """The queries with more weight where the variances (by product, as ``weights``) are large."""
        sums: dict[FactorKey, list[Array]] = defaultdict(list)
        means = []
        for factors, weights, variance in zip(self.keys, self.weights, variances, strict=True):
            means.append(float((weights * variance).sum() / weights.sum()))
            for axis, key in enumerate(factors):
                others = tuple(at for at in range(len(factors)) if at != axis)
                sums[key].append(np.stack([(weights * variance).sum(axis=others), weights.sum(axis=others)]))
        of_products = self.of_products * np.array(means) ** POWER
        of_rows = {}
        for key, each in sums.items():
            total = np.sum(each, axis=0)
            new = self.of_rows[key] * (total[0] / total[1] / (total[0].sum() / total[1].sum())) ** POWER
            new = np.maximum(new, LEAST_WEIGHT * new.max())
            of_rows[key] = new / new.sum()
        return replace(self, of_products=of_products / of_products.sum(), of_rows=of_rows)


def best_for_targets(workload: Workload) -> SetCells:
    """A strategy by sets with a small largest variance, as a space.

    workload : each query weighted by one over its target. The space has weights of the queries and
    measures that prove a good bound. Under a time limit the search has a share of the rest.

    Raises
    ------
    WorkloadError : queries given as a matrix. OptionError : queries too far apart in size.
    TooLargeError : queries of too many attributes, or an attribute beyond the memory limit.
    """
    sizes, least_left = workload.domain.shape, (1.0 - SHARE_OF_TIME) * time_left()
    weighed, last = _WeightedQueries.evenly(workload.weighed), None
    best: tuple[float, SetStrategy] | None = None
    bound, proof = -1.0, (weighed, tuple[Array, ...]())  # not of the last weights: these become extreme
    for turn in range(ROUNDS):
        products = weighed.products()
        last = with_best_bases(products, sizes, STEPS if turn else FIRST_STEPS, last)
        strategy = normalise(strategy_by_sets(products, sizes, last.bases))
        variances = [
            product.weight * strategy.product_variances(product).reshape(weights.shape)
            for product, weights in zip(weighed.workload.products or (), weighed.weights, strict=True)
        ]
        largest = max(float(one.max()) for one in variances)
        if not largest < np.inf:  # queries too far apart in size: some are lost in rounding
            break
        if best is None or largest < best[0]:
            best = largest, strategy
        trace = root_trace_in_parts(products, sizes, last.measures, 0.0)
        if trace > bound:
            bound, proof = trace, (weighed, last.measures)
        if turn == ROUNDS - 1 or time_left() <= least_left < math.inf:
            break
        weighed = weighed.moved(variances)
    if best is None:
        raise OptionError(UNSUPPORTED)
    cells = SetCells.of(best[1], workload)
    weights = np.concatenate([one.ravel() for one in proof[0].weights])
    return replace(cells, measures=proof[1], weights=weights)
