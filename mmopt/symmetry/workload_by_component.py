"""Gram matrices and targets of a workload by components, and the rows of any queries on them.

For total error the Gram matrix is split, as roots. On the component of one part per attribute, the Gram
matrix of Σⱼ wⱼ ⊗ᵢ Gᵢ⁽ʲ⁾ is Σⱼ wⱼ ⊗ᵢ (Gᵢ⁽ʲ⁾ on the part). Only components on which some product is not zero
are ever listed. Each has a root that is computed from the roots of the factors by QR, so that small singular
values keep their digits.

The symmetries may also be those of another workload (``mean_roots``): for a matrix X that they leave
unchanged trace(G X) is the same for all images of a Gram matrix G, so only the mean of these images counts.

Basis vectors of a component that its Gram matrix does not connect are in blocks, components of their own:
flipping the signs of a block's vectors changes neither the Gram matrix nor the diagonal of any X, so some
optimal X has zeros between the blocks.

For accuracy targets queries, basis and targets are split. The group maps queries to queries of the same
product (up to sign), so queries have orbits too: one query per attribute from an orbit of the factor's
queries. On a component, the queries W_o of an orbit have the Gram matrix W_oᵀ W_o = t_o t_oᵀ with t_o = ⊗ᵢ
tᵢ, one vector per attribute (see ``AttributeSymmetry.of_query``). These rows are the workload on the
component: Wᵀ diag(q) W is Σ_o q_o t_o t_oᵀ there for every q that is constant on orbits, and the variance of
a query of orbit o is Σ_κ μ_κ/size_o t_oᵀ Σ_κ t_o.

**Rows of queries**, of any over the same cells. For a matrix X that the symmetries leave unchanged w X wᵀ is
the same for all images of a query w, so only the mean of w wᵀ over these images counts. On a component that
is one matrix, t tᵀ, with t the product of one vector per attribute (``AttributeSymmetry.of_query``). The Gram
matrices of all queries together are ``mean_roots``.

In integer rows whole orbits and classes are counted instead of orthonormal coordinates: on an even part the
basis vector of an orbit O is 1_O, on an odd one 1_C - 1_σ(C), so that a row of integers has integer entries
over the cells.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from mmopt.errors import OptionError
from mmopt.limits import fits_memory, require_memory, require_time
from mmopt.numerics import (
    EPS,
    Array,
    Ints,
    Level,
    Space,
    Split,
    columns_of,
    grouped,
    qr,
    rounding_of_root,
    stacked_root,
    svd,
)
from mmopt.symmetry.attribute_queries import EXACT_SUMS, Piece, PieceRows, Term, keys, swapped, terms_of
from mmopt.symmetry.components import (
    AttributePart,
    AttributeSymmetry,
    Cells,
    Chosen,
    Joint,
    Key,
    PartRows,
    combined,
    mixed,
    results_by_piece,
)
from mmopt.workloads import (
    AllRange,
    Dense,
    Factor,
    Identity,
    Product,
    Workload,
    independent_rows,
    reflected_ranges,
    whole_rows,
)

#: The most matrices of the size of an attribute in a search for its links.
MATRICES = 8


def component_roots(joint: Joint, terms: Sequence[Term], *, mean: bool = False) -> dict[Key, Array]:
    """Per component with a weighted Gram matrix other than zero, rows (·, d) whose Gram matrix is that.

    d is the dimension of the component. With ``mean`` the symmetries need not be those of the terms: the Gram
    matrix is then that of the mean of all images of the terms. There may be up to 2 d rows then, of which
    only sums are needed: QR costs more.
    """
    stacks: dict[Key, list[Array]] = {}
    roots = results_by_piece(
        joint,
        [term.pieces for term in terms],
        lambda attribute, piece: PartRows(_roots(piece, attribute, mean)),
    )
    for term, on_parts in zip(terms, roots, strict=True):
        scale = math.sqrt(term.weight)
        for key, rows in combined(on_parts):
            require_time()
            stacks.setdefault(key, []).append(rows if scale == 1.0 else scale * rows)
    dims = {key: joint.dim(key) for key in sorted(stacks)}
    return {key: stacked_root(stacks[key], dim, 2 * dim if mean else dim) for key, dim in dims.items()}


def _roots(piece: Piece, attribute: AttributeSymmetry, mean: bool) -> dict[int, Array]:
    """The piece's root on each part of its attribute on which it is not zero."""
    if piece.kind == "identity":  # without the n × n identity matrix
        return {k: np.eye(part.dim) for k, part in enumerate(attribute.parts)}
    if piece.kind == "total":
        return {0: np.sqrt(attribute.sizes.astype(np.float64))[None, :]}
    if piece.kind == "all_range" and attribute.is_reversal:
        return dict(enumerate(reflected_ranges(piece.size)))
    root = piece.root()
    given = (root, attribute.sums(root), piece.blocks, mean)
    by_part = {k: attribute.root(part, *given) for k, part in enumerate(attribute.parts)}
    return {k: rows for k, rows in by_part.items() if len(rows)}


