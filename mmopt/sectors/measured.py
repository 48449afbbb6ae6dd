"""Variances and answers of queries from matrices on a row space.

Where the functions of a row space stand in one vector, and what queries are made of them.

An attribute has the constant 1 and further functions of its value; a *sector* is a set S of attributes, with
one function of each attribute of S: the products are numbered in row-major order, sector after sector. With a
sector all its subsets are there. Which functions they are is free: orthonormal contrasts, in which strategies
are found, or indicators of values, in which a release counts (``indicators``).

What is asked of single values of a class that are alike: components beside the functions of classes.

On a class of s values the functions of sum 0 are its *rest*. They have in general no basis of whole numbers
that is orthogonal with equal lengths, but a tight frame of s of them, [x = v] - [x in the class] / s: with
Gram matrix I - 1/s. A component has the rest of one class on each of a few attributes, and the sectors of
others; a matrix on the latter is measured for every choice of values of the former.

Queries of few attributes on the components of a row space: variances and answers, product by product.

Queries with targets in the space that they span: what they ask of it, orbit after orbit of queries.

Let a query ask ℓ_κ (d, copies) of a component. The rows t of its orbit, the queries that permutations of
values make of it, have the Gram matrix Σ ℓ_κ ℓ_κᵀ over the orbit, divided by the copies. Its variance under a
covariance Σ_κ ⊗ I is Σ_κ μ_κ / size Σ_t t Σ_κ tᵀ, as in ``symmetry.split_workloads``. An orbit is one of rows
for each attribute, by permutations of its values, and t has one number for each rest. With nothing that can
be swapped each query is its own orbit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, Ints, frozen
from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.sectors.functions_of_few import AttributeBasis, Rests, SectorComponent
from mmopt.sectors.row_space import RowSpace
from mmopt.symmetry.attribute_queries import Piece, interchangeable, terms_of
from mmopt.symmetry.split_workloads import row_orbits
from mmopt.workloads import Implicit, Product, Workload
from mmopt.workloads.blocks.kronecker_products import kron


@dataclass(frozen=True, eq=False)
class AttributeRows:
    """Queries of one attribute.

    flat : (rows, o) their means on classes, as combinations of (1, functions). varies : (rows,) whether these
    are not constant. rest : (rows, d) what is left, of sum 0 on each class; exactly 0 where that is rounding.
    """

    flat: Array
    varies: npt.NDArray[np.bool_]
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
        for label, own in zip(self.labels, self.functions, strict=True):
            if label.dtype.kind != "i" or label.ndim != 1 or label.min(initial=0) < 0 or not label.size:
                raise OptionError(
                    "the classes of an attribute's values are whole numbers from 0, one a value"
                )
            if own.shape != (int(label.max()), int(label.max()) + 1):
                raise OptionError(
                    f"the functions of an attribute have shape {own.shape}, expected "
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
        return math.prod(len(self.functions[i]) for i in attributes)

    def place(self, attributes: tuple[int, ...]) -> Ints:
        """Places of all products of (1, functions) of the attributes, in row-major order, (Π oᵢ,)."""
        shape = [len(self.functions[i]) + 1 for i in attributes]
        found = np.empty(shape, dtype=np.int64)
        for chosen in itertools.product((False, True), repeat=len(attributes)):
            own = tuple(i for i, one in zip(attributes, chosen, strict=True) if one)
            at = tuple(slice(1, None) if one else 0 for one in chosen)
            counts = [len(self.functions[i]) for i in own]
            found[at] = self.starts[own] + np.arange(math.prod(counts)).reshape(counts)
        return found.ravel()

    def values(self, codes: Ints) -> Array:
        """(r, c) all functions at cells (c, k) of values."""
        require_memory((self.size, len(codes)), "values of the functions of a row space")
        each = [own[:, label[codes[:, i]]] for i, (own, label) in enumerate(self._pairs())]
        blocks = []
        for one in self.sets:
            block = np.ones((1, len(codes)))
            for i in one:
                block = (block[:, None] * each[i][None]).reshape(-1, len(codes))
            blocks.append(block)
        return np.concatenate(blocks)

    def _pairs(self) -> zip[tuple[Array, Ints]]:
        return zip(self.functions, self.labels, strict=True)

    @cached_property
    def _inverses(self) -> dict[int, Array]:
        """By the object of the functions: the inverse of (1, functions) over classes."""
        return {}

    def inverse(self, attribute: int) -> Array:
        """(oᵢ, oᵢ), by which queries on classes become combinations of (1, functions)."""
        own = self.functions[attribute]
        if id(own) not in self._inverses:
            self._inverses[id(own)] = np.linalg.inv(np.vstack([np.ones(own.shape[1]), own]))
        return self._inverses[id(own)]

    def asked(self, attribute: int, factor: Implicit) -> AttributeRows:
        """Queries of an attribute as combinations of (1, functions), and what they are beside them."""
        entries, label = factor.matrix(), self.labels[attribute]
        # Means of d entries are off by less, in relation to the largest: what differs by more is no rounding.
        size = 4 * (entries.shape[1] + 8) * EPS * np.abs(entries).max(axis=1, keepdims=True)
        member = np.equal.outer(label, np.arange(int(label.max()) + 1))
        means = entries @ (member / member.sum(axis=0))
        rest = entries - means[:, label]
        rest[np.abs(rest) <= size] = 0.0
        varies = (np.abs(means - means[:, :1]) > size).any(axis=1)
        return AttributeRows(means @ self.inverse(attribute), varies, rest)

    def indicators(self) -> SectorLayout:
        """The same sectors of indicators [class = v], v >= 1: whole numbers, nonnegative, the same span."""
        known: dict[int, Array] = {}
        for own in self.functions:
            known.setdefault(id(own), frozen(np.eye(len(own), own.shape[1], 1)))
        return SectorLayout(self.labels, tuple(known[id(own)] for own in self.functions), self.sets)

    def change(self, attribute: int, other: SectorLayout) -> Array:
        """(oᵢ, oᵢ) T with (1, functions) here = T (1, functions) of another layout on the same classes."""
        own = self.functions[attribute]
        return np.vstack([np.ones(own.shape[1]), own]) @ other.inverse(attribute)


def change_of_functions(layout: SectorLayout, other: SectorLayout) -> Array:
    """U (r, r) with the functions of one layout = U times those of another, of the same classes and sets."""
    require_memory((layout.size, layout.size), "change of functions of a row space")
    found = np.zeros((layout.size, layout.size))
    for one in layout.sets:
        block = kron([np.ones((1, 1)), *(layout.change(i, other)[1:] for i in one)])
        start = layout.starts[one]
        found[start : start + len(block), other.place(one)] = block
    return found


def active(product: Product) -> tuple[int, ...]:
    """The attributes that a product does not sum over."""
    return tuple(i for i, factor in enumerate(product.factors) if factor.kind != "total")


def sets_of(attributes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """All subsets of these sets of attributes, each once: small ones first, then by number."""
    found = {
        part for one in attributes for w in range(len(one) + 1) for part in itertools.combinations(one, w)
    }
    return tuple(sorted(found, key=lambda one: (len(one), one)))


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
        """Of the core; ``numpy.linalg.LinAlgError`` where there is none."""
        return np.asarray(np.linalg.inv(self.core), dtype=np.float64)

    @cached_property
    def covariance(self) -> Array:
        """(CᵀC)⁻¹ of the core C."""
        return np.asarray(self.inverse @ self.inverse.T)

    def matrix(self, codes: Ints) -> Array:
        """(rows, c) what is measured at cells (c, k) of values."""
        found = self.core @ self.layout.values(codes)
        for (i, _), own in zip(self.rests, self.members, strict=True):
            inside = np.equal.outer(own, codes[:, i]).astype(np.float64)
            inside -= inside.sum(axis=0) / len(own)
            found = (found[:, None] * inside[None]).reshape(-1, len(codes))
        return found


def along(tensor: Array, matrices: Sequence[Array]) -> Array:
    """A matrix times each axis of a tensor."""
    for matrix in matrices:  # the first axis goes, and its result comes last
        tensor = np.tensordot(tensor, matrix, axes=(0, 1))
    return tensor


Choice = tuple[int | None, ...]
"""Of each attribute of a product the class of its rest, or None for its functions of classes."""


@dataclass(frozen=True, eq=False)
class QueriesOnSectors:
    """What ``components`` (by their rests; all on the classes and functions of ``layout``) say of queries."""

    layout: SectorLayout
    components: Mapping[Rests, RestComponent]

    @cached_property
    def _known(self) -> dict[Hashable, Array]:
        return {}

    def variances(self, product: Product) -> Array:
        """Variances (m,) of a product's queries; those of equal factors are found once."""
        which = active(product)
        place = (which, tuple(product.factors[i].plain for i in which))
        if place not in self._known:
            self._known[place] = self._variances_of(product, which)
        return self._known[place]

    def _choices(self, which: tuple[int, ...], each: list[AttributeRows]) -> Iterator[tuple[Choice, Rests]]:
        """Which rests a product's queries have anything on: one class of an attribute or none."""
        labels = [self.layout.labels[i] for i in which]
        options: list[list[int | None]] = [
            [None, *np.unique(label[(own.rest != 0).any(axis=0)]).tolist()]
            for own, label in zip(each, labels, strict=True)
        ]
        for choice in itertools.product(*options):
            yield choice, tuple((i, o) for i, o in zip(which, choice, strict=True) if o is not None)

    def _asked(self, product: Product, which: tuple[int, ...]) -> list[AttributeRows]:
        return [self._asked_of(i, product.factors[i].plain) for i in which]

    @cached_property
    def _kept(self) -> dict[tuple[int, int, Implicit], AttributeRows]:
        return {}

    def _asked_of(self, i: int, factor: Implicit) -> AttributeRows:
        own = (id(self.layout.functions[i]), id(self.layout.labels[i]), factor)
        if own not in self._kept:
            self._kept[own] = self.layout.asked(i, factor)
        return self._kept[own]

    def _variances_of(self, product: Product, which: tuple[int, ...]) -> Array:
        """By component, and of rows that look at the same attributes at a time."""
        each = self._asked(product, which)
        found = np.zeros([len(own.flat) for own in each])
        for choice, rests in self._choices(which, each):
            squares = [
                None if o is None else np.square(own.rest[:, self.layout.labels[i] == o]).sum(axis=1)
                for i, o, own in zip(which, choice, each, strict=True)
            ]
            options = [
                [True] if square is not None else sorted(set(own.varies.tolist()))
                for square, own in zip(squares, each, strict=True)
            ]
            for looks in itertools.product(*options):
                rows = [
                    np.flatnonzero(own.varies == look if square is None else square)
                    for own, look, square in zip(each, looks, squares, strict=True)
                ]
                free = [at for at, square in enumerate(squares) if square is None]
                seen = tuple(which[at] for at in free if looks[at])
                parts = [each[at].flat[rows[at]] for at in free]
                parts = [part if looks[at] else part[:, :1] for part, at in zip(parts, free, strict=True)]
                value = self._lengths(rests, seen, parts).reshape(
                    [len(own) if square is None else 1 for own, square in zip(rows, squares, strict=True)]
                )
                for at, square in enumerate(squares):
                    if square is not None:
                        value = value * np.expand_dims(
                            square[rows[at]], [a for a in range(len(rows)) if a != at]
                        )
                found[np.ix_(*rows)] += value
        return found.ravel()

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
        which = active(product)
        each, found = self._asked(product, which), np.zeros(())
        for choice, rests in self._choices(which, each):
            free = [at for at, o in enumerate(choice) if o is None]
            taken = [at for at, o in enumerate(choice) if o is not None]
            seen = tuple(which[at] for at in free if each[at].varies.any())
            component = self.components.get(rests)
            if component is None or seen not in component.layout.starts:
                raise OptionError("the strategy does not support the queries whose answers are asked")
            flats = [each[at].flat if which[at] in seen else each[at].flat[:, :1] for at in free]
            within = [each[at].rest[:, own] for at, own in zip(taken, component.members, strict=True)]
            matrices = [*flats, *within]
            table = sums[rests][component.layout.place(seen)].reshape([own.shape[1] for own in matrices])
            found = found + np.transpose(along(table, matrices), np.argsort([*free, *taken]))
        return found.ravel()


