"""The queries on one attribute, and the swaps of its values that do not change them.

The queries are a factor of a product, or a whole matrix. Values may be swapped, and their order reversed,
where the queries stay the same. Two values are interchangeable when swapping them leaves the Gram matrix
unchanged, or, with targets, maps the (query, target) pairs to themselves up to the order and signs of the
queries. Both are equivalence relations: (u w) = (u v)(v w)(u v).

All this is decided exactly, because the result is never compared with the whole workload again. A Gram
matrix of integers is exact itself. Any other is rounded, and the loss in its entries is the square of the
loss in singular values: it only says where to look (up to ``GRAM_TOLERANCE``), and the rows with their
weights decide, entry by entry as they were given. (A rotation of the rows, by numbers that no float
represents, is not seen.)
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from mmopt.limits import fits_memory
from mmopt.numerics.arrays import EPS, Array, Ints, stacked_root
from mmopt.workloads import (
    AllRange,
    Explicit,
    Implicit as Factor,
    Placed,
    Ranges,
    ScaledRows,
    Union,
    Workload,
    refine,
)

# Kinds whose symmetry is known without any numbers.
SYMMETRIC = ("identity", "total")
UNKNOWN = "unknown"  # too large for a search
ONE_WAY = ("prefix", "padded prefix", "padded all_range", UNKNOWN)  # different in reverse order
RIGID = (*ONE_WAY, "all_range")  # no two values can be swapped, or not enough to be worth it
# Up to so many values some can: all ranges over three stay the same when the ends are swapped.
MOST_SWAPPABLE = 3


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Some of the queries of a piece: those of a structured factor, or a matrix (``factor`` None) of rows.

    ``targets`` (rows,) only distinguish queries: accuracy targets; for total error weights; or 1 for all.
    ``places`` (rows,): their numbers among the queries of the piece.
    """

    factor: Factor | None
    matrix: Array
    targets: Array
    places: Ints


@dataclass(frozen=True, eq=False)
class Piece:
    """Queries on one attribute: a root and the Gram matrix of all, and the queries by groups of rows.

    ``blocks``: matrices (·, size) of rows with this Gram matrix, not changed by a factorisation.
    ``is_whole``: ``gram`` is a sum of products of integers, exact while it is small enough for floats. Equal
    weights of a matrix are then left out.
    """

    size: int
    kind: str
    root: Callable[[], Array]
    gram: Callable[[], Array]
    rows: Callable[[], tuple[PieceRows, ...]]
    blocks: Callable[[], Iterable[Array]]
    is_whole: bool


@dataclass(frozen=True, eq=False)
class Term:
    """A product of pieces, one per attribute, that counts ``weight`` times; its queries share ``target``.

    The target is None where the rows of the one piece have a target each.
    """

    pieces: tuple[Piece, ...]
    weight: float
    target: float | None

    @property
    def has_target(self) -> bool:
        """Whether the queries have finite targets."""
        return self.target is None or math.isfinite(self.target)


def terms_of(workload: Workload, with_targets: bool) -> tuple[tuple[int, ...], tuple[Term, ...]]:
    """The sizes of the attributes, and the products.

    A workload with a matrix is one attribute and one term, or two with targets: queries that have one, and
    the others.
    """
    products = workload.products
    if products is None:
        return (workload.n,), _terms_by_target(workload) if with_targets else (_matrix_term(workload),)
    sizes = tuple(attribute.size for attribute in workload.domain.attributes)
    if with_targets:  # weights do not matter
        products = tuple(p.unweighted() if p.has_row_weights else p for p in products)
    else:
        products = tuple(p.weighed() for p in products)
    factors = {id(f): f for p in products for f in p.factors}
    equal = {  # equal factors are one piece
        f: Piece(f.size, f.kind, f.root, f.gram, partial(_groups, f), partial(_blocks, f), _is_whole(f))
        for f in factors.values()
    }
    pieces = {number: equal[f] for number, f in factors.items()}
    return sizes, tuple(Term(tuple([pieces[id(f)] for f in p.factors]), p.weight, p.target) for p in products)