def blocks_of(joint: Joint, terms: Sequence[Term]) -> list[tuple[Chosen, Array]]:
    """The components split further into independent blocks, each with its columns of the root."""
    out = []
    for key, rows in component_roots(joint, terms).items():
        blocks = independent(rows)
        if len(blocks) > 1:  # perhaps only by rounding
            touched = np.asarray(rows.any(axis=0), dtype=bool)
            blocks = connected(_linked(joint, terms, key) & touched & touched[:, None])
        out += [(Chosen(key, kept), columns_of(rows, kept)) for kept in blocks]
    return out


def _linked(joint: Joint, terms: Sequence[Term], key: Key) -> np.typing.NDArray[np.bool_]:
    """(d, d): False where the Gram matrix of every term on a component is exactly zero."""
    linked = np.zeros((joint.dim(key),) * 2, dtype=bool)
    for term in terms:
        linked |= reduce(
            np.kron, [_linked_on_part(*each) for each in zip(term.pieces, joint.attributes, key, strict=True)]
        )
    return linked


def is_connected(joint: Joint, terms: Sequence[Term]) -> bool:
    """Whether the largest component, constant on orbits, is quickly seen to be one block.

    The orbits of an attribute are in one block, whatever those of the others, where some term links them and
    is zero on none of the others.
    """
    linked = set()  # attributes whose orbits are in one block
    for facts in results_by_piece(joint, [term.pieces for term in terms], _touches_and_links):
        missing = [i for i, (touches, _) in enumerate(facts) if not touches]
        linked |= {i for i, (_, links) in enumerate(facts) if links and set(missing) <= {i}}
    return len(linked) == len(joint.attributes)


def _touches_and_links(attribute: AttributeSymmetry, piece: Piece) -> tuple[bool, bool]:
    """Whether a piece is nonzero on every orbit, and whether it links all of them."""
    if piece.kind in ("identity", "total"):
        return True, piece.kind == "total" or len(attribute.sizes) == 1
    if not fits_memory((piece.size, piece.size), share=MATRICES):
        return False, False
    linked = _linked_on_part(piece, attribute, 0)
    touches = bool(linked.diagonal().all())
    return touches, touches and len(connected(linked)) == 1


def _linked_on_part(piece: Piece, attribute: AttributeSymmetry, k: int) -> np.typing.NDArray[np.bool_]:
    """(dim, dim): False where the piece's Gram matrix is zero between two basis vectors of part ``k``.

    Exactly there for whole numbers, else where no query touches both.
    """
    part = attribute.parts[k]
    if piece.kind == "identity":
        return np.eye(part.dim, dtype=bool)
    if piece.kind == "total":
        return np.full((part.dim,) * 2, part.kind == "even")
    # In whole numbers; on a rest the difference of two values, which represents all.
    basis = np.sign(attribute.basis(part)[:, : part.dim].toarray())
    if piece.is_whole and np.abs(gram := piece.gram()).sum() < EXACT_SUMS:
        return np.asarray(basis.T @ gram @ basis != 0)
    size = np.asarray if part.kind == "rest" else np.abs  # a sum of rounded numbers may be zero by chance
    touched = [(size(block) @ size(basis) != 0).astype(float) for block in piece.blocks()]
    return np.asarray(sum(block.T @ block for block in touched) != 0)


