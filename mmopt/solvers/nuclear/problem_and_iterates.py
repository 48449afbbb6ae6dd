"""The problem behind all L2 programs, a nuclear norm over weights, and iterates: its values at weights.

For fixed multipliers the least Lagrangian of ``l2_strategy`` and of ``fitness_for_use`` is a nuclear norm,
so both are the concave maximization of N(p, q) = ‖diag(√q) W diag(√p)‖∗ over cell weights p >= 0 of sum 1 and
query weights q >= 0 with c @ q = 1 (q fixed for total error). The squared optimum is the optimum of the
program. A hybrid adds fixed weights to those of the queries, whose sum is then 1 without them. Where cells
have costs b that no weight changes, b @ p + N² is maximized.

A workload with symmetries splits into parts with multiplicities (Gatermann & Parrilo 2004, Symmetry groups,
semidefinite programs, and sums of squares): weights are then constant on orbits and N adds up over parts.

Parts of one column are computed all at a time: their singular values are lengths, in closed form. With the
rows t of such a part K = diag(√q) t √p has the one singular value √(p Σⱼ qⱼ tⱼ²), the left vector diag(√q) t
√p / s and the right one 1. Marginals split into nothing else, thousands of them.

Singular values of the weighted queries are computed so that small ones are accurate relative to themselves,
not only relative to the largest.

**Folds.** Orbits of queries whose weights may be kept equal (of attributes with the same queries, say) are
folded. On parts of one column N is Σ μ √(p Σⱼ qⱼ tⱼ²). Colour the parts and the orbits of queries until parts
of one colour see the same numbers t² from each colour of queries, and queries from each colour of parts (an
equitable partition). The mean of q over each colour then gives every part the mean over the parts of its
colour, and as the root is concave N does not fall (as for linear programs: Grohe, Kersting, Mladenov & Selman
2014, Dimension reduction via colour refinement). So a step has one unknown per colour.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
from array_api_compat import array_namespace as namespace

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Ints, eigen, graded, panels

Array = Any  # of any library that follows the array API standard
Env = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Lengths:
    """The lengths of lines: ``values`` (k,), the norms of K; ``lefts``, their left vectors end to end."""

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

    def lengths(self, p: Array, q: Array | None) -> Lengths:
        """The lengths at weights p, q of the orbits of cells and queries."""
        squares = self.entries**2 if q is None or self.queries is None else self.entries**2 * q[self.queries]
        weights = p[self.cells]
        values = np.sqrt(weights * _sums(self.rows, squares, self.count))
        if q is None:
            return Lengths(values, None)
        scales = np.divide(np.sqrt(weights), values, out=np.zeros_like(values), where=values > 0)
        return Lengths(values, np.sqrt(q[self.queries]) * self.entries * scales[self.rows])

    def cost(self, lengths: Lengths, count: int) -> Array:
        """The lines' part of the cost of each orbit of cells, (count,)."""
        return _sums(self.cells, self.multiplicities * lengths.values, count)

    def variance(self, lengths: Lengths, count: int) -> Array:
        """The lines' part of the variance of each orbit of queries, (count,)."""
        assert lengths.lefts is not None and self.queries is not None
        shares = lengths.lefts**2 * (self.multiplicities * lengths.values)[self.rows]
        return _sums(self.queries, shares, count)

    def equalised(self, lengths: Lengths, weights: Array) -> float:
        """The sum of squares of t √weight, each over the length."""
        squares = _sums(self.rows, self.entries**2, self.count) * weights[self.cells]
        return float(self.multiplicities @ (squares / lengths.values))

    def curvature(self, lengths: Lengths, active: Ints, queries: int, cells: int) -> Array:
        """Σ μ s z² z²ᵀ / 2 over the lines, z the rows of U and V; negative between cells and queries.

        ``active``: numbers of the shares that are wanted, ``queries`` of queries before ``cells`` of cells.
        """
        places = [np.arange(self.count)], [queries + self.cells], [-np.ones(self.count)]
        if queries:
            assert lengths.lefts is not None and self.queries is not None
            places[0].append(self.rows)
            places[1].append(self.queries)
            places[2].append(lengths.lefts**2)
        rows, columns, entries = (np.concatenate(part) for part in places)
        shape = (self.count, queries + cells)
        stacked = scipy.sparse.coo_array((entries, (rows, columns)), shape=shape).tocsc()[:, active]
        scaled = scipy.sparse.csr_array(
            stacked * np.sqrt(self.multiplicities * lengths.values / 2.0)[:, None]
        )
        return np.asarray((scaled.T @ scaled).toarray())