def _matrix_term(workload: Workload) -> Term:
    """A workload from a matrix as one term, weighted, for total error."""
    (block,), n, weights = workload.blocks, workload.n, workload.weights
    assert isinstance(block, Explicit)
    is_plain = bool((weights == weights[0]).all())
    counted = workload.unweighted if is_plain else workload
    is_whole = is_plain and _are_integers(block.queries.arrays[-1])
    kind = "matrix" if is_whole or fits_memory(workload.shape) else UNKNOWN
    piece = Piece(
        n,
        kind,
        lambda: workload.root,
        lambda: counted.gram,
        lambda: (PieceRows(None, workload.queries, weights, np.arange(workload.m)),),
        lambda: (
            np.sqrt(weights[at : at + len(chunk)])[:, None] * chunk for at, chunk in block.chunks(max(64, n))
        ),
        is_whole,
    )
    return Term((piece,), 1.0, None)


def _terms_by_target(workload: Workload) -> tuple[Term, ...]:
    """A workload from a matrix as one term, or two: queries with a target, and the others."""
    has_target = np.isfinite(workload.targets)
    if has_target.all():
        return (_rows_of(workload.queries, workload.targets),)
    return tuple(
        _rows_of(workload.queries[kept], workload.targets[kept])
        for kept in (has_target, ~has_target)
        if kept.any()
    )


def _rows_of(matrix: Array, targets: Array) -> Term:
    """Unweighted rows, each with a target; or all without one."""
    n = matrix.shape[1]
    rows = PieceRows(None, matrix, targets, np.arange(len(matrix)))
    piece = Piece(
        n,
        "matrix",
        lambda: stacked_root([matrix], n),
        lambda: matrix.T @ matrix,
        lambda: (rows,),
        lambda: (matrix,),
        _are_integers(matrix),
    )
    return Term((piece,), 1.0, None if np.isfinite(targets).all() else math.inf)


def _is_whole(factor: Factor) -> bool:
    """Whether all entries are integers; false for rows scaled by roots: their Gram matrix has weights."""
    if isinstance(factor, Union):
        return all(map(_is_whole, factor.blocks))
    if isinstance(factor, Placed):
        return _is_whole(factor.inner)
    integers = isinstance(factor, Ranges) or all(map(_are_integers, _blocks(factor)))
    return integers and not isinstance(factor, ScaledRows)


def _are_integers(entries: Array) -> bool:
    """Whether all entries are whole numbers."""
    return bool((entries == np.rint(entries)).all())


def _blocks(factor: Factor) -> Iterator[Array]:
    """The rows of a factor, some at a time."""
    step = max(64, factor.size)
    return (factor.take(np.arange(at, min(at + step, factor.rows))) for at in range(0, factor.rows, step))


def _groups(factor: Factor) -> tuple[PieceRows, ...]:
    """The structured parts one by one, all other rows as one matrix."""
    weights = np.ones(factor.rows)
    if isinstance(factor, ScaledRows):  # by rows and weights, which are unchanged
        weights, factor = factor.weights, factor.inner
    elif factor.kind in SYMMETRIC:
        return (_closed(factor, 0, weights),)
    parts = list(_flat(factor, 0))
    rigid = [_closed(part, start, weights) for part, start in parts if is_rigid(part.kind, part.size)]
    if not (loose := [(part, start) for part, start in parts if not is_rigid(part.kind, part.size)]):
        return tuple(rigid)
    places = np.concatenate([start + np.arange(part.rows) for part, start in loose])
    return (*rigid, PieceRows(None, np.vstack([part.matrix() for part, _ in loose]), weights[places], places))


def is_rigid(kind: str, size: int) -> bool:
    """Whether by kind and size alone no values can be swapped, or not enough to be worth it."""
    return kind in RIGID and size > MOST_SWAPPABLE


def _closed(factor: Factor, start: int, weights: Array) -> PieceRows:
    """The queries of a structured factor, from number ``start`` of the piece on."""
    places = start + np.arange(factor.rows)
    return PieceRows(factor, np.zeros((0, factor.size)), weights[places], places)


def _flat(factor: Factor, start: int) -> Iterator[tuple[Factor, int]]:
    """The parts of a union, and of unions in it, with the number of their first query."""
    if not isinstance(factor, Union):
        yield factor, start
        return
    for part in factor.blocks:
        yield from _flat(part, start)
        start += part.rows