# Of each component rows t, and the number of the orbit that each is of; sizes of the orbits, their targets.
QueryOrbits = tuple[list[tuple[Array, Ints]], Array, Array]


def as_targets(workload: Workload) -> Workload:
    """The queries unweighted, each product with the weight 1 / target: swaps then keep targets, too."""
    products = [replace(p.unweighted(), weight=1.0 / p.target) for p in workload.products or ()]
    return Workload.from_products(workload.domain, products)


def asked_sources(rows: RowSpace, cells: Space, workload: Workload) -> dict[str, Split | Level] | str:
    """What programs take of a workload with targets, on ``cells`` of its row space; or why nothing is known.

    rows : the row space of ``as_targets(workload)``.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    if not workload.has_all_targets:
        return "queries without a target are not known there"
    found = _orbits_of(rows, as_targets(workload), [p.target for p in workload.products or ()])
    if isinstance(found, str):
        return found
    inner = cells.abstract(cells.dims)
    queries = _space(found, cells, workload)
    return {
        "workload.representation": Split(queries, inner, tuple(own for own, _ in found[0])),
        "workload.basis": Split(inner, cells, tuple(np.eye(d) for d in cells.dims)),
        "workload.targets": Level(queries, found[2]),
    }


def matrix_of(rows: RowSpace, cells: Space, workload: Workload) -> Split | str:
    """The queries, weighted, on ``cells`` of their row space ``rows``; or why they are not known.

    A query of weight w is one times √w, as is one whose target is 1 / w divided by the root of its target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    asked = workload.weighed
    found = _orbits_of(rows, asked, [1.0 / p.weight for p in asked.products or ()])
    if isinstance(found, str):
        return found
    scales = 1.0 / np.sqrt(found[2])
    parts = tuple(own * scales[label, None] for own, label in found[0])
    return Split(_space(found, cells, workload), cells, parts)


