"""The problem behind all L2 programs: the largest nuclear norm over weights of cells and of queries.

For fixed multipliers the least Lagrangian of ``l2_strategy`` and of ``fitness_for_use`` is a nuclear norm,
so both are the concave maximization of N(p, q) = ‖diag(√q) W diag(√p)‖∗ over cell weights p >= 0 of sum 1 and
query weights q >= 0 with c @ q = 1 (q fixed for total error). The squared optimum is the optimum of the
program. A hybrid adds fixed weights to those of the queries, whose sum is then 1 without them. Where cells
have costs b that no weight changes the largest of b @ p + N² is wanted.

A workload with symmetries splits into parts with multiplicities (Gatermann & Parrilo 2004, Symmetry groups,
semidefinite programs, and sums of squares): weights are then constant on orbits and N adds up over parts.

Parts of one column are taken all at a time: their singular values are lengths, in closed form. With the rows
t of such a part K = diag(√q) t √p has the one singular value √(p Σⱼ qⱼ tⱼ²), the left vector
diag(√q) t √p / s and the right one 1. Marginals split into nothing else, thousands of them.

Points have to be such that floating point can hold them (``conditioned``). Where queries or cells have slack
the noise of least privacy cost may be as large as one likes, and weights that go to zero make it so. Lowering
the eigenvalues of Σ that are above t times the smallest keeps every target. With orthonormal B and p of sum
1 it adds at most 1 / (t λ) to p @ costs, λ the smallest eigenvalue; the largest cost is at least 1 / (n λ).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse
from array_api_compat import array_namespace as namespace

from mmopt.errors import OptionError
from mmopt.numerics.matrix_functions import eigenvectors
from mmopt.numerics.pseudoinverse import graded
from mmopt.numerics.split_arrays import Ints

__all__ = [
    "Array",
    "Care",
    "Env",
    "Lengths",
    "Lines",
    "Problem",
    "QueryComponent",
    "back",
    "care_for",
    "conditioned",
    "lines_of",
    "placed",
    "whole",
]

Array = Any  # of any library that follows the array API standard
Env = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Lengths:
    """What lines come to: ``values`` (k,), the norms of K; ``lefts``, their left vectors end to end."""

    values: Array
    lefts: Array | None


@dataclass(frozen=True, eq=False)
class Lines:
    """The parts ``places`` (k,) of a problem, of one column each.

    multiplicities (k,), cells (k,) as of the parts. entries, rows : all entries t, and the line of each.
    queries : the orbit of queries of each entry, or None.
    """

    places: Ints
    multiplicities: Array
    cells: Ints
    entries: Array
    rows: Ints
    queries: Ints | None

    @property
    def count(self) -> int:
        return len(self.places)

    def ends(self) -> Ints:
        """Where the entries of each line but the last end."""
        return np.cumsum(np.bincount(self.rows, minlength=self.count))[:-1]

    def lengths(self, p: Array, q: Array | None) -> Lengths:
        """At weights p, q of the orbits of cells and queries."""
        squares = self.entries**2 if q is None or self.queries is None else self.entries**2 * q[self.queries]
        own = p[self.cells]
        values = np.sqrt(own * _sums(self.rows, squares, self.count))
        if q is None:
            return Lengths(values, None)
        scales = np.divide(np.sqrt(own), values, out=np.zeros_like(values), where=values > 0)
        return Lengths(values, np.sqrt(q[self.queries]) * self.entries * scales[self.rows])

    def cost(self, found: Lengths, count: int) -> Array:
        """What the lines add to the cost of each orbit of cells, (count,)."""
        return _sums(self.cells, self.multiplicities * found.values, count)

    def variance(self, found: Lengths, count: int) -> Array:
        """What they add to the variance of each orbit of queries, (count,)."""
        assert found.lefts is not None and self.queries is not None
        shares = found.lefts**2 * (self.multiplicities * found.values)[self.rows]
        return _sums(self.queries, shares, count)

    def equalised(self, found: Lengths, weights: Array) -> float:
        """The sum of squares of t √weight, each over the length."""
        squares = _sums(self.rows, self.entries**2, self.count) * weights[self.cells]
        return float(self.multiplicities @ (squares / found.values))

    def curvature(self, found: Lengths, active: Ints, queries: int, cells: int) -> Array:
        """Σ μ s z² z²ᵀ / 2 over the lines, z the rows of U and V; negative between cells and queries.

        ``active``: numbers of the shares that are wanted, ``queries`` of queries before ``cells`` of cells.
        """
        places = [np.arange(self.count)], [queries + self.cells], [-np.ones(self.count)]
        if queries:
            assert found.lefts is not None and self.queries is not None
            places[0].append(self.rows)
            places[1].append(self.queries)
            places[2].append(found.lefts**2)
        rows, columns, entries = (np.concatenate(own) for own in places)
        shape = (self.count, queries + cells)
        stacked = scipy.sparse.coo_array((entries, (rows, columns)), shape=shape).tocsc()[:, active]
        scaled = scipy.sparse.csr_array(stacked * np.sqrt(self.multiplicities * found.values / 2.0)[:, None])
        return np.asarray((scaled.T @ scaled).toarray())


def _sums(labels: Ints, entries: Array, count: int) -> Array:
    """The sums of entries with the same label."""
    return np.bincount(labels, entries, minlength=count).astype(np.float64, copy=False)


def lines_of(parts: Sequence[Any]) -> Lines | None:
    """The parts of one column, where their arrays are numpy's; None where there are none."""
    places = [
        at for at, part in enumerate(parts) if part.rows.shape[1] == 1 and isinstance(part.rows, np.ndarray)
    ]
    if not places:
        return None
    own = [parts[at] for at in places]
    queries = None if own[0].queries is None else np.concatenate([part.queries for part in own])
    return Lines(
        places=np.array(places),
        multiplicities=np.array([part.multiplicity for part in own]),
        cells=np.concatenate([part.cells for part in own]),
        entries=np.concatenate([part.rows for part in own])[:, 0],
        rows=np.repeat(np.arange(len(own)), [len(part.rows) for part in own]),
        queries=queries,
    )


