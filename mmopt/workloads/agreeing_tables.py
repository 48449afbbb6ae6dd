"""Tables of counts that answer the queries of a workload, and that agree where they overlap.

A block of queries is a product of matrices, one for each attribute. Values of an attribute that such a matrix
does not tell apart are a class, and the classes of all attributes make a table: its counts answer the block.
Two tables have sums in common: those by the finest classes that are coarser than both, attribute by attribute
(values that a chain of both kinds of classes connects). So there are counts x for each table asked, and for
the common sums of every two of those that no other refines, and E x = 0 says that a table adds up to those
that are directly coarser. All pairs then agree: each is connected by way of its common sums. With these sums
among the counts the system stays as sparse as the tables.

Tables of a population obey all this. The converse does not hold: among n persons A = B for all, B = C for all
and A ≠ C for all agrees in every pair of attributes, and there are no such persons.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mmopt.errors import TooLargeError, counted
from mmopt.limits import fits_memory, require_memory
from mmopt.numerics.arrays import Array, Ints
from mmopt.workloads.blocks.query_matrices import Implicit, ordered, refine
from mmopt.workloads.factors_and_products import Product
from mmopt.workloads.workload import Workload

Bools = npt.NDArray[np.bool_]

MOST_CLASSES = 1024  # classes of cells that no query tells apart: so many counts take about a minute
MOST_LISTED = 2**22  # cells that are looked at one by one, to see which no query tells apart
MOST_TABLES = 1024  # with their common sums
MOST_COUNTS = 2**18  # of all tables: some minutes
MOST_ENTRIES = 2**23  # of the queries, and of their Gram matrix
FEWER_TABLES = "refine a release whose workload asks about fewer attributes at a time, or coarser values"


def are_cells_chosen(workload: Workload) -> bool:
    """Whether so few cells are told apart that there is a count for each; else counts are of tables."""
    if workload.n > MOST_LISTED or not fits_memory(workload.shape, share=2):
        return False
    classes = np.zeros(workload.n, dtype=np.int64)
    for block in workload.blocks:
        classes = refine([classes, block.classes()])
        if classes.max() >= MOST_CLASSES:
            return False
    return True


def refinable_words(workload: Workload) -> str:
    """How answers can be refined, in words."""
    if are_cells_chosen(workload):
        return "as counts of cells, also whole"
    try:
        tables = tables_of(workload)
    except TooLargeError as error:
        return f"not at all: {error.message}"
    return (
        f"as {counted(tables.finest, 'table')} of {counted(int(tables.sizes.sum()), 'count')} in all, any "
        "two with the same sums where they share attributes, whole where such are found"
    )


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of counts (c,) in all, each ``sizes`` long, one after the other.

    finest : the number of tables that no other refines. queries (m, c) and agreement (k, c) : sparse rows;
    the latter are 0 of tables that agree. everyone (c,) : the sum of a smallest table. in_total (b, m) :
    sparse; each row adds answers up to the number of rows counted.
    """

    finest: int
    sizes: Ints
    queries: sparse.csr_array
    agreement: sparse.csr_array
    everyone: Array
    in_total: sparse.csr_array

    def most(self, estimates: Array, errors: Array, level: float) -> float:
        """The most rows, of all tables together, where the sum of squares is at most ``level``; or infinity.

        For weights z that add answers up to the rows counted it is z @ y + |z s| √level, by Cauchy and
        Schwarz.
        """
        z = self.in_total
        sums = z @ estimates + 1e-9 * (abs(z) @ np.abs(estimates))
        rows = sums + np.sqrt((z * z) @ errors**2 * level) * (1.0 + 1e-9)
        return len(self.sizes) * (1.0 + 1e-6 + float(np.maximum(rows, 0.0).min(initial=math.inf)))


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes of one attribute's values that the blocks' matrices tell apart, by ``of`` (blocks,).

    ``classes`` are closed under ``joins`` (p, p): the number of the finest ones coarser than two.
    """

    classes: list[Ints]
    of: Ints
    joins: Ints

    @staticmethod
    def made(factors: Sequence[Implicit]) -> "_Classes":
        """The classes of the values of each factor, and what they have in common."""
        numbers: dict[bytes, int] = {}
        classes: list[Ints] = []

        def number(labels: Ints) -> int:
            """The number of these classes, which are added where they are new."""
            if numbers.setdefault(labels.tobytes(), len(classes)) == len(classes):
                classes.append(labels)
            return numbers[labels.tobytes()]

        first = {id(factor): factor.plain for factor in factors}
        for factor in first.values():
            require_memory(factor.shape[1:], "list of the values of an attribute")
        of = {key: number(ordered(factor.classes() + 1)) for key, factor in first.items()}
        joins: dict[tuple[int, int], int] = {}
        for i in itertools.takewhile(lambda i: i < min(len(classes), MOST_TABLES), itertools.count()):
            for j in range(i + 1):
                joins[i, j] = joins[j, i] = number(_joined(classes[i], classes[j]))
        if len(classes) > MOST_TABLES:
            raise _too_many(len(classes), "groupings of one attribute")
        table = np.array([[joins[i, j] for j in range(len(classes))] for i in range(len(classes))])
        return _Classes(classes, np.array([of[id(factor)] for factor in factors]), table)

    @cached_property
    def sizes(self) -> Ints:
        """The number of classes of each."""
        return np.array([int(labels.max()) + 1 for labels in self.classes])

    @cached_property
    def first(self) -> list[Ints]:
        """A value of each class."""
        return [np.unique(labels, return_index=True)[1] for labels in self.classes]

    def sums(self, fine: int, coarse: int) -> sparse.csr_array:
        """The sums by coarser classes of counts by finer ones, (coarse, fine)."""
        places = (self.classes[coarse][self.first[fine]], np.arange(self.sizes[fine]))
        shape = (self.sizes[coarse], self.sizes[fine])
        return sparse.csr_array((np.ones(shape[1]), places), shape=shape)


def _joined(one: Ints, other: Ints) -> Ints:
    """The finest classes that are coarser than both."""
    nodes = int(one.max()) + int(other.max()) + 2
    edges = sparse.coo_array((np.ones(len(one)), (one, other + one.max() + 1)), shape=(nodes, nodes))
    return ordered(connected_components(edges, directed=False)[1][one].astype(np.int64))


def _too_many(count: int, what: str) -> TooLargeError:
    """The error for so many tables, counts or entries."""
    return TooLargeError(f"refining on tables takes {count:,} {what}, which is too many", hint=FEWER_TABLES)


def tables_of(workload: Workload) -> Tables:
    """The tables that answer the queries of a workload, with the sums that they have in common.

    Raises
    ------
    TooLargeError : too many tables, counts or entries of the queries.
    """
    blocks = [block.factors if isinstance(block, Product) else (block.queries,) for block in workload.blocks]
    attributes = [_Classes.made(factors) for factors in zip(*blocks, strict=True)]
    finest, tables, coarser = _with_common_sums(attributes)
    sizes = [math.prod(int(a.sizes[p]) for a, p in zip(attributes, one, strict=True)) for one in tables]
    if sum(sizes) > MOST_COUNTS:
        raise _too_many(sum(sizes), f"counts in {counted(len(tables), 'table')}")
    starts, place_of = np.cumsum([0, *sizes]), {tuple(one): at for at, one in enumerate(tables.tolist())}

    def placed(rows: sparse.csr_array, table: int) -> sparse.csr_array:
        """Rows over the counts of one table, as rows over all counts."""
        entries = (rows.data, rows.indices + starts[table], rows.indptr)
        return sparse.csr_array(entries, shape=(rows.shape[0], int(starts[-1])))

    queries, in_total, entries = [], [], 0
    for block, of_block in zip(blocks, np.column_stack([a.of for a in attributes]).tolist(), strict=True):
        factors = [
            sparse.csr_array(factor.plain.matrix()[:, a.first[p]])
            for factor, a, p in zip(block, attributes, of_block, strict=True)
        ]
        # No more than these has the Gram matrix.
        squares = [min(f.shape[1] ** 2, int((np.diff(f.indptr).astype(float) ** 2).sum())) for f in factors]
        entries += max(math.prod(f.nnz for f in factors), math.prod(squares))
        if entries > MOST_ENTRIES:
            raise _too_many(entries, "entries of queries")
        queries.append(placed(_product(factors), place_of[tuple(of_block)]))
        in_total.append(_product([_weights_of_total(f) for f in factors]))
    agreement = [
        placed(_product([a.sums(*pair) for a, *pair in zip(attributes, fine, coarse, strict=True)]), i)
        - placed(sparse.eye_array(sizes[j], format="csr"), j)
        for i, j, fine, coarse in ((i, j, tables[i], tables[j]) for i, j in np.argwhere(coarser).tolist())
    ]
    weights = sparse.block_diag(in_total, format="csr")
    return Tables(
        finest=finest,
        sizes=np.array(sizes),
        queries=sparse.vstack(queries, format="csr"),
        agreement=sparse.vstack([sparse.csr_array((0, int(starts[-1]))), *agreement], format="csr"),
        everyone=np.repeat(np.eye(1, len(sizes), int(np.argmin(sizes)))[0], sizes),
        in_total=weights[np.flatnonzero(np.diff(weights.indptr))],
    )


def _with_common_sums(attributes: Sequence[_Classes]) -> tuple[int, Ints, Bools]:
    """The number of tables that no other refines; these, all others asked and common sums of two, (t, a) by
    numbers of classes; whether one is directly coarser than another (t, t).
    """

    def are_coarser(tables: Ints) -> Bools:
        """Whether each table (first index) is at least as fine as each other one."""
        if len(tables) > MOST_TABLES:
            raise _too_many(len(tables), "tables")
        columns = zip(attributes, tables.T, strict=True)
        return np.asarray(np.all([a.joins[np.ix_(p, p)] == p for a, p in columns], axis=0))

    of_blocks = np.unique(np.column_stack([a.of for a in attributes]), axis=0)
    finest = of_blocks[are_coarser(of_blocks).sum(axis=0) == 1]
    common = [
        np.column_stack([a.joins[p, column] for a, p, column in zip(attributes, one, finest.T, strict=True)])
        for one in finest
    ]
    tables = np.unique(np.vstack([of_blocks, *common]), axis=0)
    below = (are_coarser(tables) & ~np.eye(len(tables), dtype=bool)).astype(np.float32)
    return len(finest), tables, (below > 0) & (below @ below == 0)  # with none between


def _product(factors: Iterable[sparse.csr_array]) -> sparse.csr_array:
    """The Kronecker product; the last one varies fastest."""
    one = sparse.csr_array(np.ones((1, 1)))
    some = (factor for factor in factors if factor.shape != (1, 1) or factor[0, 0] != 1.0)
    return sparse.csr_array(reduce(partial(sparse.kron, format="csr"), some, one))


def _weights_of_total(rows: sparse.csr_array) -> sparse.csr_array:
    """Weights (1, m) with which queries add up to 1 everywhere, or zeros where none are seen at once."""
    count, size = rows.shape
    is_total = np.asarray((rows == 1.0).sum(axis=1) == size)
    all_alike = np.full((1, count), float((rows.sum(axis=0) == 1.0).all()))
    return sparse.csr_array(np.eye(1, count, int(is_total.argmax())) if is_total.any() else all_alike)
