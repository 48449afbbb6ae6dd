"""Which queries of a piece the symmetries of its attribute map to each other, up to sign."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.symmetry.attribute import Attribute
from mmopt.symmetry.pieces import Piece, Rows
from mmopt.symmetry.swaps import keys
from mmopt.workloads.blocks.all_ranges import AllRange

__all__ = ["RowOrbits", "row_orbits"]


@dataclass(frozen=True, eq=False)
class RowOrbits:
    """Orbits of queries on one attribute.

    ``rows`` (o, size) one query of each, ``counts`` (o,) how many, ``targets`` (o,) what they share,
    ``labels`` (m,) the orbit of each query of the piece.
    """

    rows: Array
    counts: Ints
    targets: Array
    labels: Ints

    @property
    def size(self) -> int:
        """Number of orbits, o."""
        return len(self.counts)

    @cached_property
    def lengths(self) -> Array:
        """(o,) the length of a query of each."""
        return np.asarray(np.linalg.norm(self.rows, axis=1))


def row_orbits(piece: Piece, attribute: Attribute) -> RowOrbits:
    """The orbits of a piece that the symmetries of the attribute leave as it is."""
    found: list[tuple[Array, Ints, Array]] = []
    start = 0
    groups = piece.rows()
    labels = np.empty(sum(len(rows.places) for rows in groups), dtype=np.int64)
    for rows in groups:
        own = _labels(rows, attribute)
        _, first, own = np.unique(own, return_index=True, return_inverse=True)
        require_memory((len(first), piece.size), "matrix of queries up to symmetry")
        labels[rows.places] = start + own
        taken = rows.matrix[first] if rows.factor is None else rows.factor.take(first.astype(np.int64))
        found.append((taken, np.bincount(own), rows.targets[first]))
        start += len(first)
    matrices, counts, targets = zip(*found, strict=True)
    return RowOrbits(np.vstack(matrices), np.concatenate(counts), np.concatenate(targets), labels)


def _labels(rows: Rows, attribute: Attribute) -> Ints:
    factor = rows.factor
    if factor is None:
        return _joined(rows, attribute)
    if factor.kind == "identity":
        return attribute.orbit_of
    index = np.arange(factor.rows)
    if isinstance(factor, AllRange) and attribute.is_mirrored:
        low, high = factor.ends(index)
        last = factor.size - 1
        other_low, other_high = last - high, last - low
        first = np.minimum(low * factor.size + high, other_low * factor.size + other_high)
        return np.asarray(first)
    return index  # one total; prefixes and ranges of values that stay where they are


def _joined(rows: Rows, attribute: Attribute) -> Ints:
    """Connected by swaps of neighbours in a class and by the reversal, which generate the group.

    Queries that stand there several times are mapped copy by copy.
    """
    count = len(rows.matrix)
    places: dict[bytes, list[int]] = {}
    for at, key in enumerate(keys(rows.matrix, rows.targets)):
        places.setdefault(key, []).append(at)
    copy = np.empty(count, dtype=np.int64)
    for same in places.values():
        copy[same] = np.arange(len(same))
    edges = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    for own, moved in _images(rows.matrix, attribute):
        found = keys(moved, rows.targets[own])
        edges.append((own, np.array([places[k][copy[at]] for at, k in zip(own, found, strict=True)])))
    tails, heads = (np.concatenate(ends).astype(np.int64) for ends in zip(*edges, strict=True))
    graph = scipy.sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _images(matrix: Array, attribute: Attribute) -> Iterator[tuple[Ints, Array]]:
    """The rows that each generator of the group changes, by number, and what becomes of them."""
    for c in range(len(attribute.mirror)):
        values = np.flatnonzero(attribute.classes == c)
        for v, w in itertools.pairwise(values):
            own = np.flatnonzero(matrix[:, v] != matrix[:, w])
            moved = matrix[own]
            moved[:, [v, w]] = moved[:, [w, v]]
            yield own, moved
    if attribute.is_mirrored:
        yield np.arange(len(matrix)), matrix[:, ::-1]
