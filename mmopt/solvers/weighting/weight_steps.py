"""Steps of first and second order for weights, also of Kronecker products recognised in dense designs.

Whether a dense design is a Kronecker product, up to rounding and to the signs of its entries.

Entry ((i, i'), (j, j')) of A ⊗ B is A[i, j] B[i', j']: the rows (i, 0) tell A, the rows (0, i') tell B, and
all other entries follow. Three rows are enough to see that nearly every other pair of shapes is wrong.

M as rows of a Kronecker product that is never formed, and Newton's step with it.

Near the optimum few cells count: the prices of all others are small next to their slacks. With A the cells
that count, the Newton matrix is nearly Δ + M_A diag(d_A) M_Aᵀ, where Δ is diagonal and has the other cells
by their diagonals; its inverse takes a matrix of the size of A (Woodbury), however large d_A may be.
Conjugate gradients preconditioned with it end after a few steps. Where A is at least half as many as the
rows, the Newton matrix itself is formed. Both matrices are made through the factors, some columns at a time.

First order while it is cheap, then second order; for product costs the factors first.

First order: mu <- mu · (Mᵀ u)^(1+a) with u the best response to mu, extrapolated by Anderson's method.
Each plain step raises the bound: with x the prices after it, Jensen's inequality bounds the concave sum
from below by Σⱼ xⱼ^(a/(1+a)) muⱼ^(1/(1+a)) (Mᵀu)ⱼ, at a fixed sum largest at xⱼ ∝ muⱼ (Mᵀu)ⱼ^(1+a).
An extrapolated step that does not raise it is taken back.

Second order: a primal-dual interior-point method from nearly optimal prices.
Unknowns are u, the slack s = 1 - Mᵀu and mu. Newton's step on a c u^(-a-1) = M mu, s∘mu = σ τ reduces to k
equations with the matrix diag(h) + M diag(mu/s) Mᵀ. In place of the second derivative a (a+1) c u^(-a-2)
stands h = (a² c u^(-a-1) + b)/u, that of the problem in log u: the same at the optimum, better away from it.
Both parts of the right side are solved at once, so that σ can be chosen by looking.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mmopt.solvers.weighting.weighting_problem import (
    Array,
    GivenMatrix,
    Weighting,
    WeightsAndPrices,
    add_diagonal,
    better,
    entrywise,
    product_state,
    solve_scaled,
)

# With fewer entries the dense matrix is as quick: 256 cells to a gap of 1e-6 in 20 ms, by factors in 30.
LEAST_ENTRIES = 1 << 18
SMALL_FACTOR = 1 << 12  # entries of a factor that is not taken apart
MOST_SHARED = 1 / 8  # of the entries, that two factors may have together; with more there is nothing to gain
# An entry may differ by this from the product, next to the largest of its row: what that adds to a
# sensitivity is far below any gap asked for.
ROUNDING_OF_ENTRIES = 1e-13
ROUNDING_OF_COSTS = 1e-6  # the same for costs, relatively: their product is only where the iteration starts
ENTRIES_COMPARED = 1 << 18  # entries that are compared at a time


def factors_of(design: Array, power: int) -> tuple[Array, ...] | None:
    """Two or more matrices whose Kronecker product is ``entrywise(design, power)``, or None.

    None also for a design so small that it does not matter.
    """
    if math.prod(design.shape) < LEAST_ENTRIES:
        return None
    found = next((split for split in _likely(design, power) if split.is_whole()), None)
    return None if found is None else _finer(found.first()) + _finer(found.second())


def is_likely_product(design: Array, power: int) -> bool:
    """The same judged by three rows; nearly always right."""
    return math.prod(design.shape) >= LEAST_ENTRIES and next(_likely(design, power), None) is not None


def places_of(rows: Array, among: Array) -> Array | None:
    """Where the rows stand in a matrix that has them in the same order, exactly; None if it does not."""
    xp = rows.__array_namespace__()
    places: list[int] = []
    at = 0
    for i in range(rows.shape[0]):
        while at < among.shape[0] and not bool(xp.all(rows[i, :] == among[at, :])):
            at += 1
        if at == among.shape[0]:
            return None
        places.append(at)
        at += 1
    return xp.asarray(places, dtype=xp.int64)


def costs_of(c: Array, sizes: Sequence[int]) -> list[Array] | None:
    """Vectors of these sizes whose Kronecker product is nearly c > 0, or None."""
    xp = c.__array_namespace__()
    largest = int(xp.argmax(c))
    found: list[Array] = []
    joined, stride = xp.ones_like(c[:1]), 1
    for size in reversed(sizes):
        start = largest - (largest // stride % size) * stride
        line = c[start : start + stride * (size - 1) + 1 : stride]
        found.insert(0, line if stride == c.shape[0] // size else line / c[largest])
        joined = xp.reshape(found[0][:, None] * joined[None, :], (-1,))
        stride *= size
    return found if bool(xp.all(xp.abs(joined - c) <= ROUNDING_OF_COSTS * c)) else None


@dataclass(frozen=True)
class _Split:
    """entrywise(design) as A ⊗ B, A of ``shape``: true if it is true of each row."""

    design: Array
    power: int
    shape: tuple[int, int]
    at: int  # the largest entry of the first row

    @property
    def inner(self) -> tuple[int, int]:
        """The shape of B."""
        (k, n), (k1, n1) = self.design.shape, self.shape
        return k // k1, n // n1

    def first(self, rows: slice = slice(None)) -> Array:
        """Rows of A."""
        k2, n2 = self.inner
        return entrywise(self.design[::k2, self.at % n2 :: n2][rows, :], self.power)

    def second(self, rows: slice = slice(None)) -> Array:
        """Rows of B."""
        k2, n2 = self.inner
        start = self.at // n2 * n2
        found = entrywise(self.design[:k2, start : start + n2][rows, :], self.power)
        return found / entrywise(self.design[:1, self.at : self.at + 1], self.power)

    def is_whole(self) -> bool:
        """Whether all rows agree."""
        k2 = self.inner[0]
        second = self.second()
        step = max(1, ENTRIES_COMPARED // self.design.shape[1])
        return all(
            self.agrees(i, slice(start, min(start + step, k2)), second[start : start + step, :])
            for i in range(self.shape[0])
            for start in range(0, k2, step)
        )

    def agrees(self, i: int, rows: slice, second: Array) -> bool:
        """Whether the rows (i, rows) agree; ``second`` holds these rows of B."""
        xp = second.__array_namespace__()
        first = self.first(slice(i, i + 1))
        here = slice(i * self.inner[0] + rows.start, i * self.inner[0] + rows.stop)
        known = entrywise(self.design[here, :], self.power)
        off = xp.abs(known - xp.reshape(first[:, :, None] * second[:, None, :], known.shape))
        return bool(xp.all(xp.max(off, axis=1) <= ROUNDING_OF_ENTRIES * xp.max(known, axis=1)))


def _likely(design: Array, power: int) -> Iterator[_Split]:
    """Splits with which the last row and two others agree, those with the smallest factors first."""
    xp = design.__array_namespace__()
    k, n = design.shape
    at = int(xp.argmax(xp.abs(design[0, :])))
    if not design[0, at]:
        return
    entries = k * n
    shapes = [(a * b + entries // (a * b), a, b) for a in _divisors(k) for b in _divisors(n)]
    for size, k1, n1 in sorted(shapes):
        if size > MOST_SHARED * entries:
            return
        split = _Split(design, power, (k1, n1), at)
        k2 = split.inner[0]
        probes = [slice(row % k2, row % k2 + 1) for row in (k - 1, k // 2, k // 3)]
        if all(
            split.agrees(row // k2, own, split.second(own))
            for row, own in zip((k - 1, k // 2, k // 3), probes, strict=True)
        ):
            yield split


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _finer(factor: Array) -> tuple[Array, ...]:
    """The factor, taken apart where that saves work; it has no sign, so power 2 changes nothing."""
    if math.prod(factor.shape) <= SMALL_FACTOR:
        return (factor,)
    found = next((split for split in _likely(factor, 2) if split.is_whole()), None)
    return (factor,) if found is None else _finer(found.first()) + _finer(found.second())


# A cell counts when it adds at least this to one direction of the Newton matrix scaled by h: less than that
# is a matter of few conjugate gradients.
COUNTS = 30.0
# The largest matrix that a Newton step forms, and the most cells that count where the rows are more.
FORMED, COUNTED = 4096, 2048
# Entries of one block of columns, of which the matrix is made.
ENTRIES_OF_BLOCK = 1 << 20
# Conjugate gradients stop at this residual, relatively, or after so many steps.
RESIDUAL = 1e-8
MOST_STEPS = 100
NEWTON_RIDGE = 1e-13  # on the unit diagonal of the matrix that is inverted


@dataclass(frozen=True)
class Kronecker:
    """Rows of factors[0] ⊗ factors[1] ⊗ …, the last varying fastest; factors (kᵢ, nᵢ) are dense.

    rows : which of the product's rows, ascending; None for all of them.
    """

    factors: tuple[Array, ...]
    rows: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        k = math.prod(f.shape[0] for f in self.factors) if self.rows is None else self.rows.shape[0]
        return k, math.prod(f.shape[1] for f in self.factors)

    def load(self, u: Array) -> Array:
        return _apply([f.T for f in self.factors], self._spread(u))

    def price(self, mu: Array) -> Array:
        return self._kept(_apply(self.factors, mu))

    def kept(self, rows: Array) -> Kronecker:
        own = rows if self.rows is None else rows.__array_namespace__().take(self.rows, rows)
        return Kronecker(self.factors, own)

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """Exactly, or by conjugate gradients where few cells count; a column at a time."""
        xp = right.__array_namespace__()
        k = self.shape[0]
        squares = [f * f for f in self.factors]
        size = d * _apply([f.T for f in squares], self._spread(1.0 / h))
        (cells,) = xp.nonzero(size > COUNTS)
        if 2 * cells.shape[0] > k and k <= FORMED:
            return self._exact(h, d, right)
        if cells.shape[0] > COUNTED:
            cells = xp.sort(xp.argsort(size)[-COUNTED:])
        rest = xp.where(_is_among(cells, d), xp.zeros_like(d), d)
        diagonal = h + self._kept(_apply(squares, rest))
        inverse = self._inverse(diagonal, d, cells)

        def product(x: Array) -> Array:
            return h * x + self.price(d * self.load(x))

        columns = [_conjugate_gradients(product, inverse, right[:, j]) for j in range(right.shape[1])]
        return xp.stack(columns, axis=1)

    def _exact(self, h: Array, d: Array, right: Array) -> Array:
        xp = right.__array_namespace__()
        rows = xp.arange(self.shape[0]) if self.rows is None else self.rows
        return solve_scaled(lambda: _gram(self.factors, d, rows), h, right)

    def _inverse(self, diagonal: Array, d: Array, cells: Array) -> Callable[[Array], Array]:
        """x ↦ (diag(diagonal) + M_A diag(d_A) M_Aᵀ)⁻¹ x for the cells A."""
        if cells.shape[0] == 0:
            return lambda x: x / diagonal
        xp = d.__array_namespace__()
        inner = _gram([f.T for f in self.factors], self._spread(1.0 / diagonal), cells)
        own = 1.0 / xp.take(d, cells)
        scale = 1.0 / xp.sqrt(own + xp.linalg.diagonal(inner))
        inner *= scale[:, None]
        inner *= scale[None, :]
        add_diagonal(inner, own * scale * scale + NEWTON_RIDGE)
        root = _inverse_root(inner)
        del inner
        place = _places(cells, d.shape[0])

        def inverse(x: Array) -> Array:
            y = x / diagonal
            seen = scale * xp.take(self.load(y), cells)
            seen = scale * (root.T @ (root @ seen))
            return y - self.price(_scattered(seen, place)) / diagonal

        return inverse

    def _spread(self, u: Array) -> Array:
        """u on all rows of the product, zero on those that are left out."""
        if self.rows is None:
            return u
        return _scattered(u, self._place)

    @cached_property
    def _place(self) -> Array:
        return _places(self.rows, math.prod(f.shape[0] for f in self.factors))

    def _kept(self, b: Array) -> Array:
        return b if self.rows is None else b.__array_namespace__().take(b, self.rows)


def _places(chosen: Array, size: int) -> Array:
    """For each of 0..size-1 its place among the chosen (ascending), or their number if it is not one."""
    xp = chosen.__array_namespace__()
    here = xp.arange(size)
    place = xp.searchsorted(chosen, here)
    found = xp.take(chosen, xp.minimum(place, xp.full_like(place, chosen.shape[0] - 1)))
    return xp.where(found == here, place, xp.full_like(place, chosen.shape[0]))


def _is_among(chosen: Array, like: Array) -> Array:
    xp = like.__array_namespace__()
    if chosen.shape[0] == 0:
        return xp.zeros(like.shape, dtype=xp.bool)
    return _places(chosen, like.shape[0]) < chosen.shape[0]


def _scattered(values: Array, place: Array) -> Array:
    xp = values.__array_namespace__()
    return xp.take(xp.concat([values, xp.zeros_like(values[:1])]), place)


def _apply(factors: Sequence[Array], x: Array) -> Array:
    """(⊗ factors) x, a factor at a time; for the columns of a matrix, as the rows of the result, flat."""
    xp = x.__array_namespace__()
    for f in factors:
        # The first index of x is this factor's; its result becomes the last.
        x = xp.reshape(x, (f.shape[1], -1))
        x = xp.reshape((f @ x).T, (-1,))
    return x


def _gram(factors: Sequence[Array], weights: Array, at: Array) -> Array:
    """Entries (at, at) of F diag(weights) Fᵀ, F = ⊗ factors, a block of columns at a time."""
    xp = weights.__array_namespace__()
    size, rows = at.shape[0], math.prod(f.shape[0] for f in factors)
    out = xp.empty((size, size), dtype=weights.dtype)
    step = max(1, ENTRIES_OF_BLOCK // max(rows, weights.shape[0]))
    for start in range(0, size, step):
        block = at[start : start + step]
        columns = xp.ones((1, block.shape[0]), dtype=weights.dtype)
        left = rows
        for f in factors:
            left //= f.shape[0]
            own = xp.take(f, (block // left) % f.shape[0], axis=0).T
            columns = xp.reshape(columns[:, None, :] * own[None, :, :], (-1, block.shape[0]))
        seen = xp.reshape(_apply(factors, columns * weights[:, None]), (block.shape[0], rows))
        out[start : start + step, :] = xp.take(seen, at, axis=1)
    return out


def _inverse_root(matrix: Array) -> Array:
    """Y with YᵀY the inverse of a positive definite matrix, which may be singular but for its ridge.

    The factor Lᵀ is inverted and not the matrix: Y L = I up to rounding, so that YᵀY is off by a factor next
    to one, and not by something next to its largest entries.
    """
    xp = matrix.__array_namespace__()
    try:
        return xp.linalg.inv(xp.linalg.cholesky(matrix).T).T
    except np.linalg.LinAlgError:  # the ridge is lost in rounding
        values, vectors = xp.linalg.eigh(matrix)
        return (
            vectors.T
            / xp.sqrt(xp.where(values > NEWTON_RIDGE, values, xp.full_like(values, NEWTON_RIDGE)))[:, None]
        )


def _conjugate_gradients(
    product: Callable[[Array], Array], inverse: Callable[[Array], Array], right: Array
) -> Array:
    """The solution of product(x) = right; inverse is nearly that of the product."""
    xp = right.__array_namespace__()
    x = scaled = inverse(right)
    goal = RESIDUAL**2 * float(xp.sum(right * scaled))
    rest = right - product(x)
    direction = scaled = inverse(rest)
    energy = float(xp.sum(rest * scaled))
    for _ in range(MOST_STEPS):
        if energy <= goal:
            break
        image = product(direction)
        step = energy / float(xp.sum(direction * image))
        x = x + step * direction
        rest = rest - step * image
        scaled = inverse(rest)
        before, energy = energy, float(xp.sum(rest * scaled))
        direction = scaled + (energy / before) * direction
    return x


EXTRAPOLATION_DEPTH = 8
MOST_CHANGE = 4.0  # change of a logarithm in one extrapolated step
LOWEST_PRICE = -80.0  # a price is never less than this (its logarithm, next to the largest)
EXTRAPOLATION_RIDGE = 1e-12


def fixed_point(problem: Weighting, start: Array) -> Iterator[WeightsAndPrices]:
    """The best pair after each step, from prices mu > 0 (n,); without end."""
    xp, a, operator = problem.xp, problem.power, problem.operator
    x = xp.log(start)
    kept: tuple[Array, Array, float] | None = None  # logarithms, plain step and bound at the best prices
    best: WeightsAndPrices | None = None
    past: list[tuple[Array, Array]] = []
    while True:
        x = xp.where(x - xp.max(x) < LOWEST_PRICE, xp.full_like(x, LOWEST_PRICE), x - xp.max(x))
        mu = xp.exp(x)
        b = operator.price(mu)
        u = problem.best_response(b)
        load = operator.load(u)
        found = problem.state(u, load, mu, b)
        best = found if best is None else better(found, best)
        yield best
        # A cell that adds to no query has load 0: its price goes to the lowest.
        step = (1 + a) * xp.log(xp.where(load > 0, load, xp.full_like(load, 1e-300)) / xp.max(load))
        if kept is not None and found.bound < kept[2]:
            past = []
            x = kept[0] + kept[1]
            kept = None
            continue
        kept = (x, step, found.bound)
        past = [*past, (x, step)][-EXTRAPOLATION_DEPTH:]
        x = x + _extrapolated(past, xp.sqrt(mu), xp)


def _extrapolated(past: list[tuple[Array, Array]], weight: Array, xp: Any) -> Array:
    """Anderson's step: the combination of past steps that is least, where prices matter."""
    _, step = past[-1]
    if len(past) == 1:
        return step
    moves = xp.stack([p[0] - q[0] for p, q in zip(past[1:], past, strict=False)], axis=1)
    turns = xp.stack([p[1] - q[1] for p, q in zip(past[1:], past, strict=False)], axis=1)
    seen = turns * weight[:, None]
    gram = seen.T @ seen
    floor = EXTRAPOLATION_RIDGE * float(xp.linalg.trace(gram)) + 1e-300
    gram = gram + floor * xp.eye(gram.shape[0], dtype=gram.dtype)
    share = xp.linalg.solve(gram, (seen.T @ (weight * step))[:, None])[:, 0]
    out = step - (moves + turns) @ share
    size = float(xp.max(xp.abs(out)))
    if not size < 1e300:
        return step
    return xp.where(out > MOST_CHANGE, MOST_CHANGE, xp.where(out < -MOST_CHANGE, -MOST_CHANGE, out))


