"""Functions of sectors in one vector, and variances and answers of queries from matrices on them.

**Layout.** An attribute has the constant 1 and further functions of its value; a *sector* is a set S of
attributes, with one function of each attribute of S: the products are numbered in row-major order, sector
after sector. With a sector all its subsets are there. The functions may be any: orthonormal contrasts, in
which strategies are searched, or indicators of values, in which a release counts (``indicators``).

**Rests.** Queries may tell the values of a class apart. On a class of s values the functions of sum 0 are its
*rest*. They have in general no basis of whole numbers that is orthogonal with equal lengths, but a tight
frame of s of them, [x = v] - [x in the class] / s: with Gram matrix I - 1/s. A component has the rest of one
class on each of a few attributes, and the sectors of others; a matrix on the latter is measured for every
choice of values of the former.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, Ints, frozen
from mmopt.sectors.functions_of_few import Rests
from mmopt.workloads import Implicit, Product
from mmopt.workloads.blocks.combined_blocks import kron


@dataclass(frozen=True, eq=False)
class AttributeRows:
    """Queries of one attribute.

    flat : (rows, o) their means on classes, as combinations of (1, functions). varies : (rows,) whether these
    are not constant. rest : (rows, d) what is left, of sum 0 on each class; exactly 0 where that is rounding.
    """

    flat: Array
    varies: np.typing.NDArray[np.bool_]
    rest: Array


@dataclass(frozen=True, eq=False)
class SectorLayout:
    """Functions of attributes, and the sectors of their products.

    Parameters
    ----------
    labels : (dᵢ,) an attribute: the class of each value, from 0. Functions are constant on classes.
    functions : (oᵢ - 1, oᵢ) an attribute: the functions on its classes; with 1 they are independent.
    sets : the sectors, increasing numbers of attributes each, with all their subsets, none twice.

    Raises
    ------
    OptionError : classes that are no whole numbers, functions of another shape, dependent ones, or a set
        without one of its subsets.
    """

    labels: tuple[Ints, ...]
    functions: tuple[Array, ...]
    sets: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for label, functions in zip(self.labels, self.functions, strict=True):
            if label.dtype.kind != "i" or label.ndim != 1 or label.min(initial=0) < 0 or not label.size:
                raise OptionError(
                    "the classes of an attribute's values are whole numbers from 0, one a value"
                )
            if functions.shape != (int(label.max()), int(label.max()) + 1):
                raise OptionError(
                    f"the functions of an attribute have shape {functions.shape}, expected "
                    f"{(int(label.max()), int(label.max()) + 1)} for its classes of values"
                )
        for one in self.sets:
            if not all(part in self.starts for part in itertools.combinations(one, max(len(one) - 1, 0))):
                raise OptionError(f"the sectors have {one}, but not all of its subsets")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The attributes' numbers of values."""
        return tuple(len(label) for label in self.labels)

    @cached_property
    def starts(self) -> dict[tuple[int, ...], int]:
        """The place of each sector's first function."""
        ends = itertools.accumulate((self._count(one) for one in self.sets), initial=0)
        return dict(zip(self.sets, ends, strict=False))

    @cached_property
    def size(self) -> int:
        """Number of functions, r."""
        return sum(self._count(one) for one in self.sets)

    def _count(self, attributes: tuple[int, ...]) -> int:
        """Number of functions of a sector."""
        return math.prod(len(self.functions[i]) for i in attributes)

    def place(self, attributes: tuple[int, ...]) -> Ints:
        """Places of all products of (1, functions) of the attributes, in row-major order, (Π oᵢ,)."""
        places = np.empty([len(self.functions[i]) + 1 for i in attributes], dtype=np.int64)
        for chosen in itertools.product((False, True), repeat=len(attributes)):
            sector = tuple(i for i, one in zip(attributes, chosen, strict=True) if one)
            at = tuple(slice(1, None) if one else 0 for one in chosen)
            counts = [len(self.functions[i]) for i in sector]
            places[at] = self.starts[sector] + np.arange(math.prod(counts)).reshape(counts)
        return places.ravel()

    def values(self, codes: Ints) -> Array:
        """(r, c) all functions at cells (c, k), each a row of the attributes' values."""
        require_memory((self.size, len(codes)), "values of the functions of a row space")
        each = [
            functions[:, label[codes[:, i]]]
            for i, (functions, label) in enumerate(zip(self.functions, self.labels, strict=True))
        ]
        blocks = []
        for one in self.sets:
            block = np.ones((1, len(codes)))
            for i in one:
                block = (block[:, None] * each[i][None]).reshape(-1, len(codes))
            blocks.append(block)
        return np.concatenate(blocks)

    @cached_property
    def inverses(self) -> tuple[Array, ...]:
        """(oᵢ, oᵢ) an attribute, by which queries on classes become combinations of (1, functions)."""
        by_object = {id(f): np.linalg.inv(np.vstack([np.ones(f.shape[1]), f])) for f in self.functions}
        return tuple(by_object[id(functions)] for functions in self.functions)

    def attribute_rows(self, attribute: int, factor: Implicit) -> AttributeRows:
        """Queries of an attribute as combinations of (1, functions), and the rest of each."""
        entries, label = factor.matrix(), self.labels[attribute]
        # Means of d entries are off by less, relative to the largest: a larger difference is no rounding.
        size = 4 * (entries.shape[1] + 8) * EPS * np.abs(entries).max(axis=1, keepdims=True)
        member = np.equal.outer(label, np.arange(int(label.max()) + 1))
        means = entries @ (member / member.sum(axis=0))
        rest = entries - means[:, label]
        rest[np.abs(rest) <= size] = 0.0
        varies = (np.abs(means - means[:, :1]) > size).any(axis=1)
        return AttributeRows(means @ self.inverses[attribute], varies, rest)

    def indicators(self) -> SectorLayout:
        """These sectors of indicators [class = v], v >= 1: whole numbers, nonnegative, the same span."""
        indicators = {id(f): frozen(np.eye(len(f), f.shape[1], 1)) for f in self.functions}
        return SectorLayout(
            self.labels, tuple(indicators[id(functions)] for functions in self.functions), self.sets
        )

    def change(self, attribute: int, other: SectorLayout) -> Array:
        """(oᵢ, oᵢ) T with (1, functions) here = T (1, functions) of another layout on the same classes."""
        functions = self.functions[attribute]
        return np.vstack([np.ones(functions.shape[1]), functions]) @ other.inverses[attribute]


