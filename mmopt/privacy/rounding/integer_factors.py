"""Kronecker products of attributes' matrices, rounded and measured in small integers.

Three forms have parts ⊗ᵢ Aᵢ over some attributes, with all others summed over: products and unions of them,
sets of attributes one by one, and marginals, whose Aᵢ are identities. A part with a share or weight θ is
measured as ⊗ᵢ Kᵢ with integers Kᵢ ≈ cᵢ Aᵢ that span the same, and gets noise of Δ(K) / (Δ(A) θ) times the
parameter of the release: θ is noise, and needs no bits. The integers are a strategy of the same form, so that
estimates have no bias, and variances stay in closed form. The sensitivity of a part is the product of its
factors' exact ones (where rows are replaced, at most twice that), and the costs of the parts add up. One
product is a union of one.

The bits of the entries go where rounding would cost most: for each factor every size of the integers is
tried, with its loss. Of sets of attributes every set measures the same integers of an attribute. Marginals
are counts: integers without rounding, each marginal with different noise.
"""

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import numpy as np
import scipy.linalg

from mmopt.errors import WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import AnyInts, Array, Ints, not_below, qr
from mmopt.privacy.rounding.integer_dense import (
    closest,
    is_one_count,
    loss_of,
    rint,
    rows_on_integer_basis,
    unsupported,
)
from mmopt.privacy.rounding.norms_and_measured_integers import (
    MAX_ROWS,
    CountedTables,
    Measured,
    Part,
    bound_by_column,
    digest,
    exactly,
    integer_product,
    largest_entry,
    maximal_sets,
    root_above,
    squared_sensitivity,
)
from mmopt.strategies import (
    ADD_REMOVE,
    MarginalStrategy,
    Neighbours,
    ProductStrategy,
    SetStrategy,
    Strategy,
    StrategyForm,
    UnionStrategy,
    one_attribute,
    products_of,
)
from mmopt.strategies.factor_strategies import attributes_of
from mmopt.workloads import Workload

# Bits of a product's entries, all factors together: answers on 2^31 rows fit into 62 bits, or noise does.
BITS = (30, 42)

_FEW_CELLS = 24  # cells, up to which every size of integers is tried, not only the powers of two
_LARGEST_SIZE = 2**41  # of an entry
_SMALL_LOSS = 1e-9  # a loss that is not worth another bit
_SPANNED = 1e-6  # the part of a direction that the integers must keep to span it beyond float errors
_MOST_FOLLOWED = 500  # choices that are followed from factor to factor


@dataclass(frozen=True, eq=False)
class RoundedFactor:
    """A factor in integers.

    matrix : about a multiple of the factor. loss : logarithm of the worst growth of variance. bits :
        logarithm of the largest entry, to base 2. squared : exact squared sensitivity of the integers.
    """

    matrix: Ints
    loss: float
    bits: float
    squared: int


def choices_of(part: ProductStrategy, workload: Workload) -> list[list[RoundedFactor]] | None:
    """``rounded_choices`` of each factor, for the products that the part supports; None if there are none.

    Raises
    ------
    WorkloadError : as ``rows_on_integer_basis``.
    """
    variances = part.variances(workload)
    supported = [
        product
        for product, (_, rows) in zip(products_of(workload), workload.groups(), strict=True)
        if np.isfinite(variances[rows]).all()
    ]
    if not supported:
        return None
    # By attribute, rows that span the products.
    spanning = [
        one_attribute([(factor, 1.0) for factor in dict.fromkeys(f.plain.spanning() for f in factors)])
        for factors in zip(*(product.factors for product in supported), strict=True)
    ]
    return [rounded_choices(f, w) for f, w in zip(part.factors, spanning, strict=True)]


def rounded_choices(strategy: Strategy, workload: Workload) -> list[RoundedFactor]:
    """The factor in integers of ever more bits, each with less loss than all with fewer.

    The loss is at equal privacy, of the worst of all queries on the attribute that the workload's rows span;
    integers that do not span them are left out.

    Raises
    ------
    WorkloadError : as ``rows_on_integer_basis``.
    """
    rows = rows_on_integer_basis(strategy, workload)
    triangle = qr(rows.real)
    return choices_by_size(rows.real, rows.basis, strategy, lambda core: _least_kept(core, triangle))