def _sums(labels: Ints, entries: Array, count: int) -> Array:
    """The sums (count,) of entries with the same label, for arrays of numpy."""
    return np.bincount(labels, entries, minlength=count).astype(np.float64, copy=False)


def lines_of(parts: Sequence[Any]) -> Lines | None:
    """The parts of one column, where their arrays are numpy's; None where there are none."""
    places = [
        at for at, part in enumerate(parts) if part.rows.shape[1] == 1 and isinstance(part.rows, np.ndarray)
    ]
    if not places:
        return None
    single = [parts[at] for at in places]
    return Lines(
        places=np.array(places),
        multiplicities=np.array([part.multiplicity for part in single]),
        cells=np.concatenate([part.cells for part in single]),
        entries=np.concatenate([part.rows for part in single])[:, 0],
        rows=np.repeat(np.arange(len(single)), [len(part.rows) for part in single]),
        queries=None if single[0].queries is None else np.concatenate([part.queries for part in single]),
    )


@dataclass(frozen=True)
class QueryComponent:
    """One component of the queries.

    rows : (r, s). multiplicity : how often the component occurs.
    cells : (s,) whole numbers, the orbit of cells of each column. queries : (r,) the orbit of queries of each
        row, or None when the queries have fixed weights (then only rowsᵀ rows matters). rank : of ``rows``;
        None where it has to be computed from their singular values.
    """

    rows: Array
    multiplicity: float
    cells: Array
    queries: Array | None = None
    rank: int | None = None


@dataclass(frozen=True)
class NuclearProblem:
    """Parts over orbits of cells and of queries.

    cells : (o,) number of cells in each orbit. targets : (t,) the sum of the targets c of each orbit of
        queries; None when the weights of the queries are fixed. floors : (t,) added to the shares of the
        queries; None for nothing. base : (o,) the cost of each cell in addition, whatever the noise; None for
        nothing. plain : whether there is a single part whose orbits are its columns and rows, in order.
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
        numbers = set() if self.lines is None else set(self.lines.places.tolist())
        return tuple(at for at in range(len(self.parts)) if at not in numbers)


def whole(rows: Array, targets: Array | None = None, rank: int | None = None) -> NuclearProblem:
    """The problem of a matrix (r, n) as it is, every cell (and query) an orbit of its own."""
    xp = namespace(rows)
    r, n = rows.shape
    part = QueryComponent(rows, 1.0, xp.arange(n), None if targets is None else xp.arange(r), rank)
    return NuclearProblem((part,), xp.ones(n, dtype=rows.dtype), targets, plain=True)


def placed(problem: NuclearProblem, library: str | None) -> NuclearProblem:
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
            f"the array library '{name}' is not installed here",
            hint="known: numpy, cupy, torch, torch:cuda; install it, or leave out arrays",
        ) from None
    where = {"device": device} if device else {}

    def put(array: Array) -> Array:
        """The array made by the library; None stays None."""
        return None if array is None else make(np.asarray(array), **where)

    parts = tuple(
        replace(p, rows=put(p.rows), cells=put(p.cells), queries=put(p.queries)) for p in problem.parts
    )
    fields = {"cells": put(problem.cells), "targets": put(problem.targets), "floors": put(problem.floors)}
    return replace(problem, parts=parts, **fields)


def as_numpy(array: Array) -> Array:
    """An array of any library as numpy's; None stays None."""
    if array is None or isinstance(array, np.ndarray):
        return array
    if array_api_compat.is_cupy_array(array):
        return array.get()
    return array.detach().cpu().numpy() if array_api_compat.is_torch_array(array) else np.asarray(array)


MOST_JACOBI_COLUMNS = 256  # columns up to which Jacobi's method costs little
BOTH_SCALED = 2  # LAPACK's 'F': small values are right whatever the scales of rows and of columns


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
    weights : the shares of the queries with the floors added.
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
        return self.wide * float(namespace(self.cost).max(self.cost / self.cells)) - 1.0


def count_marked(mask: Array) -> int:
    """The number of marked places."""
    xp = namespace(mask)
    return int(xp.sum(xp.astype(mask, xp.int64)))


def _is_all(k: Array, vectors: Array, rounding: float) -> bool:
    """Whether K without these singular vectors, of its smaller side, is rounding alone."""
    xp = namespace(k)
    if vectors.shape[1] == min(k.shape):
        return True
    k = k if k.shape[0] < k.shape[1] else k.T
    return float(xp.linalg.matrix_norm(k - vectors @ (vectors.T @ k))) <= rounding