@dataclass(frozen=True)
class QueryComponent:
    """One component of the queries.

    rows : (r, s). multiplicity : how often the component occurs.
    cells : (s,) whole numbers, the orbit of cells of each column. queries : (r,) the orbit of queries of each
        row, or None when the queries have fixed weights (then only rowsᵀ rows matters). rank : of ``rows``;
        None where it has to be found out from their singular values.
    """

    rows: Array
    multiplicity: float
    cells: Array
    queries: Array | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Problem:
    """Parts over orbits of cells and of queries.

    cells : (o,) number of cells in each orbit. targets : (t,) the sum of the targets c of each orbit of
        queries; None when the weights of the queries are fixed. floors : (t,) what is added to the shares of
        the queries; None for nothing. base : (o,) what each cell costs beside, whatever the noise; None for
        nothing. ``plain`` says that there is a single part whose orbits are its columns
        and rows, in order.
    """

    parts: tuple[QueryComponent, ...]
    cells: Array
    targets: Array | None = None
    floors: Array | None = None
    base: Array | None = None
    plain: bool = False

    @cached_property
    def lines(self) -> Lines | None:
        """The parts of one column, which are taken together; None where there are none."""
        return lines_of(self.parts)

    @cached_property
    def others(self) -> tuple[int, ...]:
        """The numbers of all other parts."""
        own = set() if self.lines is None else set(self.lines.places.tolist())
        return tuple(at for at in range(len(self.parts)) if at not in own)


