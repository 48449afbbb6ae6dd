"""Baselines for queries of few attributes, sector by sector: QuerySmasher, ResidualPlanner, weighted Fourier.

A query ⊗ qᵢ has in sector S the part ⊗ over S of qᵢ less its mean, times the means of the others; what is
measured of one sector tells nothing of another, so variances add up over the sectors. Nothing is of the size
of the cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.numerics.outward import not_below, plus_up
from mmopt.sectors.residual.attribute_design import RANK
from mmopt.sectors.residual.products_of_few import MOST_ATTRIBUTES
from mmopt.sectors.residual.residual_spaces import residual_strategy
from mmopt.sectors.residual.weighted_fourier import asked_of_characters
from mmopt.strategies.baselines.catalogue_row import Design
from mmopt.strategies.baselines.marginal_baselines import asked_marginals, real_fourier
from mmopt.workloads import Dense, Factor, Implicit, Kron, Product, Scaled, Stack, Workload
from mmopt.workloads.blocks.range_blocks import Total

__all__ = ["not_of_few", "not_of_marginals", "query_smasher", "weighted_fourier"]

MOST_CELLS = 2**16
"""Up to which the largest column is sought among all; above, the largest of each sector are added up."""
MOST_PARTS = 10**6
"""Of all sectors together, an attribute each: more take a minute to write down."""

Sector = tuple[int, ...]


def not_of_few(workload: Workload) -> str | None:
    """Why sectors are no baseline for a workload; None where they are."""
    if workload.products is None:
        return "the queries are a matrix, not products over attributes"
    asked = {product.looked_at for product in workload.products}
    if (order := max(map(len, asked))) > MOST_ATTRIBUTES:
        return f"a query looks at {order} attributes, more than {MOST_ATTRIBUTES}"
    sectors = {
        own for one in asked for size in range(len(one) + 1) for own in itertools.combinations(one, size)
    }
    if (parts := len(sectors) * len(workload.domain.shape)) > MOST_PARTS:
        return (
            f"{len(sectors):,} sectors over {len(workload.domain.shape)} attributes have {parts:,} parts; "
            f"the limit is {MOST_PARTS:,}"
        )
    return None


def not_of_marginals(workload: Workload) -> str | None:
    """Why ResidualPlanner is no baseline for a workload; None where it is."""
    if asked_marginals(workload) is None:
        return "the queries are not marginals: products of identities and totals"
    return not_of_few(workload)


def query_smasher(workload: Workload, norm: int) -> Design:
    """Each sector at its own optimum, a product of strategies of its attributes; bases are uniform.

    Where several products that are no multiples of each other have a part in a sector, the product of
    strategies is the best one found.
    """
    found = residual_strategy(workload)
    roots: dict[int, tuple[Array, Array]] = {}
    blocks: list[Implicit] = []
    cores: dict[Sector, Array] = {}
    directions: dict[Sector, list[Array]] = {}
    for space in found.spaces:
        for design in space.designs:
            if id(design) not in roots:
                centred = design.inverse - design.inverse.mean(axis=0)
                centred -= centred.mean(axis=1)[:, None]
                roots[id(design)] = _root(design.strategy), _root(centred).T
        own = [roots[id(design)] for design in space.designs]
        rows = dict(zip(space.attributes, (Dense(root) for root, _ in own), strict=True))
        blocks.append(Scaled(_block(rows, workload), math.sqrt(space.share)))
        cores[space.attributes] = np.full((1,) * len(own), 1 / space.share)
        directions[space.attributes] = [inverse for _, inverse in own]
    detail = f"{len(blocks):,} sectors" + ("" if found.is_optimal else ", some by the best product found")
    return Design(_Sectors(blocks), detail, _BySector(cores, directions))


def weighted_fourier(workload: Workload, norm: int) -> Design:
    """Each character with a weight of its own, ∝ √ of what is asked of it; cosine and sine have the same."""
    asked = asked_of_characters(workload)
    total = math.fsum(float(np.sqrt(own).sum()) for own in asked.values())
    sizes = workload.domain.shape
    basis = {d: real_fourier(d)[1:] * math.sqrt(d) for d in {*sizes}}
    blocks: list[Implicit] = []
    cores: dict[Sector, Array] = {}
    directions: dict[Sector, list[Array]] = {}
    for sector, own in asked.items():
        # Rows are cosine and sine of frequency 1, of frequency 2, …; characters are in order of frequency.
        order = np.ix_(*(np.arange(sizes[i] - 1) // 2 for i in sector))
        weights = np.sqrt(own[order] if sector else own) / total
        if not weights.any():
            continue
        rows = _block({i: Dense(basis[sizes[i]]) for i in sector}, workload)
        blocks.append(_Characters(rows, np.sqrt(weights).ravel()))
        cores[sector] = np.divide(1.0, weights, where=weights > 0, out=np.zeros_like(weights))
        directions[sector] = [basis[sizes[i]].T / sizes[i] for i in sector]
    errors = _BySector(cores, directions, is_each=True)
    return Design(_Sectors(blocks), f"{len(blocks):,} sectors", errors)


def _block(rows: Mapping[int, Implicit], workload: Workload) -> Implicit:
    """⊗ of these rows by attribute, sums over all other attributes."""
    totals = {size: Total(size) for size in workload.domain.shape}
    parts = [rows.get(i, totals[size]) for i, size in enumerate(workload.domain.shape)]
    return parts[0] if len(parts) == 1 else Kron(parts)


def _root(matrix: Array) -> Array:
    """R (k, d) with RᵀR = ``matrix``, symmetric and psd, without directions that are rounding."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > RANK * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


