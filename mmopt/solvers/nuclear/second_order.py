"""The matrix Q of a second-order step: a sum of Hadamard squares of products of matrices.

1 / z is a short sum of exponentials (Braess & Hackbusch 2005, Approximation of 1/x by exponential sums).
With z = x + y it separates x from y: 1 / (sₖ + sₗ) makes Q the sum over the terms (a, w) of (Z diag(f) Zᵀ)²,
entry by entry, with f = √w s exp(-a s). A term is about singular values near 1 / a: of rows that live on
much smaller or much larger ones it says nothing, and where singular values spread over many decades most
rows are left out of most terms. Q is kept by panels of rows of its lower triangle: half of the memory, also
when factored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from array_api_compat import array_namespace as namespace
from scipy.optimize import nnls

from mmopt.solvers.nuclear.nuclear_problem import Array, Problem, QueryComponent
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, Spectrum

__all__ = ["Triangle", "by_size", "curvature", "exponentials", "many_exponentials", "triangle"]


GRID = 120
GRID_NODES = 400


def exponentials(low: float, high: float, fine: bool = False) -> list[tuple[float, float]]:
    """Pairs (a, w), w > 0, with Σ w exp(-a z) near 1 / z for low <= z <= high.

    Good to a quarter, which is what a Newton step needs, or where ``fine`` to a few in a thousand: the number
    of terms grows with log(high / low).
    """
    if not 0 < low <= high < math.inf:
        raise np.linalg.LinAlgError("curvature without finite sums")
    ratio = max(high / low, 1.0 + 1e-9)
    decades = math.log10(ratio)
    terms = 2 + 3.0 * decades if fine else min(1.7 * decades, 2 + 1.2 * decades)
    terms = max(4, round(terms))
    z = np.geomspace(1.0, ratio, GRID)
    rates = np.geomspace(0.25 / ratio, 3.0, terms)
    table = np.exp(-np.outer(z, rates)) * z[:, None]
    weights, _ = nnls(table, np.ones(GRID), maxiter=100 * terms)
    return [(float(a) / low, float(w) / low) for a, w in zip(rates, weights, strict=True) if w > 0]


def many_exponentials(low: float, high: float) -> list[tuple[float, float]]:
    """The same to about twelve digits: the trapezoidal rule on ∫ exp(u - z exp(u)) du."""
    u = np.linspace(-math.log(high) - 30.0, -math.log(low) + 5.0, GRID_NODES)
    return [(float(rate), float(rate * (u[1] - u[0]))) for rate in np.exp(u)]


PANEL_ROWS = 256  # rows of a panel


@dataclass(frozen=True, eq=False)
class Triangle:
    """Panels of ``PANEL_ROWS`` rows, from the first column to the end of the diagonal.

    What stands above the diagonal in a panel's last columns is of no account.
    """

    panels: tuple[Array, ...]

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """The rows of each panel, and the panel."""
        for panel in self.panels:
            yield slice(panel.shape[1] - panel.shape[0], panel.shape[1]), panel

    def add(self, matrix: Array) -> None:
        """Add a whole symmetric matrix, of this precision or a higher one."""
        xp = namespace(matrix)
        for here, panel in self:
            panel += xp.astype(matrix[here, : here.stop], panel.dtype, copy=False)

    def dense(self) -> Array:
        """The whole matrix."""
        xp = namespace(self.panels[-1])
        count = self.panels[-1].shape[1]
        whole = xp.zeros((count, count), dtype=self.panels[-1].dtype)
        for here, panel in self:
            whole[here, : here.stop] = panel
        return xp.tril(whole) + xp.tril(whole, k=-1).T

    def solve(self, right: Array) -> Array | None:
        """The inverse times right sides (n,) or (n, k), of numpy; None where it is not positive definite.

        Cholesky's algorithm, from panel to panel. The triangle is written over.
        """
        for here, panel in self:
            for before, known in self:
                if before.start >= here.start:
                    break
                block = panel[:, before] - panel[:, : before.start] @ known[:, : before.start].T
                panel[:, before] = _under(known[:, before], block.T).T
            own = panel[:, here] - panel[:, : here.start] @ panel[:, : here.start].T
            try:
                panel[:, here] = scipy.linalg.cholesky(own, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                return None
        found = np.array(right)
        for here, panel in self:
            found[here] = _under(panel[:, here], found[here] - panel[:, : here.start] @ found[: here.start])
        for here, panel in reversed(tuple(self)):
            found[here] = _under(panel[:, here], found[here], turned=True)
            found[: here.start] -= panel[:, : here.start].T @ found[here]
        return found


def _under(lower: Array, right: Array, turned: bool = False) -> Array:
    """``right`` divided by a lower triangle, or by its transpose."""
    return scipy.linalg.solve_triangular(lower, right, lower=True, trans=int(turned), check_finite=False)


def triangle(like: Array, count: int) -> Triangle:
    """A triangle of zeros with ``count`` rows, of the library and kind of an array."""
    xp = namespace(like)
    ends = [min(start + PANEL_ROWS, count) for start in range(0, max(count, 1), PANEL_ROWS)]
    starts = range(0, max(count, 1), PANEL_ROWS)
    return Triangle(tuple(xp.zeros((b - a, b), dtype=like.dtype) for a, b in zip(starts, ends, strict=True)))


Sums = Callable[[float, float], list[tuple[float, float]]]

LEAST_TERM = 1e-4  # a term that gives a row no more than this part of its diagonal entry leaves it out
PANELS_WIDE = 2  # panels that a product of matrices is wide
NEGLIGIBLE_COLUMN = 1e-2  # columns have to be smaller than that by this factor before they are left out


@dataclass(frozen=True)
class _Rows:
    """Rows of U (``side`` 0, if it counts) or V, by ``numbers``, at ``start`` of the triangle."""

    vectors: Array
    numbers: Array
    side: int
    start: int
    dtype: Any

    @property
    def stop(self) -> int:
        return self.start + int(self.numbers.shape[0])

    def taken(self) -> Array:
        xp = namespace(self.vectors)
        if isinstance(self.vectors, np.ndarray):  # of a slice take would copy the whole first
            return self.vectors[self.numbers].astype(self.dtype, copy=False)
        return xp.astype(xp.take(self.vectors, self.numbers, axis=0), self.dtype, copy=False)


def by_size(problem: Problem, at: Iterate, active: Array) -> Array:
    """The shares ``active``, queries before cells, each group by the singular values that its rows live on.

    Only of a plain problem; else they are left in order.
    """
    if not problem.plain or not at.spectra:
        return active
    xp = namespace(at.cells)
    (found,) = at.spectra
    ends = xp.stack([found.values, xp.ones_like(found.values)], axis=1)
    ordered = []
    for side in _sides(found, active, 0 if at.queries is None else at.queries.shape[0], at.cells.dtype):
        sums = _squares(side, ends)
        ordered.append(xp.argsort(sums[:, 0] / xp.where(sums[:, 1] > 0, sums[:, 1], 1.0)) + side.start)
    return xp.take(active, xp.concat(ordered))


def curvature(
    problem: Problem,
    at: Iterate,
    active: Array,
    sums: Sums | None = None,
    *,
    careful: bool = True,
    single: bool = False,
) -> Triangle:
    """Q restricted to the shares ``active``, queries before cells and else in any order.

    ``sums`` gives 1 / z as exponentials: enough for the second derivative, or (None) as few as a step needs.
    Where that is not ``careful`` they are fewer, and what is small next to a diagonal entry is left out.
    ``single``: in single precision, which takes half of the memory and, of a plain problem, of the time.
    """
    xp = namespace(at.cells)
    sums = sums or partial(exponentials, fine=careful)
    least = 0.0 if careful else LEAST_TERM
    t = 0 if at.queries is None else at.queries.shape[0]
    dtype = xp.float32 if single else at.cells.dtype
    total = triangle(xp.zeros(0, dtype=dtype), active.shape[0])
    if problem.lines is not None and at.lengths is not None:
        total.add(problem.lines.curvature(at.lengths, active, t, at.cells.shape[0]) / at.norm)
    for number, found in zip(problem.others, at.spectra, strict=True):
        part = problem.parts[number]
        values = found.values / at.norm
        terms = sums(2 * float(xp.min(values)), 2 * float(xp.max(values)))
        factors = [values * xp.exp(-a * values) * w**0.5 for a, w in terms]
        if problem.plain:
            factors = [xp.astype(f, dtype, copy=False) for f in factors]
            _add_plain(total, _sides(found, active, t, dtype), factors, least)
            continue
        z, labels = _stacked(found, part, t)
        sign = 2.0 * xp.astype(labels < t, dtype) - 1.0
        member: Any = xp.astype(active[:, None] == labels[None, :], dtype) * sign
        if isinstance(member, np.ndarray):  # few rows of a component have one share
            member = scipy.sparse.csr_array(member)
        z = xp.astype(z, dtype, copy=False)
        squares: Any = 0.0
        for f in factors:
            half = z * xp.astype(f**0.5, dtype, copy=False)
            squares += (half @ half.T) ** 2  # of one array with itself: half of the work
        total.add(part.multiplicity * (member @ squares @ member.T))
    if problem.floors is not None:
        parts = xp.take(at.queries / at.weights, active[active < t])
        ones = xp.ones(active.shape[0] - parts.shape[0], dtype=parts.dtype)
        _damp(total, xp.concat([parts, ones]))
    return total


def _damp(hessian: Triangle, scales: Array) -> None:
    """Q by the shares of queries that are ``scales`` of their weights."""
    scales = namespace(scales).astype(scales, hessian.panels[0].dtype, copy=False)
    for here, panel in hessian:
        panel *= scales[here, None]
        panel *= scales[None, : here.stop]


def _stacked(found: Spectrum, part: QueryComponent, t: int) -> tuple[Array, Array]:
    """The rows of U and V, and the share that each belongs to."""
    xp = namespace(found.right)
    if t == 0:
        return found.right, part.cells
    assert part.queries is not None
    return xp.concat([found.left, found.right]), xp.concat([part.queries, part.cells + t])


def _sides(found: Spectrum, active: Array, t: int, dtype: Any) -> list[_Rows]:
    queries = active[active < t]
    cells = _Rows(found.right, active[active >= t] - t, 1, queries.shape[0], dtype)
    return [_Rows(found.left, queries, 0, 0, dtype), cells] if t else [cells]


def _blocks(side: _Rows, height: int) -> list[_Rows]:
    """Rows of one side by panels of a triangle, of ``height`` rows each."""
    ends = [side.start, *(e for e in range(0, side.stop, height) if e > side.start), side.stop]
    own = [(a - side.start, b - side.start) for a, b in itertools.pairwise(ends)]
    return [replace(side, numbers=side.numbers[a:b], start=side.start + a) for a, b in own if b > a]


def _squares(rows: _Rows, columns: Array) -> Array:
    """Sums over the squares of rows, weighted by columns (n, c); a block at a time: memory."""
    xp = namespace(columns)
    found = [block.taken() ** 2 @ columns for block in _blocks(rows, PANEL_ROWS)]
    return xp.concat(found) if found else xp.zeros((0, columns.shape[1]), dtype=columns.dtype)


def _hull(mask: Array) -> slice:
    """From the first to the last that is marked."""
    xp = namespace(mask)
    marked = xp.nonzero(mask)[0]
    return slice(int(marked[0]), int(marked[-1]) + 1) if marked.shape[0] else slice(0, 0)


def _add_plain(total: Triangle, sides: Sequence[_Rows], factors: Sequence[Array], least: float) -> None:
    """Add the Hadamard squares, lower triangle only: half the work."""
    xp = namespace(factors[0])
    columns = [_hull(f > NEGLIGIBLE_COLUMN * least * float(xp.max(f))) for f in factors]
    height = total.panels[0].shape[0]
    blocks = [[(own, _kept(own, factors, least)) for own in _blocks(side, height)] for side in sides]
    for other, kept in (
        _joined(some[i : i + PANELS_WIDE]) for some in blocks for i in range(0, len(some), PANELS_WIDE)
    ):
        others = other.taken()
        for block, rows_kept in itertools.chain(*blocks):
            if block.stop <= other.start:
                continue
            rows, number = block.taken(), block.start // height
            target = total.panels[number][block.start - number * height : block.stop - number * height, :]
            sign = 1.0 if block.side == other.side else -1.0
            for f, c, own, its in zip(factors, columns, rows_kept, kept, strict=True):
                stop = min(other.start + its.stop, target.shape[1])
                start = other.start + its.start
                if own.start == own.stop or start >= stop:
                    continue
                product = (rows[own, c] * f[c]) @ others[its.start : stop - other.start, c].T
                product *= product
                target[own, start:stop] += sign * product


def _kept(block: _Rows, factors: Sequence[Array], least: float) -> list[slice]:
    """For each term which rows of a block it counts for."""
    xp = namespace(factors[0])
    found = _squares(block, xp.stack(list(factors), axis=1)) ** 2
    enough = found > least * xp.sum(found, axis=1)[:, None]
    return [_hull(enough[:, number]) for number in range(len(factors))]


def _joined(parts: Sequence[tuple[_Rows, list[slice]]]) -> tuple[_Rows, list[slice]]:
    """Neighbouring blocks as one."""
    xp, first = namespace(parts[0][0].numbers), parts[0][0]
    whole = replace(first, numbers=xp.concat([block.numbers for block, _ in parts]))
    starts = [block.start - first.start for block, _ in parts]
    kept = []
    for own in zip(*(slices for _, slices in parts), strict=True):
        some = [(at + s.start, at + s.stop) for at, s in zip(starts, own, strict=True) if s.start < s.stop]
        kept.append(slice(min((a for a, _ in some), default=0), max((b for _, b in some), default=0)))
    return whole, kept
