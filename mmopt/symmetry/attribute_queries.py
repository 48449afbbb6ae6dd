"""The queries on one attribute, as symmetry looks at them: a factor of a product, or a whole matrix."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints, fits_memory, stacked_root
from mmopt.workloads.blocks.factor_blocks import Factor
from mmopt.workloads.blocks.kronecker_products import Union
from mmopt.workloads.blocks.modified_blocks import ScaledRows
from mmopt.workloads.blocks.placed_blocks import Padded, Reordered
from mmopt.workloads.blocks.range_blocks import Ranges
from mmopt.workloads.query_group import Explicit
from mmopt.workloads.workload import Workload

__all__ = ["ONE_WAY", "SYMMETRIC", "UNKNOWN", "Piece", "PieceRows", "Term", "is_rigid", "terms_of"]

# Kinds whose symmetry is known without looking at numbers.
SYMMETRIC = ("identity", "total")
UNKNOWN = "unknown"  # too large to look for any
ONE_WAY = ("prefix", "padded prefix", "padded all_range", UNKNOWN)  # not the same in reverse order
RIGID = (*ONE_WAY, "all_range")  # no two values can be swapped, or none that is worth it
MOST_SWAPPABLE = 3  # up to so many values some can: all ranges over three are the same with the ends swapped


@dataclass(frozen=True, eq=False)
class PieceRows:
    """Some of the queries of a piece: those of a structured factor, or a matrix (``factor`` None) of rows.

    ``targets`` (rows,) only tell queries apart: accuracy targets; for total error weights; or 1 for all.
    ``places`` (rows,): their numbers among the queries of the piece.
    """

    factor: Factor | None
    matrix: Array
    targets: Array
    places: Ints


@dataclass(frozen=True, eq=False)
class Piece:
    """Queries on one attribute: a root and the Gram matrix of all, and the queries by groups of rows.

    ``blocks``: matrices (·, size) of rows that make up this Gram matrix, none changed by a factorisation.
    ``is_whole``: ``gram`` is a sum of products of integers, exact while it is small enough for floats. Equal
    weights of a matrix are then left out of it.
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
        return self.target is None or math.isfinite(self.target)


def terms_of(workload: Workload, with_targets: bool) -> tuple[tuple[int, ...], tuple[Term, ...]]:
    """The sizes of the attributes, and the products.

    A workload with a matrix is one attribute and one term, or two with targets: queries that have one, and
    the others.
    """
    products = workload.products
    if products is None:
        return (workload.n,), _split(workload) if with_targets else (_whole(workload),)
    sizes = tuple(attribute.size for attribute in workload.domain.attributes)
    if with_targets:  # weights do not matter
        products = tuple(p.unweighted() if p.has_row_weights else p for p in products)
    else:
        products = tuple(p.weighed() for p in products)
    factors = {id(f): f for p in products for f in p.factors}
    equal = {f: _piece(f) for f in factors.values()}  # equal factors are one piece
    pieces = {number: equal[f] for number, f in factors.items()}
    terms = tuple(Term(tuple([pieces[id(f)] for f in p.factors]), p.weight, p.target) for p in products)
    return sizes, terms


def _whole(workload: Workload) -> Term:
    (block,), n, weights = workload.blocks, workload.n, workload.weights
    assert isinstance(block, Explicit)
    is_plain = bool((weights == weights[0]).all())
    asked = workload.unweighted if is_plain else workload
    entries = block.queries.arrays[-1]
    is_whole = is_plain and _are_integers(entries)
    kind = "matrix" if is_whole or fits_memory(workload.shape) else UNKNOWN
    piece = Piece(
        n,
        kind,
        lambda: workload.root,
        lambda: asked.gram,
        lambda: (PieceRows(None, workload.queries, weights, np.arange(workload.m)),),
        lambda: (np.sqrt(weights[at : at + len(own)])[:, None] * own for at, own in block.chunks(max(64, n))),
        is_whole,
    )
    return Term((piece,), 1.0, None)


def _split(workload: Workload) -> tuple[Term, ...]:
    known = np.isfinite(workload.targets)
    if known.all():
        return (_rows_of(workload.queries, workload.targets),)
    return tuple(
        _rows_of(workload.queries[own], workload.targets[own]) for own in (known, ~known) if own.any()
    )


def _rows_of(matrix: Array, targets: Array) -> Term:
    """Unweighted rows with a target each; or with none."""
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


def _piece(factor: Factor) -> Piece:
    rows, blocks = functools.partial(_groups, factor), functools.partial(_blocks, factor)
    return Piece(factor.size, factor.kind, factor.root, factor.gram, rows, blocks, _is_whole(factor))


def _is_whole(factor: Factor) -> bool:
    """Whether all entries are integers; not of rows scaled by roots, whose Gram matrix is made of weights."""
    if isinstance(factor, Union):
        return all(map(_is_whole, factor.blocks))
    if isinstance(factor, Reordered | Padded):
        return _is_whole(factor.inner)
    integers = isinstance(factor, Ranges) or all(map(_are_integers, _blocks(factor)))
    return integers and not isinstance(factor, ScaledRows)


def _are_integers(entries: Array) -> bool:
    return bool((entries == np.rint(entries)).all())


def _blocks(factor: Factor) -> Iterator[Array]:
    step = max(64, factor.size)
    return (factor.take(np.arange(at, min(at + step, factor.rows))) for at in range(0, factor.rows, step))


def _groups(factor: Factor) -> tuple[PieceRows, ...]:
    """The structured parts by themselves, all other rows as one matrix."""
    weights = np.ones(factor.rows)
    if isinstance(factor, ScaledRows):  # by rows and weights, which are as they were given
        weights, factor = factor.weights, factor.inner
    elif factor.kind in SYMMETRIC:
        return (_closed(factor, 0, weights),)
    parts = list(_flat(factor, 0))
    rigid = [_closed(part, start, weights) for part, start in parts if is_rigid(part.kind, part.size)]
    loose = [(part, start) for part, start in parts if not is_rigid(part.kind, part.size)]
    if not loose:
        return tuple(rigid)
    places = np.concatenate([start + np.arange(part.rows) for part, start in loose])
    return (*rigid, PieceRows(None, np.vstack([part.matrix() for part, _ in loose]), weights[places], places))


def is_rigid(kind: str, size: int) -> bool:
    return kind in RIGID and size > MOST_SWAPPABLE


def _closed(factor: Factor, start: int, weights: Array) -> PieceRows:
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