def spectrum(part: QueryComponent, rank: int | None, p: Array, q: Array | None) -> Spectrum:
    """The decomposition of one part; p (s,) and q (r,) are the weights of its columns and rows.

    By the smaller Gram matrix, or by the matrix itself where the Gram matrix has lost small singular values
    (weights that go to zero together take some with them). ``rank`` None: it is computed, at weights that are
    not small; positive weights do not change it.
    """
    xp = namespace(part.rows)
    k = part.rows * xp.sqrt(p)
    if q is not None:
        k *= xp.sqrt(q)[:, None]
    eps = float(xp.finfo(k.dtype).eps) * max(k.shape)
    is_wide = k.shape[0] < k.shape[1]
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


def sums_by_label(labels: Array, values: Array, count: int) -> Array:
    """Sums of values by label, (count,), for arrays of any library."""
    xp = namespace(values)
    return xp.astype(xp.arange(count)[:, None] == labels[None, :], values.dtype) @ values


def _of_lines(lines: Lines, lengths: Lengths) -> Iterator[tuple[int, Spectrum]]:
    """The decomposition of each line by its number among the parts."""
    one = np.ones((1, 1))
    values = [value[value > 0] for value in np.split(lengths.values, lines.count)]
    ends = np.cumsum(np.bincount(lines.rows, minlength=lines.count))[
        :-1
    ]  # of the entries of all but the last
    lefts = [None] * lines.count if lengths.lefts is None else np.split(lengths.lefts[:, None], ends)
    for at, value, left in zip(lines.places.tolist(), values, lefts, strict=True):
        kept = value.shape[0]
        yield at, Spectrum(value, None if left is None else left[:, :kept], one[:, :kept])


def spectra_of(problem: NuclearProblem, at: Iterate) -> tuple[Spectrum, ...]:
    """The decomposition of every part."""
    if problem.lines is None or at.lengths is None:  # of arrays of another library there are no lines
        return at.spectra
    spectra = dict(zip(problem.others, at.spectra, strict=True))
    spectra.update(_of_lines(problem.lines, at.lengths))
    return tuple(spectra[number] for number in range(len(problem.parts)))


def iterate(
    problem: NuclearProblem, ranks: Sequence[int | None], cells: Array, queries: Array | None
) -> Iterate:
    """The iterate at weights, with gradient and both bounds; ``ranks`` of all parts but the lines."""
    xp = namespace(cells)
    p = cells / problem.cells
    weights = queries if queries is None or problem.floors is None else queries + problem.floors
    q = None if weights is None else weights / problem.targets
    spectra: list[Spectrum] = []
    lengths, norm = None, 0.0
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
        decomposition = spectrum(part, rank, *here)
        spectra.append(decomposition)
        norm += part.multiplicity * float(xp.sum(decomposition.values))
        share = part.multiplicity * (decomposition.right**2 @ decomposition.values)
        cost = cost + (share if problem.plain else sums_by_label(part.cells, share, cost.shape[0]))
        if variance is not None:
            share = part.multiplicity * (decomposition.left**2 @ decomposition.values)
            variance = variance + (
                share if problem.plain else sums_by_label(part.queries, share, variance.shape[0])
            )
    cost = cost / norm
    wide = 1.0
    if variance is not None:
        variance = variance / norm
        relative = variance / weights
        wide = float(xp.max(relative)) + (0.0 if problem.floors is None else float(problem.floors @ relative))
    upper = float(xp.max((0.0 if problem.base is None else problem.base) + norm**2 * wide * (cost / cells)))
    lower = norm**2 + (0.0 if problem.base is None else float(problem.base @ cells))
    if variance is None:
        upper = min(upper, _equalised(problem, lengths, spectra, norm * cost / problem.cells))
    return Iterate(cells, queries, weights, lengths, tuple(spectra), norm, cost, variance, wide, lower, upper)


def bare(at: Iterate) -> Iterate:
    """The iterate without its singular vectors, which take most of the memory."""
    return replace(
        at, spectra=tuple(Spectrum(decomposition.values, None, None) for decomposition in at.spectra)
    )


def fetched(at: Iterate) -> Iterate:
    """The iterate with numpy's arrays."""
    return replace(
        at,
        cells=as_numpy(at.cells),
        queries=as_numpy(at.queries),
        weights=as_numpy(at.weights),
        spectra=tuple(Spectrum(as_numpy(s.values), as_numpy(s.left), as_numpy(s.right)) for s in at.spectra),
        cost=as_numpy(at.cost),
        variance=as_numpy(at.variance),
    )