def whole(
    rows: Array, targets: Array | None = None, rank: int | None = None, floors: Array | None = None
) -> Problem:
    """The problem of a matrix (r, n) as it is, every cell (and query) an orbit of its own."""
    xp = namespace(rows)
    r, n = rows.shape
    queries = None if targets is None else xp.arange(r)
    part = QueryComponent(rows, 1.0, xp.arange(n), queries, rank)
    return Problem((part,), xp.ones(n, dtype=rows.dtype), targets, floors, plain=True)


def placed(problem: Problem, library: str | None) -> Problem:
    """The problem with its arrays made by a library that follows the array API standard.

    ``library`` is the name of its module, with a device after a colon where one is chosen: ``cupy``,
    ``torch:cuda``. None: as they are.

    Raises
    ------
    OptionError : the library is not installed, or makes no arrays.
    """
    if library is None or library == "numpy":
        return problem
    name, _, device = library.partition(":")
    try:
        make = importlib.import_module(name).asarray
    except (ImportError, AttributeError):
        raise OptionError(
            f"no library of arrays '{name}' is installed here",
            hint="known: numpy, cupy, torch, torch:cuda; install it, or leave --arrays out",
        ) from None
    where = {"device": device} if device else {}

    def put(array: Array) -> Array:
        return None if array is None else make(np.asarray(array), **where)

    parts = tuple(
        replace(p, rows=put(p.rows), cells=put(p.cells), queries=put(p.queries)) for p in problem.parts
    )
    fields = {"cells": put(problem.cells), "targets": put(problem.targets), "floors": put(problem.floors)}
    return replace(problem, parts=parts, **fields)


def back(array: Array) -> Array:
    """An array of any library as numpy's; None stays None."""
    if array is None or isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_cupy_array(array):
        return array.get()
    if array_api_compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return np.asarray(array)


LOSS_OF_GAP = 10.0  # over the gap wanted is t
# With more of them than LOSS_OF_GAP times this t grows like their number: the loss is at most n / t
CELLS_OF_LOSS = 16
LARGEST_BARRIER = 1e10  # a larger t would leave less than half of the digits of the smallest eigenvalue


@dataclass(frozen=True)
class Care:
    """What a point has to give up for the sake of rounding.

    even : whether X may be equalised. At the optimum X⁻¹ G X⁻¹ is diagonal, so that what rounding does to X
        hardly changes its objective; at an equalised X near it that is not so.
    condition : the largest condition of Σ.
    """

    even: bool
    condition: float


def care_for(wanted: float, is_first: bool, n: int) -> Care:
    """For a gap and n cells: most at first, then the condition that a smaller gap needs."""
    return Care(is_first, min(max(LOSS_OF_GAP, n / CELLS_OF_LOSS) / wanted, LARGEST_BARRIER))


def conditioned(roots: Sequence[Array], condition: float) -> list[Array]:
    """R Rᵀ of each root R (k, r), r <= k, of numpy, the large eigenvalues lowered to a condition of them all.

    What a root does not reach gets the largest eigenvalue.
    """
    xp = namespace(roots[0])
    products = [root @ root.T for root in roots]
    spectra = [xp.linalg.eigvalsh(product) for product in products]
    largest = max(float(values[-1]) for values in spectra)
    if min(float(values[0]) for values in spectra) * condition > largest:
        return products
    # Of the roots, not of the products: these have lost what is below the rounding of the largest.
    found = []
    for root in roots:
        vectors = eigenvectors(products.pop(0))
        values, _ = graded(root.T @ vectors, vectors)
        found.append((vectors, values[-min(root.shape) :]))
    least = min(float(xp.min(values)) ** 2 for _, values in found)
    return [_product(left, values, condition * least) for left, values in found]


def _product(left: Array, values: Array, most: float) -> Array:
    xp = namespace(left)
    lowered = xp.full((left.shape[0],), most, dtype=left.dtype)
    lowered[-values.shape[0] :] = xp.clip(values**2, None, most)
    scaled = left * xp.sqrt(lowered)
    return scaled @ scaled.T  # as numpy's product with the transpose it is exactly symmetric
