"""Baselines for queries of few attributes, and for marginals among them.

**Marginals** have the Fourier queries that they need, and BMAX of the data cube method.

**Sector by sector** work QuerySmasher, ResidualPlanner and weighted Fourier. A query ⊗ qᵢ has in sector S the
part ⊗ over S of qᵢ less its mean, times the means of the others; a measurement of one sector is independent
of the others, so variances add up over the sectors. No array is as large as the number of cells.

**Weighted Fourier factorisations** are the best strategies that are diagonal in characters. The characters χ
of ⊕ Z/dᵢ have modulus 1, so a strategy that measures each with a weight has the same squared length at every
cell, and the least error is (Σ_χ √H_χχ)² with H_χχ = Σ over products w Π χ* Gᵢ χ / dᵢ² (arXiv 2512.21499). A
baseline by name. Where a sector is one Kronecker product its best strategy is no worse.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np
import scipy.optimize

from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array, gram_rows, not_below, plus_up
from mmopt.sectors.functions_of_few import Sector, all_subsets
from mmopt.sectors.residual_strategies import (
    MOST_ATTRIBUTES,
    RANK,
    AttributeDesign,
    ResidualSpace,
    products_of_few,
    residual_strategy,
    terms_by_sector,
)
from mmopt.strategies import MarginalStrategy
from mmopt.strategies.baselines.attribute_baselines import BaselineDesign, OrthonormalRows
from mmopt.strategies.factor_strategies import attributes_of, volumes
from mmopt.workloads import (
    Dense,
    Factor,
    Implicit,
    Kron,
    Product,
    Scaled,
    Stack,
    Total,
    Workload,
    kron,
)

# -- marginals


Truths = np.typing.NDArray[np.bool_]


#: The most attributes of a table with a number for every set of them.
MOST_OF_MARGINALS = 16

#: The most unions of requested marginals in the search for those to measure.
MOST_CANDIDATES = 512

#: Unions up to which the covers are the smallest ones; above, greedy ones.
MOST_EXACT_COVERS = 128


def marginal_masks(workload: Workload) -> list[int] | None:
    """The set of attributes of each product, as a bit mask (bit i: attribute i); None for other workloads.

    Every factor has to be the identity or the total.
    """
    kinds = [[factor.kind for factor in product.factors] for product in workload.products or ()]
    if not all(kind in ("identity", "total") for each in kinds for kind in each):
        return None
    return [sum(1 << i for i, kind in enumerate(each) if kind == "identity") for each in kinds] or None


def why_not_marginals(workload: Workload) -> str | None:
    """Why a baseline for marginals does not apply to a workload; None where it does."""
    if marginal_masks(workload) is None:
        return "the queries are not marginals: products of identities and totals"
    d = len(workload.domain.shape)
    if d > MOST_OF_MARGINALS:
        return f"{d} attributes have 2^{d} marginals; the limit is {MOST_OF_MARGINALS} attributes"
    return None


def why_not_datacube(workload: Workload) -> str | None:
    """Why ``datacube`` does not apply to a workload; None where it does."""
    reason = why_not_marginals(workload)
    if reason is None and len(candidates(sorted({*(marginal_masks(workload) or ())}))) > MOST_CANDIDATES:
        return f"more than {MOST_CANDIDATES} unions of asked marginals, too many to choose among"
    return reason


def fourier(workload: Workload, norm: int) -> BaselineDesign:
    """Orthonormal products of Fourier queries, one set for each set of attributes below a requested marginal.

    Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (PODS 2007, §3) take binary attributes and the Hadamard
    basis, equal noise on every coefficient. Here an attribute of any size has ``real_fourier``, which for two
    values is theirs. The rows are orthonormal, and those on the other sets are orthogonal to the queries.
    """
    requested = marginal_masks(workload) or []
    sizes = workload.domain.shape
    needed = [  # within a requested set; an attribute of one value has the total only
        mask
        for mask in range(2 ** len(sizes))
        if all(sizes[i] > 1 for i in attributes_of(mask)) and any(mask & ~other == 0 for other in requested)
    ]
    parts = [(Dense(basis[:1]), Dense(basis[1:])) for basis in map(real_fourier, sizes)]
    rows = Stack([Kron([part[mask >> i & 1] for i, part in enumerate(parts)]) for mask in needed])
    return BaselineDesign(rows, f"{len(needed)} of {2 ** len(sizes)} sets of attributes", OrthonormalRows())


def real_fourier(size: int) -> Array:
    """The real Fourier basis (size, size), orthonormal rows: constant, then cosine and sine by frequency.

    All columns have L2 norm 1. For size 2 it is the Hadamard basis.
    """
    cells = np.arange(size)
    rows = [np.full(size, 1.0 / math.sqrt(size))]
    for k in range(1, (size + 1) // 2):
        angle = 2.0 * math.pi * (k * cells % size) / size
        rows += [np.cos(angle) * math.sqrt(2.0 / size), np.sin(angle) * math.sqrt(2.0 / size)]
    if size % 2 == 0:
        rows.append((1.0 - 2.0 * (cells % 2)) / math.sqrt(size))
    return np.array(rows)


def datacube(workload: Workload, norm: int) -> BaselineDesign:
    """The marginals of ``bmax``, each measured once, all with the same noise.

    Ding, Winslett, Han, Li (SIGMOD 2011, §4). They answer each marginal from one measured marginal and may
    then make all consistent; here least squares over all measured ones answer, which is never worse.
    """
    sizes = workload.domain.shape
    requested = sorted(set(marginal_masks(workload) or ()))
    chosen = bmax(requested, sizes, norm)
    weights = np.zeros(2 ** len(sizes))
    weights[chosen] = 1.0
    strategy = MarginalStrategy(sizes, weights, norm)

    attributes = workload.domain.names
    names = [" × ".join(attributes[i] for i in attributes_of(mask)) or "total" for mask in chosen]
    count = f"{len(names)} marginal{'' if len(names) == 1 else 's'}"
    how = ", by greedy covers" if len(candidates(requested)) > MOST_EXACT_COVERS else ""
    return BaselineDesign(strategy.implicit(), f"{count}{how}: {', '.join(names)}", strategy)


def bmax(requested: Sequence[int], sizes: Sequence[int], norm: int) -> list[int]:
    """The marginals (bit masks) with the least largest variance of a requested one.

    Answering S from a measured T ⊇ S adds up Π_{i ∈ T \\ S} nᵢ noisy counts; with k marginals measured the
    noise of each has variance k² (norm 1; k under norm 2) per unit of sensitivity. For each possible largest
    sum θ integer programming gives a smallest cover of the requested marginals, and the best k² θ (k θ)
    is kept: exact. With more than ``MOST_EXACT_COVERS`` candidates the covers are the paper's greedy ones, at
    most 1 + ln (requested marginals) times as large. The unions of requested marginals are enough candidates:
    the union of the marginals that T answers answers them from fewer counts.
    """
    unions = candidates(requested)
    cells = volumes(sizes)
    sums = np.array([[cells[s] / cells[t] if s & ~t == 0 else math.inf for t in unions] for s in requested])
    best, chosen = math.inf, list(requested)
    for limit in np.unique(sums[np.isfinite(sums)]):
        most = math.sqrt(best / limit) if norm == 1 else best / limit  # marginals, to be any better
        if most <= 1:
            break
        covers = sums <= limit
        if len(requested) / covers.sum(axis=0).max() >= most:
            continue  # too many even of the widest ones
        cover = _greedy_cover(covers) if len(unions) > MOST_EXACT_COVERS else _least_cover(covers)
        cost = float(limit) * len(cover) ** (2 if norm == 1 else 1)
        if cost < best:
            best, chosen = cost, [unions[at] for at in cover]
    return sorted(chosen)


def candidates(requested: Sequence[int]) -> list[int]:
    """All unions of requested marginals; the list ends when it has more than ``MOST_CANDIDATES``."""
    unions: set[int] = set()
    for mask in requested:
        unions |= {mask} | {mask | other for other in unions}
        if len(unions) > MOST_CANDIDATES:
            break
    return sorted(unions)


def _least_cover(covers: Truths) -> list[int]:
    """The fewest columns of which at least one is true in every row."""
    _, count = covers.shape
    result = scipy.optimize.milp(
        np.ones(count),
        integrality=np.ones(count),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=scipy.optimize.LinearConstraint(covers.astype(np.float64), lb=1),
    )
    return np.flatnonzero(result.x > 0.5).tolist()


def _greedy_cover(covers: Truths) -> list[int]:
    """A cover by the column that is true in most of the rows left, step by step; the first of equals."""
    left = np.ones(len(covers), dtype=bool)
    chosen = []
    while left.any():
        chosen.append(int(np.argmax(covers[left].sum(axis=0))))
        left &= ~covers[:, chosen[-1]]
    return chosen


# -- sector by sector


#: Cells up to which the largest of all columns is computed; above, the largest of each sector are added.
MOST_LISTED_CELLS = 2**16
#: The most parts of all sectors together, one for each attribute: more would take a minute to build.
MOST_PARTS = 10**6


def why_not_by_sector(workload: Workload) -> str | None:
    """Why sectors are no baseline for a workload; None where they are."""
    if workload.products is None:
        return "the queries are a matrix, not products over attributes"
    sets = {product.looked_at for product in workload.products}
    if (order := max(map(len, sets))) > MOST_ATTRIBUTES:
        return f"a query looks at {order} attributes, more than {MOST_ATTRIBUTES}"
    sectors = all_subsets(sets)
    if (parts := len(sectors) * len(workload.domain.shape)) > MOST_PARTS:
        return (
            f"{len(sectors):,} sectors over {len(workload.domain.shape)} attributes have {parts:,} parts; "
            f"the limit is {MOST_PARTS:,}"
        )
    return None


def why_not_residual_planner(workload: Workload) -> str | None:
    """Why ResidualPlanner is no baseline for a workload; None where it is."""
    if marginal_masks(workload) is None:
        return "the queries are not marginals: products of identities and totals"
    return why_not_by_sector(workload)


def query_smasher(workload: Workload, norm: int) -> BaselineDesign:
    """Each sector at its own optimum, a product of strategies of its attributes; bases are uniform.

    Where several products that are no multiples of each other have a part in a sector, the product of
    strategies is the best one of a search.
    """
    residual = residual_strategy(workload)

    @cache
    def roots(design: AttributeDesign) -> tuple[Array, Array]:
        """The rows of a design, and D (d, k) with D Dᵀ the covariance of its estimates on contrasts."""
        centred = design.inverse - design.inverse.mean(axis=0)
        centred -= centred.mean(axis=1)[:, None]
        return gram_rows(design.strategy, RANK), gram_rows(centred, RANK).T

    def measured(space: ResidualSpace) -> "_Measured":
        """A sector with the rows of its designs."""
        rows, directions = zip(*map(roots, space.designs), strict=True) if space.designs else ((), ())
        dense = dict(zip(space.attributes, map(Dense, rows), strict=True))
        core = np.full((1,) * len(rows), 1 / space.share)
        return space.attributes, Scaled(_block(dense, workload), math.sqrt(space.share)), core, directions

    return _by_sector(map(measured, residual.spaces), residual.is_optimal)


def weighted_fourier(workload: Workload, norm: int) -> BaselineDesign:
    """Each character with a weight ∝ √ of its share in the queries; cosine and sine have the same."""
    energies = character_energies(workload)
    total = math.fsum(float(np.sqrt(energy).sum()) for energy in energies.values())
    sizes = workload.domain.shape
    basis = {d: real_fourier(d)[1:] * math.sqrt(d) for d in {*sizes}}
    measured: list[_Measured] = []
    for sector, energy in energies.items():
        # Rows are cosine and sine of frequency 1, of frequency 2, …; characters are in order of frequency.
        order = np.ix_(*(np.arange(sizes[i] - 1) // 2 for i in sector))
        weights = np.sqrt(energy[order] if sector else energy) / total
        if not weights.any():
            continue
        rows = _block({i: Dense(basis[sizes[i]]) for i in sector}, workload)
        core = np.divide(1.0, weights, where=weights > 0, out=np.zeros_like(weights))
        directions = [basis[sizes[i]].T / sizes[i] for i in sector]
        measured.append((sector, _Characters(rows, np.sqrt(weights).ravel()), core, directions))
    return _by_sector(measured, is_each=True)


#: A sector, its rows, and core and directions as in ``_BySector``.
_Measured = tuple[Sector, Implicit, Array, Sequence[Array]]


def _by_sector(
    measured: Iterable[_Measured], is_optimal: bool = True, is_each: bool = False
) -> BaselineDesign:
    """The design of these sectors, one after the other; ``is_each``: as in ``_BySector``."""
    sectors, blocks, cores, directions = zip(*measured, strict=True)
    errors = _BySector(
        dict(zip(sectors, cores, strict=True)), dict(zip(sectors, directions, strict=True)), is_each
    )
    detail = f"{len(blocks):,} sectors" + ("" if is_optimal else ", some by the best product found")
    return BaselineDesign(_Sectors(blocks), detail, errors)


def _block(rows: Mapping[int, Implicit], workload: Workload) -> Implicit:
    """⊗ of these rows by attribute, sums over all other attributes."""
    totals = {size: Total(size) for size in workload.domain.shape}
    parts = [rows.get(i, totals[size]) for i, size in enumerate(workload.domain.shape)]
    return parts[0] if len(parts) == 1 else Kron(parts)


class _Sectors(Stack):
    """The rows of all sectors."""

    def largest_power(self, norm: int) -> float:
        """The power of the largest column; over many cells an upper bound, the sum over the sectors."""
        if self.size <= MOST_LISTED_CELLS:
            return float(self.column_powers(norm).max())
        powers = (np.asarray(block.largest_power(norm)) for block in self.blocks)
        return float(reduce(plus_up, powers, np.zeros(())))


class _Characters(Scaled):
    """Products of cosines and sines, each row with a scale."""

    def largest_power(self, norm: int) -> float:
        """For norm 2 the power of every column, cos² + sin² = 1; for norm 1 Σ scale · largest entry."""
        if norm == 2:
            total = float(np.square(self.scale).sum())
        else:
            parts = self.inner.parts if isinstance(self.inner, Kron) else (self.inner,)
            total = float(self.scale @ kron([np.abs(part.matrix()).max(axis=1) for part in parts]))
        return float(not_below(np.asarray(total), 2 * self.rows + 64))


@dataclass(frozen=True, eq=False)
class _BySector:
    """Variances as sums over sectors: Σ_k core_k Π over the sector's attributes |q D|²_k Π of others' means².

    cores : by sector, an axis for each attribute. directions : D (d, k) for each attribute; ``is_each``: each
    column is an entry of the core's axis, else all together are one. Means are uniform ones.
    """

    cores: Mapping[Sector, Array]
    directions: Mapping[Sector, Sequence[Array]]
    is_each: bool = False

    def squared_error(self, workload: Workload) -> float:
        def sum_along(factor: Factor, direction: Array, is_each: bool) -> Array:
            """The sum over the queries, (1, k)."""
            squares = np.einsum("xk,xy,yk->k", direction, factor.gram(), direction, optimize=True)
            return np.asarray((squares if is_each else squares.sum(keepdims=True))[None])

        products = workload.products or ()
        each = self._variances([product.weighed() for product in products], sum_along)
        return math.fsum(p.weight * float(error[0]) for p, error in zip(products, each, strict=True))

    def variances(self, workload: Workload) -> Array:
        def rows_along(factor: Factor, direction: Array, is_each: bool) -> Array:
            """One row a query, (q, k)."""
            if is_each:
                return np.square(factor.apply(direction.T)).T
            return factor.squared_lengths(direction)[:, None]

        require_memory((workload.m,), "list of the queries' variances")
        plain = [product.unweighted() for product in workload.products or ()]
        return np.concatenate(self._variances(plain, rows_along))

    def _variances(
        self, products: Sequence[Product], squares_along: Callable[[Factor, Array, bool], Array]
    ) -> list[Array]:
        """The variances of each product's queries, from the squares by ``squares_along``."""
        kept: dict[tuple[Factor, int], Array] = {}  # by the identity of the direction

        def squares(factor: Factor, direction: Array, is_each: bool) -> Array:
            """``squares_along``, once for each factor and direction."""
            if (factor, id(direction)) not in kept:
                kept[factor, id(direction)] = squares_along(factor, direction, is_each)
            return kept[factor, id(direction)]

        return [self._over_sectors(product, squares) for product in products]

    def _over_sectors(self, product: Product, squares_along: Callable[[Factor, Array, bool], Array]) -> Array:
        """The variances of a product's queries, from the squares by ``squares_along``; a sector at a time."""
        looked_at, factors = product.looked_at, product.factors
        total = np.zeros(1)
        for size in range(len(looked_at) + 1):
            for sector in itertools.combinations(looked_at, size):
                if sector not in self.cores:  # no query has a part there
                    continue
                directions = dict(zip(sector, self.directions[sector], strict=True))
                axes = iter(self.cores[sector].shape)
                tensor = self.cores[sector].reshape([next(axes) if i in directions else 1 for i in looked_at])
                for i in looked_at:
                    is_each = self.is_each and i in directions
                    parts = squares_along(factors[i], directions.get(i, _uniform(factors[i].size)), is_each)
                    tensor = np.tensordot(tensor, parts, axes=([0], [1]))
                total = total + tensor.ravel()
        return total