CENTRES = (1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6)
TO_BOUNDARY = 0.99
LEAST_PRICE = 0.1  # a price starts at no less than this part of its place on the central path
LOPSIDED = 1e-4  # the smallest product s·mu next to the mean; below it a step is judged worse


def curvature(problem: Weighting, u: Array, b: Array) -> Array:
    """h (k,), the diagonal of the Hessian; exactly a (a+1) c u^(-a-2) where a c u^(-a-1) = b."""
    a = problem.power
    return (a * a * problem.c * u ** (-1.0 - a) + b) / u


def interior(problem: Weighting, start: WeightsAndPrices) -> Iterator[WeightsAndPrices]:
    """The best pair after each step, the start's first; ends when a step no longer moves."""
    xp, a, operator = problem.xp, problem.power, problem.operator
    cells = operator.shape[1]
    inside = 1.0 - 0.5 * min(0.5, max(start.gap, 1e-12))
    u = start.u * inside
    s = 1.0 - operator.load(u)
    mu = start.mu / inside ** (1 + a)
    mu = xp.maximum(mu, LEAST_PRICE * float(xp.sum(s * mu)) / cells / s)
    best = start
    while True:
        b = operator.price(mu)
        load = operator.load(u)
        best = better(problem.state(u, load, mu, b), best)
        yield best
        ratio = mu / s
        missing = 1.0 - load - s
        tau = float(xp.sum(s * mu)) / cells
        short = a * problem.c * u ** (-1.0 - a) - b
        right = xp.stack(
            [short + operator.price(mu + ratio * missing), -tau * operator.price(1.0 / s)], axis=1
        )
        both = operator.newton(curvature(problem, u, b), ratio, right)
        if not bool(xp.all(xp.isfinite(both))):
            return
        slacks = (missing - operator.load(both[:, 0]), -operator.load(both[:, 1]))
        moves = [_Move(xp, (u, s, mu), both, slacks, tau, sigma) for sigma in CENTRES]
        move = min(moves, key=lambda m: m.merit)
        if max(move.primal, move.dual) < 1e-10:
            return
        u = u + move.primal * move.du
        s = s + move.primal * move.ds
        mu = mu + move.dual * move.dmu


