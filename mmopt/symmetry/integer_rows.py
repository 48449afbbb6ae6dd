"""Integer rows that span a workload on the components of its symmetries.

Whole orbits and classes are counted instead of orthonormal coordinates: on an even part the basis vector of
an orbit O is 1_O, on an odd one 1_C - 1_σ(C), so that a row of integers has integer entries over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.symmetry.attribute import Attribute, Part
from mmopt.symmetry.joint import Chosen, Joint, Key
from mmopt.symmetry.projected import check_fit
from mmopt.workloads.blocks.factor import Factor
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.blocks.ranges import Identity
from mmopt.workloads.reduce import independent_rows, whole_rows
from mmopt.workloads.workload import Workload

__all__ = ["spanning_rows"]

MOST = 2**31  # of an entry


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
    known: dict[tuple[int, Factor], dict[int, Ints | None]] = {}
    for factors in _queries(workload):
        for place in enumerate(factors):
            if place not in known:
                known[place] = _of_factor(joint.attributes[place[0]], place[1])
        own = [known[place] for place in enumerate(factors)]
        for key, rows in stacks.items():
            local = [
                parts.get(k, np.zeros((0, 0), dtype=np.int64)) for parts, k in zip(own, key, strict=True)
            ]
            if all(part is None or len(part) for part in local):
                rows.append(_kron(local))
    return [_chosen(stacks[c.key], c.kept) for c in chosen]


def _queries(workload: Workload) -> list[tuple[Factor, ...]]:
    """The products' factors; a matrix is one of its own."""
    products = workload.products
    if products is None:
        return [(Dense(workload.queries),)]
    return [product.factors for product in products]


def _of_factor(attribute: Attribute, factor: Factor) -> dict[int, Ints | None]:
    """Integer coordinates on each part on which the factor is not zero; None where they are no integers."""
    small = factor.spanning()
    if isinstance(small, Identity):  # without the n × n identity matrix
        return {k: np.eye(part.dim, dtype=np.int64) for k, part in enumerate(attribute.parts)}
    rows = whole_rows(small.matrix())
    if rows is None:
        return dict.fromkeys(range(len(attribute.parts)))
    found = {k: _coordinates(attribute, part, rows) for k, part in enumerate(attribute.parts)}
    return {k: own for k, own in found.items() if len(own)}


def _coordinates(attribute: Attribute, part: Part, rows: Ints) -> Ints:
    """Of integer rows (k, size) on a part, multiples that are integers; rows of zeros left out."""
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
    return _distinct(sums * (common[:, None] // sizes))


def _distinct(rows: Ints) -> Ints:
    """Rows up to a factor, without those of zeros."""
    rows = rows[rows.any(axis=1)]
    divisors = np.gcd.reduce(rows, axis=1) if len(rows) else np.ones(0, dtype=np.int64)
    return np.unique(rows // divisors[:, None], axis=0)


def _kron(local: Sequence[Ints | None]) -> Ints | None:
    """The Kronecker product; None where a part is, or an entry would be too large."""
    out = np.ones((1, 1), dtype=np.int64)
    for part in local:
        if part is None or float(np.abs(out).max()) * float(np.abs(part).max()) > MOST:
            return None
        require_memory((len(out) * len(part), out.shape[1] * part.shape[1]), "integer rows of a component")
        out = np.kron(out, part)
    return out


def _chosen(stack: Sequence[Ints | None], kept: Ints) -> Ints | None:
    """Independent rows of the stack on the columns kept."""
    if any(part is None for part in stack):
        return None
    rows = _distinct(
        np.vstack([np.zeros((0, len(kept)), np.int64), *(p[:, kept] for p in stack if p is not None)])
    )
    rank = _rank(rows) if len(rows) else 0
    if rank == 0:
        return rows
    if rank == len(kept):
        return np.eye(rank, dtype=np.int64)
    return independent_rows(rows, rank)


def _rank(rows: Ints) -> int:
    unit: Array = rows / np.linalg.norm(rows.astype(np.float64), axis=1)[:, None]
    return int(np.linalg.matrix_rank(unit))