def root_of(joint: Joint, blocks: Sequence[tuple[Chosen, Array]]) -> Split:
    """The root as a matrix on the cells."""
    parts = tuple(revealed(rows) for _, rows in blocks)
    cells = joint.space([chosen for chosen, _ in blocks])
    return Split(cells.abstract(tuple(len(part) for part in parts)), cells, parts)


def root_rounding(workload: Workload, root: Split) -> tuple[float, float]:
    """Bounds on the rounding E of ``root_of``: γ with ‖E‖ <= γ ‖W‖ (Frobenius), δ with N(E) <= δ N(W).

    N² is the least total error, a norm. On an attribute of s values N is at least ‖·‖ / √s, and it is
    multiplicative, so that δ does not grow with the domain. Cells and totals have roots of whole numbers. Any
    other attribute adds up s cells, and sets entries of at most 8 s ε of their row to zero, and singular
    values of at most 8 d ε of the largest, in a component of dimension d.
    """
    cells = root.columns
    assert isinstance(cells, Cells)
    products, attributes = workload.weighed.products, cells.joint.attributes
    first = workload.root_rounding if products is None else max(p.root_rounding for p in products)
    bounds = [first, first * math.sqrt(max(len(a.classes) for a in attributes))]
    for i, a in enumerate(attributes):
        kinds = {"matrix"} if products is None else {p.factors[i].kind for p in products}
        s = len(a.classes)
        error = 4 * EPS
        if kinds == {"all_range"}:
            error *= s
        elif not kinds <= {"identity", "total"}:
            error += 32 * EPS * s**1.5 + rounding_of_root(s, max(part.dim for part in a.parts))
        bounds = [bounds[0] + error, bounds[1] + error * math.sqrt(s if error > 4 * EPS else 1)]
    d, terms = max(cells.dims), len(workload.blocks)
    of_sum = _stacking_rounding(cells, products or ()) + 4 * EPS * (d * d + terms) + 32 * EPS * d**1.5
    return bounds[0] + of_sum, terms * bounds[1] + of_sum * math.sqrt(math.prod(cells.joint.shape))


def _stacking_rounding(cells: Cells, products: Sequence[Product]) -> float:
    """γ of the largest QR that makes one root of all terms on a component; a total has one row there."""
    attributes = cells.joint.attributes
    bounds = [0.0]
    for dims in {tuple(a.parts[k].dim for a, k in zip(attributes, c.key, strict=True)) for c in cells.chosen}:
        sides = [
            (1 if f.kind == "total" else n for f, n in zip(p.factors, dims, strict=True)) for p in products
        ]
        bounds.append(rounding_of_root(sum(map(math.prod, sides)), math.prod(dims)))
    return max(bounds)


def representation_rounding(basis: Split) -> float:
    """A bound on the rounding of L B relative to the queries, as δ in ``root_rounding``.

    Not ‖L B - W‖ as measured, for which there are no rows: a bound for computing the coordinates of orbits.
    """
    cells = basis.columns
    assert isinstance(cells, Cells)
    sizes = [len(a.classes) if len(a.sizes) > 1 else 1 for a in cells.joint.attributes]
    rounding = 32 * EPS * (sum(s**1.5 for s in sizes) + max(cells.dims) ** 1.5)
    return float(rounding * math.sqrt(math.prod(cells.joint.shape)))


def revealed(rows: Array) -> Array:
    """Independent rows with this Gram matrix; singular values below 8 max(r, d) ε of the largest are dropped.

    TimeLimitError as ``require_time``.
    """
    require_time()
    if rows.shape == (1, 1) and rows[0, 0]:
        return rows
    tiny = 8 * max(rows.shape) * EPS
    if rows.shape[0] >= rows.shape[1]:
        rows = qr(rows)
        if linalg.lapack.dtrcon(rows)[0] > tiny:  # a condition number far from a loss of rank
            return rows
    values, right = svd(rows)
    kept = values > tiny * values[0]
    return np.asarray(values[kept, None] * right[kept])


