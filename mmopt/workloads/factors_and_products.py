"""Groups of queries, with weights and targets: a matrix, or products of factors, one block on each attribute.

A factor is a query block on one attribute, kept implicit. It represents a dense matrix (rows, size): one
query a row, one cell of the attribute a column. The structured kinds have their Gram matrix, a root of it and
their products with vectors in closed form. A product, as in a workload file, is the Kronecker product of
factors, one per attribute; its answers come from tables over the attributes that it depends on, whatever the
number of cells.

Roots, ranks and bases of queries are computed on merged cells. With E (c, n) the indicator of the classes of
cells that no query distinguishes, W = W_c E where W_c (m, c) has the column of one representative per class.
All factorisations are of c columns.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse

from mmopt.errors import WorkloadError, whole
from mmopt.limits import require_memory
from mmopt.numerics.arrays import (
    EPS,
    Array,
    Ints,
    counted,
    frozen,
    has_independent_columns,
    owned,
    spectrum,
    stacked_root,
    svd,
)
from mmopt.workloads.blocks.combined_blocks import Kron, Padded, Reordered, Scaled, Union, kron, unit_rows
from mmopt.workloads.blocks.query_matrices import (
    AnyMatrix,
    Dense,
    Implicit,
    Implicit as Factor,
    Sparse,
    describe_array,
    per_query,
    positive,
    refine,
)
from mmopt.workloads.blocks.range_blocks import AllRange, Haar, Hierarchy, Identity, Prefix, Total, WidthRange
from mmopt.workloads.domain import Domain, describe_number, join, refuse_repeated

# The blocks as functions of a number of cells, or of a matrix and labels: their classes say what they do.
identity, total, prefix, all_range = Identity, Total, Prefix, AllRange
width_range, haar, hierarchy = WidthRange, Haar, Hierarchy
predicates, sparse_predicates = Dense.read, Sparse.read


def reordered(block: Factor, order: Sequence[int] | np.typing.ArrayLike) -> Factor:
    """The block over the cells in another order: its first column is cell ``order[0]``, and so on.

    Ranges of a reordered attribute, for instance. WorkloadError unless ``order`` has every cell once.
    """
    given = np.asarray(order)
    if given.dtype.kind not in "iu" or given.shape != (block.size,):
        raise WorkloadError(
            f"the order of the cells is an array of shape {given.shape} and type {given.dtype.name}, "
            f"expected {block.size:,} integers"
        )
    missing = np.setdiff1d(np.arange(block.size), given)
    if len(missing):
        raise WorkloadError(
            f"the order of the cells lacks {missing[0]}, "
            f"expected each number from 0 to {block.size - 1:,} once"
        )
    return Reordered(block, given.astype(np.int64))


def padded(block: Factor, size: int) -> Factor:
    """The block over the first of ``size`` cells, none of whose queries counts the others.

    For cells other than the declared ones. WorkloadError for fewer cells than the block has.
    """
    if size < block.size:
        raise WorkloadError(f"a block over {block.size:,} cells does not fit into {size:,}")
    return block if size == block.size else Padded(block, size)


def union(*factors: Factor) -> Factor:
    """The queries of all factors, one factor after the other; WorkloadError if their sizes differ."""
    if not factors:
        raise WorkloadError("a union needs at least one query block, found none")
    for factor in factors:
        if factor.size != factors[0].size:
            raise WorkloadError(
                f"a union joins query blocks of {factors[0].size} and {factor.size} cells, "
                "expected equal sizes"
            )
    return Union(factors)


class Group(ABC):
    """Queries of a workload that are declared together, over all its cells."""

    #: The queries themselves, without their weights.
    queries: Implicit

    @property
    def m(self) -> int:
        """Number of queries."""
        return self.queries.rows

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.queries.size

    @abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""

    def chunks(self, size: int) -> Iterator[tuple[int, Array]]:
        """All queries, dense, at most ``size`` at a time, each time with the number of the first."""
        for start in range(0, self.m, size):
            yield start, self.rows(start, min(start + size, self.m))

    def furthest(self, representation: Array, basis: Array) -> float:
        """The largest distance of a row of L B (L (m, k)) from its query, in lengths of the query."""
        distances = [0.0]
        for start, rows in self.chunks(1024):
            products = representation[start : start + len(rows)] @ basis
            distances += list(np.linalg.norm(products - rows, axis=1) / np.linalg.norm(rows, axis=1))
        return max(distances)

    @abstractmethod
    def spelled_out(self, texts: dict[int, str]) -> str:
        """The queries, weights and targets as the text from which hashes are computed.

        texts : of parts that several groups share, by identity; new ones are added.
        """

    def squared_norms(self) -> Array:
        """Squared L2 norm of each query, (m,)."""
        require_memory((self.m,), f"list of the squared norms of {self!r}")
        return self.queries.squared_norms()

    def classes(self) -> Ints:
        """(n,) class of each cell: no query here distinguishes cells of one class; -1: untouched."""
        require_memory((self.n,), f"list of the classes of the cells of {self!r}")
        return self.queries.classes()


@dataclass(frozen=True, eq=False, repr=False)
class Explicit(Group):
    """Queries as rows of a matrix (m, n) with a weight and a target each; build it with ``read``."""

    queries: Dense | Sparse
    weights: Array
    targets: Array

    @staticmethod
    def read(
        matrix: AnyMatrix,
        targets: np.typing.ArrayLike | None = None,
        weights: np.typing.ArrayLike | None = None,
        names: Sequence[str] = (),
    ) -> Explicit:
        """Check and copy a matrix; WorkloadError as in ``Workload.from_matrix``. names : of the queries."""
        queries = (Sparse.read if scipy.sparse.issparse(matrix) else Dense.read)(matrix, names)
        return Explicit(
            queries,
            weights=per_query(weights, queries.rows, "weight", 1.0),
            targets=per_query(targets, queries.rows, "target", np.inf),
        )

    @property
    def dense(self) -> Array | None:
        """The stored queries, read-only; None where they are sparse."""
        return self.queries.values if isinstance(self.queries, Dense) else None

    @property
    def is_plain(self) -> bool:
        """Whether all queries have the weight 1."""
        return bool((self.weights == 1.0).all())

    def unweighted(self) -> Explicit:
        """These queries with weight 1."""
        return replace(self, weights=np.ones(self.m))

    def normalised(self) -> Explicit:
        """These queries, the weight of each divided by its squared L2 norm."""
        return replace(self, weights=frozen(self.weights / self.squared_norms()))

    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""
        if self.dense is not None:
            return self.dense[start:stop]
        require_memory((stop - start, self.n), "rows of the query matrix")
        return self.queries.take(np.arange(start, stop))

    def implicit(self, weighted: bool = False) -> Implicit:
        """The queries as an implicit matrix; weighted: scaled by the square roots of their weights."""
        scales = np.sqrt(self.weights)
        if not weighted or (scales == 1.0).all():
            return self.queries
        return Scaled(self.queries, scales[0] if (scales == scales[0]).all() else scales)

    def weighted_gram(self) -> Array:
        """Gram matrix (n, n) of the queries scaled by the square roots of their weights."""
        require_memory((self.n, self.n), "Gram matrix")
        return self.queries.gram_of_weighted(self.weights)

    @property
    def root_rounding(self) -> float:
        """Relative rounding error of each entry of the rows times the roots of their weights."""
        return 0.0 if self.is_plain else 2 * EPS

    def labels(self, domain: Domain, most: int | None = None) -> list[str]:
        """One text per query, of the first so many: its name, or "query 0", "query 1" and so on."""
        return list(self.queries.names[:most]) or [f"query {i}" for i in range(self.m)[:most]]

    def title(self, domain: Domain) -> str:
        """A name for all queries."""
        return "queries"

    def spelled_out(self, texts: dict[int, str]) -> str:
        """The text of queries, weights and targets; the same for dense and sparse input."""
        sparse = Sparse(scipy.sparse.csr_array(self.queries.values))  # rows sorted, no stored zeros
        arrays = map(describe_array, (*sparse.arrays, self.weights, self.targets))
        return spelled_out(["matrix", [self.m, self.n], *arrays])

    def __repr__(self) -> str:
        return f"Explicit({self.m} × {self.n})"


def no_targets() -> WorkloadError:
    """The error for a program that needs accuracy targets."""
    return WorkloadError(
        "the program needs accuracy targets, and no query of the workload has one",
        hint="add within or max_variance to the queries, or pass targets= to Workload.from_matrix",
    )


def undetermined(without: int, m: int) -> WorkloadError:
    """The error for queries without a target that those with one do not determine: ``without`` of m."""
    return WorkloadError(
        "some queries have no target and cannot be derived from those that have one, so their "
        f"variance would have no limit ({without} of {m} queries have none)",
        hint="give them a target (max_variance), or leave them out",
    )


def spelled_out(description: object) -> str:
    """Plain data (lists, text, numbers) as the text from which hashes are computed."""
    return json.dumps(description, separators=(",", ":"))


SHOWN_FACTORS = 8  # in full; of more only those that are not totals, by their place
#: Least probability that an interval may miss: the computed law of an error has an error of 1e-9.
LEAST_MISSED = 1e-8


@dataclass(frozen=True)
class Wish:
    """The target that an estimate is within so many counts of the truth with at least this probability.

    Raises
    ------
    WorkloadError : a half width that is not positive, a confidence outside [1e-8, 1 - 1e-8], or a variance
        beyond the numbers that a workload may have.
    """

    half_width: float
    confidence: float = 0.95

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_width", positive(self.half_width, "the half width"))
        confidence = positive(self.confidence, "the confidence")
        if not LEAST_MISSED <= confidence <= 1 - LEAST_MISSED:
            raise WorkloadError(
                f"the confidence is {confidence!r}, expected {LEAST_MISSED:g} to 1 - {LEAST_MISSED:g}",
                hint="for example 0.95",
            )
        object.__setattr__(self, "confidence", confidence)
        positive(self.variance, f"the variance of noise within {self.half_width:g}")

    @property
    def variance(self) -> float:
        """The variance of normal noise whose central interval of this confidence has this half width."""
        return (self.half_width / NormalDist().inv_cdf((1 + self.confidence) / 2)) ** 2


@dataclass(frozen=True)
class Product(Group):
    """Queries that are products of one query per attribute; the last factor varies fastest.

    The matrices below (``rows``, ``gram``, ``root``) are those of the queries themselves; the
    weight is applied by ``Workload``.

    Parameters
    ----------
    factors : one per attribute of the domain, in its order.
    name : the group's name, or None.
    weight : multiplies the squared error of these queries; positive. A factor may have further weights, one
        per row (``row_weights``).
    target : largest variance allowed for each of these queries, in squared counts; infinity for none.
    within : the half width that an interval of each may have, and its confidence; None for none. The target,
        which is optimised, is at most the variance of normal noise with this interval (``Wish.variance``).
    subworkload : the name of a part of the workload that these queries belong to, or None.
    """

    factors: tuple[Implicit, ...]
    name: str | None = None
    weight: float = 1.0
    target: float = math.inf
    within: Wish | None = None
    subworkload: str | None = None
    #: The Kronecker product of the factors.
    queries: Kron = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.factors:
            raise WorkloadError("a product needs at least one factor, found none")
        object.__setattr__(self, "factors", tuple(self.factors))
        object.__setattr__(self, "queries", Kron(self.factors))
        object.__setattr__(self, "weight", positive(self.weight, "the weight"))
        target = positive(self.target, "the target variance", infinite=True)
        if self.within is not None:
            target = min(target, self.within.variance)
        object.__setattr__(self, "target", target)

    @cached_property
    def looked_at(self) -> tuple[int, ...]:
        """The attributes, ascending, whose cells some query distinguishes: their factor is no total."""
        distinct = dict(zip(map(id, self.factors), self.factors, strict=True))  # few: most share one total
        restricting = {key for key, factor in distinct.items() if not isinstance(factor.plain, Total)}
        return tuple([i for i, key in enumerate(map(id, self.factors)) if key in restricting])

    @property
    def weights(self) -> Array:
        """The weight of each query, (m,): that of the product times those of the factors' rows."""
        require_memory((self.m,), f"list of the weights of {self!r}")
        if not self.has_row_weights:
            return np.full(self.m, self.weight)
        return self.weight * kron(
            [np.ones(f.rows) if f.row_weights is None else f.row_weights for f in self.factors]
        )

    @property
    def has_row_weights(self) -> bool:
        """Whether some factor has weights of its rows."""
        return any(factor.row_weights is not None for factor in self.factors)

    @property
    def is_plain(self) -> bool:
        """Whether all queries have the weight 1."""
        return self.weight == 1.0 and not self.has_row_weights

    def weighed(self) -> Product:
        """The product with its queries scaled by the roots of their row weights; ``weight`` stays for all."""
        if not self.has_row_weights:
            return self
        return replace(self, factors=tuple(factor.weighed() for factor in self.factors))

    def unweighted(self) -> Product:
        """These queries with weight 1."""
        return replace(self, factors=tuple(factor.plain for factor in self.factors), weight=1.0)

    def normalised(self) -> Product:
        """These queries, the weight of each divided by its squared L2 norm (see ``Workload.normalised``).

        The norm of a product is the product of the norms, so each factor has the weights of its rows.
        """
        scales, factors = zip(*map(unit_rows, self.factors), strict=True)
        return replace(self, factors=factors, weight=self.weight * math.prod(scales))

    @property
    def targets(self) -> Array:
        """The target of each query, (m,)."""
        require_memory((self.m,), f"list of the targets of {self!r}")
        return np.full(self.m, self.target)

    def implicit(self, weighted: bool = False) -> Implicit:
        """The queries as an implicit matrix; weighted: scaled by the square root of the weight."""
        product = self.weighed().queries if weighted else self.queries
        return Scaled(product, math.sqrt(self.weight)) if weighted and self.weight != 1.0 else product

    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""
        require_memory((stop - start, self.n), "rows of this product")
        return self.queries.take(np.arange(start, stop))

    def gram(self) -> Array:
        """Gram matrix (n, n): the Kronecker product of the factors' Gram matrices."""
        require_memory((self.n, self.n), "Gram matrix")
        return kron([factor.gram() for factor in self.factors])

    def weighted_gram(self) -> Array:
        """The Gram matrix of the queries scaled by the square roots of their weights, (n, n)."""
        return self.weight * self.weighed().gram()

    def root(self, cells: Ints | None = None) -> Array:
        """R (r, n) with RᵀR = ``gram()``, the Kronecker product of the factors' roots; r <= min(m, n).

        With ``cells`` (c,) only these columns, (r, c).
        """
        roots = [factor.root() for factor in self.factors]
        columns = self.n if cells is None else len(cells)
        require_memory((math.prod(root.shape[0] for root in roots), columns), "root of the Gram matrix")
        if cells is None:
            return kron(roots)
        codes = np.unravel_index(cells, [factor.size for factor in self.factors])
        chosen = (root[:, code] for root, code in zip(roots, codes, strict=True))
        return np.asarray(reduce(scipy.linalg.khatri_rao, chosen, np.ones((1, columns))))

    @property
    def root_rounding(self) -> float:
        """γ (``Implicit.root_rounding``) of the weighted root: of the factors and of products of entries."""
        each = [factor.root_rounding for factor in self.weighed().factors]
        return 1.001 * sum(each) + 2 * EPS * (len(each) - self.is_plain)

    def labels(self, domain: Domain, most: int | None = None) -> list[str]:
        """One text per query, of the first so many; attributes that are summed over are left out."""
        texts = [f.labels(a) for f, a in zip(self.factors, domain.attributes, strict=True)]
        return [join(parts) for parts in itertools.islice(itertools.product(*texts), most)]

    def title(self, domain: Domain) -> str:
        """The name, or one from the factors: "sex, age prefix"; "total" when all are totals."""
        if self.name is not None:
            return self.name
        words = [
            about.name if factor.kind == "identity" else f"{about.name} {factor.title}"
            for factor, about in (self.factors[i].plain.viewed(domain.attributes[i]) for i in self.looked_at)
        ]
        return ", ".join(words) or "total"

    def spelled_out(self, texts: dict[int, str]) -> str:
        """The text of queries, weight and target: name and half width do not matter."""
        for factor in {id(factor): factor for factor in self.factors}.values():
            if id(factor) not in texts:
                texts[id(factor)] = spelled_out(factor.describe())
        factors = ",".join([texts[id(factor)] for factor in self.factors])
        numbers = (spelled_out(describe_number(number)) for number in (self.weight, self.target))
        return f'["product",[{factors}],{",".join(numbers)}]'

    def __repr__(self) -> str:
        shown = [f"{i}: {self.factors[i]!r}" for i in self.looked_at]
        factors = shown if len(self.factors) > SHOWN_FACTORS else map(repr, self.factors)
        return f"Product({' ⊗ '.join(factors) or 'totals'}, {whole(self.m)} × {whole(self.n)})"