def change_of_functions(layout: SectorLayout, other: SectorLayout) -> Array:
    """U (r, r) with the functions of one layout = U times those of another, of the same classes and sets."""
    require_memory((layout.size, layout.size), "change of functions of a row space")
    change = np.zeros((layout.size, layout.size))
    for one in layout.sets:
        block = kron([np.ones((1, 1)), *(layout.change(i, other)[1:] for i in one)])
        start = layout.starts[one]
        change[start : start + len(block), other.place(one)] = block
    return change


@dataclass(frozen=True, eq=False)
class RestComponent:
    """``core`` (r, r) on the functions of ``layout``, for each choice of values of ``rests``: (r, Π s).

    layout : its sets have none of the attributes of ``rests``.
    """

    rests: Rests
    layout: SectorLayout
    core: Array

    @cached_property
    def members(self) -> tuple[Ints, ...]:
        """The values of each rest's class."""
        return tuple(np.flatnonzero(self.layout.labels[i] == o) for i, o in self.rests)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of values of each rest's class."""
        return tuple(map(len, self.members))

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return self.layout.size * math.prod(self.sizes)

    @cached_property
    def inverse(self) -> Array:
        """The inverse of the core; ``numpy.linalg.LinAlgError`` where there is none."""
        return np.asarray(np.linalg.inv(self.core), dtype=np.float64)

    @cached_property
    def covariance(self) -> Array:
        """(CᵀC)⁻¹ of the core C."""
        return np.asarray(self.inverse @ self.inverse.T)

    def matrix(self, codes: Ints) -> Array:
        """(rows, c) the measured queries at cells (c, k) of values."""
        values = self.core @ self.layout.values(codes)
        for (i, _), members in zip(self.rests, self.members, strict=True):
            inside = np.equal.outer(members, codes[:, i]).astype(np.float64)
            inside -= inside.sum(axis=0) / len(members)
            values = (values[:, None] * inside[None]).reshape(-1, len(codes))
        return values


def along(tensor: Array, matrices: Sequence[Array]) -> Array:
    """A matrix times each axis of a tensor."""
    for matrix in matrices:  # the first axis goes, and its result comes last
        tensor = np.tensordot(tensor, matrix, axes=(0, 1))
    return tensor