class _Move:
    """One choice of σ: its directions, how far they may go, and how good the end is."""

    def __init__(
        self,
        xp: Any,
        at: tuple[Array, Array, Array],
        both: Array,
        slacks: tuple[Array, Array],
        tau: float,
        sigma: float,
    ) -> None:
        u, s, mu = at
        self.du = both[:, 0] + sigma * both[:, 1]
        self.ds = slacks[0] + sigma * slacks[1]
        self.dmu = sigma * tau / s - mu - mu / s * self.ds
        self.primal = min(1.0, _farthest(xp, u, self.du), _farthest(xp, s, self.ds))
        self.dual = min(1.0, _farthest(xp, mu, self.dmu))
        products = (s + self.primal * self.ds) * (mu + self.dual * self.dmu)
        mean = float(xp.mean(products))
        # The mean product is the gap left, worse by one for each factor e below LOPSIDED.
        smallest = max(float(xp.min(products)) / mean, 1e-300)
        self.merit = mean * (1.0 + max(0.0, math.log(LOPSIDED / smallest)))


def _farthest(xp: Any, value: Array, move: Array) -> float:
    """Part of the way to the boundary, over a move that keeps value + t · move positive."""
    speed = float(xp.max(-move / value))
    return TO_BOUNDARY / speed if speed > 0 else 1.0


