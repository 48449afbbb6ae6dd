"""Any queries on the components of given symmetries, which need not be those of the queries.

For a matrix X that the symmetries leave alone trace(G X) and w X wᵀ are the same for all images of G and w,
so only the mean of these images counts, and on a component that is one matrix: t tᵀ for a query w, with t the
product of one vector per attribute (``AttributeSymmetry.of_query``), and the sum over a product's queries is
the product of the factors' sums.

In integer rows whole orbits and classes are counted instead of orthonormal coordinates: on an even part the
basis vector of an orbit O is 1_O, on an odd one 1_C - 1_σ(C), so that a row of integers has integer entries
over the cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.symmetry.attribute_components import AttributePart, AttributeSymmetry
from mmopt.symmetry.attribute_queries import terms_of
from mmopt.symmetry.joint_components import Chosen, Joint, Key, Local, combined, made_of, mixed
from mmopt.symmetry.split_totals import component_roots
from mmopt.workloads.blocks.factor_blocks import Factor
from mmopt.workloads.blocks.matrix_blocks import Dense
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.root_of_merged_cells import independent_rows, whole_rows
from mmopt.workloads.workload import Workload

__all__ = ["QueryRows", "check_fit", "mean_roots", "query_rows", "spanning_rows"]

WEIGHTED, PLAIN, UNIT = "weighted", "plain", "unit"


def mean_roots(joint: Joint, workload: Workload, scale: str) -> dict[Key, Array]:
    """Rows (·, d) per component whose Gram matrix is the mean of the workload's there; zero ones left out.

    ``scale``: "weighted" as the workload says, "plain" without weights, or "unit", which leaves no query
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
    known = tuple(len(a.classes) for a in joint.attributes)
    found = (workload.n,) if workload.products is None else workload.domain.shape
    if known != found:
        raise OptionError(
            f"the strategy is by component over {_times(known)} cells, the queries have {_times(found)}"
        )


def _times(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The unweighted queries of a block on the components, those with equal rows once.

    ``labels`` (m,): which of the ``count`` rows each query has. ``parts()`` gives key and rows (count, d) of
    each component on which they are not all zero.
    """

    pieces: tuple[_Distinct, ...]

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
    return (QueryRows(tuple(own)) for own in made_of(joint, _factors(workload), _of_factor))


def _factors(workload: Workload) -> list[tuple[Factor, ...]]:
    """Those of each product; a matrix is the one of its own."""

    products = workload.products
    return [(Dense(workload.queries),)] if products is None else [p.factors for p in products]


def _of_factor(attribute: AttributeSymmetry, factor: Factor) -> _Distinct:
    if factor.kind == "identity":  # without the n × n identity matrix
        _, first = np.unique(attribute.classes, return_index=True)
        found = _distinct(attribute, factor.take(first.astype(np.int64)))
        return replace(found, labels=found.labels[attribute.classes])
    return _distinct(attribute, factor.matrix())


def _distinct(attribute: AttributeSymmetry, rows: Array) -> _Distinct:
    whole, labels = np.unique(np.hstack(attribute.coordinates(rows)), axis=0, return_inverse=True)
    ends = np.cumsum([part.dim for part in attribute.parts])
    local = Local.of(np.split(whole, ends[:-1], axis=1))
    return _Distinct(local, len(whole), np.asarray(labels, dtype=np.int64).reshape(-1))


# -- integer rows ----------------------------------------------------------------------------------------

LARGEST_ENTRY = 2**31  # of an entry


def spanning_rows(joint: Joint, workload: Workload, chosen: Sequence[Chosen]) -> list[Ints | None]:
    """Per component independent integer rows (k, kept) whose span is that of the workload's queries there.

    None where there are none that are small: the queries are not integers, or their rank is not clear.

    Raises
    ------
    OptionError : the attributes are not those of the symmetries.
    TooLargeError : more rows than fit in memory.
    """
    check_fit(joint, workload)
    stacks: dict[Key, list[Ints | None]] = {c.key: [] for c in chosen}
    for own in made_of(joint, _factors(workload), _in_integers):
        # Most products are not zero on few components, whichever are asked for.
        found: Iterable[Key] = itertools.product(*own)
        if math.prod(map(len, own)) > len(stacks):
            found = (key for key in stacks if all(k in parts for parts, k in zip(own, key, strict=True)))
        for key in found:
            if key in stacks:
                stacks[key].append(_kron([parts[k] for parts, k in zip(own, key, strict=True)]))
    return [_chosen(stacks[c.key], c.kept) for c in chosen]


def _in_integers(attribute: AttributeSymmetry, factor: Factor) -> dict[int, Ints | None]:
    """Integer coordinates on each part on which the factor is not zero; None where they are no integers."""
    small = factor.spanning()
    if isinstance(small, Identity):  # without the n × n identity matrix
        return {k: np.eye(part.dim, dtype=np.int64) for k, part in enumerate(attribute.parts)}
    rows = whole_rows(small.matrix())
    if rows is None:
        return dict.fromkeys(range(len(attribute.parts)))
    found = {k: _coordinates(attribute, part, rows) for k, part in enumerate(attribute.parts)}
    return {k: own for k, own in found.items() if len(own)}


def _coordinates(attribute: AttributeSymmetry, part: AttributePart, rows: Ints) -> Ints:
    """Rows (k, size) in the coordinates of a part, scaled to integers; rows of zeros are left out."""
    if part.kind == "rest":
        classes = np.flatnonzero(attribute.orbit_of_class == part.labels[0])
        own = [rows[:, attribute.classes == c] for c in classes]
        told = any(bool((columns != columns[:, :1]).any()) for columns in own)
        return np.ones((int(told), 1), dtype=np.int64)
    member = np.equal.outer(attribute.classes, np.arange(len(attribute.mirror))).astype(np.int64)
    sums = rows @ member
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
    """The Kronecker product; None where a part is, or an entry would be too large."""
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
    if rank == len(kept):
        return np.eye(rank, dtype=np.int64)
    return independent_rows(rows, rank)
