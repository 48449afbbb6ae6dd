"""Singular values and vectors of the weighted queries, and what follows from them.

Small singular values are right next to themselves, not only next to the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace as namespace

from mmopt.numerics.pseudoinverse import eigen, graded, panels
from mmopt.solvers.nuclear.nuclear_problem import Array, Lengths, Lines, Problem, QueryComponent, back

__all__ = [
    "Iterate",
    "Spectrum",
    "bare",
    "count_marked",
    "decomposed",
    "fetched",
    "is_full",
    "iterate",
    "spectra_of",
    "whole_of",
]


MOST_JACOBI_COLUMNS = 256  # columns up to which Jacobi's method costs little
BOTH_SCALED = 2  # what LAPACK calls 'F': small values are right whatever the scales of rows and of columns


def decomposed(k: Array, vectors: Array) -> tuple[Array, Array, Array]:
    """U, s (ascending or nearly so) and V of a matrix whose rows and columns have very different weights.

    ``vectors``: eigenvectors of the smaller Gram matrix, ascending. They and K may be written over.

    By Jacobi's method (Drmač & Veselić 2008, New fast and accurate Jacobi SVD algorithm), which keeps the
    digits of small singular values that come from small weights; of larger matrices, and arrays of other
    libraries, from the vectors given (``graded``).
    """
    if k.shape[0] < k.shape[1]:
        left, values, right = decomposed(k.T, vectors)
        return right, values, left
    if isinstance(k, np.ndarray) and k.shape[1] <= MOST_JACOBI_COLUMNS:
        values, left, right, scale, _, failed = scipy.linalg.lapack.dgejsv(k, joba=BOTH_SCALED)
        if not failed:
            order = slice(None, None, -1)
            return left[:, order].copy(), values[order] * (scale[0] / scale[1]), right[:, order].copy()
    for here in panels(k.shape[0]):
        k[here, :] = k[here, :] @ vectors
    values, _ = graded(k, vectors)
    return k, values, vectors


# Below this ratio of singular values the Gram matrix has lost half of the digits of the small ones.
GRAM = 1e-6


@dataclass(frozen=True)
class Spectrum:
    """K = diag(√q) rows diag(√p) = U diag(s) Vᵀ of one part, zero singular values left out.

    ``left`` is None where the weights of the queries are fixed and the smaller Gram matrix is that of the
    cells; both sides are None where only the values were kept.
    """

    values: Array
    left: Array
    right: Array


@dataclass(frozen=True)
class Iterate:
    """Weights with the certificate at them.

    cells, queries : shares y of each orbit, of sum 1: size times p, and target times q.
    weights : the shares of the queries with what is added to them.
    lengths, spectra : of the problem's lines, and of its other parts.
    cost, variance : the gradient of log N by log p and log q times 2, of sum 1 each. At the optimum they
        equal the weights where the shares are positive; cost / cells is the privacy cost of a cell (diag X)
        and variance / weights the variance relative to its target, both divided by N.
    wide : what the variances come to, divided by N: the largest, or with a hybrid's weighted sum.
    lower, upper : bounds of the optimum, N² with what is beside it, and the objective of the point that
        belongs to the weights.
    """

    cells: Array
    queries: Array
    weights: Array
    lengths: Lengths | None
    spectra: tuple[Spectrum, ...]
    norm: float
    cost: Array
    variance: Array
    wide: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return self.upper / self.lower - 1.0

    @property
    def slope(self) -> float:
        """How far the largest entries of the gradient are above the shares: the gap without equalising."""
        xp = namespace(self.cost)
        return self.wide * float(xp.max(self.cost / self.cells)) - 1.0


def count_marked(mask: Array) -> int:
    """How many are marked."""
    xp = namespace(mask)
    return int(xp.sum(xp.astype(mask, xp.int64)))


def _is_wide(k: Array) -> bool:
    """Whether the Gram matrix of the rows is the smaller one."""
    return bool(k.shape[0] < k.shape[1])


def _is_all(k: Array, vectors: Array, rounding: float) -> bool:
    """Whether nothing but rounding is left of K beside these singular vectors, of its smaller side."""
    xp = namespace(k)
    if vectors.shape[1] == min(k.shape):
        return True
    k = k if _is_wide(k) else k.T
    return float(xp.linalg.matrix_norm(k - vectors @ (vectors.T @ k))) <= rounding


def spectrum(part: QueryComponent, rank: int | None, p: Array, q: Array | None) -> Spectrum:
    """The decomposition of one part; p (s,) and q (r,) are the weights of its columns and rows.

    By the smaller Gram matrix, and what that has lost of the small singular values (weights that go to zero
    together take some with them) from the matrix itself. ``rank`` None: it is found out, at
    weights that are not small; positive weights do not change it.
    """
    xp = namespace(part.rows)
    k = part.rows * xp.sqrt(p)
    if q is not None:
        k *= xp.sqrt(q)[:, None]
    eps = float(xp.finfo(k.dtype).eps) * max(k.shape)
    is_wide = _is_wide(k)
    squares, vectors = eigen(k @ k.T if is_wide else k.T @ k)  # the smaller Gram matrix
    if rank is None:
        clear = count_marked(squares > float(squares[-1]) * GRAM**2)
        rank = clear if _is_all(k, vectors[:, -clear:], eps * float(squares[-1]) ** 0.5) else None
    if rank is None or float(squares[-rank]) <= float(squares[-1]) * GRAM**2:
        left, values, right = decomposed(k, vectors)
        smallest = eps if rank is None else float(xp.finfo(k.dtype).smallest_normal)
        kept = min(count_marked(values > float(xp.max(values)) * smallest), rank or values.shape[0])
        return Spectrum(values[-kept:], left[:, -kept:], right[:, -kept:])
    values, vectors = xp.sqrt(squares[-rank:]), vectors[:, -rank:]
    other = None if q is None and not is_wide else (k.T if is_wide else k) @ vectors
    if other is not None:
        other /= values
    return Spectrum(values, vectors, other) if is_wide else Spectrum(values, other, vectors)


def gathered(labels: Array, values: Array, count: int) -> Array:
    """Sums of values by label, (count,)."""
    xp = namespace(values)
    return xp.astype(xp.arange(count)[:, None] == labels[None, :], values.dtype) @ values


def _of_lines(lines: Lines, found: Lengths) -> Iterator[tuple[int, Spectrum]]:
    """The decomposition of each line by its number among the parts."""
    one = np.ones((1, 1))
    values = [value[value > 0] for value in np.split(found.values, lines.count)]
    lefts = [None] * lines.count if found.lefts is None else np.split(found.lefts[:, None], lines.ends())
    for at, value, left in zip(lines.places.tolist(), values, lefts, strict=True):
        kept = value.shape[0]
        yield at, Spectrum(value, None if left is None else left[:, :kept], one[:, :kept])


def spectra_of(problem: Problem, at: Iterate) -> tuple[Spectrum, ...]:
    """The decomposition of every part."""
    if problem.lines is None or at.lengths is None:  # of arrays of another library there are no lines
        return at.spectra
    found = dict(zip(problem.others, at.spectra, strict=True))
    found.update(_of_lines(problem.lines, at.lengths))
    return tuple(found[number] for number in range(len(problem.parts)))


def iterate(problem: Problem, ranks: Sequence[int | None], cells: Array, queries: Array | None) -> Iterate:
    """Everything that is asked of weights: gradient and both bounds; ``ranks`` of all parts but the lines."""
    xp = namespace(cells)
    p = cells / problem.cells
    weights = queries if queries is None or problem.floors is None else queries + problem.floors
    q = None if weights is None else weights / problem.targets
    spectra: list[Spectrum] = []
    lengths = None
    norm = 0.0
    cost = xp.zeros_like(cells)
    variance = None if queries is None else xp.zeros_like(queries)
    if problem.lines is not None:
        lengths = problem.lines.lengths(p, q)
        norm += float(problem.lines.multiplicities @ lengths.values)
        cost = cost + problem.lines.cost(lengths, cost.shape[0])
        if variance is not None:
            variance = variance + problem.lines.variance(lengths, variance.shape[0])
    for number, rank in zip(problem.others, ranks, strict=True):
        part = problem.parts[number]
        here = xp.take(p, part.cells), None if q is None else xp.take(q, part.queries)
        found = spectrum(part, rank, *here)
        spectra.append(found)
        norm += part.multiplicity * float(xp.sum(found.values))
        share = part.multiplicity * (found.right**2 @ found.values)
        cost = cost + (share if problem.plain else gathered(part.cells, share, cost.shape[0]))
        if variance is not None:
            share = part.multiplicity * (found.left**2 @ found.values)
            variance = variance + (
                share if problem.plain else gathered(part.queries, share, variance.shape[0])
            )
    cost = cost / norm
    wide = 1.0
    if variance is not None:
        variance = variance / norm
        wide = _wide(problem, variance / weights)
    own = 0.0 if problem.base is None else problem.base
    upper = float(xp.max(own + norm**2 * wide * (cost / cells)))
    lower = norm**2 + (0.0 if problem.base is None else float(problem.base @ cells))
    if variance is None:
        upper = min(upper, _equalised(problem, lengths, spectra, norm * cost / problem.cells))
    return Iterate(cells, queries, weights, lengths, tuple(spectra), norm, cost, variance, wide, lower, upper)


def bare(at: Iterate) -> Iterate:
    """The iterate without its singular vectors, which take most of the memory."""
    return replace(at, spectra=tuple(Spectrum(found.values, None, None) for found in at.spectra))


def fetched(at: Iterate) -> Iterate:
    """The iterate with numpy's arrays."""
    spectra = tuple(Spectrum(back(s.values), back(s.left), back(s.right)) for s in at.spectra)
    return replace(
        at,
        cells=back(at.cells),
        queries=back(at.queries),
        weights=back(at.weights),
        spectra=spectra,
        cost=back(at.cost),
        variance=back(at.variance),
    )