def wishes(blocks: Sequence[Group]) -> list[tuple[slice, Wish]]:
    """The targets for half widths in a workload's blocks, each with the numbers of its queries."""
    ends = itertools.accumulate(block.m for block in blocks)
    return [
        (slice(end - block.m, end), block.within)
        for block, end in zip(blocks, ends, strict=True)
        if isinstance(block, Product) and block.within is not None
    ]


def check_products(domain: Domain, products: Sequence[Product]) -> None:
    """WorkloadError unless there is a product, each fits the domain, and no name is used twice."""
    if not products:
        raise WorkloadError("the workload has no queries, expected at least one product")
    shape = domain.shape
    for i, product in enumerate(products):
        where = f"product {i}" if product.name is None else f"product '{product.name}'"
        if len(product.factors) != len(domain.attributes):
            raise WorkloadError(
                f"{where} has {len(product.factors)} factors, "
                f"the domain has {len(domain.attributes)} attributes"
            )
        if tuple([factor.size for factor in product.factors]) == shape:
            continue
        for attribute, factor in zip(domain.attributes, product.factors, strict=True):
            if factor.size != attribute.size:
                raise WorkloadError(
                    f"{where}: the factor of attribute '{attribute.name}' has {factor.size} cells, "
                    f"the attribute has {attribute.size}"
                )
    names = (product.name for product in products if product.name is not None)
    refuse_repeated(names, lambda name: f"two products have the name '{name}'")