def whole_of(problem: NuclearProblem, at: Iterate, last: Iterate) -> Iterate:
    """An iterate with its singular vectors again: ``last``, if that is the same one and has them."""
    if at.cells is last.cells and all(decomposition.right is not None for decomposition in last.spectra):
        return last
    ranks = [decomposition.values.shape[0] for decomposition in at.spectra]
    return iterate(problem, ranks, at.cells, at.queries)


def is_full(problem: NuclearProblem, lengths: Lengths | None, spectra: Sequence[Spectrum]) -> bool:
    """Whether every part has full column rank: then any scaling of the columns supports the queries."""
    numbers = range(len(problem.parts)) if lengths is None else problem.others
    parts = zip((problem.parts[number] for number in numbers), spectra, strict=True)
    full = all(decomposition.values.shape[0] == part.rows.shape[1] for part, decomposition in parts)
    return full and (lengths is None or bool((lengths.values > 0).all()))


def _equalised(
    problem: NuclearProblem, lengths: Lengths | None, spectra: Sequence[Spectrum], weights: Array
) -> float:
    """The objective of X with rows and columns scaled to unit diagonal; infinity where not all is measured.

    ``weights`` is diag(X) * p, for X = diag(p)^-½ V S Vᵀ diag(p)^-½.
    """
    if not is_full(problem, lengths, spectra):
        return float("inf")
    xp = namespace(weights)
    total = 0.0 if problem.lines is None or lengths is None else problem.lines.equalised(lengths, weights)
    for number, decomposition in zip(problem.others, spectra, strict=True):
        part = problem.parts[number]
        scaled = (part.rows * xp.sqrt(xp.take(weights, part.cells))) @ decomposition.right
        total += part.multiplicity * float(xp.sum(scaled**2 / decomposition.values))
    return total


# Of logarithms: numbers that only rounding tells apart count as equal. Bounds are of the numbers themselves.
DIGITS_OF_LOGARITHMS = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """A problem over the colours of queries: ``labels`` (t,) the colour of each orbit, ``counts`` of each."""

    problem: NuclearProblem
    labels: Ints
    counts: Array

    def iterate(self, at: Iterate) -> Iterate:
        """The iterate of the folded problem, the shares of a colour added up."""
        queries, weights, variance = (
            _sums(self.labels, shares, len(self.counts)) for shares in (at.queries, at.weights, at.variance)
        )
        return replace(at, queries=queries, weights=weights, variance=variance)

    def spread(self, queries: Array | None) -> Array:
        """Shares of colours as shares of orbits."""
        assert queries is not None
        return np.asarray((queries / self.counts)[self.labels])


def fold_of(problem: NuclearProblem) -> Fold | None:
    """The colours of a problem whose parts have one column each; None for another, or where all differ."""
    lines = problem.lines
    if lines is None or problem.others or lines.queries is None:
        return None
    floors = np.zeros_like(problem.targets) if problem.floors is None else problem.floors
    queries = _numbered(_rounded(problem.targets), _rounded(floors))
    parts = _numbered(_rounded(lines.multiplicities), lines.cells)
    entries = _numbered(_rounded(lines.entries))
    before, count = 0, int(queries.max()) + 1
    while before < count:
        parts = _numbered(parts, _seen(queries[lines.queries], entries, lines.rows, lines.count))
        queries = _numbered(queries, _seen(parts[lines.rows], entries, lines.queries, len(queries)))
        before, count = count, int(queries.max()) + 1
    if count == len(queries):
        return None
    coloured = tuple(replace(part, queries=queries[part.queries]) for part in problem.parts)
    targets, floors = (np.bincount(queries, values) for values in (problem.targets, floors))
    return Fold(
        replace(problem, parts=coloured, targets=targets, floors=None if problem.floors is None else floors),
        queries,
        np.bincount(queries).astype(np.float64),
    )


def _rounded(values: Any) -> Array:
    """Logarithms of magnitudes, rounded."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.round(np.log(np.abs(values)), DIGITS_OF_LOGARITHMS) + 0.0)


def _numbered(*keys: npt.NDArray[Any]) -> Ints:
    """A number for each different tuple of keys."""
    out = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        labels = np.unique(key, return_inverse=True)[1].reshape(-1)
        out = np.unique(out * (int(labels.max()) + 1) + labels, return_inverse=True)[1].reshape(-1)
    return out


def _seen(colours: Ints, entries: Ints, places: Ints, count: int) -> npt.NDArray[np.uint64]:
    """A random number for the colours with their entries that each place sees, whatever their order."""
    pairs = _numbered(colours, entries)
    drawn = np.random.default_rng(0).integers(2**63, size=int(pairs.max()) + 1, dtype=np.uint64)
    out = np.zeros(count, dtype=np.uint64)
    np.add.at(out, places, drawn[pairs])
    return out