def _space(found: QueryOrbits, cells: Space, workload: Workload) -> Space:
    """The space of the queries, by orbits."""
    parts, sizes, _ = found
    return Space(
        cells.multiplicities,
        tuple(len(own) for own, _ in parts),
        labels=tuple(label for _, label in parts),
        sizes=sizes,
        total=workload.m,
    )


@dataclass(frozen=True, eq=False)
class _FactorOrbits:
    """Orbits of the rows of a factor: how many rows each has, and t on each kind of function.

    flat : (q, o) on the constant and the contrasts. rests : by orbit of values (q,).
    """

    counts: Array
    flat: Array
    rests: Mapping[int, Array]

    @staticmethod
    def of(basis: AttributeBasis, piece: Piece) -> _FactorOrbits:
        orbits = row_orbits(basis.symmetry, piece)
        # Where a factor has weights of its rows, these tell them apart.
        scale = np.sqrt(orbits.targets / basis.size)
        even = orbits.local.rows.get(0, np.zeros((orbits.size, basis.orbits)))
        parts = basis.symmetry.parts
        return _FactorOrbits(
            orbits.counts.astype(np.float64),
            basis.turned(scale[:, None] * even),
            {int(parts[k].labels[0]): scale * own[:, 0] for k, own in orbits.local.rows.items() if k},
        )