def with_shared_factors(products: Sequence[Product]) -> tuple[Product, ...]:
    """These products, with equal factors as one object: its derived values are then computed once."""
    first: dict[Implicit, Implicit] = {}
    representatives: dict[int, Implicit] = {}
    out = []
    shared: set[int] = set()
    for product in products:
        if shared.issuperset(map(id, product.factors)):  # most, where there are many
            out.append(product)
            continue
        for factor in product.factors:
            if id(factor) not in representatives:
                representatives[id(factor)] = first.setdefault(factor, factor)
                shared.add(id(representatives[id(factor)]))
        factors = tuple([representatives[id(factor)] for factor in product.factors])
        is_shared = all(map(operator.is_, factors, product.factors))
        out.append(product if is_shared else replace(product, factors=factors))
    return tuple(out)


def answers_of_product(product: Product, table: Callable[[tuple[int, ...]], Array]) -> Array:
    """The unweighted answers (m,) of a product: only the table over ``product.looked_at`` is needed.

    table : the sums of the data vector over all attributes but these, an array of these attributes' sizes.
    """
    axes = product.looked_at
    data = np.asarray(table(axes), dtype=np.float64)
    if not axes:
        return np.array([float(data.sum())])
    return Kron([product.factors[axis] for axis in axes]).apply(data.ravel())