def independent(root: Array) -> list[Ints]:
    """Columns of a root (r, d) by blocks of RᵀR that are zero between each other, to rounding.

    An entry counts as zero below 8 max(r, d) ε times the lengths of both columns, the error of a QR of the
    root, and the root of that in singular values: more than one block is a guess, which ``connected``
    checks. Columns of zeros are in no block.
    """
    if root.shape[1] == 1:
        return [np.zeros(1, dtype=np.int64)] if root.any() else []
    lengths = np.linalg.norm(root, axis=0)
    unit = root / np.where(lengths > 0, lengths, 1.0)
    tiny = 8 * max(root.shape) * EPS
    return _linked_sets(
        np.flatnonzero(lengths), lambda new, old: np.abs(unit[:, new].T @ unit[:, old]) > tiny
    )


def connected(linked: np.typing.NDArray[np.bool_]) -> list[Ints]:
    """Columns by blocks, from the pairs that are linked (d, d); only those linked to themselves."""
    return _linked_sets(np.flatnonzero(linked.diagonal()), lambda new, old: linked[np.ix_(new, old)])


def independent_columns(rows: Array) -> list[Ints]:
    """Columns by blocks that no row connects; a row has an entry other than zero in one block only."""
    if rows.shape[1] == 1:
        return [np.zeros(1, dtype=np.int64)] if rows.any() else []
    used = rows != 0
    return _linked_sets(
        np.flatnonzero(used.any(axis=0)),
        lambda new, old: used[used[:, new].any(axis=1)][:, old].any(axis=0)[None, :],
    )


def _linked_sets(columns: Ints, linked: Callable[[Ints, Ints], np.ndarray]) -> list[Ints]:
    """The columns in connected sets; ``linked(new, old)``: which of ``old`` each of ``new`` is linked to."""
    sets: list[Ints] = []
    left = columns
    while len(left):
        block, new, left = [left[:1]], left[:1], left[1:]
        while len(new) and len(left):
            hit = linked(new, left).any(axis=0)
            new, left = left[hit], left[~hit]
            block.append(new)
        sets.append(np.sort(np.concatenate(block)))
    return sets


# The relative part of a query without a target that may lie outside the span of the others, by rounding.
SPAN_TOLERANCE = 1e-10


def asked_of(
    joint: Joint,
    products: Sequence["AskedProduct"],
    blocks: Sequence["AskedRows"],
    others: dict[Key, Array],
    dense: Callable[[], Array],
) -> dict[str, Split | Level] | None:
    """L (queries with a target × basis rows) and B (basis rows × cells) with L B = the queries; the targets.

    The sources of a program, from ``asked_rows``; None where they do not determine all other queries.
    ``others`` are the roots of the queries without a target. ``dense`` gives those with one as a matrix, when
    a basis of the query space is needed.
    """
    lengths = np.concatenate([p.lengths() for p in products])
    right = tuple(_span(block.rows / lengths[block.numbers, None]) for block in blocks)
    if not _determined(others, [block.chosen for block in blocks], right):
        return None
    left = tuple(
        block.rows if len(basis) == block.rows.shape[1] else block.rows @ basis.T
        for block, basis in zip(blocks, right, strict=True)
    )
    cells = joint.space([block.chosen for block in blocks])
    sizes = [size for p in products for size in p.sizes()]
    queries = Space(
        cells.multiplicities,
        tuple(len(block.numbers) for block in blocks),
        labels=tuple(block.numbers for block in blocks),
        sizes=np.array([float(size) for size in sizes]),
        total=sum(sizes),
        orbits=lambda: np.concatenate([p.orbit_of() for p in products]),
    )
    queries = replace(queries, bases=lambda at: _basis(queries, cells, blocks[at].rows, at, dense()))
    inner = cells.abstract(tuple(map(len, right)))
    targets = Level(queries, np.concatenate([p.targets() for p in products]))
    return {
        "workload.representation": Split(queries, inner, left),
        "workload.basis": Split(inner, cells, right),
        "workload.targets": targets,
    }


def _determined(others: dict[Key, Array], chosen: Sequence[Chosen], bases: Sequence[Array]) -> bool:
    """Whether the rows of other queries lie in the span of the basis rows."""
    for key, rows in others.items():
        rest = rows
        for component, basis in zip(chosen, bases, strict=True):
            if component.key == key:
                rest = rest.copy()
                rest[:, component.kept] -= rest[:, component.kept] @ basis.T @ basis
        if float(np.linalg.norm(rest)) > SPAN_TOLERANCE * float(np.linalg.norm(rows)):
            return False
    return True