def choices_by_size(
    real: Array, basis: Ints, strategy: Strategy, least_kept: Callable[[Ints], float]
) -> list[RoundedFactor]:
    """``real @ basis`` in integers of ever more bits, as ``rounded_choices``.

    least_kept : ``_least_kept`` of integers for the rows of ``real``.
    """
    largest = float(np.abs(real @ basis).max())
    sizes = [2**b for b in range(_LARGEST_SIZE.bit_length())]
    if strategy.n <= _FEW_CELLS:
        sizes = sorted({*sizes, *range(1, 65), *(3 * s for s in sizes), *(5 * s for s in sizes)})
    choices: list[RoundedFactor] = []
    for size in sizes:
        scale = size / largest
        core = rint(real * scale)
        core = core[core.any(axis=1)]
        least = least_kept(core) / scale
        if least < _SPANNED:
            continue
        matrix = integer_product(core, basis)
        squared = squared_sensitivity(matrix, strategy.norm, ADD_REMOVE)
        loss = math.log(squared / (scale * strategy.sensitivity * least) ** 2)
        if not choices or loss < choices[-1].loss:
            choices.append(RoundedFactor(matrix, loss, math.log2(largest_entry(matrix)), squared))
        if loss <= _SMALL_LOSS:
            break
    return choices


def _least_kept(core: Ints, triangle: Array) -> float:
    """The least singular value σ of the core over the triangle T of the real rows: 0 where rank is lost.

    A query of coordinates c has the variance |c T⁻¹|² under the real rows, and at most 1 / σ² times that
    under the core.
    """
    return least_singular(scipy.linalg.solve_triangular(triangle, core.T.astype(np.float64), trans="T").T)


def least_singular(matrix: Array) -> float:
    """The least singular value: 0 of fewer rows than columns."""
    rows, columns = matrix.shape
    return float(np.linalg.svd(matrix, compute_uv=False)[-1]) if rows >= columns else 0.0