FEW, MANY = 10, 60
# Through factors a first-order step costs next to nothing, so there are more of them.
MATRIX_FREE = 300
STEPS_WITHOUT_HALVING = 12  # second-order steps that may pass without the gap halving


def improve(problem: Weighting, start: WeightsAndPrices | None = None) -> Iterator[WeightsAndPrices]:
    """Pairs of shrinking gap, one after each iteration, from uniform prices until nothing helps any more.

    From a ``start`` it goes on by the second order.
    """
    best = start
    for found in _first(problem) if start is None else ():
        best = found if best is None else better(found, best)
        yield best
    assert best is not None
    waited, mark = 0, best.gap
    for found in interior(problem, best):
        best = better(found, best)
        yield best
        waited += 1
        if best.gap <= mark / 2:
            waited, mark = 0, best.gap
        if waited >= STEPS_WITHOUT_HALVING or best.gap <= 0:
            return


def _first(problem: Weighting) -> Iterator[WeightsAndPrices]:
    """What comes before the second order."""
    parts = _parts(problem)
    if parts:
        return _together(problem, parts)
    k, n = problem.operator.shape
    # A dense second-order step costs about k/4 first-order ones.
    steps = min(max(k // 8, FEW), MANY) if isinstance(problem.operator, GivenMatrix) else MATRIX_FREE
    uniform = problem.xp.full_like(problem.operator.load(problem.c), 1.0 / n)
    return itertools.islice(fixed_point(problem, uniform), steps)


def _parts(problem: Weighting) -> list[Weighting]:
    """The problems of the factors if the costs are a product as well, else none."""
    operator = problem.operator
    if not isinstance(operator, Kronecker) or operator.rows is not None:
        return []
    costs = costs_of(problem.c, [factor.shape[0] for factor in operator.factors])
    if costs is None:
        return []
    return [Weighting(GivenMatrix(f), c, problem.power) for f, c in zip(operator.factors, costs, strict=True)]


def _together(problem: Weighting, parts: list[Weighting]) -> Iterator[WeightsAndPrices]:
    """Products of the parts' states, the worst of which goes on; judged in the whole problem."""
    runs = [improve(part) for part in parts]
    states = [next(run) for run in runs]
    while True:
        joined = product_state(states, problem.power)
        load, b = problem.operator.load(joined.u), problem.operator.price(joined.mu)
        yield problem.state(joined.u, load, joined.mu, b)
        worst = max(range(len(states)), key=lambda i: states[i].gap)
        found = next(runs[worst], None)
        if found is None:
            return
        states[worst] = found