@cache
def _uniform(size: int) -> Array:
    """The direction (size, 1) of a mean; one array for each size: squares are remembered by its identity."""
    return np.full((size, 1), 1 / size)


def character_energies(workload: Workload) -> dict[tuple[int, ...], Array]:
    """H_χχ of each sector, (d₁ - 1, d₂ - 1, …): the characters but the constant of each of its attributes.

    Raises as ``products_of_few``; TooLargeError also for characters that do not fit in memory.
    """
    products = products_of_few(workload)
    grams = {id(gram): gram for product in products for gram in product.grams}
    spectra = {key: _spectrum(gram) for key, gram in grams.items()}
    sizes = workload.domain.shape
    terms = terms_by_sector(products, [np.full(size, 1 / size) for size in sizes])
    require_memory(
        (sum(math.prod(sizes[i] - 1 for i in sector) for sector in terms),), "characters of all sectors"
    )
    return {
        sector: np.asarray(
            sum(
                reduce(np.multiply.outer, [spectra[key] for _, key in keys], np.asarray(weight))
                for keys, weight in parts.items()
            )
        )
        for sector, parts in terms.items()
    }


def _spectrum(gram: Array) -> Array:
    """χ* G χ / d² for each character but the constant, (d - 1,)."""
    spectrum = np.fft.ifft(np.fft.fft(gram, axis=0), axis=1).diagonal().real / len(gram)
    return np.asarray(np.maximum(spectrum[1:], 0.0))