def _span(unit: Array) -> Array:
    """Orthonormal rows (k, d) that span the rows of queries of length 1; the identity when k = d."""
    if unit.shape[1] == 1:  # no query is zero here
        return np.eye(1)
    values, right = svd(unit)
    rank = int((values > 8 * max(unit.shape) * EPS * values[0]).sum())
    return np.eye(unit.shape[1]) if rank == unit.shape[1] else np.asarray(right[:rank])


def _basis(space: Space, cells: Space, rows: Array, at: int, matrix: Array) -> Any:
    """A basis of the query space, from W T_κ = Σ_o s_o (t_o ⊗ I): s_o = W_o T_κ (t_oᵀ ⊗ I) / |t_o|²."""
    assert space.labels is not None
    orbit = space.orbit_of()
    image = (matrix @ cells.basis(at)).reshape(len(matrix), -1, int(space.multiplicities[at]))
    columns = [
        np.where((orbit == label)[:, None], np.einsum("iac,a->ic", image, t) / float(t @ t), 0.0)
        for t, label in zip(rows, space.labels[at], strict=True)
    ]
    return sparse.csr_array(np.hstack(columns))


@dataclass(frozen=True, eq=False)
class RowOrbits:
    """Orbits of queries on one attribute, which its symmetries map to each other, up to sign.

    ``counts`` (o,): how many queries, ``targets`` and ``lengths`` (o,): common to them, ``on_parts``: their
    rows t (o, dim) on the parts; ``labels`` (m,) the orbit of each query of the piece.
    """

    counts: Ints
    targets: Array
    lengths: Array
    on_parts: PartRows
    labels: Ints

    @property
    def size(self) -> int:
        """Number of orbits, o."""
        return len(self.counts)


def row_orbits(attribute: AttributeSymmetry, piece: Piece) -> RowOrbits:
    """The orbits of a piece which, as a whole, the symmetries of the attribute leave unchanged."""
    parts: list[tuple[Array, Ints, Array]] = []
    start = 0
    groups = piece.rows()
    labels = np.empty(sum(len(rows.places) for rows in groups), dtype=np.int64)
    for rows in groups:
        _, first, inverse = np.unique(_orbit_labels(rows, attribute), return_index=True, return_inverse=True)
        require_memory((len(first), piece.size), "matrix of queries up to symmetry")
        labels[rows.places] = start + inverse
        one_each = rows.matrix[first] if rows.factor is None else rows.factor.take(first.astype(np.int64))
        parts.append((one_each, np.bincount(inverse), rows.targets[first]))
        start += len(first)
    matrix, counts, targets = (np.concatenate(each) for each in zip(*parts, strict=True))
    return RowOrbits(
        counts,
        targets,
        np.linalg.norm(matrix, axis=1),
        PartRows.of(attribute.coordinates(matrix, counts)),
        labels,
    )


def _orbit_labels(rows: PieceRows, attribute: AttributeSymmetry) -> Ints:
    """A label of each row, equal within an orbit only."""
    factor = rows.factor
    if factor is None:
        return _connected_by_swaps(rows, attribute)
    if factor.kind == "identity":
        return attribute.orbit_of
    index = np.arange(factor.rows)
    if isinstance(factor, AllRange) and attribute.is_mirrored:
        low, high = factor.ends(index)
        last = factor.size - 1
        other_low, other_high = last - high, last - low
        return np.asarray(np.minimum(low * factor.size + high, other_low * factor.size + other_high))
    return index  # one total; prefixes and ranges of values that stay in place


def _connected_by_swaps(rows: PieceRows, attribute: AttributeSymmetry) -> Ints:
    """Labels of rows connected by swaps of neighbours in a class and the reversal, which generate the group.

    Queries that occur several times are mapped copy by copy.
    """
    count = len(rows.matrix)
    places = grouped((key, at) for at, key in enumerate(keys(rows.matrix, rows.targets)))
    copy = np.empty(count, dtype=np.int64)
    for same in places.values():
        copy[same] = np.arange(len(same))
    edges = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    for numbers, moved in _images(rows.matrix, attribute):
        images = keys(moved, rows.targets[numbers])
        edges.append(
            (numbers, np.array([places[k][copy[at]] for at, k in zip(numbers, images, strict=True)]))
        )
    tails, heads = (np.concatenate(ends).astype(np.int64) for ends in zip(*edges, strict=True))
    graph = sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _images(matrix: Array, attribute: AttributeSymmetry) -> Iterator[tuple[Ints, Array]]:
    """The numbers of the rows that each generator of the group changes, and the changed rows."""
    for c in range(len(attribute.mirror)):
        for v, w in itertools.pairwise(np.flatnonzero(attribute.classes == c)):
            yield swapped(matrix, int(v), int(w))
    if attribute.is_mirrored:
        yield np.arange(len(matrix)), matrix[:, ::-1]