class _Sectors(Stack):
    """The rows of all sectors."""

    def largest_power(self, norm: int) -> float:
        """The largest column's; over many cells the sum of the sectors' largest, an upper bound."""
        if self.size <= MOST_CELLS:
            return float(self.column_powers(norm).max())
        total = np.zeros(())
        for block in self.blocks:
            total = plus_up(total, np.asarray(block.largest_power(norm)))
        return float(total)


class _Characters(Scaled):
    """Products of cosines and sines, each row with a scale."""

    def largest_power(self, norm: int) -> float:
        """For norm 2 that of every column, cos² + sin² = 1; for norm 1 Σ scale · largest entry."""
        if norm == 2:
            total = float(np.square(self.scale).sum())
        else:
            parts = self.inner.parts if isinstance(self.inner, Kron) else (self.inner,)
            largest = np.ones(1)
            for part in parts:
                largest = np.multiply.outer(largest, np.abs(part.matrix()).max(axis=1)).ravel()
            total = float(self.scale @ largest)
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
        products = workload.products or ()
        weighed = [product.weighed() for product in products]
        known: dict[tuple[Factor, int], Array] = {}

        def told(factor: Factor, own: Array, is_each: bool) -> Array:
            """The sum over the queries, (1, k)."""
            if (factor, id(own)) not in known:
                found = np.einsum("xk,xy,yk->k", own, factor.gram(), own, optimize=True)
                known[factor, id(own)] = found[None] if is_each else found.sum(keepdims=True)[None]
            return known[factor, id(own)]

        each = [float(self._over_sectors(one, told)[0]) for one in weighed]
        return math.fsum(product.weight * error for product, error in zip(products, each, strict=True))

    def variances(self, workload: Workload) -> Array:
        require_memory((workload.m,), "list of the queries' variances")
        known: dict[tuple[Factor, int], Array] = {}

        def told(factor: Factor, own: Array, is_each: bool) -> Array:
            """One row a query, (q, k)."""
            if (factor, id(own)) not in known:
                found = np.square(factor.apply(own.T)).T if is_each else factor.squared_lengths(own)[:, None]
                known[factor, id(own)] = found
            return known[factor, id(own)]

        plain = [product.unweighted() for product in workload.products or ()]
        return np.concatenate([self._over_sectors(one, told) for one in plain])

    def _over_sectors(self, product: Product, told: Callable[[Factor, Array, bool], Array]) -> Array:
        """The variances of a product's queries, or what ``told`` makes of them; a sector at a time."""
        looked_at, factors = product.looked_at, product.factors
        total = np.zeros(1)
        for size in range(len(looked_at) + 1):
            for sector in itertools.combinations(looked_at, size):
                if sector not in self.cores:  # nothing is asked there
                    continue
                own = dict(zip(sector, self.directions[sector], strict=True))
                axes = iter(self.cores[sector].shape)
                found = self.cores[sector].reshape([next(axes) if i in own else 1 for i in looked_at])
                for i in looked_at:
                    is_each = self.is_each and i in own
                    parts = told(factors[i], own.get(i, self._uniform(factors[i].size)), is_each)
                    found = np.tensordot(found, parts, axes=([0], [1]))
                total = total + found.ravel()
        return total

    def _uniform(self, size: int) -> Array:
        """The direction (size, 1) of a mean."""
        return self._means.setdefault(size, np.full((size, 1), 1 / size))

    @cached_property
    def _means(self) -> dict[int, Array]:
        return {}