#: For each attribute of a product: the class of its rest, or None for its functions of classes.
Choice = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class QueriesOnSectors:
    """Variances and answers from ``components``, by rests, all on the classes and functions of ``layout``."""

    layout: SectorLayout
    components: Mapping[Rests, RestComponent]
    _computed: dict[Hashable, Array] = field(init=False, repr=False, default_factory=dict)
    _rows_by_factor: dict[tuple[int, int, Implicit], AttributeRows] = field(
        init=False, repr=False, default_factory=dict
    )

    def variances(self, product: Product) -> Array:
        """Variances (m,) of a product's queries; those of equal factors are computed once."""
        place = (product.looked_at, tuple(product.factors[i].plain for i in product.looked_at))
        if place not in self._computed:
            self._computed[place] = self._variances_of(product)
        return self._computed[place]

    def _choices(
        self, looked_at: tuple[int, ...], each: list[AttributeRows]
    ) -> Iterator[tuple[Choice, Rests]]:
        """The rests on which a product's queries are not all zero: one class of an attribute or none."""
        options: list[list[int | None]] = [
            [None, *np.unique(label[(queries.rest != 0).any(axis=0)]).tolist()]
            for queries, label in zip(each, [self.layout.labels[i] for i in looked_at], strict=True)
        ]
        for choice in itertools.product(*options):
            yield choice, tuple((i, o) for i, o in zip(looked_at, choice, strict=True) if o is not None)

    def _rows_of(self, product: Product) -> list[AttributeRows]:
        """A product's queries on each attribute that it looks at."""
        return [self._attribute_rows(i, product.factors[i].plain) for i in product.looked_at]

    def _attribute_rows(self, i: int, factor: Implicit) -> AttributeRows:
        """``layout.attribute_rows``, once for equal factors of attributes of one layout."""
        key = (id(self.layout.functions[i]), id(self.layout.labels[i]), factor)
        if key not in self._rows_by_factor:
            self._rows_by_factor[key] = self.layout.attribute_rows(i, factor)
        return self._rows_by_factor[key]

    def _variances_of(self, product: Product) -> Array:
        """The sum over components, computed together for rows that look at the same attributes."""
        looked_at, each = product.looked_at, self._rows_of(product)
        variances = np.zeros([len(queries.flat) for queries in each])
        for choice, rests in self._choices(looked_at, each):
            squares = [  # squared lengths of the rows on rests; None where there is no rest
                None if o is None else np.square(queries.rest[:, self.layout.labels[i] == o]).sum(axis=1)
                for i, o, queries in zip(looked_at, choice, each, strict=True)
            ]
            options = [  # whether rows look at an attribute: those that do not have its constant alone
                [True] if square is not None else sorted(set(queries.varies.tolist()))
                for square, queries in zip(squares, each, strict=True)
            ]
            free = [at for at, square in enumerate(squares) if square is None]
            for looks in itertools.product(*options):
                rows = [  # those that look so, and are not zero on the rests
                    np.flatnonzero(queries.varies == look if square is None else square)
                    for queries, look, square in zip(each, looks, squares, strict=True)
                ]
                seen = tuple(looked_at[at] for at in free if looks[at])
                parts = [each[at].flat[rows[at]] for at in free]
                parts = [part if looks[at] else part[:, :1] for part, at in zip(parts, free, strict=True)]
                value = self._lengths(rests, seen, parts).reshape(
                    [
                        len(chosen) if square is None else 1
                        for chosen, square in zip(rows, squares, strict=True)
                    ]
                )
                for at, square in enumerate(squares):
                    if square is not None:
                        value = value * np.expand_dims(
                            square[rows[at]], [a for a in range(len(rows)) if a != at]
                        )
                variances[np.ix_(*rows)] += value
        return variances.ravel()

    def _lengths(self, rests: Rests, attributes: tuple[int, ...], parts: list[Array]) -> Array:
        """diag(L Σ Lᵀ) for L the Kronecker product of ``parts``, Σ the covariance in these sectors.

        Infinity where they are not measured.
        """
        component = self.components.get(rests)
        count = math.prod(map(len, parts))
        if component is None or attributes not in component.layout.starts:
            return np.full(count, np.inf)
        place = component.layout.place(attributes)
        block = component.covariance[np.ix_(place, place)]
        require_memory((count, len(block)), "queries of a product on their sectors")
        rows = kron([np.ones((1, 1)), *parts])
        return np.asarray(np.einsum("ij,ij->i", rows @ block, rows))

    def answers(self, product: Product, sums: Mapping[Rests, Array]) -> Array:
        """(m,) a product's answers from the sums (r, Π s) of each component's functions.

        Raises
        ------
        OptionError : a query that is on a component that is not there.
        """
        looked_at = product.looked_at
        each, answers = self._rows_of(product), np.zeros(())
        for choice, rests in self._choices(looked_at, each):
            free = [at for at, o in enumerate(choice) if o is None]
            at_rest = [at for at, o in enumerate(choice) if o is not None]
            seen = tuple(looked_at[at] for at in free if each[at].varies.any())
            component = self.components.get(rests)
            if component is None or seen not in component.layout.starts:
                raise OptionError("the strategy does not support the queries whose answers are asked")
            flats = [each[at].flat if looked_at[at] in seen else each[at].flat[:, :1] for at in free]
            within = [
                each[at].rest[:, members] for at, members in zip(at_rest, component.members, strict=True)
            ]
            matrices = [*flats, *within]
            table = sums[rests][component.layout.place(seen)].reshape(
                [matrix.shape[1] for matrix in matrices]
            )
            answers = answers + np.transpose(along(table, matrices), np.argsort([*free, *at_rest]))
        return answers.ravel()