Block = Product | Explicit
Numbers = TypeVar("Numbers", Array, Ints)
TOO_LARGE_HINT = "work with the workload's factors, or with fewer cells"


@dataclass(frozen=True, eq=False)
class Merged:
    """Query blocks on classes of cells that no query distinguishes, numbered by their first cell.

    ``classes`` (n,) with -1 for untouched cells; ``first`` (c,) and ``sizes`` (c,): first cell and number of
    cells of each class.
    """

    blocks: Sequence[Block]
    classes: Ints
    first: Ints
    sizes: Ints

    @staticmethod
    def of(blocks: Sequence[Block]) -> Merged:
        """The classes of these blocks."""
        classes = refine([block.classes() for block in blocks])
        labels, first, sizes = np.unique(classes, return_index=True, return_counts=True)
        touched = labels >= 0
        return Merged(blocks, classes, first[touched], sizes[touched])

    @property
    def count(self) -> int:
        """Number of classes, c."""
        return len(self.first)

    def expand(self, matrix: Numbers) -> Numbers:
        """M E: columns (·, c) copied to each cell of their class, 0 for untouched cells; read-only."""
        require_memory((matrix.shape[0], len(self.classes)), "matrix", TOO_LARGE_HINT)
        if np.array_equal(self.classes, np.arange(self.count)):
            return frozen(matrix)
        with_zeros = np.concatenate([matrix, np.zeros((matrix.shape[0], 1), dtype=matrix.dtype)], axis=1)
        return frozen(with_zeros[:, self.classes])  # class -1 reads the last column

    def root(self, weighted: bool) -> Array:
        """R (r, c) with RᵀR = W_cᵀ W_c, r <= min(m, c), by QR.

        Weighted as in the workload; otherwise scaled so that no query counts for more than a unit vector
        (each row of a matrix to norm 1, each product to largest norm 1), which does not change the row space.
        """
        rows = min(sum(block.m for block in self.blocks), 2 * self.count)
        require_memory((rows, self.count), "root of the Gram matrix", TOO_LARGE_HINT)
        return stacked_root(self._scaled_roots(weighted), self.count)

    def _scaled_roots(self, weighted: bool) -> Iterator[Array]:
        """Rows (·, c) whose Gram matrices add up to that of ``root``: roots of products, chunks of rows."""
        for block in self.blocks:
            if isinstance(block, Product):
                scale = block.weight if weighted else 1.0 / float(block.squared_norms().max())
                yield np.sqrt(scale) * (block.weighed() if weighted else block).root(self.first)
            else:
                scales = block.weights if weighted else 1.0 / block.squared_norms()
                for start, rows in block.chunks(max(1024, self.count)):
                    chunk_scales = scales[start : start + len(rows)]
                    is_whole = np.array_equal(self.first, np.arange(rows.shape[1]))
                    rows = rows if is_whole else rows[:, self.first]
                    yield rows if (chunk_scales == 1.0).all() else np.sqrt(chunk_scales)[:, None] * rows

    def basis(self) -> Array:
        """Orthonormal rows (k, n) that span the queries; the scaled indicators of independent classes.

        In coordinates where class C is the unit vector 1_C/√|C|. The rank k counts the singular
        values above 8 max(r, c) ε times the largest, of queries scaled to at most unit norm.
        """
        roots = np.sqrt(self.sizes)
        scaled = self.root(weighted=False) * roots
        if has_independent_columns(scaled):
            return owned(self.expand(np.eye(self.count) / roots))
        values, rows = svd(scaled)
        rank = int(counted(values, scaled.shape).sum())
        spanning = np.eye(self.count) if rank == self.count else fix_signs(rows[:rank])
        return owned(self.expand(spanning / roots))

    def integer_basis(self, rank: int) -> Ints | None:
        """``Workload.integer_basis``: indicators of the classes, or integer queries by QR with pivoting."""
        if self.count == rank:
            require_memory((self.count, len(self.classes)), "integer basis", TOO_LARGE_HINT)
            return self.expand(np.eye(self.count, dtype=np.int64))
        candidates: list[Array] = []
        for block in self.blocks:
            small = block.queries.spanning()
            require_memory(small.shape, "matrix of independent queries")
            candidates.append(small.matrix()[:, self.first])
        require_memory((sum(map(len, candidates)), self.count), "matrix of independent queries")
        rows = whole_rows(np.vstack(candidates))
        if rows is None:
            return None
        _, first = np.unique(rows, axis=0, return_index=True)
        chosen = independent_rows(rows[np.sort(first)], rank)
        return None if chosen is None else self.expand(chosen)


