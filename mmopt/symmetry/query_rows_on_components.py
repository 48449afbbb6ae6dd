"""The rows of queries on the components of a workload; any queries over the same cells.

For a matrix X that the symmetries leave unchanged w X wᵀ is the same for all images of a query w, so only
the mean of w wᵀ over these images counts. On a component that is one matrix, t tᵀ, with t the product of one
vector per attribute (``AttributeSymmetry.of_query``). The Gram matrices of all queries together are
``mean_roots`` in ``workload_by_component.py``.

In integer rows whole orbits and classes are counted instead of orthonormal coordinates: on an even part the
basis vector of an orbit O is 1_O, on an odd one 1_C - 1_σ(C), so that a row of integers has integer entries
over the cells.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array, Ints
from mmopt.symmetry.components import (
    AttributePart,
    AttributeSymmetry,
    Chosen,
    Joint,
    Key,
    PartRows,
    combined,
    mixed,
    results_by_piece,
)
from mmopt.symmetry.workload_by_component import check_fit
from mmopt.workloads import Dense, Factor, Workload
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.factors_and_products import independent_rows, whole_rows


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
    products = workload.products
    return [(Dense(workload.queries),)] if products is None else [p.factors for p in products]


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
