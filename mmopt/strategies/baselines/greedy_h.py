"""GreedyH: a binary hierarchy whose blocks are weighted for the workload, from the cells upwards."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.strategies.baselines.design import Design
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.blocks.ranges import Ranges
from mmopt.workloads.product import Product
from mmopt.workloads.workload import Workload

__all__ = ["best_share", "greedy_h", "same_throughout"]

FLOOR = 1e-12
"""Of a block's error that its parts at least count for, so that no part is measured with weight zero."""

ROWS = 2**22
"""Entries of the workload that are looked at together."""


@dataclass(frozen=True)
class _Block:
    """Cells start to stop - 1, their share z >= 0 against what is measured within, and the two parts."""

    start: int
    stop: int
    share: float = 0.0
    parts: tuple[_Block, ...] = ()


def greedy_h(workload: Workload, norm: int) -> Design:
    """The weights of GreedyH (Li, Hay, Miklau: DAWA, PVLDB 2014, §5), for each block by itself.

    Our reading. From the cells upwards, a block's own count gets the share λ and everything measured within
    it is scaled by 1 - λ, so that every cell keeps L1 norm 1 (under norm 2: shares of the squared weights, L2
    norm 1). λ is the one with the least error, the weights within being what they are, on the queries
    restricted to the block; those that are constant on it are left to the blocks above. The stationary points
    are roots of a polynomial (``best_share``). The paper's first stage, which merges cells by the data, is
    left out.
    """
    n = workload.n
    require_memory((2 * n - 1, n), "hierarchy of greedy_h")
    constant = same_throughout(workload)
    constant[0, n] = 0.0  # nothing is above all cells
    top = _weighed(workload.gram, np.eye(n), constant, (0, n), norm)
    return Design(Dense(np.array([*_rows(top, 1.0, n, norm)])))


def _halves(start: int, stop: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two parts as equal as can be, the longer one first, as in ``Hierarchy``."""
    middle = (start + stop + 1) // 2
    return (start, middle), (middle, stop)


def same_throughout(workload: Workload) -> dict[tuple[int, int], float]:
    """Σ w c² over the queries that are a constant c on a block, for each block of the binary hierarchy.

    Of a workload on one attribute.
    """
    found: dict[tuple[int, int], float] = defaultdict(float)
    for block in workload.blocks:
        if isinstance(block, Product) and isinstance(block.factors[0], Ranges):
            _add_intervals(found, block.weighted_gram(), (0, workload.n))
            continue
        weights, step = block.weights, max(1, ROWS // workload.n)
        for first in range(0, block.m, step):
            last = min(first + step, block.m)
            _add_same(found, block.rows(first, last).T, weights[first:last], (0, workload.n))
    return dict(found)


def _add_intervals(found: dict[tuple[int, int], float], gram: Array, ends: tuple[int, int]) -> None:
    """An interval holds a block when it holds its first and its last cell: the Gram matrix counts them."""
    start, stop = ends
    found[ends] += float(gram[start, stop - 1])
    if stop - start > 1:
        for half in _halves(start, stop):
            _add_intervals(found, gram, half)


def _add_same(
    found: dict[tuple[int, int], float], cells: Array, weights: Array, ends: tuple[int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each query (cells (n, queries)) is constant on a block, after adding up those that are."""
    start, stop = ends
    if stop - start == 1:
        same = np.ones(len(weights), dtype=np.bool_)
    else:
        first, second = _halves(start, stop)
        same = _add_same(found, cells, weights, first) & _add_same(found, cells, weights, second)
        same &= cells[start] == cells[second[0]]
    found[ends] += float((weights * np.square(cells[start]))[same].sum())
    return same


def _weighed(
    gram: Array, inverse: Array, constant: dict[tuple[int, int], float], ends: tuple[int, int], norm: int
) -> _Block:
    """Weigh a block after its parts; ``inverse`` (n, n), at first the identity, becomes (AᵀA)⁻¹ on it."""
    if ends[1] - ends[0] == 1:
        return _Block(*ends)
    first, second = (_weighed(gram, inverse, constant, half, norm) for half in _halves(*ends))
    here = slice(*ends)
    own, asked = inverse[here, here], gram[here, here]
    v = own.sum(axis=1)
    s = float(v.sum())
    error = float((own * asked).sum())
    along = float(v @ asked @ v) / s - constant[ends] * s
    z = best_share(error - constant[ends] * s - along, along, s, norm) if along > FLOOR * error else 0.0
    # AᵀA becomes c (AᵀA + q 1 1ᵀ), c = (1 + z)⁻² or (1 + z)⁻¹; its inverse by Sherman and Morrison.
    q = z**2 if norm == 1 else z
    own -= np.outer(v, v * (q / (1.0 + q * s)))
    own *= (1.0 + z) ** 2 if norm == 1 else 1.0 + z
    return _Block(*ends, z, (first, second))


def best_share(a: float, b: float, s: float, norm: int) -> float:
    """z = λ / (1 - λ) >= 0 with the least (1 + z)² (a + b / (1 + s z²)); norm 2: (1 + z) (a + b / (1 + s z)).

    a is the error within the parts that the block's own count cannot change (at least ``FLOOR`` of b), b > 0
    the part along it, s > 0 the variance of the total by the parts.
    """
    a = max(a, FLOOR * b)
    if norm == 2:
        return max(0.0, (math.sqrt(b * max(s - 1.0, 0.0) / a) - 1.0) / s)
    roots = np.roots([a * s * s, 0.0, 2.0 * a * s, -b * s, a + b])
    real = [float(z.real) for z in roots if z.real > 0 and abs(z.imag) <= 1e-6 * abs(z)]
    return min([0.0, *real], key=lambda z: (1.0 + z) ** 2 * (a + b / (1.0 + s * z * z)))


def _rows(block: _Block, share: float, n: int, norm: int) -> Iterator[Array]:
    """The weighted rows, a block before its parts; ``share`` is what its columns have of norm (squared)."""
    own = share * block.share / (1.0 + block.share) if block.parts else share
    if own > 0:
        row = np.zeros(n)
        row[block.start : block.stop] = own if norm == 1 else math.sqrt(own)
        yield row
    for part in block.parts:
        yield from _rows(part, share / (1.0 + block.share), n, norm)