@dataclass(frozen=True, eq=False)
class AskedRows:
    """On a component the rows t (q, d) of the query orbits ``numbers`` (q,), without those that are zero."""

    chosen: Chosen
    rows: Array
    numbers: Ints


@dataclass(frozen=True, eq=False)
class AskedProduct:
    """The query orbits of a product: from number ``start`` on, in the order of the attributes."""

    orbits: tuple[RowOrbits, ...]
    start: int
    target: float | None

    @cached_property
    def count(self) -> int:
        """Number of query orbits."""
        return math.prod([o.size for o in self.orbits])

    @cached_property
    def queries(self) -> int:
        """Number of queries."""
        return math.prod([len(o.labels) for o in self.orbits])

    @cached_property
    def _several(self) -> tuple[RowOrbits, ...]:
        """The factors of more than one orbit."""
        return tuple(o for o in self.orbits if o.size > 1)

    def sizes(self) -> list[int]:
        """Queries in each orbit."""
        first = math.prod([len(o.labels) for o in self.orbits if o.size == 1])
        return [
            math.prod(counts, start=first)
            for counts in itertools.product(*(o.counts.tolist() for o in self._several))
        ]

    def targets(self) -> Array:
        """(count,) the target of each orbit."""
        return self.orbits[0].targets if self.target is None else np.full(self.count, self.target)

    def lengths(self) -> Array:
        """(count,) the length of a query of each orbit."""
        first = np.array(math.prod([o.lengths[0] for o in self.orbits if o.size == 1]))
        return np.asarray(reduce(np.multiply.outer, [o.lengths for o in self._several], first)).ravel()

    def orbit_of(self) -> Ints:
        """The orbit of each query."""
        require_memory((self.queries,), "orbit of each query")
        return self.start + mixed([(o.labels, o.size) for o in self.orbits])


def asked_rows(joint: Joint, terms: Sequence[Term]) -> tuple[list[AskedProduct], list[AskedRows]]:
    """The products with a target, and their rows on each component, split into independent blocks."""
    products: list[AskedProduct] = []
    stacks: dict[Key, list[tuple[Array, Ints]]] = {}
    with_target = [term for term in terms if term.has_target]
    start = 0
    by_term = results_by_piece(joint, [term.pieces for term in with_target], row_orbits)
    for term, orbits in zip(with_target, by_term, strict=True):
        products.append(AskedProduct(tuple(orbits), start, term.target))
        start += products[-1].count
        for key, rows in combined([factor.on_parts for factor in orbits]):
            stacks.setdefault(key, []).append((rows, products[-1].start + np.arange(len(rows))))
    components: list[AskedRows] = []
    for key in sorted(stacks):
        whole = np.concatenate([rows for rows, _ in stacks[key]])
        numbers = np.concatenate([places for _, places in stacks[key]])
        asked_here = np.flatnonzero(whole.any(axis=1))
        whole, numbers = whole[asked_here], numbers[asked_here]
        for kept in independent_columns(whole):
            used = np.flatnonzero(whole[:, kept].any(axis=1))
            rows = whole if (len(used), len(kept)) == whole.shape else whole[used][:, kept]
            components.append(AskedRows(Chosen(key, kept), rows, numbers[used]))
    return products, components