def best_choice(factors: Sequence[list[RoundedFactor]], bits: float) -> tuple[RoundedFactor, ...]:
    """One choice for each factor, with the least total loss, and at most so many bits in total.

    Losses and bits of a product add up. WorkloadError if there are none.
    """
    chosen: list[tuple[float, float, tuple[RoundedFactor, ...]]] = [(0.0, 0.0, ())]
    for choices in factors:
        longer = [
            (used + new.bits, loss + new.loss, (*before, new))
            for used, loss, before in chosen
            for new in choices
            if used + new.bits <= bits
        ]
        chosen = []
        for candidate in sorted(longer, key=lambda c: c[:2]):
            if not chosen or candidate[1] < chosen[-1][1]:
                chosen.append(candidate)
        chosen = chosen[:: max(1, len(chosen) // _MOST_FOLLOWED)] + chosen[-1:]
    if not chosen:
        raise too_many(len(factors), bits)
    return min(chosen, key=lambda c: c[1])[2]


def too_many(count: int, bits: float) -> WorkloadError:
    """The error for so many factors, which need more bits together."""
    return WorkloadError(
        f"the {count} factors of a product do not fit into {bits} bits together",
        hint="choose a template that is rounded less: --templates marginals",
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class InFactors(Measured):
    """Integers that span the queries exactly, whose parts each get different noise.

    relatives : the noise of each part over that of the release. With several products the variances, and so
    the errors, are upper bounds.
    """

    relatives: tuple[float, ...]
    variances: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "variances", self.strategy(np.array(self.relatives)).variances(self.workload)
        )

    @abstractmethod
    def strategy(self, deviations: Array) -> StrategyForm:
        """The strategy whose unit noise is noise of these deviations on the integers."""

    @property
    def sensitivity(self) -> float:
        """Σ or √Σ² of the parts' sensitivities over their relative noise."""
        sensitivities = [root_above(part.squared_sensitivity) / part.relative for part in self.parts]
        total = math.fsum(sensitivities) if self.norm == 1 else math.hypot(*sensitivities)
        return float(not_below(np.asarray(total), 2))

    def standard_errors(self, deviations: Array) -> Array:
        """Standard errors of the queries (m,), at these deviations on the parts; else as ``variances``."""
        return np.sqrt(self.strategy(deviations).variances(self.workload))

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries, as the form of the strategy makes them."""
        scales = np.array(self.relatives) if deviations is None else deviations
        return self._estimate(
            self.strategy(scales), noisy / np.repeat(scales, [part.rows for part in self.parts])
        )

    def _estimate(self, strategy: Any, scaled: Array) -> Array:
        """``estimate`` by the ``strategy`` at these deviations, from answers divided by them."""
        return np.asarray(strategy.answers_from(self.workload, scaled))


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerProducts(InFactors):
    """Products ⊗ Kᵢ of int64 ``matrices`` (pᵢ, nᵢ): each of ``sets`` has the places of a part's factors."""

    matrices: tuple[Ints, ...]
    sets: tuple[tuple[int, ...], ...]

    @cached_property
    def factors(self) -> tuple[tuple[Ints, ...], ...]:
        """The matrices of each part."""
        return tuple(tuple(self.matrices[i] for i in one) for one in self.sets)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every product."""
        largest = [largest_entry(k) for k in self.matrices]
        counts = [is_one_count(k) for k in self.matrices]
        return tuple(
            Part(
                rows=math.prod(len(self.matrices[i]) for i in one),
                squared_sensitivity=square,
                largest_answer=math.prod(largest[i] for i in one) * MAX_ROWS,
                relative=relative,
                is_one_count=self.neighbours.is_one_row and all(counts[i] for i in one),
            )
            for one, square, relative in zip(
                self.sets, self.squared_sensitivities(), self.relatives, strict=True
            )
        )

    def squared_sensitivities(self) -> list[int]:
        """One for each part, from its factors: exact, or a bound where rows are replaced."""
        squares = [squared_sensitivity(k, self.norm, ADD_REMOVE) for k in self.matrices]
        signs = [not k.size or int(k.min()) >= 0 for k in self.matrices]
        return [
            bound_by_column(
                math.prod(squares[i] for i in one), self.norm, self.neighbours, all(signs[i] for i in one)
            )
            for one in self.sets
        ]

    def _answers(self, table: Callable[[tuple[int, ...]], Ints]) -> AnyInts:
        """The exact answers (rows,), part by part, from a table of counts for each of ``sets``."""
        return np.concatenate(
            [
                exactly(partial(_product, k), table(one), part.largest_answer)
                for one, k, part in zip(self.sets, self.factors, self.parts, strict=True)
            ]
        )

    @cached_property
    def real(self) -> tuple[Array, ...]:
        """The matrices in floating point."""
        return tuple(k.astype(np.float64) for k in self.matrices)


def _product(factors: Sequence[Ints], table: Any) -> Any:
    """(⊗ᵢ Kᵢ) x of a table x, an axis at a time, the one that shrinks most first.

    Entries and partial sums are at most the product of the factors' largest entries times the rows of data.
    """
    for at in sorted(range(len(factors)), key=lambda i: factors[i].shape[0] / factors[i].shape[1]):
        table = np.moveaxis(np.tensordot(factors[at], table, axes=(1, at)), 0, at)
    return table.ravel()


ProductsT = TypeVar("ProductsT", bound=IntegerProducts)


def _rounded_products(
    at_bits: Callable[[int], ProductsT], strategy: StrategyForm, before: Array, neighbours: Neighbours
) -> ProductsT:
    """The closest of the integers that ``at_bits`` gives for some bits, for rows added or removed.

    before : variances (m,) of the strategy. The loss is at equal privacy.
    """

    def rounded(bits: int) -> ProductsT:
        """The integers with their loss."""
        integer = at_bits(bits)
        return replace(
            integer,
            loss=loss_of(integer.variances * (integer.sensitivity / strategy.sensitivity) ** 2, before),
        )

    best = replace(closest(rounded, BITS), neighbours=neighbours)
    _ = best.parts  # computed here: PrivacyError for neighbours to which columns would have to be compared
    return best


# -- products and unions of them


class IntegerFactors(IntegerProducts):
    """A union of products in integers, each over all attributes."""

    @property
    def bounds_errors(self) -> bool:
        """Whether there are several parts: the errors are those of means over them."""
        return len(self.sets) > 1

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the factors and the relative noise of every part, in row-major order."""
        parts: list[str | Ints] = []
        for factors, relative in zip(self.factors, self.relatives, strict=True):
            parts += [f"{relative!r} {[k.shape for k in factors]}\n", *factors]
        return digest(f"integer-factors 1 {len(self.factors)}\n", *parts)

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (rows,) for a data vector (n,), part by part."""
        return self._answers(lambda _: counts.reshape(self.workload.domain.shape))

    def strategy(self, deviations: Array) -> UnionStrategy:
        """The integers as a union, each part divided by its deviation."""
        return UnionStrategy(self._products, tuple(1.0 / deviations))

    @cached_property
    def _products(self) -> tuple[ProductStrategy, ...]:
        """The parts in floating point."""
        factors = [Strategy(k, self.norm) for k in self.real]
        return tuple(ProductStrategy(tuple(factors[i] for i in one)) for one in self.sets)

    def _estimate(self, strategy: UnionStrategy, scaled: Array) -> Array:
        """Estimates from one estimate of the data vector."""
        require_memory((self.workload.n,), "estimate of the data vector")
        return self.workload.answers(strategy.estimate(scaled))


def round_union(
    strategy: ProductStrategy | UnionStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerFactors:
    """Round a product or a union as described above.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : the strategy does not support the workload, or its factors do not fit together.
    """
    union = strategy if isinstance(strategy, UnionStrategy) else UnionStrategy((strategy,), (1.0,))
    if not np.isfinite(before := union.variances(workload)).all():
        raise unsupported()
    by_part = [
        (choices_of(part, workload), share * part.sensitivity)
        for part, share in zip(union.parts, union.shares, strict=True)
    ]
    supported = [(choices, size) for choices, size in by_part if choices is not None]

    def at_bits(bits: int) -> IntegerFactors:
        """The integers of up to so many bits in each part."""
        chosen = [best_choice(choices, bits) for choices, _ in supported]
        # A part in small integers may need less noise for its sensitivity, or more: its share of the
        # privacy stays the same, and no other part pays for it.
        grown = [math.sqrt(math.prod(one.squared for one in part)) for part in chosen]
        count = len(workload.domain.shape)
        return IntegerFactors(
            workload=workload,
            neighbours=ADD_REMOVE,
            norm=strategy.norm,
            matrices=tuple(one.matrix for part in chosen for one in part),
            sets=tuple(tuple(range(at * count, (at + 1) * count)) for at in range(len(chosen))),
            relatives=tuple(new / old for new, (_, old) in zip(grown, supported, strict=True)),
        )

    return _rounded_products(at_bits, union, before, neighbours)


# -- sets of attributes one by one


class IntegerSectorwise(IntegerProducts):
    """Sets of attributes in integers: ``matrices`` by attribute, ``sets`` of attributes."""

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the sets, their relative noise and the attributes' integers in row-major order."""
        shapes = [k.shape for k in self.matrices]
        return digest(f"integer-sectorwise 1 {self.sets} {list(self.relatives)!r} {shapes}\n", *self.matrices)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The largest sets."""
        return maximal_sets(self.sets)

    def answers_of(self, tables: CountedTables) -> AnyInts:
        """The exact answers (rows,), whatever the number of cells."""
        return self._answers(tables.of)

    def strategy(self, deviations: Array) -> SetStrategy:
        """The integers as a strategy, each set divided by its deviation."""
        return SetStrategy(self.real, self.sets, 1.0 / deviations, self.norm)


def round_sectorwise(strategy: SetStrategy, workload: Workload, neighbours: Neighbours) -> IntegerSectorwise:
    """Round sets of attributes as described above.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : the strategy does not support the workload, or the matrices of a set do not fit together.
    PrivacyError : neighbours for which columns have to be compared.
    """
    if not np.isfinite(before := strategy.variances(workload)).all():
        raise unsupported()
    cached = cache(_choices)
    choices = [cached(a.tobytes(), a.shape, strategy.norm) for a in strategy.matrices]

    def at_bits(bits: int) -> IntegerSectorwise:
        """The integers of up to so many bits in each set."""
        matrices = _fitting(choices, strategy.sets, bits)
        return IntegerSectorwise(
            workload=workload,
            neighbours=ADD_REMOVE,
            norm=strategy.norm,
            matrices=matrices,
            sets=strategy.sets,
            relatives=_relatives(strategy, matrices),
        )

    return _rounded_products(at_bits, strategy, before, neighbours)


def _choices(entries: bytes, shape: tuple[int, int], norm: int) -> list[RoundedFactor]:
    """An attribute's matrix in integers, as ``rounded_choices``: only its variation counts."""
    matrix = np.frombuffer(entries).reshape(shape)
    if not len(matrix):
        return [RoundedFactor(matrix.astype(np.int64), 0.0, 0.0, 0)]
    varies = np.linalg.pinv(np.vstack([np.ones(shape[1]), matrix]))[:, 1:]
    return choices_by_size(
        matrix,
        np.eye(shape[1], dtype=np.int64),
        Strategy(matrix, norm),
        lambda core: least_singular(core.astype(np.float64) @ varies),
    )


def _fitting(
    choices: Sequence[list[RoundedFactor]], sets: Sequence[tuple[int, ...]], bits: int
) -> tuple[Ints, ...]:
    """The integers of each attribute: of the least loss at which those of every set fit so many bits."""

    def within(loss: float) -> list[RoundedFactor]:
        """The fewest bits of each attribute at which no loss is larger."""
        return [next((one for one in options if one.loss <= loss), options[-1]) for options in choices]

    def fits(loss: float) -> bool:
        """Whether the integers of every set have room."""
        chosen = within(loss)
        return all(sum(chosen[i].bits for i in one) <= bits for one in sets)

    losses = sorted(one.loss for options in choices for one in options)
    at = bisect_left(losses, True, key=fits) if all(choices) else len(losses)
    if at == len(losses):
        raise too_many(max(map(len, sets)), bits)
    return tuple(one.matrix for one in within(losses[at]))


def _relatives(strategy: SetStrategy, matrices: Sequence[Ints]) -> tuple[float, ...]:
    """The noise at which each set keeps its share of the privacy."""
    norm = strategy.norm
    after = [math.sqrt(squared_sensitivity(k, norm, ADD_REMOVE)) for k in matrices]
    before = [float(np.linalg.norm(a, ord=norm, axis=0).max()) if len(a) else 0.0 for a in strategy.matrices]
    grown = [new / old if old else 1.0 for new, old in zip(after, before, strict=True)]
    return tuple(
        math.prod(grown[i] for i in one) / float(weight)
        for one, weight in zip(strategy.sets, strategy.weights, strict=True)
    )


# -- marginals

# Over the largest. Estimates of cells contain all noise, and the rounding errors of the larger one: with this
# limit 1e-7 of a count was measured at a standard error of 2, with 1e-15 more than the standard error.
_LEAST_WEIGHT = 1e-8


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerMarginals(InFactors):
    """Marginals in integers: ``masks`` are their sets of attributes as those of ``MarginalStrategy``.

    A row of data is one count in every marginal; a replaced one may move in it, unless it has only one cell.
    The weight θ_S is its noise, 1 / θ_S.
    """

    masks: tuple[int, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """A part for every marginal."""
        # A replaced row does not change a marginal of one cell, unless rows may be dropped. (Participation is
        # refused by ``bound_by_column``.)
        moved = bound_by_column(1, self.norm, self.neighbours, is_nonnegative=True)
        alone = (
            moved if self.neighbours.times is not None else int(self.neighbours.over(self.workload).may_drop)
        )
        return tuple(
            Part(
                rows=(rows := math.prod(self.workload.domain.shape[i] for i in attributes)),
                squared_sensitivity=moved if rows > 1 else alone,
                largest_answer=MAX_ROWS,
                relative=relative,
                is_one_count=self.neighbours.is_one_row,
            )
            for attributes, relative in zip(self.tables, self.relatives, strict=True)
        )

    def squared_sensitivities(self) -> list[int]:
        """The squared sensitivities of ``parts``: nothing else is in counts."""
        return [part.squared_sensitivity for part in self.parts]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the sizes, the sets and their relative noise."""
        return digest(
            f"integer-marginals 1 {self.workload.domain.shape} {list(self.masks)} {list(self.relatives)}\n"
        )

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each marginal."""
        return tuple(map(attributes_of, self.masks))

    def answers_of(self, tables: CountedTables) -> Ints:
        """The marginals, one after the other: (rows,)."""
        return np.concatenate([tables.of(attributes).ravel() for attributes in self.tables])

    def strategy(self, deviations: Array) -> MarginalStrategy:
        """Marginals whose weights are one over the deviations."""
        sizes = self.workload.domain.shape
        weights = np.zeros(2 ** len(sizes))
        weights[list(self.masks)] = 1.0 / deviations
        return MarginalStrategy(sizes, weights, self.norm)


def round_marginals(
    strategy: MarginalStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerMarginals:
    """The counts of the marginals: nothing is rounded.

    Raises
    ------
    UnsuitableError : a workload from a matrix.
    WorkloadError : another domain, weights too far apart, or a strategy that does not support the workload.
    """
    masks = np.flatnonzero(strategy.weights > 0).tolist()
    weights = strategy.weights[masks]
    if weights.min() < weights.max() * _LEAST_WEIGHT:
        raise WorkloadError(
            f"the weights of the marginals go from {weights.min():.3g} to {weights.max():.3g}, "
            f"the least may be {_LEAST_WEIGHT:g} of the largest",
            hint="leave out marginals of next to no weight",
        )
    if not strategy.supports(workload):
        raise unsupported()
    return IntegerMarginals(
        workload=workload,
        neighbours=neighbours,
        norm=strategy.norm,
        masks=tuple(masks),
        relatives=tuple((1.0 / weights).tolist()),
    )
