"""Which values of an attribute may be swapped without changing what is asked, and whether it may be reversed.

Two values are interchangeable when swapping them leaves the Gram matrix as it is, or, with targets, maps the
(query, target) pairs to themselves up to the order and signs of the queries. Both are equivalence relations:
(u w) = (u v)(v w)(u v).

All of it is decided exactly, for what comes of it is never compared with the whole workload again. A Gram
matrix of integers is exact itself. Another one is rounded, and what is lost of its entries is the square of
what is lost of singular values: it only says where to look (up to ``GRAM_TOLERANCE``), and the rows with
their weights decide, entry by entry as they were given. (A rotation of the rows, by numbers that no float
holds, is not seen.)
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.symmetry.attribute_queries import ONE_WAY, SYMMETRIC, Piece, PieceRows, is_rigid
from mmopt.workloads.blocks.all_ranges import AllRange
from mmopt.workloads.blocks.implicit_matrix import refine

__all__ = ["interchangeable", "keys", "reverses", "swappable_rows", "swapped"]

GRAM_TOLERANCE = 64 * EPS
EXACT_SUMS = 2.0**52  # sums of products of integers stay exact up to here, in any order
PROBED_VALUES = 8
ROWS_AT_A_TIME = 256  # rows whose keys are made at a time


def interchangeable(piece: Piece, by_rows: bool = False) -> Ints:
    """(size,) classes of values that can be swapped in the Gram matrix, or in the rows with their targets."""
    if piece.kind in SYMMETRIC or piece.size == 1:
        return np.zeros(piece.size, dtype=np.int64)
    if is_rigid(piece.kind, piece.size):
        return np.arange(piece.size)
    gram, close = _gram(piece)
    classes = _gram_classes(gram, close)
    if by_rows or close:
        for rows in piece.rows() if len(np.unique(classes)) < piece.size else ():
            classes = swappable_rows(rows, piece.size, refine([classes]))
    return classes


def _gram(piece: Piece) -> tuple[Array, float]:
    """The Gram matrix, and what its entries may be off by: nothing for integers."""
    gram = piece.gram()
    scale = float(np.abs(gram).max(initial=0.0))
    return gram, 0.0 if piece.is_whole and scale < EXACT_SUMS else GRAM_TOLERANCE * scale


def _gram_classes(gram: Array, close: float) -> Ints:
    n = len(gram)
    scale = float(np.abs(gram).max(initial=0.0)) or 1.0
    # Values of one class agree at every other value: at the probes, if they are none themselves.
    probes = np.unique(np.linspace(0, n - 1, min(PROBED_VALUES, n)).astype(np.int64))
    seen = np.rint(np.column_stack([np.diag(gram), gram[:, probes]]) / (1e-7 * scale)).astype(np.int64)
    buckets: dict[bytes, list[int]] = {}
    members: dict[int, list[int]] = {}  # of each class, by its first value
    for v in range(n):
        key = b"" if v in probes else seen[v].tobytes()
        near = members if v in probes else [*buckets.get(key, []), *buckets.get(b"", [])]
        first = next((w for w in near if _swaps(gram, w, v, close)), v)
        members.setdefault(first, []).append(v)
        if first == v:
            buckets.setdefault(key, []).append(v)
    return _labels(members, n)


def _labels(members: dict[int, list[int]], n: int) -> Ints:
    """(n,) classes numbered in the order of their first values."""
    out = np.empty(n, dtype=np.int64)
    for c, first in enumerate(sorted(members)):
        out[members[first]] = c
    return out


def _swaps(gram: Array, v: int, w: int, close: float) -> bool:
    off = np.abs(gram[v] - gram[w])
    off[[v, w]] = abs(gram[v, v] - gram[w, w])
    return bool(off.max() <= close)


def swappable_rows(rows: PieceRows, size: int, classes: Ints) -> Ints:
    """The given classes refined to those whose values can be swapped in these queries."""
    if size == 1:
        return classes
    if rows.factor is not None:
        return np.arange(size) if is_rigid(rows.factor.kind, size) else classes
    members: dict[int, list[int]] = {}
    for c in range(int(classes.max()) + 1):
        found: dict[int, list[int]] = {}
        for v in np.flatnonzero(classes == c).tolist():
            found.setdefault(next((w for w in found if _rows_swap(rows, w, v)), v), []).append(v)
        members |= found
    return _labels(members, size)


def _rows_swap(rows: PieceRows, v: int, w: int) -> bool:
    numbers, moved = swapped(rows.matrix, v, w)
    targets = rows.targets[numbers]
    return Counter(keys(rows.matrix[numbers], targets)) == Counter(keys(moved, targets))


def swapped(matrix: Array, v: int, w: int) -> tuple[Ints, Array]:
    """The rows that a swap of two values changes, by number, and what becomes of them."""
    numbers = np.flatnonzero(matrix[:, v] != matrix[:, w])
    moved = matrix[numbers]
    moved[:, [v, w]] = moved[:, [w, v]]
    return numbers, moved


def keys(matrix: Array, targets: Array) -> list[bytes]:
    """One key per row: equal for rows that are equal up to sign and have the same target."""
    found: list[bytes] = []
    for start in range(0, len(matrix), ROWS_AT_A_TIME):
        rows = matrix[start : start + ROWS_AT_A_TIME]
        lead = np.argmax(rows != 0, axis=1)
        signs = np.where(rows[np.arange(len(rows)), lead] < 0, -1.0, 1.0)
        own = targets[start : start + ROWS_AT_A_TIME]
        whole = np.column_stack([rows * signs[:, None], own]) + 0.0  # minus zero equals zero
        found += [row.tobytes() for row in whole]
    return found


def reverses(piece: Piece, with_targets: bool) -> bool:
    """Whether the values in reverse order ask for the same."""
    if piece.kind in (*SYMMETRIC, "all_range") or piece.size == 1:
        return True
    if piece.kind in ONE_WAY:
        return False
    if not with_targets:
        gram, close = _gram(piece)
        is_near = bool(np.abs(gram - gram[::-1, ::-1]).max() <= close)
        if not (is_near and close):
            return is_near
    return all(_rows_reverse(rows) for rows in piece.rows())


def _rows_reverse(rows: PieceRows) -> bool:
    matrix, targets = rows.matrix, rows.targets
    if isinstance(rows.factor, AllRange):
        own = np.zeros((rows.factor.size,) * 2)
        own[rows.factor.ends(np.arange(len(targets)))] = targets  # by first and last cell
        return bool((own == own[::-1, ::-1].T).all())
    if rows.factor is not None:
        return rows.factor.kind in SYMMETRIC
    # Told by the first and the last value that each row asks of, which costs little.
    first, last = (np.argmax(own != 0, axis=1).tolist() for own in (matrix, matrix[:, ::-1]))
    if Counter(zip(first, last, targets, strict=True)) != Counter(zip(last, first, targets, strict=True)):
        return False
    return Counter(keys(matrix, targets)) == Counter(keys(matrix[:, ::-1], targets))