def whole_of(problem: Problem, known: Iterate, last: Iterate) -> Iterate:
    """An iterate with its singular vectors again: ``last``, where it is that one and has them."""
    if known.cells is last.cells and all(found.right is not None for found in last.spectra):
        return last
    ranks = [found.values.shape[0] for found in known.spectra]
    return iterate(problem, ranks, known.cells, known.queries)


def _wide(problem: Problem, relative: Array) -> float:
    """The largest variance relative to its target, with the weighted sum of all of a hybrid."""
    xp = namespace(relative)
    largest = float(xp.max(relative))
    return largest if problem.floors is None else largest + float(problem.floors @ relative)


def is_full(problem: Problem, lengths: Lengths | None, spectra: Sequence[Spectrum]) -> bool:
    """Whether every part has full column rank: then any scaling of the columns supports the queries."""
    numbers = range(len(problem.parts)) if lengths is None else problem.others
    parts = zip((problem.parts[number] for number in numbers), spectra, strict=True)
    full = all(found.values.shape[0] == part.rows.shape[1] for part, found in parts)
    return full and (lengths is None or bool((lengths.values > 0).all()))


def _equalised(
    problem: Problem, lengths: Lengths | None, spectra: Sequence[Spectrum], weights: Array
) -> float:
    """The objective of X with rows and columns scaled to unit diagonal; infinity where not all is measured.

    ``weights`` is diag(X) * p, for X = diag(p)^-½ V S Vᵀ diag(p)^-½.
    """
    if not is_full(problem, lengths, spectra):
        return float("inf")
    xp = namespace(weights)
    total = 0.0
    if problem.lines is not None and lengths is not None:
        total += problem.lines.equalised(lengths, weights)
    for number, found in zip(problem.others, spectra, strict=True):
        part = problem.parts[number]
        scaled = (part.rows * xp.sqrt(xp.take(weights, part.cells))) @ found.right
        total += part.multiplicity * float(xp.sum(scaled**2 / found.values))
    return total