def eigen(root: Array, basis: Array | None) -> tuple[Array, Array]:
    """Eigenvalues (r,) > 0 of RᵀR, descending, and eigenvectors (r, n) as rows, signed by ``fix_signs``.

    In coordinates of the ``basis``, so that every vector lies in the row space even when a weight is tiny;
    None for the identity.
    """
    values, rows = spectrum(root if basis is None else root @ basis.T)
    vectors = rows if basis is None else rows @ basis
    positive = values > 0
    if not positive.all():
        values, vectors = values[positive], vectors[positive]
    return frozen(values), frozen(fix_signs(vectors))


def fix_signs(rows: Array) -> Array:
    """Each row times ±1 so that its largest entry in magnitude is positive (the first of near ties)."""
    size = np.abs(rows)
    lead = np.argmax(size >= (1 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    return rows * np.where(rows[np.arange(len(rows)), lead] < 0, -1.0, 1.0)[:, None]


def whole_rows(rows: Array) -> Ints | None:
    """The rows (k, c) as integers, or None if some are not.

    A row that is one number times a row of -1, 0 and 1 counts as that row.
    """
    size = np.abs(rows)
    flat = ((size == 0) | (size == size.max(axis=1, keepdims=True))).all(axis=1, keepdims=True)
    rows = np.where(flat, np.sign(rows), rows)
    return None if not (rows == np.rint(rows)).all() or np.abs(rows).max() > 2**53 else rows.astype(np.int64)


def independent_rows(rows: Ints, rank: int) -> Ints | None:
    """``rank`` independent rows, chosen by QR with pivoting; None if it finds another rank."""
    triangle, pivots = scipy.linalg.qr(rows.T.astype(np.float64), mode="r", pivoting=True)
    reached = int(counted(np.abs(np.diag(triangle)), rows.shape).sum())
    return rows[np.sort(pivots[:rank])] if reached == rank else None