GRAM_TOLERANCE = 64 * EPS
EXACT_SUMS = 2.0**52  # sums of products of integers stay exact up to here, in any order
PROBED_VALUES = 8  # values whose columns of the Gram matrix sort the others into buckets
ROWS_AT_A_TIME = 256  # rows whose keys are computed at a time


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
    """The Gram matrix, and a bound on the error of its entries: 0 for integers."""
    gram = piece.gram()
    scale = float(np.abs(gram).max(initial=0.0))
    return gram, 0.0 if piece.is_whole and scale < EXACT_SUMS else GRAM_TOLERANCE * scale


def _gram_classes(gram: Array, close: float) -> Ints:
    """(n,) classes of values that can be swapped in a Gram matrix, up to errors of ``close``."""
    n = len(gram)
    scale = float(np.abs(gram).max(initial=0.0)) or 1.0
    # Values of one class agree at every other value: so at the probes, unless they are probes.
    probes = np.unique(np.linspace(0, n - 1, min(PROBED_VALUES, n)).astype(np.int64))
    probed = np.rint(np.column_stack([np.diag(gram), gram[:, probes]]) / (1e-7 * scale)).astype(np.int64)
    buckets: dict[bytes, list[int]] = {}
    members: dict[int, list[int]] = {}  # of each class, by its first value
    for v in range(n):
        key = b"" if v in probes else probed[v].tobytes()
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
    """Whether a swap of two values changes no entry of a Gram matrix by more than ``close``."""
    off = np.abs(gram[v] - gram[w])
    off[[v, w]] = abs(gram[v, v] - gram[w, w])
    return bool(off.max() <= close)


def swappable_rows(rows: PieceRows, size: int, classes: Ints) -> Ints:
    """The given classes refined to those whose values can be swapped in these queries."""
    if rows.factor is not None:
        return np.arange(size) if is_rigid(rows.factor.kind, size) else classes
    members: dict[int, list[int]] = {}
    for c in range(int(classes.max()) + 1):
        split: dict[int, list[int]] = {}
        for v in np.flatnonzero(classes == c).tolist():
            split.setdefault(next((w for w in split if _rows_swap(rows, w, v)), v), []).append(v)
        members |= split
    return _labels(members, size)


def _rows_swap(rows: PieceRows, v: int, w: int) -> bool:
    """Whether a swap of two values maps the rows with their targets to themselves."""
    numbers, moved = swapped(rows.matrix, v, w)
    targets = rows.targets[numbers]
    return Counter(keys(rows.matrix[numbers], targets)) == Counter(keys(moved, targets))


def swapped(matrix: Array, v: int, w: int) -> tuple[Ints, Array]:
    """The numbers of the rows that a swap of two values changes, and the changed rows."""
    numbers = np.flatnonzero(matrix[:, v] != matrix[:, w])
    moved = matrix[numbers]
    moved[:, [v, w]] = moved[:, [w, v]]
    return numbers, moved


def keys(matrix: Array, targets: Array) -> list[bytes]:
    """One key per row: equal for rows that are equal up to sign and have the same target."""
    out: list[bytes] = []
    for start in range(0, len(matrix), ROWS_AT_A_TIME):
        rows = matrix[start : start + ROWS_AT_A_TIME]
        signs = np.where(rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)] < 0, -1.0, 1.0)
        shared = targets[start : start + ROWS_AT_A_TIME]
        # Minus zero equals zero.
        out += [row.tobytes() for row in np.column_stack([rows * signs[:, None], shared]) + 0.0]
    return out


def reverses(piece: Piece, with_targets: bool) -> bool:
    """Whether the values in reverse order give the same queries."""
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
    """Whether the reversal of the values maps the rows with their targets to themselves."""
    matrix, targets = rows.matrix, rows.targets
    if isinstance(rows.factor, AllRange):
        table = np.zeros((rows.factor.size,) * 2)
        table[rows.factor.ends(np.arange(len(targets)))] = targets  # by first and last cell
        return bool((table == table[::-1, ::-1].T).all())
    if rows.factor is not None:
        return rows.factor.kind in SYMMETRIC
    # First a cheap test, by the first and the last value in each row.
    first, last = (np.argmax(entries != 0, axis=1).tolist() for entries in (matrix, matrix[:, ::-1]))
    if Counter(zip(first, last, targets, strict=True)) != Counter(zip(last, first, targets, strict=True)):
        return False
    return Counter(keys(matrix, targets)) == Counter(keys(matrix[:, ::-1], targets))
