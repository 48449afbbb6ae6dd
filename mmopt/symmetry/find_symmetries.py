"""A search for the symmetries of a workload, and other queries on their components.

The symmetries found split the matrices of the workload by components. Any other queries may be put on these
components too: for a matrix X that the symmetries leave unchanged trace(G X) and w X wᵀ are the same for all
images of G and w, so only the mean of these images counts, and on a component that is one matrix: t tᵀ for a
query w, with t the product of one vector per attribute (``AttributeSymmetry.of_query``), and the sum over a
product's queries is the product of the factors' sums.

In integer rows whole orbits and classes are counted instead of orthonormal coordinates: on an even part the
basis vector of an orbit O is 1_O, on an odd one 1_C - 1_σ(C), so that a row of integers has integer entries
over the cells.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from scipy.linalg import polar

from mmopt.errors import OptionError, WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.component_arrays import Level, Space, Split
from mmopt.symmetry.attribute_queries import Piece, Term, interchangeable, reverses, terms_of
from mmopt.symmetry.components import (
    AttributePart,
    AttributeSymmetry,
    Chosen,
    Joint,
    Key,
    Local,
    combined,
    made_of,
    mixed,
)
from mmopt.symmetry.workload_by_component import (
    asked_of,
    asked_rows,
    blocks_of,
    component_roots,
    independent_columns,
    is_connected,
    root_of,
)
from mmopt.workloads import Dense, Factor, Workload
from mmopt.workloads.blocks.implicit_matrix import refine
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.query_group import no_targets, undetermined
from mmopt.workloads.query_product import independent_rows, whole_rows

WEIGHTED, PLAIN, UNIT = "weighted", "plain", "unit"


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
    _, terms = terms_of(workload if scale == WEIGHTED else workload.unweighted, False)
    products = workload.products
    if products is None:
        (term,) = terms
        root = {
            WEIGHTED: lambda: workload.root,
            PLAIN: lambda: workload.unweighted.root,
            UNIT: lambda: workload.unit_root,
        }[scale]
        terms = (replace(term, pieces=(replace(term.pieces[0], root=root),)),)
    elif scale == UNIT:
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
        raise OptionError(
            f"the strategy is by component over {_times(expected)} cells, the queries have {_times(sizes)}"
        )


def _times(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The unweighted queries of a block on the components, those with equal rows once.

    ``labels`` (m,): which of the ``count`` rows each query has. ``parts()`` gives key and rows (count, d) of
    each component on which they are not all zero.
    """

    pieces: tuple["_Distinct", ...]

    @property
    def count(self) -> int:
        return math.prod([piece.count for piece in self.pieces])

    @cached_property
    def labels(self) -> Ints:
        return mixed([(piece.labels, piece.count) for piece in self.pieces])

    def parts(self) -> Iterator[tuple[Key, Array]]:
        return combined([piece.local for piece in self.pieces])


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The ``count`` different rows of a factor on the parts of its attribute, and which each query has."""

    local: Local
    count: int
    labels: Ints


def query_rows(joint: Joint, workload: Workload) -> Iterator[QueryRows]:
    """The queries block by block, in the order of the workload; errors as ``mean_roots``."""
    check_fit(joint, workload)
    return (QueryRows(tuple(factors)) for factors in made_of(joint, _factors(workload), _of_factor))


def _factors(workload: Workload) -> list[tuple[Factor, ...]]:
    """The factors of each product; a matrix is the only factor of its product."""

    products = workload.products
    return [(Dense(workload.queries),)] if products is None else [p.factors for p in products]


def _of_factor(attribute: AttributeSymmetry, factor: Factor) -> _Distinct:
    if factor.kind == "identity":  # without the n × n identity matrix
        _, first = np.unique(attribute.classes, return_index=True)
        distinct = _distinct(attribute, factor.take(first.astype(np.int64)))
        return replace(distinct, labels=distinct.labels[attribute.classes])
    return _distinct(attribute, factor.matrix())


def _distinct(attribute: AttributeSymmetry, rows: Array) -> _Distinct:
    whole, labels = np.unique(np.hstack(attribute.coordinates(rows)), axis=0, return_inverse=True)
    local = Local.of(np.split(whole, np.cumsum([part.dim for part in attribute.parts])[:-1], axis=1))
    return _Distinct(local, len(whole), np.asarray(labels, dtype=np.int64).reshape(-1))


# -- integer rows ----------------------------------------------------------------------------------------

LARGEST_ENTRY = 2**31  # of an entry


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
    for local in made_of(joint, _factors(workload), _in_integers):
        # Most products are nonzero on few components, whichever are chosen.
        keys: Iterable[Key] = itertools.product(*local)
        if math.prod(map(len, local)) > len(stacks):
            keys = (key for key in stacks if all(k in parts for parts, k in zip(local, key, strict=True)))
        for key in keys:
            if key in stacks:
                stacks[key].append(_kron([parts[k] for parts, k in zip(local, key, strict=True)]))
    return [_chosen(stacks[c.key], c.kept) for c in chosen]


def _in_integers(attribute: AttributeSymmetry, factor: Factor) -> dict[int, Ints | None]:
    """Integer coordinates on each part on which the factor is not zero; None where they are not integers."""
    small = factor.spanning()
    if isinstance(small, Identity):  # without the n × n identity matrix
        return {k: np.eye(part.dim, dtype=np.int64) for k, part in enumerate(attribute.parts)}
    rows = whole_rows(small.matrix())
    if rows is None:
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


def _kron(local: Sequence[Ints | None]) -> Ints | None:
    """The Kronecker product; None where a part is None, or an entry would be too large."""
    out = np.ones((1, 1), dtype=np.int64)
    for part in local:
        if part is not None and part.shape == (1, 1) and part[0, 0] == 1:
            continue
        if part is None or float(np.abs(out).max()) * float(np.abs(part).max()) > LARGEST_ENTRY:
            return None
        require_memory((len(out) * len(part), out.shape[1] * part.shape[1]), "integer rows of a component")
        out = np.kron(out, part)
    return out


def _chosen(stack: Sequence[Ints | None], kept: Ints) -> Ints | None:
    """Independent rows of the stack on the columns kept."""
    if any(part is None for part in stack):
        return None
    rows = _primitive(
        np.vstack([np.zeros((0, len(kept)), np.int64), *(p[:, kept] for p in stack if p is not None)])
    )
    if not len(rows):
        return rows
    rank = int(np.linalg.matrix_rank(rows / np.linalg.norm(rows.astype(np.float64), axis=1)[:, None]))
    return np.eye(rank, dtype=np.int64) if rank == len(kept) else independent_rows(rows, rank)


# Above this many cells a workload without symmetry is not searched for blocks.
MOST_CELLS_OF_BLOCKS = 4096
# The allowed error of an orthonormal basis.
BASIS_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class SymmetricWorkload:
    """A workload by components.

    kinds : the symmetries found: "value symmetry", "reflection", "independent blocks".
    cells : the space of the cells; components on which the workload is zero are left out.
    sources : the sources of a program's givens (``workload.root``, …), as Split and Level; ``taken`` adds the
        Gram matrix, which follows from the root.
    """

    kinds: tuple[str, ...]
    cells: Space
    sources: Mapping[str, Split | Level]

    def taken(self, names: Collection[str]) -> dict[str, Split | Level]:
        """The sources with these names, ``workload.gram`` among them."""
        sources = {name: source for name, source in self.sources.items() if name in names}
        root = self.sources.get("workload.root")
        if isinstance(root, Split) and "workload.gram" in names:
            sources["workload.gram"] = Split(
                root.columns, root.columns, tuple(part.T @ part for part in root.parts)
            )
        return sources

    def in_basis(self, basis: Split) -> "SymmetricWorkload":
        """The workload with another orthonormal basis of the queries with a target.

        Raises
        ------
        WorkloadError : it is not a basis of them, or splits otherwise.
        """
        present, queries = self.sources["workload.basis"], self.sources["workload.representation"]
        assert isinstance(present, Split) and isinstance(queries, Split)
        if [part.shape for part in basis.parts] != [part.shape for part in present.parts]:
            raise WorkloadError("the basis by component has other sizes than the workload's")
        pairs = list(zip(present.parts, basis.parts, strict=True))
        unit = [matrix for old, new in pairs for matrix in (old @ new.T, new)]
        off = max((float(np.abs(m @ m.T - np.eye(len(m))).max()) for m in unit), default=0.0)
        if not off <= BASIS_TOLERANCE:
            raise WorkloadError(f"the basis by component is not one of the workload: it is off by {off:.1e}")
        # The workload's present rows rotated, so that L B is W whatever the error of the given ones.
        turns = [polar(new @ old.T)[0] for old, new in pairs]
        left = tuple(q @ turn.T for q, turn in zip(queries.parts, turns, strict=True))
        right = tuple(turn @ old for turn, old in zip(turns, present.parts, strict=True))
        sources = {
            **self.sources,
            "workload.representation": Split(queries.rows, queries.columns, left),
            "workload.basis": Split(present.rows, present.columns, right),
        }
        return replace(self, sources=MappingProxyType(sources))

    def __str__(self) -> str:
        kinds = " and ".join(filter(None, [", ".join(self.kinds[:-1]), self.kinds[-1]]))
        n = self.cells.size
        count = f"{n}" if n < 10**15 else f"about 1e{int(math.log10(n))}"
        return f"{kinds}: {count} cells -> {self.cells.words}"


def symmetry(workload: Workload, with_targets: bool, largest: float = math.inf) -> SymmetricWorkload | None:
    """The symmetries of a workload that swap values of an attribute, or reverse their order; None if none.

    In a convex program whose solution set they leave unchanged, some optimal point splits in the same way
    (the average of its images). No array is as large as the number of cells.

    Parameters
    ----------
    with_targets : False: those that leave the Gram matrix unchanged, for total error; ``sources`` has
        ``workload.root``, weighted. True: those that leave the queries and their targets
        unchanged; ``workload.representation`` (queries with a finite target), ``workload.basis`` and
        ``workload.targets``, unweighted.
    largest : a larger component is no better than no symmetry, and is not computed: None.

    Raises
    ------
    WorkloadError : with targets, when no query has one, or some query cannot be derived from those that have.
    TooLargeError : a component, or their list, that does not fit in memory.
    """
    sizes, terms = terms_of(workload, with_targets)
    has_targets = [with_targets and term.has_target for term in terms]
    joint = Joint(
        tuple(
            _attribute(size, dict.fromkeys(zip(pieces, has_targets, strict=True)))
            for size, pieces in zip(sizes, zip(*(term.pieces for term in terms), strict=True), strict=True)
        )
    )
    if joint.is_trivial and math.prod(sizes) > MOST_CELLS_OF_BLOCKS:
        return None
    if joint.dim((0,) * len(sizes)) > largest and is_connected(joint, terms):
        return None
    if with_targets:
        return _with_targets(workload, joint, terms, largest)
    blocks = blocks_of(joint, terms)
    kinds = _kinds(joint, [chosen for chosen, _ in blocks], largest)
    if not kinds:
        return None
    root = root_of(joint, blocks)
    return SymmetricWorkload(kinds, root.columns, MappingProxyType({"workload.root": root}))


def _with_targets(
    workload: Workload, joint: Joint, terms: Sequence[Term], largest: float
) -> SymmetricWorkload | None:
    if joint.is_trivial and any(_is_connected(term) for term in terms):
        return None
    products, blocks = asked_rows(joint, terms)
    if not products:
        raise no_targets()
    kinds = _kinds(joint, [block.chosen for block in blocks], largest)
    if not kinds:
        return None
    others = component_roots(joint, [term for term in terms if not term.has_target])
    # The queries with a target, of which there may be more than fit in memory, as a matrix if it is needed.
    sources = asked_of(
        joint, products, blocks, others, lambda: workload.queries[np.isfinite(workload.targets)]
    )
    if sources is None:
        raise undetermined(workload.m - sum(p.queries for p in products), workload.m)
    basis = sources["workload.basis"]
    assert isinstance(basis, Split)
    return SymmetricWorkload(kinds, basis.columns, MappingProxyType(sources))


def _is_connected(term: Term) -> bool:
    """Whether the queries, where they have targets and are of one attribute, leave all cells in one block."""
    if not term.has_target or len(term.pieces) > 1:
        return False
    (piece,) = term.pieces
    splits = (independent_columns(rows.matrix) for rows in piece.rows())
    return any(len(blocks) == 1 and len(blocks[0]) == piece.size for blocks in splits)


def _attribute(size: int, pieces: Collection[tuple[Piece, bool]]) -> AttributeSymmetry:
    """The classes and the reversal that all pieces allow; each with whether its queries have targets."""
    classes = refine([np.zeros(size, dtype=np.int64), *(interchangeable(*each) for each in pieces)])
    return AttributeSymmetry.of(classes, all(reverses(piece, has_target) for piece, has_target in pieces))


def _kinds(joint: Joint, chosen: Sequence[Chosen], largest: float) -> tuple[str, ...]:
    """The kinds of symmetries; none where a component is larger than ``largest``."""
    if any(len(one.kept) > largest for one in chosen):
        return ()
    kinds = {
        "value symmetry": any(len(a.mirror) < len(a.classes) for a in joint.attributes),
        "reflection": any(a.is_mirrored for a in joint.attributes),
        "independent blocks": len({one.key for one in chosen}) < len(chosen),
    }
    return tuple(kind for kind, is_present in kinds.items() if is_present)