def mean_roots(joint: Joint, workload: Workload, scale: str) -> dict[Key, Array]:
    """Rows (·, d) per component whose Gram matrix is the mean of the workload's there; zero ones left out.

    ``scale``: "weighted" as in the workload, "plain" without weights, or "unit", which leaves no query
    with more than unit length (as ``Workload.unit_root``).

    Raises
    ------
    OptionError : the attributes are not those of the symmetries.
    TooLargeError : a component, or their list, that does not fit in memory.
    """
    check_fit(joint, workload)
    _, terms = terms_of(workload if scale == "weighted" else workload.unweighted, False)
    products = workload.products
    if products is None:
        (term,) = terms
        root = {
            "weighted": lambda: workload.root,
            "plain": lambda: workload.unweighted.root,
            "unit": lambda: workload.unit_root,
        }[scale]
        terms = (replace(term, pieces=(replace(term.pieces[0], root=root),)),)
    elif scale == "unit":
        factors = {id(f): f for p in products for f in p.factors}
        each = {number: float(f.squared_norms().max()) for number, f in factors.items()}
        largest = [math.prod([each[id(f)] for f in p.factors]) for p in products]
        terms = tuple(replace(t, weight=1.0 / size) for t, size in zip(terms, largest, strict=True))
    return component_roots(joint, terms, mean=True)


def check_fit(joint: Joint, workload: Workload) -> None:
    """OptionError unless the workload's attributes are those of the symmetries."""
    expected = tuple(len(a.classes) for a in joint.attributes)
    sizes = (workload.n,) if workload.products is None else workload.domain.shape
    if expected != sizes:
        cells, theirs = (" x ".join(map(str, shape)) for shape in (expected, sizes))
        raise OptionError(f"the strategy is by component over {cells} cells, the queries have {theirs}")


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The unweighted queries of a block on the components, those with equal rows once.

    On each component on which they are not all zero they are rows (count, d), one for every choice of a row
    of each factor. ``pieces``: the factors.
    """

    pieces: tuple["_Distinct", ...]

    @property
    def count(self) -> int:
        """Number of different rows."""
        return math.prod([piece.count for piece in self.pieces])

    @cached_property
    def labels(self) -> Ints:
        """(m,) the row of each query."""
        return mixed([(piece.labels, piece.count) for piece in self.pieces])

    def parts(self) -> Iterator[tuple[Key, Array]]:
        """Key and rows of each component."""
        return combined([piece.on_parts for piece in self.pieces])


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The ``count`` different rows of a factor on the parts of its attribute; in ``labels`` each query's."""

    on_parts: PartRows
    count: int
    labels: Ints


def query_rows(joint: Joint, workload: Workload) -> Iterator[QueryRows]:
    """The queries block by block, in the order of the workload; errors as ``mean_roots``."""
    check_fit(joint, workload)
    return (QueryRows(tuple(factors)) for factors in results_by_piece(joint, _factors(workload), _of_factor))


def _factors(workload: Workload) -> list[tuple[Factor, ...]]:
    """The factors of each product; a matrix is the only factor of its product."""
    return (
        [(Dense(workload.queries),)] if workload.products is None else [p.factors for p in workload.products]
    )


def _of_factor(attribute: AttributeSymmetry, factor: Factor) -> _Distinct:
    """The different rows of a factor."""
    if factor.kind == "identity":  # without the n × n identity matrix
        _, first = np.unique(attribute.classes, return_index=True)
        distinct = _distinct(attribute, factor.take(first.astype(np.int64)))
        return replace(distinct, labels=distinct.labels[attribute.classes])
    return _distinct(attribute, factor.matrix())


def _distinct(attribute: AttributeSymmetry, rows: Array) -> _Distinct:
    """The different ones of these rows (k, size), told apart by their coordinates on all parts."""
    whole, labels = np.unique(np.hstack(attribute.coordinates(rows)), axis=0, return_inverse=True)
    on_parts = PartRows.of(np.split(whole, np.cumsum([part.dim for part in attribute.parts])[:-1], axis=1))
    return _Distinct(on_parts, len(whole), np.asarray(labels, dtype=np.int64).reshape(-1))


LARGEST_ENTRY = 2**31