def _orbits_of(rows: RowSpace, asked: Workload, targets: Sequence[float]) -> QueryOrbits | str:
    """The rows of the products that ``rows`` is the space of, with their targets; or why they are not known.

    An orbit is one of rows for each attribute of a product, its row t one for each factor multiplied. The
    weight of a product is one divided by its target.
    """
    _, terms = terms_of(asked, with_targets=False)
    looked = [{i: p for i, p in enumerate(term.pieces) if p.kind != "total"} for term in terms]
    known: dict[tuple[int, int], _FactorOrbits] = {}
    for i, piece in {(i, id(p)): (i, p) for own in looked for i, p in own.items()}.values():
        basis = rows.bases[i]
        is_swapped = basis.orbits < basis.size
        if is_swapped and not _is_finer(basis.symmetry.classes, interchangeable(piece, by_rows=True)):
            return "values can be swapped in the sum of the queries' squares, and not query by query"
        known[i, id(piece)] = _FactorOrbits.of(basis, piece)
    factors = [{i: known[i, id(p)] for i, p in own.items()} for own in looked]
    counts = [kron([np.ones(1), *(f.counts for f in own.values())]) for own in factors]
    starts = np.cumsum([0, *map(len, counts)])
    entries = sum(sum(len(counts[at]) for at in own.products) * own.dim for own in rows.components)
    require_memory((entries,), "queries in the space that they span")
    parts = []
    for component in rows.components:
        blocks = [_on_component(component, factors[at], rows.asked[at].factors) for at in component.products]
        own = np.vstack(blocks)
        labels = np.concatenate([np.arange(starts[at], starts[at + 1]) for at in component.products])
        has_any = own.any(axis=1)
        parts.append((own[has_any], labels[has_any]))
    each = [np.full(len(own), target) for own, target in zip(counts, targets, strict=True)]
    return parts, np.concatenate(counts), np.concatenate(each)


def _is_finer(classes: Ints, coarse: Ints) -> bool:
    """Whether each class is within one of the coarse ones."""
    return len(np.unique(np.stack([classes, coarse], axis=1), axis=0)) == int(classes.max()) + 1


def _on_component(
    component: SectorComponent, factors: Mapping[int, _FactorOrbits], told: Mapping[int, Any]
) -> Array:
    """(q, dim) rows t of the orbits of a product; ``told``: attributes of which it tells values apart."""
    rests = dict(component.rests)
    count = math.prod(len(own.counts) for own in factors.values())
    found = np.zeros((count, component.dim))
    for sector, place in component.places.items():
        if not set(sector) <= set(told):
            continue
        each = [np.ones((1, 1))]
        for i, own in factors.items():
            if i in rests:
                each.append(own.rests.get(rests[i], np.zeros(len(own.counts)))[:, None])
            else:
                each.append(own.flat[:, 1:] if i in sector else own.flat[:, :1])
        found[:, place] = kron(each)
    return found