def spanning_rows(joint: Joint, workload: Workload, chosen: Sequence[Chosen]) -> list[Ints | None]:
    """Per component independent integer rows (k, kept) whose span is that of the workload's queries there.

    None where there are no small ones: the queries are not integers, or their rank is not clear.

    Raises
    ------
    OptionError : the attributes are not those of the symmetries.
    TooLargeError : more rows than fit in memory.
    """
    check_fit(joint, workload)
    stacks: dict[Key, list[Ints | None]] = {c.key: [] for c in chosen}
    for factors in results_by_piece(joint, _factors(workload), _in_integers):
        # Most products are nonzero on few components, whichever are chosen.
        keys: Iterable[Key] = itertools.product(*factors)
        if math.prod(map(len, factors)) > len(stacks):
            keys = (key for key in stacks if all(k in parts for parts, k in zip(factors, key, strict=True)))
        for key in keys:
            if key in stacks:
                stacks[key].append(_kron([parts[k] for parts, k in zip(factors, key, strict=True)]))
    return [_chosen(stacks[c.key], c.kept) for c in chosen]


def _in_integers(attribute: AttributeSymmetry, factor: Factor) -> dict[int, Ints | None]:
    """Integer coordinates on each part on which the factor is not zero; None where they are not integers."""
    small = factor.spanning()
    if isinstance(small, Identity):  # without the n × n identity matrix
        return {k: np.eye(part.dim, dtype=np.int64) for k, part in enumerate(attribute.parts)}
    if (rows := whole_rows(small.matrix())) is None:
        return dict.fromkeys(range(len(attribute.parts)))
    by_part = {k: _coordinates(attribute, part, rows) for k, part in enumerate(attribute.parts)}
    return {k: part_rows for k, part_rows in by_part.items() if len(part_rows)}


def _coordinates(attribute: AttributeSymmetry, part: AttributePart, rows: Ints) -> Ints:
    """Rows (k, size) in the coordinates of a part, scaled to integers; rows of zeros are left out."""
    if part.kind == "rest":
        classes = np.flatnonzero(attribute.orbit_of_class == part.labels[0])
        by_class = [rows[:, attribute.classes == c] for c in classes]
        varies = any(bool((columns != columns[:, :1]).any()) for columns in by_class)
        return np.ones((int(varies), 1), dtype=np.int64)
    sums = rows @ np.equal.outer(attribute.classes, np.arange(len(attribute.mirror))).astype(np.int64)
    if part.kind == "even":
        whole = np.equal.outer(attribute.orbit_of_class, np.arange(part.dim)).astype(np.int64)
        sums, sizes = sums @ whole, attribute.sizes
    else:
        first, second = attribute.pairs.T
        sums, sizes = sums[:, first] - sums[:, second], 2 * attribute.class_sizes[first]
    common = np.array([math.lcm(*sizes[row != 0].tolist()) for row in sums], dtype=np.int64)
    return _primitive(sums * (common[:, None] // sizes))


def _primitive(rows: Ints) -> Ints:
    """Rows up to a factor, without those of zeros."""
    rows = rows[rows.any(axis=1)]
    divisors = np.gcd.reduce(rows, axis=1) if len(rows) else np.ones(0, dtype=np.int64)
    return np.unique(rows // divisors[:, None], axis=0)


def _kron(matrices: Sequence[Ints | None]) -> Ints | None:
    """The Kronecker product; None where a matrix is None, or an entry would be too large."""
    out = np.ones((1, 1), dtype=np.int64)
    for matrix in matrices:
        if matrix is not None and matrix.shape == (1, 1) and matrix[0, 0] == 1:
            continue
        if matrix is None or float(np.abs(out).max()) * float(np.abs(matrix).max()) > LARGEST_ENTRY:
            return None
        require_memory(
            (len(out) * len(matrix), out.shape[1] * matrix.shape[1]), "integer rows of a component"
        )
        out = np.kron(out, matrix)
    return out


def _chosen(stack: Sequence[Ints | None], kept: Ints) -> Ints | None:
    """Independent rows of the stack on the columns kept; None where there are no small ones."""
    if any(part is None for part in stack):
        return None
    rows = _primitive(
        np.vstack([np.zeros((0, len(kept)), np.int64), *(p[:, kept] for p in stack if p is not None)])
    )
    if not len(rows):
        return rows
    rank = int(np.linalg.matrix_rank(rows / np.linalg.norm(rows.astype(np.float64), axis=1)[:, None]))
    return np.eye(rank, dtype=np.int64) if rank == len(kept) else independent_rows(rows, rank)
